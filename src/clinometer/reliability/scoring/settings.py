"""How statements are scored: the three readings of the paper's equation, and other settings."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from clinometer.models import LoadOptions
from clinometer.models.texts.types import MASKING, TextOptions
from clinometer.settings import COUNT, LEVEL, PART, REPLICATES, SEED, check_settings, option

NORMALISATIONS = ("word", "token")
DUPLICATES = ("many", "once")

#: equation (2): context words given visible target terms, a word's pieces hidden together;
#: figure 5: the same with the target terms always masked; released: the authors' code, which scores
#: every token, lower-cased, without special tokens, one token at a time, per token.
VARIANTS: dict[str, tuple[TextOptions, str]] = {
    "equation": (TextOptions(), "word"),
    "figure": (TextOptions(targets="masked"), "word"),
    "released": (
        TextOptions(masking="original", targets="scored", special_tokens=False, lower=True),
        "token",
    ),
}

_scoring = partial(option, panel="Scoring")
_reading = partial(option, panel="Scoring", unset="the variant's")
_statistics = partial(option, panel="Statistics")


@dataclass(frozen=True, kw_only=True)
class ReliabilitySettings:
    """How reliability is scored."""

    variant: str = _scoring(
        "equation",
        help="Reading of the paper's Eq. 2: equation, figure or released.",
        choices=tuple(VARIANTS),
    )
    masking: str | None = _reading(
        None, help="within_word_l2r (corrected) or original.", choices=MASKING
    )
    normalise: str | None = _reading(
        None, help="Average log-probabilities per word or per token.", choices=NORMALISATIONS
    )
    special_tokens: bool | None = _reading(
        None, help="Score with or without the tokenizer's special tokens."
    )
    duplicates: str = _scoring(
        "many",
        help="Count repeated versions each time (many, as published) or once.",
        choices=DUPLICATES,
    )
    versions: int | None = _scoring(
        40, help="Use at most this many versions of each statement.", allowed=COUNT
    )
    keep_changed: bool = _scoring(
        False, help="Keep versions in which the target term is gone, instead of dropping them."
    )
    replicates: int = _statistics(
        1000,
        help="Bootstrap replicates for the intervals, at least 100; 0 computes no intervals.",
        allowed=REPLICATES,
    )
    level: float = _statistics(
        0.95, help="Confidence level of the intervals, between 0 and 1.", allowed=LEVEL
    )
    precision: float | None = _statistics(
        None,
        help="Say how many versions give a statement's COBIAS an interval of ± this.",
        allowed=PART,
        unset="not asked",
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    load: LoadOptions = field(default_factory=LoadOptions)

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def text_options(self) -> TextOptions:
        """The options for scoring texts."""
        options = VARIANTS[self.variant][0]
        if self.masking is not None:
            options = replace(options, masking=self.masking)
        if self.special_tokens is not None:
            options = replace(options, special_tokens=self.special_tokens)
        return options

    @property
    def per_word(self) -> bool:
        """Whether tau is a mean over words, not tokens."""
        return (self.normalise or VARIANTS[self.variant][1]) == "word"

    def to_dict(self) -> dict[str, Any]:
        """All settings, passed and defaulted, and the values derived from them."""
        options = asdict(self.text_options) | {"per": "word" if self.per_word else "token"}
        return asdict(self) | {"asked": options}

    def scoring(self) -> dict[str, Any]:
        """Those that change a model's scores: other values make another run."""
        return asdict(self.text_options) | {
            "load.kind": self.load.kind,
            "load.dtype": self.load.dtype,
            "load.revision": self.load.revision,
        }
