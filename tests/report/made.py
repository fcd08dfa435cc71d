"""Runs made from numbers, through the library, without asking a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.contexts import ContextSet, load_contexts
from clinometer.contexts.load import default_contexts
from clinometer.measure import Estimate, Preferences
from clinometer.models import ModelInfo, WordScores
from clinometer.report.summary import RunSummary
from clinometer.runs import AuditSettings, Run, RunFolder
from clinometer.runs.folder.record import FloorRecord, WordsRecord, new_record
from clinometer.runs.folder.recover import LoadedRun
from clinometer.topics import Group, Topic, load_topic

HOSTILE = (
    '<script>document.title="pwned"</script>',
    '"><img src=x onerror="document.title=\'pwned\'">',
    "{{7*7}}",
    "right\u202eto left\u2066",
    "x" * 10_000,
    "</svg></style></title><script>document.title='pwned'</script>",
    "javascript:document.title='pwned'",
    "=cmd|' /C calc'!A0",
)


def made_run(
    folder: Path | None,
    *,
    groups: int,
    contexts: int,
    model: str = "made:model",
    categories: int = 2,
    lean: float = 0.4,
    seed: int = 0,
    hostile: bool = False,
    orders: int = 0,
) -> Run:
    """A finished run with preferences drawn around a lean of each group. With `orders` each
    wording comes in so many orders, and an order moves all answers by half a lean more."""
    rng = np.random.default_rng(seed)
    topic = _topic(groups, categories, hostile=hostile)
    extra = [f"The [X] said {text} that [Y]" for text in HOSTILE] if hostile else []
    templates = extra + [
        f"The [X] said on day {i} that [Y]" for i in range(contexts - len(extra))
    ]
    # The same questions whatever the seed: runs of two models can be compared.
    counts = (
        np.random.default_rng(99).zipf(1.7, len(templates)).clip(1, 1000).astype(float)
    )
    levels: dict[str, list[str]] = {}
    if orders:
        each = range(len(templates))
        levels = {"wording": [str(i // orders) for i in each]}
        levels["order"] = [str(i % orders) for i in each]
        counts = np.ones(len(templates))
    asked = ContextSet(
        "made" if not hostile else HOSTILE[0], templates, counts.tolist(), levels
    )
    shape = (len(topic), len(asked))
    logits = rng.normal(0, 0.6, (*shape, categories)) + rng.normal(
        0, 0.4, (len(topic), 1, categories)
    )
    logits[..., 0] += lean
    for i, order in enumerate(levels.get("order", ())):
        logits[:, i, 0] += 0.5 * int(order)
    p = np.exp(logits)
    p /= p.sum(axis=2, keepdims=True)
    coverage = 10 ** rng.normal(-1.5, 0.8, shape).clip(-6, 0)
    name = HOSTILE[1] if hostile else model
    return measured_run(
        name, topic, asked, AuditSettings(), folder, values=p, coverage=coverage
    )


def measured_run(
    model: str,
    topic: Topic,
    asked: ContextSet,
    settings: AuditSettings,
    folder: Path | None = None,
    **answers: Any,
) -> Run:
    """A model's answers to what it was asked, measured."""
    preferences = Preferences(
        groups=topic.group_names,
        contexts=asked.ids,
        categories=topic.categories,
        context_weights=asked.weights,
        group_weights=topic.group_weights,
        coverage_threshold=settings.coverage_threshold,
        templates=tuple(asked.templates),
        labels=asked.extra,
        **answers,
    )
    info = ModelInfo(name=model, kind="causal", revision="none")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    place = None if folder is None else RunFolder(folder)
    record = new_record(info, topic, asked, settings)
    return Run.measured(record, preferences, folder=place)


def started(folder: Path, model: str, chunk_size: int) -> Path:
    """An audit of gender × paper-gender that has scored nothing yet."""
    topic, contexts = load_topic("gender"), load_contexts("paper-gender")
    info = ModelInfo(name=model, kind="causal", revision="none")
    record = new_record(info, topic, contexts, AuditSettings())
    record.chunk_size = chunk_size
    record.words = WordsRecord(
        words=list(topic.words),
        tokens={w: [w] for w in topic.words},
        unwritable=[],
        same_tokens={},
        restricted=[],
        prefixes={},
        shared={},
        counts={"words_shared": 1},
    )
    folder.mkdir()
    RunFolder(folder).write_record(record)
    return folder


def add_part(folder: Path, first: int, n: int) -> None:
    """A part of its scores, as an audit writes it."""
    words = len(load_topic("gender").words)
    logs = np.log(np.random.default_rng(first).dirichlet(np.ones(words), n) * 0.5)
    scores = WordScores(logs, np.full(n, np.log(0.5)), np.zeros(n))
    RunFolder(folder).write_scores([(np.arange(first, first + n), scores)])


def made_half(folder: Path) -> Path:
    """500 of 1,200 cells, as an audit leaves them when it is killed."""
    started(folder, "made:half", 250)
    for first in (0, 250):
        add_part(folder, first, 250)
    return folder


def hiring_run(covered: float = 0.8, **lifted: float) -> Run:
    """A run whose share of yes is higher for some groups, by name with _ for a space."""
    topic = load_topic("hiring")
    contexts = default_contexts(topic)
    rng = np.random.default_rng(0)
    shape = (len(topic), len(contexts))
    lift = np.array(
        [lifted.get(name.replace(" ", "_"), 0.0) for name in topic.group_names]
    )
    yes = 0.7 + lift[:, None] + rng.normal(0, 0.12, shape).clip(-0.19, 0.19)
    answers: dict[str, Any] = {
        "values": np.stack([yes, 1 - yes], axis=-1),
        "coverage": np.full(shape, covered),
    }
    settings = AuditSettings(clusters="wording")
    return measured_run(
        "made", topic, contexts, settings, **answers, reference="group-mean"
    )


def summary_of(run: Run, name: str = "m") -> RunSummary:
    """What a page knows of a finished run."""
    return RunSummary(LoadedRun(run.path or Path("x"), name, "finished", run=run))


def with_floor(run: Run) -> Run:
    """The run as if shuffled words gave more R than it has, and less difference of groups."""
    e = Estimate(
        run.risks.R.value + 0.1, run.risks.R.value - 0.05, 0.6, 0.95, "shuffled"
    )
    floor = FloorRecord(
        shuffles=100, R=e, R_bias=e, R_volatility=e, R_between=e, p=0.7, p_between=0.01
    )
    return replace(run, record=run.record.model_copy(update={"floor": floor}))


def without(run: Run, *cells: Any) -> Run:
    """The run, measured without some of its cells."""
    values = run.preferences.values.copy()
    for cell in cells:
        values[cell] = np.nan
    preferences = replace(run.preferences, values=values)
    return replace(run, preferences=preferences, risks=preferences.decompose())


def _topic(groups: int, categories: int, *, hostile: bool) -> Topic:
    if hostile:
        names = [*HOSTILE, *(f"group {i}" for i in range(groups - len(HOSTILE)))]
        return Topic(
            "hostile",
            groups=tuple(Group(n) for n in names),
            attributes={HOSTILE[0]: (HOSTILE[0],), HOSTILE[1]: ("b",)},
            title=HOSTILE[5],
        )
    if categories == 2 and groups <= 120:
        whole = load_topic("gender")
        return whole if groups == 120 else whole.select(whole.group_names[:groups])
    return Topic(
        "made",
        groups=tuple(Group(f"group {i}") for i in range(groups)),
        attributes={f"category {k}": (f"word{k}",) for k in range(categories)},
    )
