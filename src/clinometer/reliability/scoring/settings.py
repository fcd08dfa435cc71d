"""How statements are scored: the paper's three readings of its equation, and what else counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from clinometer.errors import SettingsError
from clinometer.models import LoadOptions
from clinometer.models.texts.types import TextOptions
from clinometer.ranges import COUNT, LEVEL, REPLICATES, SEED

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


@dataclass(frozen=True, kw_only=True)
class ReliabilitySettings:
    """How reliability is scored.

    variant         equation, figure or released (see VARIANTS)
    masking         within_word_l2r or original, instead of the variant's
    normalise       per word or per token, instead of the variant's
    special_tokens  with or without, instead of the variant's
    duplicates      a version that occurs twice counts many times (as published) or once
    versions        use the first so many versions of a statement; None takes all
    keep_changed    keep versions in which the target term is gone, instead of leaving them out
    replicates      bootstrap replicates behind the intervals; 0 computes none
    level           of the intervals
    seed            of the bootstrap
    """

    variant: str = "equation"
    masking: str | None = None
    normalise: str | None = None
    special_tokens: bool | None = None
    duplicates: str = "many"
    versions: int | None = 40
    keep_changed: bool = False
    replicates: int = 1000
    level: float = 0.95
    seed: int = 0
    load: LoadOptions = field(default_factory=LoadOptions)

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("variant", self.variant, tuple(VARIANTS)),
            ("normalise", self.normalise, (None, *NORMALISATIONS)),
            ("duplicates", self.duplicates, DUPLICATES),
        ):
            if value not in allowed:
                known = ", ".join(a for a in allowed if a is not None)
                raise SettingsError(f"{name}: expected one of {known}; found {value!r}")
        if self.versions is not None:
            COUNT.check("versions", self.versions)
        REPLICATES.check("replicates", self.replicates)
        LEVEL.check("level", self.level)
        SEED.check("seed", self.seed)
        _ = self.text_options  # refuses a masking that there is not

    @property
    def text_options(self) -> TextOptions:
        """What the model is asked."""
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
        """All settings, passed and defaulted, and what they come to."""
        options = asdict(self.text_options) | {"per": "word" if self.per_word else "token"}
        return asdict(self) | {"asked": options}

    def scoring(self) -> dict[str, Any]:
        """Those that change a model's answers: with others it is another run."""
        return asdict(self.text_options) | {
            "load.kind": self.load.kind,
            "load.dtype": self.load.dtype,
            "load.revision": self.load.revision,
        }
