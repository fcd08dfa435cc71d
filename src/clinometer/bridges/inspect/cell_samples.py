"""An audit as samples of Inspect: one per cell, an epoch per reply. Nothing here needs Inspect."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from clinometer.bridges.cells import counted_replies
from clinometer.contexts import ContextSet
from clinometer.errors import SettingsError
from clinometer.measure import Preferences, RiskReport
from clinometer.measure.preferences import as_reference
from clinometer.models.generation.readers import open_reader
from clinometer.models.generation.recognise import Recogniser
from clinometer.models.options import SampleOptions
from clinometer.readouts import OTHER, UNREAD, Readout
from clinometer.runs.audit import by_wording
from clinometer.runs.cells import CellGrid
from clinometer.runs import AuditSettings
from clinometer.topics import Topic, parse_topic
from clinometer.topics.write import topic_text

#: The key of a task's and a sample's metadata that is ours.
KEY = "clinometer"


@dataclass(frozen=True)
class InspectAudit:
    """What is asked, and how replies are sampled; all of it travels in the log."""

    topic: Topic
    contexts: ContextSet
    options: SampleOptions

    @cached_property
    def grid(self) -> CellGrid:
        return CellGrid(self.topic, self.contexts, chunk_size=16)

    def metadata(self) -> dict[str, Any]:
        """For the task: what makes the samples an audit again."""
        return {
            "topic": topic_text(self.topic),
            "contexts": {
                "name": self.contexts.name,
                "templates": list(self.contexts.templates),
                "counts": list(self.contexts.counts),
                "extra": {name: list(column) for name, column in self.contexts.extra.items()},
            },
            "replies": self.options.draws,
            "temperature": self.options.temperature,
            "length": self.options.tokens,
            "seed": self.options.seed,
        }

    @classmethod
    def from_metadata(cls, plain: Mapping[str, Any], *, where: str) -> Self:
        """The audit that `metadata` describes."""
        try:
            contexts = plain["contexts"]
            return cls(
                parse_topic(plain["topic"], where=where),
                ContextSet(
                    contexts["name"],
                    contexts["templates"],
                    contexts["counts"],
                    extra=contexts.get("extra", {}),
                ),
                SampleOptions(
                    draws=plain["replies"],
                    temperature=plain["temperature"],
                    length=plain["length"],
                    seed=plain["seed"],
                ),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise SettingsError(
                f"{where}: expected the metadata of an audit, found other"
            ) from error

    def samples(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The text of every cell, and its metadata."""
        groups, contexts = self.grid.places(np.arange(len(self.grid), dtype=np.int64))
        label = by_wording(AuditSettings(), self.topic, self.contexts).clusters
        units = self.contexts.templates if label is None else self.contexts.extra[label]
        for cell, prompt in enumerate(self.grid.prompts(range(len(self.grid)))):
            if prompt.after or not prompt.before:
                raise SettingsError(
                    f"contexts {self.contexts.name!r}: a sampled model continues a text: use "
                    "templates that end with [Y] and do not begin with it"
                )
            x, c = int(groups[cell]), int(contexts[cell])
            yield (
                prompt.before,
                {
                    "group": self.topic.group_names[x],
                    "context": self.contexts.templates[c],
                    "cell": cell,
                    "group_weight": float(self.topic.group_weights[x]),
                    "context_weight": float(self.contexts.weights[c]),
                    "unit": units[c],
                },
            )


@dataclass(frozen=True)
class ReplyReader:
    """Which category a reply is, by the rules of `clinometer audit --sampled`.

    To a sentence it is that of the word the reply begins with; a word of several categories counts
    for none of them. To a question, what the topic's readout makes of it.
    """

    topic: Topic

    @cached_property
    def _readout(self) -> Readout | None:
        table = self.topic.readout
        return None if table is None else open_reader(table, self.topic.attributes)

    def read(self, reply: str, *, group: str, template: str) -> tuple[str | None, str]:
        """The category (None if it is not one) and the word, or why there is none.

        >>> from clinometer.topics import load_topic
        >>> reader = ReplyReader(load_topic("gender"))
        >>> reader.read(" she left", group="nurse", template="The [X] said that [Y]")
        ('female', 'she')
        >>> reader.read("I'm sorry", group="nurse", template="The [X] said that [Y]")
        (None, 'refusals')
        """
        prompt, words = self.topic.render(template, group), self.topic.words
        if self._readout is not None and prompt.shown is not None:
            (number,) = self._readout.read([reply], [prompt.shown])
        else:
            number = Recogniser.of(words, space=prompt.space).read(reply, prompt.before)
        if number < 0:
            return None, UNREAD.get(number, UNREAD[OTHER])
        if self._readout is not None:
            return self.topic.categories[number], self.topic.categories[number]
        word = words[number]
        homes = [name for name, texts in self.topic.attributes.items() if word in texts]
        return (homes[0] if len(homes) == 1 else None), word


def risks_of(
    replies: Iterable[tuple[Mapping[str, Any], str | None]],
    categories: list[str],
    reference: list[float] | Literal["group-mean"] | None,
    *,
    replicates: int = 2000,
) -> RiskReport | None:
    """R and its parts of replies, each with its sample's metadata; None while there are too few.

    Contexts of one unit are resampled together, as an audit does with questions of one wording.
    """
    cells: dict[tuple[str, str], Counter[str | None]] = defaultdict(Counter)
    groups: dict[str, float] = {}
    contexts: dict[str, float] = {}
    units: dict[str, str] = {}
    for about, category in replies:
        groups[about["group"]] = about["group_weight"]
        contexts[about["context"]] = about["context_weight"]
        units[about["context"]] = about.get("unit", about["context"])  # not in earlier logs
        cells[about["group"], about["context"]][category] += 1
    shape = (len(groups), len(contexts))
    values = np.full((*shape, len(categories)), np.nan)
    answers = np.zeros(shape)
    for x, group in enumerate(groups):
        for c, context in enumerate(contexts):
            if (group, context) in cells:
                found = counted_replies(cells[group, context], categories)
                answers[x, c], _, values[x, c] = found
    if np.isnan(values).all():
        return None
    preferences = Preferences(
        values=values,
        groups=tuple(groups),
        contexts=tuple(contexts),
        categories=tuple(categories),
        context_weights=np.array(list(contexts.values())),
        group_weights=np.array(list(groups.values())),
        reference=as_reference(reference),
        answers=answers,
        labels={"unit": tuple(units.values())},
    )
    together = len(set(units.values())) < len(units)
    try:
        return preferences.estimate(replicates=replicates, clusters="unit" if together else None)
    except SettingsError:  # too few replies to correct for their number
        return None
