"""The settings of a mining run: what decides its result."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import partial
from typing import Any

from clinometer.errors import SettingsError
from clinometer.settings import COUNT, SEED, SHARE, check_settings, option
from clinometer.topics import Topic, load_topic

ABOUT = ("own", "any")

SAMPLE = 10_000
"""Articles in the paper's sample."""

MIN_CONFIDENCE = 0.87
"""Out of fold, 0.95 of the links in GAP are right at this (0.91 or more with 90 % confidence).

See docs/mining.md.
"""

KEYS = ("parser", "min_confidence", "field", "min_count", "source")
"""Settings that the command takes as --set KEY=VALUE."""

_templates = partial(option, panel="Templates", advanced=True)
_corpus = partial(option, panel="Corpus", advanced=True)


def parse_sample(text: str) -> int | None:
    """Parse the number of articles to sample: a number, or all."""
    if text == "all":
        return None
    try:
        return int(text)
    except ValueError:
        raise SettingsError(
            f"sample: expected a number or all, found {text!r}"
        ) from None


@dataclass(frozen=True, kw_only=True)
class MineSettings:
    """Everything that affects the result; the distribution of the work does not."""

    topic: Topic = option(
        MISSING,
        help="A built-in topic or a .toml file.",
        typed="gender",
        parse=load_topic,
    )
    sample: int | None = option(
        SAMPLE,
        help="Articles to sample at random from the corpus, or all.",
        allowed=COUNT,
        typed=str(SAMPLE),
        parse=parse_sample,
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    about: str = _templates(
        "own",
        help="For predicates (The [X], who …, is [Y]): of whom. own: people of the topic (race, "
        "religion, disability), if the language knows words for them; any: any person.",
        choices=ABOUT,
    )
    as_in_paper: bool = option(
        False,
        help="Mine as the BVF paper says: [Y] may also be or modify the subject (the female "
        "engineer explained), predicates have any length, every link counts; for race and the like "
        "the subjects are occupations.",
    )
    parser: str | None = _templates(
        None, help="An installed spaCy pipeline.", unset="the small one of the language"
    )
    min_confidence: float = _templates(
        MIN_CONFIDENCE,
        help="Drop links of [Y] to [X] that are right with a lower probability than this.",
        allowed=SHARE,
    )
    field: str = _corpus(
        "text", help="Field or column that contains the text.", advanced=False
    )
    min_count: int = _templates(
        1, help="Drop templates that occur less often.", allowed=COUNT
    )
    source: str = _corpus(
        "", help="Describe where the corpus comes from; kept in the sidecar."
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.as_in_paper and self.topic.language != "en":
            raise SettingsError(
                "as_in_paper: expected a topic in English, as the paper's are"
            )

    @property
    def least_confidence(self) -> float:
        """Return the confidence that a link needs; the paper takes every link."""
        return 0.0 if self.as_in_paper else self.min_confidence

    def describe(self) -> dict[str, Any]:
        """Return the settings as the work folder records them."""
        values = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        return values | {
            "topic": self.topic.name,
            "topic_sha256": self.topic.sha256,
            "language": self.topic.language,
        }
