"""What a mining run is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clinometer.errors import SettingsError
from clinometer.ranges import COUNT, SEED
from clinometer.topics import Topic

#: What [Y] may be, see docs/mining.md.
LINKS = ("clause", "reflexive", "possessive")
STRATEGIES = ("auto", "coreference", "predicate")
#: Articles in the paper's sample.
SAMPLE = 10_000


@dataclass(frozen=True, kw_only=True)
class MineSettings:
    """All that changes the result; how the work is spread over processes does not.

    sample    how many articles are drawn, whatever their number; None: all of them
    strategy  "coreference" (The [X] said that [Y]), "predicate" (The [X], who …, is [Y]), or
              "auto": the first where the topic's words hold the language's pronouns
    links     what [Y] may be: subject of a clause, reflexive object, possessor of an object
    field     the field or column that holds the text
    source    where the corpus comes from, in words, for the sidecar
    """

    topic: Topic
    sample: int | None = SAMPLE
    seed: int = 0
    strategy: str = "auto"
    links: tuple[str, ...] = ("clause",)
    parser: str | None = None
    resolver: str = "rules"
    field: str = "text"
    min_count: int = 1
    source: str = ""

    def __post_init__(self) -> None:
        if self.sample is not None:
            COUNT.check("sample", self.sample)
        COUNT.check("min_count", self.min_count)
        SEED.check("seed", self.seed)
        if self.strategy not in STRATEGIES:
            raise SettingsError(
                f"strategy: expected one of {', '.join(STRATEGIES)}, found {self.strategy!r}"
            )
        unknown = [link for link in self.links if link not in LINKS]
        if unknown or not self.links:
            raise SettingsError(
                f"links: expected some of {', '.join(LINKS)}, found {', '.join(unknown) or 'none'}"
            )

    def describe(self) -> dict[str, Any]:
        """What the sidecar and the work folder say of the settings."""
        return {
            "topic": self.topic.name,
            "topic_sha256": self.topic.sha256,
            "language": self.topic.language,
            "sample": self.sample,
            "seed": self.seed,
            "strategy": self.strategy,
            "links": list(self.links),
            "parser": self.parser,
            "resolver": self.resolver,
            "field": self.field,
            "min_count": self.min_count,
            "source": self.source,
        }
