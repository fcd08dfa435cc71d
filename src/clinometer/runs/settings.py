"""The settings of an audit, and which of them may change between two attempts at one run."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from clinometer.errors import SettingsError
from clinometer.models import LoadOptions, WordOptions
from clinometer.ranges import COUNT, LEVEL, POSITIVE, REPLICATES, SEED, SHARE_BELOW_1


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """How an audit is made.

    max_contexts        draw so many contexts by weight; None takes all
    precision           draw contexts by weight until the intervals of R, R^b and R^v reach no
                        further than this from their values; max_contexts is then the ceiling
    seed                of the draw, and of the intervals
    norm                k of the criterion J_k
    normalize           risks from 0 to 1 (False: the raw equations)
    coverage_threshold  cells whose words hold less probability are flagged, not dropped
    replicates          bootstrap replicates behind the intervals; 0 computes none
    level               the share of intervals that should hold the truth
    clusters            a label of the contexts (predicate, source): whole clusters are resampled
    two_way             the groups are resampled as well, as a sample of groups of their kind
    """

    max_contexts: int | None = None
    precision: float | None = None
    seed: int = 0
    norm: float = math.inf
    normalize: bool = True
    coverage_threshold: float = 1e-3
    replicates: int = 2000
    level: float = 0.95
    clusters: str | None = None
    two_way: bool = False
    load: LoadOptions = field(default_factory=LoadOptions)
    words: WordOptions = field(default_factory=WordOptions)

    def __post_init__(self) -> None:
        if self.max_contexts is not None:
            COUNT.check("max_contexts", self.max_contexts)
        SEED.check("seed", self.seed)
        SHARE_BELOW_1.check("coverage_threshold", self.coverage_threshold)
        REPLICATES.check("replicates", self.replicates)
        LEVEL.check("level", self.level)
        if self.precision is not None:
            self._check_precision(self.precision)
        if not self.norm >= 1:
            raise SettingsError(f"norm: expected 1 or more, or inf; found {self.norm}")

    def _check_precision(self, precision: float) -> None:
        POSITIVE.check("precision", precision)
        if self.replicates == 0:
            raise SettingsError(
                "precision: expected intervals to look at, found replicates = 0; give at least 100"
            )
        if self.clusters is not None:
            raise SettingsError(
                "precision: draws are independent and have no clusters; leave out clusters, or ask "
                "the whole set without precision"
            )

    def to_dict(self) -> dict[str, Any]:
        """All settings, passed and defaulted, as plain values."""
        plain = asdict(self)
        plain["norm"] = "inf" if math.isinf(self.norm) else self.norm
        return plain

    def inference(self) -> dict[str, Any]:
        """Those of the intervals, as `Preferences.estimate` takes them."""
        names = ("norm", "normalize", "replicates", "level", "seed", "clusters", "two_way")
        return {name: getattr(self, name) for name in names}

    def scoring(self) -> dict[str, Any]:
        """Those that change a score. A run with other values here is another run; everything else
        (device, batch size, norm, threshold) may change between attempts."""
        return {
            "words.tolerance": self.words.tolerance,
            "words.end_of_word": self.words.end_of_word,
            "words.single_token": self.words.single_token,
            **self.load.scoring(),
        }
