"""An audit as the samples of a task of Inspect, and its replies as an audit reads them.

Nothing here needs Inspect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from clinometer.bridges.mapping import SampleMapping
from clinometer.bridges.sample_cells import SampleCells
from clinometer.contexts import ContextSet
from clinometer.errors import RunError, SettingsError, TableError
from clinometer.measure import RiskReport
from clinometer.models.options import SampleOptions
from clinometer.models.replies import open_reader
from clinometer.models.sampled import check_continued, recognised
from clinometer.readouts import OTHER, UNREAD, Readout
from clinometer.runs import AuditSettings
from clinometer.runs.resolve import resampling_clusters
from clinometer.runs.scores import CellGrid
from clinometer.storage.untrusted import NOTHING
from clinometer.topics import Prompt, Topic, parse_topic
from clinometer.topics.toml_text import topic_text

KEY = "clinometer"
"""The key of a task's and a sample's metadata that is ours."""

AUDIT_SAMPLES = SampleMapping(
    name="audit",
    group="{group}",
    context="{context}",
    category="{category}",
    labels={"unit": "{unit}"},
)
"""Where samples of clinometer/audit belong, by their metadata."""


@dataclass(frozen=True)
class InspectAudit:
    """What is asked, and how replies are sampled; all of it travels in the log."""

    topic: Topic
    contexts: ContextSet
    options: SampleOptions

    @cached_property
    def grid(self) -> CellGrid:
        return CellGrid(self.topic, self.contexts, chunk_size=16)

    @cached_property
    def prompts(self) -> list[Prompt]:
        """Return the prompt of every cell."""
        return self.grid.prompts(range(len(self.grid)))

    def metadata(self) -> dict[str, Any]:
        """Return metadata for the task: what makes the samples an audit again."""
        extra = self.contexts.extra
        return {
            "topic": topic_text(self.topic),
            "contexts": {
                "name": self.contexts.name,
                "templates": list(self.contexts.templates),
                "counts": list(self.contexts.counts),
                "extra": {name: list(column) for name, column in extra.items()},
            },
            "replies": self.options.replies,
            "temperature": self.options.temperature,
            "reply_tokens": self.options.tokens,
            "seed": self.options.seed,
        }

    @classmethod
    def from_metadata(cls, plain: Mapping[str, Any], *, where: str) -> Self:
        """Return the audit that `metadata` describes."""
        sampling = ("replies", "temperature", "reply_tokens", "seed")
        try:
            return cls(
                parse_topic(plain["topic"], where=where),
                ContextSet(**plain["contexts"]),
                SampleOptions(**{key: plain[key] for key in sampling}),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise SettingsError(
                f"{where}: expected the metadata of an audit, found other"
            ) from error

    def samples(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Return the text of every cell, and its metadata."""
        groups, contexts = self.grid.indices(np.arange(len(self.grid), dtype=np.int64))
        label = resampling_clusters(AuditSettings(), self.topic, self.contexts)
        units = self.contexts.templates if label is None else self.contexts.extra[label]
        check_continued(f"contexts {self.contexts.name!r}", self.prompts)
        for cell, prompt in enumerate(self.prompts):
            x = int(groups[cell])
            c = int(contexts[cell])
            metadata = {
                "group": self.topic.group_names[x],
                "context": self.contexts.templates[c],
                "cell": cell,
                "group_weight": float(self.topic.group_weights[x]),
                "context_weight": float(self.contexts.weights[c]),
                "unit": units[c],
            }
            yield prompt.before, metadata


@dataclass(frozen=True)
class ReplyReader:
    """A reader of replies by the rules of `clinometer audit --replies`.

    To a sentence the category is that of the word the reply begins with; a word of several
    categories counts for none of them. To a question, what the topic's readout makes of it.
    """

    topic: Topic

    @cached_property
    def _readout(self) -> Readout:
        return open_reader(self.topic.readout, self.topic.attributes, NOTHING)

    def read(self, reply: str, *, group: str, template: str) -> tuple[str | None, str]:
        """Return the category (None if it is not one) and the word, or why there is none.

        >>> from clinometer.topics import load_topic
        >>> reader = ReplyReader(load_topic("gender"))
        >>> reader.read(" she left", group="nurse", template="The [X] said that [Y]")
        ('female', 'she')
        >>> reader.read("I'm sorry", group="nurse", template="The [X] said that [Y]")
        (None, 'refusals')
        """
        prompt = self.topic.render(template, group)
        words = self.topic.words
        if prompt.shown is not None:
            (number,) = self._readout.read([reply], [prompt.shown])
        else:
            number = recognised(reply, tuple(words), prompt.before, space=prompt.space)
        if number < 0:
            return None, UNREAD.get(number, UNREAD[OTHER])
        if prompt.shown is not None:
            category = self.topic.categories[number]
            return category, category
        word = words[number]
        categories = [
            name for name, texts in self.topic.attributes.items() if word in texts
        ]
        return (categories[0] if len(categories) == 1 else None), word


def risks_of(
    replies: Iterable[tuple[Mapping[str, Any], str | None]],
    categories: list[str],
    reference: list[float] | Literal["group-mean"] | None,
) -> RiskReport | None:
    """Return R and its parts of categories of replies, each after its sample's metadata; None while
    there are too few.

    Contexts of one unit are resampled together, as an audit does with questions of one wording.
    """
    cells = SampleCells(AUDIT_SAMPLES, categories)
    group_weights: dict[str, float] = {}
    context_weights: dict[str, float] = {}
    for metadata, category in replies:
        group_weights[metadata["group"]] = metadata["group_weight"]
        context_weights[metadata["context"]] = metadata["context_weight"]
        cells.add_reply(AUDIT_SAMPLES.place(metadata, where="sample"), category)
    try:
        preferences = replace(
            cells.preferences(),
            context_weights=np.array(list(context_weights.values())),
            group_weights=np.array(list(group_weights.values())),
            reference=reference,
        )
        units = preferences.label("unit")
        clusters = "unit" if len(set(units)) < len(units) else None
        return preferences.estimate(clusters=clusters)
    except (SettingsError, TableError):
        # Too few replies to correct for their number, or none.
        return None


@dataclass(frozen=True)
class LoggedReply:
    """What a log tells of one reply."""

    cell: int
    epoch: int
    text: str

    prompt: str
    """The text that was asked."""

    model: str
    """The model that answered."""


def replies_by_cell(
    audit: InspectAudit, replies: Iterable[LoggedReply], where: str
) -> list[tuple[str, ...]]:
    """Return the replies of every cell in the order of their epochs.

    Each must be there once, to its cell's prompt, by one model, and as many of each as were asked.
    """
    by_epoch: list[dict[int, str]] = [{} for _ in audit.prompts]
    first_model = ""
    for reply in replies:
        place = f"{where}: cell {reply.cell}, epoch {reply.epoch}"
        if reply.prompt != audit.prompts[reply.cell].before:
            raise TableError(
                f"{place}: expected the prompt of the cell, found another text; import an "
                "unchanged log"
            )
        if reply.epoch in by_epoch[reply.cell]:
            raise TableError(
                f"{place}: expected one reply, found a second; import the log of one evaluation"
            )
        first_model = first_model or reply.model
        if reply.model != first_model:
            raise TableError(
                f"{place}: expected answers of one model, found {reply.model!r} after "
                f"{first_model!r}: evaluate each by itself"
            )
        by_epoch[reply.cell][reply.epoch] = reply.text
    n = audit.options.replies
    incomplete = [cell for cell, texts in enumerate(by_epoch) if len(texts) != n]
    if incomplete:
        cell = incomplete[0]
        raise RunError(
            f"{where}: expected {n} replies in each of {len(by_epoch)} cells, found "
            f"{len(by_epoch[cell])} in cell {cell} and other numbers in "
            f"{len(incomplete)} cells; 'inspect eval-retry' finishes the evaluation"
        )
    return [tuple(text for _, text in sorted(texts.items())) for texts in by_epoch]
