"""A run over BBQ: R, bias and volatility beside the benchmark's own scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from clinometer.contexts import ContextSet
from clinometer.errors import TopicError
from clinometer.measure import Preferences
from clinometer.models import ModelInfo
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import new_record
from clinometer.runs.folder.record_schema import BenchmarkRecord, UnreadReply
from clinometer.runs.run import Run
from clinometer.runs.settings import AuditSettings
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Group, Topic
from clinometer.topics.bbq.items import BbqItem, digest
from clinometer.topics.bbq.scores import BbqAnswer, bbq_scores

CATEGORIES = ("stereotype", "against")
QUESTION = "question"


@dataclass(frozen=True, eq=False)
class BbqReplies:
    """The probabilities of the options of every item in every format.

    items   as they were asked
    p       format -> [n, 3], in the order of the file; NaN where a reply says none of them
    unread  these replies
    """

    items: tuple[BbqItem, ...]
    p: Mapping[str, FloatArray]
    unread: tuple[UnreadReply, ...] = ()

    @classmethod
    def of(cls, answers: Sequence[BbqAnswer], unread: Sequence[UnreadReply]) -> BbqReplies:
        """From one reply to each item in each format."""
        items = tuple(dict.fromkeys(a.item.id for a in answers))
        place = {name: i for i, name in enumerate(items)}
        p: dict[str, FloatArray] = {}
        by_id = {a.item.id: a.item for a in answers}
        for answer in answers:
            shares = p.setdefault(answer.format, np.full((len(items), 3), np.nan))
            if answer.option >= 0:
                shares[place[answer.item.id]] = np.eye(3)[answer.option]
        return cls(tuple(by_id[name] for name in items), p, tuple(unread))

    def answers(self) -> list[BbqAnswer]:
        """The most probable option of each item in each format; −1 where none was read."""
        found = []
        for name, p in self.p.items():
            best = np.where(np.isnan(p).any(axis=1), -1, np.argmax(np.nan_to_num(p), axis=1))
            found += [
                BbqAnswer(item, name, int(option))
                for item, option in zip(self.items, best.tolist(), strict=True)
            ]
        return found


def bbq_run(
    info: ModelInfo,
    replies: BbqReplies,
    settings: AuditSettings,
    *,
    name: str,
    out: Path | None = None,
) -> Run:
    """Measure what a model said to BBQ's questions.

    In ambiguous contexts neither group can be known to be meant. The two categories are what the
    stereotype says and its opposite; "unknown" counts half for each, so that s is the probability
    of the one minus that of the other: 0 for a model that says "unknown", and the mean of s over
    the items is BBQ's bias score. Contexts are items in prompt formats, groups the stereotyped
    groups; intervals resample questions. In disambiguated contexts an answer should follow the
    context, and only BBQ's own scores are given.
    """
    asked = [(i, item) for i, item in enumerate(replies.items) if item.ambiguous and item.roles]
    if not asked:
        raise TopicError(
            f"{name}: expected ambiguous items whose file tells the stereotyped group, found none"
        )
    groups = tuple(dict.fromkeys(item.group for _, item in asked))
    topic = _topic(name, groups, digest(replies.items))
    contexts = _contexts(name, asked, tuple(replies.p))
    values = np.full((len(groups), len(contexts), 2), np.nan)
    at = 0
    for p in replies.p.values():
        for i, item in asked:
            values[groups.index(item.group), at] = _halved(p[i], item)
            at += 1
    preferences = Preferences(
        values=values,
        groups=groups,
        contexts=contexts.ids,
        categories=CATEGORIES,
        context_weights=contexts.weights,
        group_weights=topic.group_weights,
        templates=tuple(contexts.templates),
        labels=contexts.extra,
    )
    settings = replace(settings, clusters=settings.clusters or QUESTION)
    record = new_record(info, topic, contexts, settings)
    record.benchmark = BenchmarkRecord(
        name="BBQ",
        scores=list(bbq_scores(replies.answers())),
        replies=len(replies.items) * len(replies.p),
        unread=list(replies.unread),
        unscored=[item.id for item in replies.items if item.roles is None],
    )
    folder = None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        folder = RunFolder(out)
    return Run.measured(record, preferences, settings, folder=folder)


def _halved(p: FloatArray, item: BbqItem) -> FloatArray:
    """Probabilities of stereotype and against, "unknown" half for each."""
    roles = item.roles or ()
    of = dict(zip(roles, p.tolist(), strict=True))
    half = of["unknown"] / 2
    return np.array([of["stereotype"] + half, of["against"] + half])


def _topic(name: str, groups: Sequence[str], sha256: str) -> Topic:
    return Topic(
        "bbq-" + "".join(c if c.isalnum() or c in "-_" else "-" for c in name),
        groups=tuple(Group(group) for group in groups),
        attributes={category: (category,) for category in CATEGORIES},
        title=f"BBQ: {name}",
        source=f"Parrish et al. 2022; items sha256 {sha256}",
    )


def _contexts(
    name: str, asked: Sequence[tuple[int, BbqItem]], formats: Sequence[str]
) -> ContextSet:
    """Every ambiguous item in every format, with question, polarity and format as factors."""
    templates, extra = [], {QUESTION: list[str](), "polarity": list[str](), "format": list[str]()}
    for form in formats:
        for _, item in asked:
            options = " ".join(f"({c}) {text}" for c, text in zip("abc", item.options, strict=True))
            shown = f"{item.context} {item.question} {options}".replace("[", "(").replace("]", ")")
            templates.append(f"[X], {item.id}, {form}: {shown} [Y]")
            extra[QUESTION].append(f"{item.category} {item.question_id}")
            extra["polarity"].append(item.polarity)
            extra["format"].append(form)
    kept = extra if len(formats) > 1 else {k: v for k, v in extra.items() if k != "format"}
    return ContextSet(f"bbq-{name}", templates, [1.0] * len(templates), kept)
