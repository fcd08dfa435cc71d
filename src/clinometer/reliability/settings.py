"""How reliability is scored: the readings of the paper's equation, and the settings of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from clinometer.models import LoadOptions
from clinometer.models.whole_texts import TextOptions
from clinometer.settings import COUNT, LEVEL, SEED, SHARE, check_settings, option

PAPER_MODELS = (
    "google-bert/bert-large-uncased",
    "FacebookAI/roberta-large",
    "albert/albert-xxlarge-v2",
)
"""The models of the COBIAS paper."""

NORMALISATIONS = ("word", "token", "text")
"""What a log-probability can be divided by: words, tokens, or nothing."""

READINGS: dict[str, tuple[TextOptions, str]] = {
    "equation": (TextOptions(), "word"),
    "figure": (TextOptions(masking="original", targets="masked"), "text"),
    "paper": (TextOptions(masking="original", edges=False), "token"),
    "released": (
        TextOptions(
            masking="original", targets="scored", special_tokens=False, lower=True
        ),
        "token",
    ),
}
"""How texts are scored, and what tau is divided by.

equation: (2): context words given visible target terms, a word's pieces hidden together;
figure 5: target terms always masked, one token at a time, log-likelihoods summed;
paper: the authors' code when the paper was written (February 2024): special tokens, targets
visible, one token at a time, without the first and last token of the context, per token;
released: their code of June 2024, which scores every token, lower-cased, without special tokens,
one token at a time, per token.
"""


def scoring_models(names: Sequence[str]) -> list[str]:
    """Return each model once; `paper` stands for the large models of the paper.

    >>> scoring_models(["pocket:bert", "pocket:bert"])
    ['pocket:bert']
    """
    models: list[str] = []
    for name in names:
        models.extend(PAPER_MODELS if name == "paper" else [name])
    return list(dict.fromkeys(models))


@dataclass(frozen=True, kw_only=True)
class ReliabilitySettings:
    """How reliability is scored."""

    reading: str = option(
        "equation",
        help="Reading of the paper's Eq. 2: equation, figure, paper or released.",
        choices=tuple(READINGS),
    )
    normalise: str | None = option(
        None,
        help="Divide log-probabilities by words, by tokens, or by nothing (text).",
        choices=NORMALISATIONS,
        unset="the reading's",
    )
    versions: int | None = option(
        40, help="Use at most this many versions of each statement.", allowed=COUNT
    )
    dissimilarity: str | None = option(
        None,
        help="Also measure how far context moves the meaning (Eq. 1), by a sentence-transformers "
        "model such as all-MiniLM-L6-v2.",
        unset="not measured",
    )
    max_dissimilarity: float | None = option(
        None,
        help="With dissimilarity: leave out versions that are farther than this from their "
        "statement.",
        allowed=SHARE,
        unset="no limit",
    )
    level: float = option(
        0.95, help="Confidence level of the intervals, between 0 and 1.", allowed=LEVEL
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    load: LoadOptions = field(default_factory=LoadOptions)

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def text_options(self) -> TextOptions:
        """The options for scoring texts."""
        return READINGS[self.reading][0]

    @property
    def per(self) -> str:
        """What tau is divided by: one of `NORMALISATIONS`."""
        return self.normalise or READINGS[self.reading][1]

    def to_dict(self) -> dict[str, Any]:
        """Return all settings, passed and defaulted, and the values derived from them."""
        options = asdict(self.text_options) | {"per": self.per}
        return asdict(self) | {"asked": options}

    def scoring(self) -> dict[str, Any]:
        """Return the settings that change a model's scores: other values make another run."""
        return asdict(self.text_options) | {
            "load.kind": self.load.kind,
            "load.dtype": self.load.dtype,
            "load.revision": self.load.revision,
        }
