"""BBQ as an audit: ask a model its questions, or read published replies, and measure both ways.

The run holds R, bias and volatility of the ambiguous items beside the benchmark's own scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from clinometer.contexts import ContextSet
from clinometer.errors import SettingsError, TableError, TopicError
from clinometer.measure import Preferences
from clinometer.models import ModelInfo, ModelSpec, open_model
from clinometer.models.protocol import Scorer
from clinometer.readouts import UNREAD, read_choice
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import BenchmarkRecord, UnreadReply, new_record
from clinometer.runs.run import Run
from clinometer.runs.settings import AuditSettings
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.jsonl import Lines, Row
from clinometer.storage.resumable import Progress
from clinometer.topics import Group, Prompt, Topic
from clinometer.topics.bbq import FORMATS, BbqAnswer, BbqFormat, BbqItem, bbq_scores, digest

# --- Published replies ----------------------------------------------------------------------------


def read_replies(
    items: Sequence[BbqItem], fields: Mapping[str, str]
) -> tuple[list[BbqAnswer], list[UnreadReply]]:
    """What published answers say, and those that say none of the options.

    Args:
        items: of BBQ.
        fields: prompt format -> the field of the file that holds its answers.
    """
    answers, unread = [], []
    for name, field in fields.items():
        for item in items:
            if field not in item.fields:
                known = ", ".join(item.fields) or "none"
                raise TableError(
                    f"{item.id}: expected the answers in a field {field!r}, found {known}; name "
                    "the field with --answers FORMAT=FIELD"
                )
            reply = item.fields[field]
            option = read_choice(reply, item.options, question=item.question)
            answers.append(BbqAnswer(item, name, option))
            if option < 0:
                unread.append(
                    UnreadReply(item=item.id, format=name, reply=reply, why=UNREAD[option])
                )
    return answers, unread


def answer_fields(items: Sequence[BbqItem]) -> dict[str, str]:
    """The fields of a file that hold answers, by format: what follows `_pred_` in their names.

    >>> answer_fields([])
    {}
    """
    names = list(items[0].fields) if items else []
    return {name.rpartition("_pred_")[2]: name for name in names if "_pred_" in name}


# --- The run --------------------------------------------------------------------------------------


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


# --- Asking a model -------------------------------------------------------------------------------


TOGETHER = 32
"""Prompts scored at a time: what a kill may cost."""


def bbq_audit(
    model: str,
    items: Sequence[BbqItem],
    *,
    name: str,
    formats: Sequence[str] = tuple(FORMATS),
    out: Path | None = None,
    settings: AuditSettings | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Score the options of every item in every prompt format, and measure what they say.

    The probabilities of an item's options are their shares of the sum over the three; the option
    with the largest is the answer for BBQ's own scores. With `out`, scores are stored in
    options.jsonl there as they come, and the same call resumes.
    """
    settings = settings or AuditSettings()
    chosen = chosen_formats(formats)
    asked = [(form, item) for form in chosen for item in items]
    load = settings.load
    identity = {"model": model, "items": digest(items), "dtype": load.dtype, "chat": load.chat}
    if load.chat:
        raise SettingsError("chat: expected a model without its chat template for bbq:FILE")
    with Lines(None if out is None else _file(out), identity).resumed(fresh=fresh) as lines:
        scorer = open_model(
            ModelSpec.parse(model), load=load, words=replace(settings.words, tolerance=0.0)
        )
        try:
            left = [(f, i) for f, i in asked if _id(f, i) not in lines.rows]
            rows = lines.take(_scored(scorer, left), [_id(f, i) for f, i in asked], progress)
        finally:
            scorer.close()
    found = {row["id"]: np.array(row["log_probs"]) for row in rows}
    p = {form.name: _shares([found[_id(form, item)] for item in items]) for form in chosen}
    return bbq_run(scorer.info, BbqReplies(tuple(items), p), settings, name=name, out=out)


def chosen_formats(names: Sequence[str]) -> list[BbqFormat]:
    """Formats by name."""
    for name in names:
        if name not in FORMATS:
            raise SettingsError(
                f"contexts: expected prompt formats of BBQ ({', '.join(FORMATS)}), found {name!r}"
            )
    return [FORMATS[name] for name in dict.fromkeys(names)]


def _file(out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    return out / "options.jsonl"


def _id(form: BbqFormat, item: BbqItem) -> str:
    return f"{item.id} {form.name}"


def _scored(scorer: Scorer, asked: Sequence[tuple[BbqFormat, BbqItem]]) -> Iterator[Row]:
    """One row per prompt. Prompts with the same options are scored together."""
    alike: dict[tuple[str, ...], list[tuple[BbqFormat, BbqItem]]] = {}
    for form, item in asked:
        alike.setdefault(form.answers(item), []).append((form, item))
    for answers, members in alike.items():
        for start in range(0, len(members), TOGETHER):
            some = members[start : start + TOGETHER]
            prompts = [Prompt(form.text(item), "", space=True) for form, item in some]
            scores = scorer.score(prompts, answers).log_probs
            for (form, item), row in zip(some, scores.tolist(), strict=True):
                yield {"id": _id(form, item), "log_probs": row}


def _shares(log_probs: Sequence[FloatArray]) -> FloatArray:
    logs = np.stack(log_probs)
    return np.asarray(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))
