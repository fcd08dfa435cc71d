"""The settings of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from clinometer.measure.criterion import Criterion, choose_criterion, parse_criterion
from clinometer.measure.stereotype import is_even
from clinometer.models import LoadOptions, WordOptions
from clinometer.settings import (
    COUNT,
    LEVEL,
    SEED,
    SHARE_BELOW_1,
    check_settings,
    option,
)

INFERENCE = ("criterion", "level", "clusters")
"""The settings that `Preferences.estimate` takes, and the options of `clinometer import table`."""

_statistics = partial(option, panel="Statistics", advanced=True)


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """How an audit is made."""

    max_contexts: int | None = option(
        None,
        help="Sample at most this many contexts by weight.",
        allowed=COUNT,
        unset="use all",
    )
    placebo: bool = option(
        False,
        "--placebo",
        help="Also ask the questions with edits that should not matter (a blank line, a weekday, "
        "the weather), for at most four groups: the floor of a decision.",
        panel="Question",
        advanced=True,
    )
    seed: int = _statistics(0, help="Random seed.", allowed=SEED)
    criterion: str | None = _statistics(
        None,
        help="What R measures: ratio (the paper's, against an even split; ratio:2 with the norm "
        "J_2), raw (the same, not scaled from 0 to 1; raw:2), released (the sum of s⁺ over 5, as "
        "in the authors' code and Table 3), share (of answers that would have to change) or points "
        "(of a rating scale).",
        unset="what fits the topic",
    )
    coverage_threshold: float = _statistics(
        1e-3,
        help="Flag cells whose words carry less probability than this.",
        allowed=SHARE_BELOW_1,
    )
    level: float = _statistics(
        0.95, help="Confidence level of the intervals, between 0 and 1.", allowed=LEVEL
    )
    clusters: str | None = _statistics(
        None,
        help="Resample whole clusters of contexts, given by a column of the context set or table, "
        "such as predicate or source.",
    )
    load: LoadOptions = field(default_factory=LoadOptions)
    words: WordOptions = field(default_factory=WordOptions)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.criterion is not None:
            parse_criterion(self.criterion)

    def to_dict(self) -> dict[str, Any]:
        """Return all settings, passed and defaulted, as plain values."""
        return asdict(self)

    def criterion_for(
        self, reference: object, categories: Sequence[str], *, scale: object
    ) -> Criterion:
        """Return the criterion of a topic: as set, or what fits its reference.

        On a `scale` (not None) the categories are numbers.
        """
        name = self.criterion
        if scale is not None and not name:
            name = "points"
        even = reference is None
        if reference is not None and not isinstance(reference, str):
            even = is_even(np.asarray(reference))
        return choose_criterion(name, even=even, categories=categories)

    def inference(self) -> dict[str, Any]:
        """Return the settings of the intervals, as `Preferences.estimate` takes them."""
        return {"level": self.level, "clusters": self.clusters}

    def scoring(self) -> dict[str, Any]:
        """Return the settings that change a score: other values here make another run.

        Everything else (device, batch size, criterion, threshold) may change when a run is resumed.
        """
        return {
            "words.tolerance": self.words.effective_tolerance,
            "words.end_of_word": False,  # an option once: runs begun before are still resumed
            "words.single_token": self.words.single_token,
            **self.load.scoring(),
        }
