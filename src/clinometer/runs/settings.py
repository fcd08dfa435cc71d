"""The settings of an audit, and which of them may change when a run is resumed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from operator import not_
from typing import Any

from clinometer.errors import SettingsError
from clinometer.measure.correction import POPULATIONS
from clinometer.measure.criterion import RiskScale
from clinometer.models import LoadOptions, WordOptions
from clinometer.settings import (
    COUNT,
    LEVEL,
    POSITIVE,
    REPLICATES,
    SEED,
    SHARE_BELOW_1,
    check_settings,
    option,
)
from clinometer.topics import Topic

#: The settings that `Preferences.estimate` takes, and the options of `clinometer import table`.
INFERENCE = (
    "norm",
    "normalize",
    "replicates",
    "level",
    "seed",
    "clusters",
    "two_way",
    "population",
)

_contexts = partial(option, panel="Contexts")
_statistics = partial(option, panel="Statistics", advanced=True)


def parse_norm(text: str) -> float:
    """k of the criterion as typed: a number of at least 1, or inf."""
    try:
        norm = float(text)
    except ValueError:
        norm = math.nan
    if not norm >= 1:
        raise SettingsError(f"--norm: expected a number of at least 1, or inf; found {text!r}")
    return norm


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """How an audit is made."""

    max_contexts: int | None = option(
        None, help="Sample at most this many contexts by weight.", allowed=COUNT, unset="use all"
    )
    precision: float | None = _contexts(
        None,
        help="Sample contexts by weight until the intervals of R, Rᵇ and Rᵛ are within ± this "
        "(at most --max-contexts samples).",
        allowed=POSITIVE,
    )
    seed: int = _contexts(0, help="Random seed.", allowed=SEED, advanced=True)
    norm: float = _statistics(
        math.inf, help="k of the criterion J_k: 1, 2, … or inf.", typed="inf", parse=parse_norm
    )
    normalize: bool = _statistics(
        True,
        "--raw",
        help="Use the raw equations instead of scaling risks from 0 to 1.",
        typed=False,
        parse=not_,
    )
    coverage_threshold: float = _statistics(
        1e-3,
        help="Flag cells whose words carry less probability than this.",
        allowed=SHARE_BELOW_1,
    )
    replicates: int = _statistics(
        2000,
        help="Bootstrap replicates for the intervals, at least 100; 0 computes no intervals.",
        allowed=REPLICATES,
    )
    level: float = _statistics(
        0.95, help="Confidence level of the intervals, between 0 and 1.", allowed=LEVEL
    )
    clusters: str | None = _statistics(
        None,
        help="Resample whole clusters of contexts, given by a column of the context set or table, "
        "such as predicate or source.",
    )
    population: str = _statistics(
        "similar",
        help="What the intervals generalise to: set (exactly these contexts), corpus (the one they "
        "were mined from) or similar (contexts of this kind).",
        choices=tuple(POPULATIONS),
        advanced=False,
    )
    two_way: bool = _statistics(
        False, help="Resample the groups too, as a sample from a larger population."
    )
    load: LoadOptions = field(default_factory=LoadOptions)
    words: WordOptions = field(default_factory=WordOptions)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.precision is not None:
            self._check_precision()
        if self.clusters is not None and self.population != "similar":
            raise SettingsError(
                "population: expected similar with clusters of contexts, found "
                f"{self.population}; leave out --clusters or --population"
            )
        if not self.norm >= 1:
            raise SettingsError(f"norm: expected 1 or more, or inf; found {self.norm}")

    def _check_precision(self) -> None:
        if self.replicates == 0:
            raise SettingsError(
                "precision: expected intervals to look at, found replicates = 0; give at least 100"
            )
        if self.clusters is not None:
            raise SettingsError(
                "precision: samples are independent and have no clusters; leave out clusters, or "
                "score the whole set without precision"
            )

    def asking(self, topic: Topic) -> AuditSettings:
        """The same for a topic of questions: what its readout decides is decided."""
        readout = topic.readout
        if readout is None:
            return self
        first = readout.normalisation == "first-token"
        return replace(
            self,
            load=self.load.asking(tokens=readout.length),
            words=replace(self.words, first_token=first),
        )

    def resumed(self, before: Mapping[str, Any] | None) -> AuditSettings:
        """The same for a run that was begun with the identity `before` (None: a new one)."""
        earlier = None if before is None else before.get("words.tolerance")
        return replace(self, words=self.words.resumed(earlier))

    def to_dict(self) -> dict[str, Any]:
        """All settings, passed and defaulted, as plain values."""
        plain = asdict(self)
        plain["norm"] = "inf" if math.isinf(self.norm) else self.norm
        return plain

    @property
    def scaling(self) -> RiskScale:
        """The scale of the risks, as every measure takes it."""
        return {"norm": self.norm, "normalize": self.normalize}

    def inference(self) -> dict[str, Any]:
        """Those of the intervals, as `Preferences.estimate` takes them."""
        names = (name for name in INFERENCE if name not in ("replicates", "seed"))
        return {name: getattr(self, name) for name in names}

    def scoring(self) -> dict[str, Any]:
        """Those that change a score: other values here make another run. Everything else (device,
        batch size, norm, threshold) may change when a run is resumed."""
        return {
            "words.tolerance": self.words.effective_tolerance,
            "words.end_of_word": self.words.end_of_word,
            "words.single_token": self.words.single_token,
            **self.load.scoring(),
        }
