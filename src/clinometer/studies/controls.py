"""Controls: what the numbers of a run would be by chance, and against other references.

    shuffled words     words shuffled between the categories: risks without any meaning
    other references   the model's own prior, or the real world, instead of uniform
    placebo groups     "person", "someone", balanced first names: groups without information

The first two use the stored scores. Placebo groups have to be scored, once, in the same contexts;
they become a separate run in the folder `controls` of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.contexts import ContextSet, SetMetadata
from clinometer.display.text import Plain
from clinometer.errors import RunError, TableError
from clinometer.measure import Estimate, Preferences, RiskReport
from clinometer.measure.stereotype import REFERENCE_FLOOR
from clinometer.runs import Run, audit
from clinometer.runs.scores.accumulate import has_scores
from clinometer.runs.scores.shuffled_words import shuffled_counts
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import central_interval
from clinometer.storage.resumable import Progress
from clinometer.studies.factors import MEASURES, SOURCES, builtin_factors
from clinometer.studies.word_lists import risks_under
from clinometer.topics import Topic, placebo_groups
from clinometer.topics.topic import NAMES, NEUTRAL, PRONOUN


def placebo_run(run: Run, *, ask: bool, progress: Progress | None) -> tuple[Run | None, str]:
    """The run of the placebo groups, or why there is none."""
    record = run.record
    if not has_scores(run) or run.path is None:
        return None, "a reference model, or a run in memory, cannot be scored"
    folder = run.path / "controls"
    if not ask and not (folder / "run.json").is_file():
        return None, "placebo groups were not scored (--stored)"
    if record.topic.language.lower().split("-")[0] != "en":
        return None, f"placebo groups are English, the topic is {record.topic.language!r}"
    reference = record.topic.reference
    topic = Topic(
        f"{record.topic.name}-placebo",
        placebo_groups(record.topic.language),
        {c: tuple(words) for c, words in record.topic.attributes.items()},
        language=record.topic.language,
        reference=tuple(reference) if isinstance(reference, list) else reference,
        shared=record.topic.shared,
    )
    settings = replace(
        record.settings,
        max_contexts=None,
        precision=None,
        placebo=False,
        clusters=None,
        two_way=False,
        population="similar",  # the weights of the run are no longer counts
    )
    p = run.preferences  # a sample of contexts stays marked as one
    contexts = ContextSet(
        record.contexts.name,
        p.templates,
        p.context_weights.tolist(),
        metadata=SetMetadata(drawn=record.contexts.drawn),
    )
    found = audit(
        record.model.id,
        topic=topic,
        contexts=contexts,
        out=folder,
        settings=settings,
        progress=progress,
    )
    if found.record.model.revision != record.model.revision:
        raise RunError(
            f"{run.path}: was made with revision {record.model.revision} of {run.model}, the "
            f"placebo groups with {found.record.model.revision}; make the run again"
        )
    return found, ""


@dataclass(frozen=True)
class Control:
    """One line: three risks, and for chance their range.

    R, R_bias, R_volatility  each an `Estimate`; None if the control is not available (see `note`).
                             For shuffled words the mean, and the middle share as the interval
    p                        for shuffled words: the share of shuffles with an R^v at least as high
    """

    control: str
    option: str
    R: Estimate | None = None
    R_bias: Estimate | None = None
    R_volatility: Estimate | None = None
    note: str = ""
    p: float | None = None


@dataclass(frozen=True)
class Controls(Plain):
    """All lines of a run; the first is the run itself."""

    model: str
    rows: tuple[Control, ...]


def controls(
    run: Run,
    *,
    ask: bool = True,
    shuffles: int = 200,
    reference: pd.DataFrame | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Controls:
    """The controls of a run. With `ask` placebo groups are scored, unless they already were.
    `reference` is your own real-world table: one row per group, one share per category.
    """
    placebo, why = placebo_run(run, ask=ask, progress=progress)
    rows = [
        _row("as measured", "", run.risks),
        *_shuffled(run, shuffles, seed),
        *_references(run, placebo, why),
        *_real_world(run, reference),
        *_placebo_rows(placebo, why),
    ]
    return Controls(run.model, tuple(rows))


def _row(control: str, option: str, report: RiskReport, note: str = "") -> Control:
    return Control(control, option, report.R, report.R_bias, report.R_volatility, note)


def _shuffled(run: Run, n: int, seed: int) -> Iterator[Control]:
    if not has_scores(run):
        yield Control("shuffled words", "", note="no scores of words are stored")
        return
    level = 0.95
    for option, alike in (("any", False), ("of like probability", True)):
        found = risks_under(run, shuffled_counts(run, n, seed, alike=alike))
        mean = found.mean(axis=0)
        low, high = central_interval(found, level)
        ends = zip(
            mean.tolist(),
            np.minimum(low, mean).tolist(),
            np.maximum(high, mean).tolist(),
            strict=True,
        )
        R, bias, volatility = (Estimate(*value, level, "shuffled") for value in ends)
        above = int((found[:, 2] >= run.risks.R_volatility.value).sum())
        p = (1 + above) / (1 + n)
        yield Control("shuffled words", option, R, bias, volatility, f"{n} shuffles", p)


def _against(
    run: Run, reference: FloatArray | None, mask: NDArray[np.bool_] | None = None
) -> RiskReport:
    """The risks of the run's preferences against another p*."""
    p = run.preferences
    values = p.values if mask is None else np.where(mask[..., None], p.values, np.nan)
    return _measured(replace(p, values=values, reference=reference), run)


def _measured(preferences: Preferences, run: Run) -> RiskReport:
    """Measure like the run: with intervals if it has them."""
    settings = run.record.settings
    if run.risks.intervals is None:
        return preferences.decompose()
    return preferences.estimate(**settings.inference())


def _references(run: Run, placebo: Run | None, why: str) -> Iterator[Control]:
    p = run.preferences
    if p.reference is not None:
        yield _row("reference", "uniform", _against(run, None))
    groups = p.group_weights / p.group_weights.sum()
    yield from _prior(run, "its mean over the groups", _mean_over_groups(p.values, groups))
    if placebo is None:
        yield Control("reference", f"its prior ({NEUTRAL[0]})", note=why)
        return
    neutral = placebo.preferences.values[placebo.preferences.groups.index(NEUTRAL[0])]
    yield from _prior(run, f"its prior ({NEUTRAL[0]})", neutral)


def _prior(run: Run, name: str, by_context: FloatArray) -> Iterator[Control]:
    """Against a preference [C,Y] of the model itself: averaged, and context by context."""
    p = run.preferences
    weights = np.broadcast_to(p.context_weights, p.values.shape[:2])[0]
    seen = np.asarray(~np.isnan(by_context).any(axis=1))
    w = np.where(seen, weights, 0.0)
    mean = np.nan_to_num(by_context).T @ w / max(float(w.sum()), 1e-300)
    if mean.min() < REFERENCE_FLOOR:
        why = "a category never occurs in it" if w.any() else "no cell of it is observed"
        yield Control("reference", name, note=why)
        return
    shares = ", ".join(f"{c} {v:.3f}" for c, v in zip(p.categories, mean, strict=True))
    yield _row("reference", name, _against(run, mean), note=shares)
    known = seen & (np.where(seen[:, None], by_context, 0.0).min(axis=1) >= REFERENCE_FLOOR)
    if not known.any():
        yield Control("reference", f"{name}, same context", note="a category never occurs in it")
        return
    filled = np.where(known[:, None], by_context, 1.0 / by_context.shape[1])
    reference = np.broadcast_to(filled, p.values.shape)
    mask = np.broadcast_to(known, p.values.shape[:2])
    note = "" if known.all() else f"{(~known).sum()} contexts left out: a category never occurs"
    yield _row("reference", f"{name}, same context", _against(run, reference, mask), note=note)


def _mean_over_groups(values: FloatArray, weights: FloatArray) -> FloatArray:
    """[C,Y] from [X,C,Y], over the groups observed in a context; NaN if there is none."""
    seen = ~np.isnan(values).any(axis=2)
    w = weights[:, None] * seen
    total = w.sum(axis=0)[:, None]
    summed = np.einsum("xc,xcy->cy", w, np.nan_to_num(values))
    return np.where(total > 0, summed / np.where(total > 0, total, 1.0), np.nan)


def _real_world(run: Run, table: pd.DataFrame | None) -> Iterator[Control]:
    """Against the share of each category among the people of a group."""
    p = run.preferences
    name = "real world" if table is not None else "labour statistics (share of women)"
    source = "" if table is not None else f" ({SOURCES['percent_women']})"
    if table is None:
        if set(p.categories) != {"male", "female"}:
            note = "the package has figures for male and female only; use your own table"
            yield Control("reference", "real world", note=note)
            return
        women = builtin_factors()["percent_women"] / 100
        table = pd.DataFrame({"female": women, "male": 1 - women})
    missing = [c for c in p.categories if c not in table.columns]
    if missing:
        raise TableError(f"reference: expected a column for each category, no {', '.join(missing)}")
    shares = table[list(p.categories)].reindex(list(p.groups)).to_numpy(dtype=float)
    total = shares.sum(axis=1)
    known = np.isfinite(total) & (shares > 0).all(axis=1)
    if not known.any():
        note = "there is no figure for any group of this run"
        yield Control("reference", name, note=note)
        return
    reference = np.where(known[:, None], shares / total[:, None], 1.0 / len(p.categories))
    mask = np.broadcast_to(known[:, None], p.values.shape[:2])
    note = f"{known.sum()} of {len(known)} groups have a figure{source}"
    yield _row("reference", name, _against(run, reference, mask), note=note)


def _placebo_rows(placebo: Run | None, why: str) -> Iterator[Control]:
    if placebo is None:
        yield Control("placebo group", "", note=why)
        return
    p, report = placebo.preferences, placebo.risks
    for name in (*NEUTRAL, PRONOUN):
        yield _one(report, p.groups.index(name), name)
    everybody = [name for names in NAMES.values() for name in names]
    for label, members in {"balanced": everybody, **NAMES}.items():
        found = _measured(_mixture(p, members), placebo)
        note = f"{len(members)} names as one group"
        yield _row("placebo group", f"first names, {label}", found, note=note)


def _one(report: RiskReport, x: int, name: str) -> Control:
    """One group of a report as a line."""
    intervals, estimates = report.intervals, []
    for risk in MEASURES:
        value = float(getattr(report, risk)[x])
        if np.isnan(value):
            return Control("placebo group", name, note="not observed")
        ends = (np.nan, np.nan) if intervals is None else getattr(intervals, risk)[x]
        if intervals is None or np.isnan(ends).any():
            estimates.append(Estimate(value))
        else:
            low, high = (float(v) for v in ends)
            estimates.append(Estimate(value, low, high, intervals.level, intervals.method))
    note = f"leans to {report.leaning[x] or 'neither'}"
    R, bias, volatility = estimates
    return Control("placebo group", name, R, bias, volatility, note)


def _mixture(p: Preferences, names: Sequence[str]) -> Preferences:
    """One group whose preference is the mean over several."""
    rows = [p.groups.index(name) for name in names]
    values = _mean_over_groups(p.values[rows], np.ones(len(rows)))
    return replace(
        p, values=values[None], groups=("mixture",), group_weights=np.ones(1), coverage=None
    )
