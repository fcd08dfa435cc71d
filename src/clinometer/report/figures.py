"""The figures of reports: runs in, charts with their words out.

First one run, then several, then a lean against a social factor. Every caption names the basis of
its numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from clinometer.display.numbers import p_relation, percent, show
from clinometer.display.text import brief
from clinometer.errors import SettingsError
from clinometer.measure import Comparison, Estimate, Preferences, reference_risks
from clinometer.measure.distribution import stereotype_sample, weighted_density
from clinometer.measure.leaning import GroupLean
from clinometer.measure.risks import GROUP_RISKS, MEASURES
from clinometer.report import charts
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.charts import (
    BIAS,
    DECISION,
    MARK,
    VOLATILITY,
    category_colours,
    distinct,
    model_colours,
)
from clinometer.report.figure import Figure, chart
from clinometer.runs import Run
from clinometer.runs.departures import joint
from clinometer.runs.findings.of_models import leaning
from clinometer.runs.findings.replies import deviation
from clinometer.runs.kinds import kinds_shown
from clinometer.runs.names import context_noun, group_noun, groups_noun
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import with_ends
from clinometer.statistics.regression import regress
from clinometer.topics.conversation import CASE
from clinometer.topics.shortened import gaps_shown, question_label

REFERENCES = (
    ("Ideally unbiased", "unbiased"),
    ("Stereotyped", "stereotyped"),
    ("Randomly stereotyped", "random"),
)

#: Names of the built-in factors as an axis shows them.
FACTOR_NAMES = {
    "median_annual_wage_usd": "median pay, US$ a year",
    "mean_years_education": "mean years of education",
    "percent_women": "share of women, %",
    "log10_per_million_words": "frequency of the word, log₁₀ per million",
    "log10_per_million_listed": "frequency of the word in the list, log₁₀ per million",
}

#: The unit of a slope: (number of units, in words).
FACTOR_STEPS = {
    "median_annual_wage_usd": (10_000, "US$ 10,000 more a year"),
    "mean_years_education": (1, "year of education"),
    "percent_women": (10, "10 points more women"),
    "log10_per_million_words": (1, "tenfold frequency"),
    "log10_per_million_listed": (1, "tenfold frequency"),
}

#: Groups on the first screen, and how many of each side before the rest is taken evenly.
FIRST_GROUPS, _EXTREMES = 18, 4

#: Groups on which models differ most, below the chart of their risks on the same screen.
_SPREAD_GROUPS = 12

#: Contexts of the figure of swing.
_SWING_CONTEXTS = 15


def basis(run: Run) -> str:
    """The basis of every number of a run; every chart shows it."""
    report = run.risks
    seen = len(report.groups) - len(report.missing_groups)
    text = (
        f"{seen} groups × {report.n_contexts:,} contexts, {report.n_eff:,.1f} effective"
    )
    return text + (
        f", {report.missing_cells:,} cells missing" if report.missing_cells else ""
    )


def leans_figure(cells: CellStatistics) -> Figure:
    """Return the groups as the chart of the outcome shows them: of two categories dots with
    intervals, as shares of words or as distances from what all groups get in the same context; of
    more categories stacked shares.

    At most FIRST_GROUPS: the outermost, and evenly spaced ones between; people in panels, where
    they are shown in several ways.
    """
    makers = {
        "distances": _departures_figure,
        "dots": _dots_figure,
        "stacks": _stacks_figure,
    }
    return makers[cells.run.outcome.chart](cells)


def _dots_figure(cells: CellStatistics) -> Figure:
    """Return the shares of one of two categories, the lowest first."""
    run, end = cells.run, cells.run.outcome.far_end
    context = context_noun(run)
    thin = f"middle 90 % of its {context}s"
    if cells.whole_range:
        thin = f"lowest to highest {context}"
    intervals = _thick(run, cells.mean_ends)
    caption = f"Dot: average.{intervals} Thin: {thin}. Ring: not clear."
    return _shares_figure(cells, cells.share[:, end], end, caption, draw=_dots)


def _stacks_figure(cells: CellStatistics) -> Figure:
    """Return the shares of all categories, the highest risk first."""
    run = cells.run
    caption = (
        f"Share of {run.outcome.each_category}, averaged over {context_noun(run)}s. Grey name: not "
        "clear."
    )
    order = -np.nan_to_num(run.risks.r, nan=-np.inf)
    return _shares_figure(cells, order, -1, caption, draw=_stacks)


def _shares_figure(
    cells: CellStatistics,
    order: FloatArray,
    category: int,
    caption: str,
    *,
    draw: Callable[[CellStatistics, Sequence[int], int], charts.Spec],
) -> Figure:
    """Return the groups in the order of a number [X]; the text alternative has the share of one
    category."""
    run, frame = cells.run, _leans_frame(cells)
    seen = cells.seen[np.argsort(order[cells.seen], kind="stable")].tolist()
    groups = _few(seen)
    name = run.preferences.categories[category]
    share_of = run.outcome.category_noun(name)
    shares = _each(frame.iloc[groups], f"share of {name}", percent)
    title = f"{_question(run)} By {group_noun(run)}"
    return Figure(
        key="groups",
        title=title,
        caption=f"{_shown_of(len(groups), len(seen))}{caption}",
        alt=f"{title}. Share of {share_of}: {shares}.",
        draw=lambda width: draw(cells, groups, width),
        table=frame,
    )


def _few(groups: list[int]) -> list[int]:
    """At most FIRST_GROUPS, in order: the outermost and evenly spaced ones between."""
    if len(groups) <= FIRST_GROUPS:
        return groups
    steps = np.linspace(
        _EXTREMES, len(groups) - _EXTREMES - 1, FIRST_GROUPS - 2 * _EXTREMES
    )
    return [
        *groups[:_EXTREMES],
        *(groups[round(i)] for i in steps),
        *groups[-_EXTREMES:],
    ]


def _shown_of(shown: int, of: int) -> str:
    return f"{shown} of {of} shown. " if shown < of else ""


def _each(frame: pd.DataFrame, value: str, form: Callable[[float], str]) -> str:
    """Each group with its value, for the text alternative."""
    return "; ".join(
        f"{r['group']} {form(r[value])}" + ("" if r["clear"] else " (not clear)")
        for r in frame.to_dict("records")
    )


def _question(run: Run) -> str:
    """What the chart of the groups answers."""
    return run.outcome.question(run.record.topic.title)


def _thick(run: Run, ends: ArrayLike) -> str:
    """What the thick line is: the interval that goes with the tests of all groups."""
    if not np.isfinite(np.asarray(ends, dtype=float)).any():
        return f" No interval: {run.risks.n_contexts} {context_noun(run)}s are too few."
    level = 100 * run.record.settings.level
    return f" Thick: its {level:g} % interval, all {groups_noun(run)} looked at."


def palette(run: Run) -> list[str]:
    """A colour per category; of a decision a hue for the favourable answer, grey for the other."""
    y, colours = run.outcome.coloured, category_colours(len(run.preferences.categories))
    return colours if y is None else [DECISION if i == y else MARK for i in range(2)]


def is_faint(run: Run) -> bool:
    """Whether the words carry so little probability that their shares say nothing."""
    return run.findings[0].kind == "improbable"


def _leans_frame(cells: CellStatistics) -> pd.DataFrame:
    """One row per group: shares, ranges, whether its lean is clear."""
    run, (low, high) = cells.run, cells.share_range
    names = run.preferences.categories
    frame = pd.DataFrame({"group": run.risks.groups})
    for y, name in enumerate(names):
        frame[f"share of {name}"] = cells.share[:, y]
        frame[f"lowest share of {name}"] = low[:, y]
        frame[f"highest share of {name}"] = high[:, y]
    frame["leans to"] = [names[y] if y >= 0 else None for y in cells.side]
    frame["clear"] = cells.clear
    for name in ("r", "r_bias", "r_volatility"):
        frame[name] = getattr(run.risks, name)
    return frame


def _dots(cells: CellStatistics, groups: Sequence[int], width: int) -> charts.Spec:
    run, end = cells.run, cells.run.outcome.far_end
    names, colours = run.preferences.categories, palette(run)
    share_of = run.outcome.category_noun(names[end])
    ends = np.stack([*cells.share_range, *cells.mean_ends])[:, groups, end]
    columns = ("range_low", "range_high", "low", "high")
    frame = pd.DataFrame(dict(zip(columns, ends, strict=True))).assign(
        name=[run.risks.groups[x] for x in groups],
        value=cells.share[groups, end],
        ink=[colours[y] for y in cells.side[groups]],
        clear=cells.clear[groups],
    )
    frame["about"] = [
        f"{brief(r['name'], 40)}: {percent(r['value'])} {share_of} on average"
        f"{_ends_of(r, percent)}; its {context_noun(run)}s {percent(r['range_low'])} to "
        f"{percent(r['range_high'])}; {_clarity(r)}"
        for r in frame.to_dict("records")
    ]
    axis = partial(
        charts.share_axis,
        ends=(f"all {names[1 - end]}", f"all {names[end]}"),
        middle=_reference_share(cells, end),
        colours=(colours[1 - end], colours[end]),
    )
    return charts.points(
        frame, axis=axis, row=charts.GROUP_ROW, faint=is_faint(run), width=width
    )


def _clarity(row: Mapping[Any, Any]) -> str:
    return "clear" if row["clear"] else "not clear"


def _ends_of(row: Mapping[Any, Any], form: Callable[[float], str]) -> str:
    if np.isnan(row["low"]):
        return ""
    return f" (interval {form(row['low'])} to {form(row['high'])})"


def _stacks(cells: CellStatistics, groups: Sequence[int], width: int) -> charts.Spec:
    run, names = cells.run, cells.run.preferences.categories
    frame = pd.DataFrame(
        [
            {
                "group": run.risks.groups[x],
                "category": name,
                "share": cells.share[x, y],
                "clear": cells.clear[x],
                "about": f"{brief(run.risks.groups[x], 40)}: {percent(cells.share[x, y])} {name}",
            }
            for x in groups
            for y, name in enumerate(names)
        ]
    )
    return charts.shares(frame, categories=names, faint=is_faint(run), width=width)


def _reference_share(cells: CellStatistics, y: int) -> tuple[float, str]:
    """The share of a category that is no lean, and what it is called."""
    reference, share = cells.run.preferences.reference, cells.share[:, y]
    if isinstance(reference, str):
        weights = np.where(np.isnan(share), 0.0, cells.run.risks.group_weights)
        return float(weights @ np.nan_to_num(share) / weights.sum()), "mean"
    if reference is None or np.asarray(reference).ndim != 1:
        return 1 / cells.share.shape[1], "even"
    return float(np.asarray(reference)[y]), "reference"


def _departures_figure(cells: CellStatistics) -> Figure:
    """Distances from what all groups get in the same context; people in panels, each from the
    average of its panel."""
    run, unit = cells.run, cells.run.outcome.unit.name
    whole = cells.whole or run
    kinds = kinds_shown(whole)
    panels = len(kinds) > 1
    every = _kinds_frame(whole, kinds) if panels else distances(run)
    parts = [part for _, part in every.groupby("panel", sort=False)]
    frame = pd.concat([part.iloc[_few(list(range(len(part))))] for part in parts])
    of = (
        "the mean named over its panel"
        if panels
        else f"what all {groups_noun(run)} get"
    )
    title = f"{_question(run)} By {group_noun(run)}"
    columns = {
        "panel": "shown as",
        "away": unit,
        "away_low": "low",
        "away_high": "high",
    }
    return Figure(
        key="groups",
        title=title,
        caption=(
            f"{_shown_of(len(frame), len(every))}Dot: from {of} in the same {context_noun(run)}, "
            f"in {unit}.{_thick(run, frame['away_low'])} Ring: not clear."
        ),
        alt=f"{title}. {unit.capitalize()} from {of}: {_each(frame.head(40), 'away', _signed)}.",
        draw=lambda width: _departures(run, frame, width),
        table=frame.rename(columns=columns)[
            [*(["shown as"] if panels else []), "group", unit, "low", "high", "clear"]
        ],
    )


def _kinds_frame(run: Run, kinds: Mapping[str, Preferences]) -> pd.DataFrame:
    """`distances` of each kind from its own mean, its panel named after kind and mean; of single
    groups those that are said of them everywhere, from the mean of all."""
    settings = run.record.settings
    level, frames = joint(settings.level, len(kinds)), []
    for kind, p in kinds.items():
        if single := {*p.groups} <= {*run.preferences.groups}:
            found, of = (
                [one for one in run.leans if one.group in p.groups],
                run.preferences,
            )
        else:
            found, of = [*p.leans(level=level, clusters=settings.clusters)], p
        each = of.grid.mean(of.values)
        seen = ~np.isnan(each).any(axis=1)
        means = np.average(each[seen], axis=0, weights=of.group_weights[seen])
        mean = run.outcome.mean_text(means)
        panel = f"{kind.capitalize()}, {'mean of all' if single else 'average'} {mean}"
        frames.append(distances(run, found).assign(panel=panel))
    return pd.concat(frames, ignore_index=True)


def distances(run: Run, leans: Sequence[GroupLean] | None = None) -> pd.DataFrame:
    """One row per group with an answer, the lowest first: its distance from the mean and the ends
    of the interval that decides whether it is clear (NaN without one), in points of the scale or
    percentage points."""
    scale = run.outcome.span
    top = run.preferences.categories[run.outcome.far_end]
    rows: list[tuple[str, float, float, float, bool]] = []
    for one in run.leans if leans is None else leans:
        if one.lean is None:
            continue
        sign = scale if one.favoured == top else -scale
        ends = [np.nan if v is None else sign * v for v in (one.low, one.high)]
        low, high = ends if sign > 0 else reversed(ends)
        rows.append((one.group, sign * one.lean, low, high, one.category is not None))
    frame = pd.DataFrame(
        rows, columns=["group", "away", "away_low", "away_high", "clear"]
    )
    return frame.assign(panel="").sort_values("away", kind="stable", ignore_index=True)


def _departures(run: Run, table: pd.DataFrame, width: int) -> charts.Spec:
    outcome = run.outcome
    unit, ends, end = outcome.unit.name, outcome.ends, outcome.far_end
    colours = (palette(run)[1 - end], palette(run)[end])
    columns = {"group": "name", "away": "value", "away_low": "low", "away_high": "high"}
    frame = table.rename(columns=columns)
    frame["ink"] = np.where(frame["value"] < 0, *colours)
    frame["about"] = [
        f"{brief(r['name'], 40)}: {_signed(r['value'])} {unit}{_ends_of(r, _signed)}; {_clarity(r)}"
        for r in frame.to_dict("records")
    ]
    unit = unit if table["panel"].any() else f"{unit} from the average"
    axis = partial(charts.away_axis, ends=ends, unit=unit)
    return charts.points(
        frame, axis=axis, row=charts.GROUP_ROW, faint=is_faint(run), width=width
    )


def _signed(value: float) -> str:
    """+1.2, −0.35: a distance on the axis of a chart."""
    return f"{value:+.2g}".replace("-", "−")


def swing_figure(cells: CellStatistics) -> Figure | None:
    """The groups with the highest volatility risk in the contexts that swing most."""
    run, p = cells.run, cells.run.preferences
    r = np.nan_to_num(run.risks.r_volatility, nan=-np.inf)
    groups = [
        int(x)
        for x in np.argsort(-r, kind="stable")[: charts.MOST_GROUPS]
        if r[x] > 1e-9
    ]
    if not groups or len(p.contexts) < 2:
        return None
    means = np.asarray(run.risks.mean_stereotype)[groups][:, None, :]
    spread = np.nan_to_num(np.abs(cells.s[groups] - means).max(axis=2)).mean(axis=0)
    order = np.argsort(-spread, kind="stable")[:_SWING_CONTEXTS]
    pull = np.nan_to_num(cells.context_mean[:, -1])
    contexts = [int(c) for c in order[np.argsort(pull[order], kind="stable")]]
    templates = p.templates or p.contexts
    if CASE in p.labels:
        labels = p.labels[CASE]
    else:
        shorten = question_label if run.outcome.asks_questions else gaps_shown
        labels = [shorten(template) for template in templates]
    right, value = run.outcome.coloured, run.outcome.value(p)
    context, form = context_noun(run), ".0f"
    if right is None or value is None:
        side, sides, colours = cells.favoured, p.categories, palette(run)
        shown = 100 * np.take_along_axis(p.values, side[..., None], axis=2)[..., 0]
        what, number = "the favoured category", "its share in per cent"
    else:  # a score, or the share of the favourable answer, beside its mean
        side, sides = (
            (cells.s[..., right] > 0).astype(int),
            ("below the mean", "above the mean"),
        )
        colours, what = [MARK, DECISION], "below or above the mean"
        number, form = run.outcome.value_name, f".{run.outcome.value_digits}f"
        shown = value
    table = pd.DataFrame(
        [
            {
                "group": p.groups[x],
                "template": labels[c],
                "strength": cells.depth[x, c],
                "leans": sides[side[x, c]],
                "text": f"{shown[x, c]:{form}}",
            }
            for c in contexts
            for x in groups
            if not np.isnan(cells.strength[x, c])
        ]
    )
    said = "; ".join(f"{brief(p.groups[x], 30)} {r[x]:.3f}" for x in groups[:8])
    return Figure(
        key="swing",
        title=f"The most swinging {groups_noun(run)}, {context} by {context}",
        caption=(
            f"The {len(groups)} of {len(p.groups)} {groups_noun(run)} with the highest volatility "
            f"risk, in the {len(contexts)} of {len(p.contexts):,} {context}s that move them most: "
            f"a selection, not the average; a phone shows the first {charts.MOST_ON_A_PHONE}. "
            f"Colour: {what}, the deeper the further from the reference; number: {number}; blank: "
            f"no answer. {basis(run)}."
        ),
        alt=f"Heat map. Volatility risk of the groups shown: {said}.",
        draw=lambda width: charts.answers(
            table, categories=sides, colours=colours, width=width
        ),
    )


def distribution_figure(
    cells: CellStatistics, *, groups: Sequence[str] = ()
) -> Figure | None:
    """s over contexts of all groups together and of some of them; None where nothing varies."""
    run = cells.run
    two = len(run.preferences.categories) == 2
    category = run.risks.categories[run.outcome.far_end if two else 0]
    curves, means = [], []
    for name, group in [("all groups", None), *((g, g) for g in groups)]:
        try:
            values, weights = stereotype_sample(run.preferences.grid, category, group)
        except SettingsError:  # a group without any observed cell
            continue
        means.append((name, float(weights @ values)))
        low, high = float(values.min()), float(values.max())
        pad = 0.4 * (high - low) + 1e-6
        ends = low - pad, high + pad
        if run.risks.criterion.normalize:  # s cannot lie beyond its scale
            ends = max(ends[0], -1.0), min(ends[1], 1.0)
        at = np.linspace(*ends, 161)
        try:
            height = _density(values, weights, at)
        except SettingsError:  # equal values have a mean and no width
            continue
        curves += [(name, a, h) for a, h in zip(at, height, strict=True)]
    if not curves:
        return None
    table = pd.DataFrame(curves, columns=["curve", "s", "density"])
    marks = pd.DataFrame(means, columns=["curve", "mean"])
    said = "; ".join(f"{brief(c, 30)}: mean {m:+.3f}" for c, m in means)
    return Figure(
        key="distribution",
        title=f"How far answers lean towards {brief(category, 30)}, over all contexts",
        caption=(
            "Vertical lines: the mean of each curve and the reference. A mean away from the "
            f"reference is bias; a wide curve is volatility. {basis(run)}."
        ),
        alt=f"Distribution of the stereotype s towards {brief(category, 30)}. {said}.",
        draw=lambda width: charts.density(
            table,
            categories=run.risks.categories,
            category=category,
            means=marks[marks["curve"].isin(table["curve"])],
            width=width,
        ),
    )


def _density(values: Any, weights: Any, at: Any) -> Any:
    """Density of many values; those of a large run are first counted in 400 narrow bins."""
    if values.size > 4000:
        edges = np.linspace(values.min(), values.max(), 401)
        if edges[-1] > edges[0]:
            mass, _ = np.histogram(values, bins=edges, weights=weights)
            middle = (edges[1:] + edges[:-1]) / 2
            values, weights = middle[mass > 0], mass[mass > 0]
    return weighted_density(values, at, weights=weights)


def reference_rows(run: Run) -> list[dict[str, Any]]:
    """The three reference models (B.2) as rows of a table of risks."""
    reference, criterion = run.record.topic.reference, run.risks.criterion
    categories = (
        reference if isinstance(reference, list) else len(run.preferences.categories)
    )
    rows = []
    for label, name in REFERENCES:
        risks = reference_risks(name, categories=categories, criterion=criterion)  # type: ignore[arg-type]
        rows.append({"name": label, **risks._asdict()})
    return rows


def risk_rows(runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, Any]]:
    """name, R, R_bias, R_volatility with their intervals, n_contexts, n_eff."""
    rows = []
    for name, run in zip(names, runs, strict=True):
        row: dict[str, Any] = {"name": name}
        for measure in MEASURES:
            row |= with_ends(measure, getattr(run.risks, measure))
        rows.append(
            {**row, "n_contexts": run.risks.n_contexts, "n_eff": run.risks.n_eff}
        )
    return rows


def risks_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    """R of each model and its two parts, the highest R first; behind them what shuffled words
    give."""
    table = pd.DataFrame(risk_rows(runs, names))
    floors = [run.record.floor for run in runs]
    if any(floors):
        for measure in MEASURES:
            by_chance = [
                None if floor is None else getattr(floor, measure) for floor in floors
            ]
            for end in ("low", "high"):
                ends = [None if e is None else getattr(e, end) for e in by_chance]
                table[f"{measure}_chance_{end}"] = ends
    table = table.sort_values("R", ascending=False, kind="stable", ignore_index=True)
    noun, level = context_noun(runs[0]), 100 * runs[0].record.settings.level
    about = (
        "all of it",
        f"the same in every {noun}",
        f"another lean in another {noun}",
    )
    behind = "; grey: the same words, shuffled" if any(floors) else ""
    bases = [basis(run) for run in runs]
    if len(set(bases)) > 1:
        bases = [f"{brief(n, 40)}: {b}" for n, b in zip(names, bases, strict=True)]
    return chart(
        "risks",
        "Risk of each model and its two parts",
        f"Dot: value; band: its {level:g} % interval{behind}. R = Rᵇ + Rᵛ, 0 is the reference. "
        f"{'; '.join(dict.fromkeys(bases))}.",
        table,
        "{name}: R {R:.3f}, bias {R_bias:.3f}, volatility {R_volatility:.3f}",
        charts.risks,
        about=about,
    )


#: Lean, swing and dice as a page shows them: title, key of the table, colour.
PARTS = (
    ("Steady lean", "lean", BIAS),
    ("Swing", "swing", VOLATILITY),
    ("Dice", "dice", MARK),
)


def parts_rows(runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, Any]]:
    """Lean, swing and dice of each model as standard deviations with intervals, in points of the
    scale or percentage points; then what another group and an irrelevant edit do. The largest lean
    first; whether it is clear is decided with all models looked at."""
    clear = leaning(runs)
    rows: list[dict[str, Any]] = []
    for i, (run, name) in enumerate(zip(runs, names, strict=True)):
        split, placebo = run.record.components, run.record.placebo
        if split is None:
            continue
        scale = run.outcome.unit.factor
        row: dict[str, Any] = {"name": name, "clear": i in clear}
        for _, part, _ in PARTS:
            e: Estimate | None = getattr(split, part)
            row |= with_ends(part, None if e is None else deviation(e, scale))
        row["another_group"] = None if placebo is None else scale * placebo.groups
        row["irrelevant_edit"] = None if placebo is None else scale * placebo.edit
        rows.append(row)
    return sorted(rows, key=lambda row: -(row["lean"] or 0.0))


def parts_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure | None:
    """Lean, swing and dice of each model, a panel each; None unless all have repeated replies."""
    splits = [run.record.components for run in runs]
    if not all(s is not None and s.total > 0 for s in splits) or not all(
        run.outcome.reference.is_mean for run in runs
    ):
        return None
    table = pd.DataFrame(parts_rows(runs, names))
    first, unit = runs[0], runs[0].outcome.unit.name
    one, noun = group_noun(first), context_noun(first)
    digits = f".{first.outcome.unit.digits}f"
    rows = []
    for title, part, _ in PARTS:
        for r in table.dropna(subset=[part]).to_dict("records"):
            low, high = r[f"{part}_low"], r[f"{part}_high"]
            clear = part != "lean" or bool(r["clear"])
            # The interval of the decision, which is about all models: it ends at 0 where the lean
            # is not clear.
            low = low if clear else min(low, 0.0)
            ends = "" if pd.isna(low) else f" ({low:{digits}} to {high:{digits}})"
            text = f"{r[part]:{digits}} {unit}{ends}" + ("" if clear else "; not clear")
            shown = {
                "value": r[part],
                "low": low,
                "high": high,
                "clear": clear,
                "text": text,
            }
            rows.append({"name": r["name"], "panel": title, **shown})
    drawn = pd.DataFrame(rows)
    tops = (
        drawn.assign(top=drawn[["value", "high"]].max(axis=1))
        .groupby("panel")["top"]
        .max()
    )
    own = float(tops.get("Dice", 0.0))
    shared = (
        float(max(tops.get("Steady lean", 0.0), tops.get("Swing", 0.0))) or own or 1.0
    )
    longer = f"; axis {own / shared:.0f} × as long" if own > 1.5 * shared else ""
    about = {
        "Steady lean": f"between {one}s, the same in every {noun}",
        "Swing": f"between {one}s, another in another {noun}",
        "Dice": f"the same request, asked again{longer}",
    }
    panels = [
        charts.Panel(
            title, f"{about[title]}, {unit}", ink, own if title == "Dice" else shared
        )
        for title, _, ink in PARTS
        if title in tops
    ]
    level = 100 * first.record.settings.level
    of = "" if len(runs) == 1 else f" with all {len(runs)} models looked at"
    said = "; ".join(f"{r['name']}: {r['panel'].lower()} {r['text']}" for r in rows)
    return Figure(
        key="parts",
        title="Lean, swing, dice",
        caption=(
            f"Dot: estimate. Band: {level:g} % interval. Filled: a lean that is clear{of}. Each is "
            f"a standard deviation in {unit}. {'; '.join(dict.fromkeys(map(basis, runs)))}."
        ),
        alt=f"Points with intervals. {said}.",
        draw=lambda width: charts.points(drawn, panels=panels, width=width),
        table=table,
    )


def spread_figure(
    models: Sequence[CellStatistics], names: Sequence[str]
) -> Figure | None:
    """The groups on which models of one topic differ most: one numbered dot per model."""
    runs = [cells.run for cells in models]
    categories, groups = runs[0].preferences.categories, runs[0].risks.groups
    if any(
        (r.preferences.categories, r.risks.groups) != (categories, groups) for r in runs
    ):
        return None
    top = max(models, key=lambda cells: cells.run.risks.R.value)
    most = Counter(int(y) for y in top.side[top.clear]).most_common(1)
    y = most[0][0] if most else 0
    if len(categories) == 2:
        y = runs[0].outcome.far_end
    shares = np.stack([cells.share[:, y] for cells in models])
    measured = np.asarray(~np.isnan(shares).any(axis=0))
    spread = np.where(measured, np.ptp(np.nan_to_num(shares), axis=0), -1)
    widest = [
        int(x)
        for x in np.argsort(-spread, kind="stable")[:_SPREAD_GROUPS]
        if measured[x]
    ]
    if not widest:
        return None
    widest.sort(key=lambda x: float(shares[:, x].mean()))
    category, inks = categories[y], model_colours(len(names))
    said_of = runs[0].outcome.category_noun(category)
    dots = pd.DataFrame(
        [
            {
                "group": groups[x],
                "number": k + 1,
                "ink": inks[k],
                "share": shares[k, x],
                "about": f"{brief(groups[x], 40)}, model {k + 1}: {percent(shares[k, x])} "
                f"{said_of}",
            }
            for x in widest
            for k in range(len(names))
        ]
    )
    key = ", ".join(
        f"{k}:\N{NO-BREAK SPACE}{name}"
        for k, name in enumerate(distinct(names, 40), start=1)
    )
    said = "; ".join(
        f"{groups[x]} differs by {100 * spread[x]:.0f} points" for x in widest
    )
    of_each = {
        f"{name}: share of {category}": shares[k] for k, name in enumerate(names)
    }
    reference = _reference_share(models[0], y)
    return Figure(
        key="spread",
        title="Where the models differ most",
        caption=f"Share of {said_of}, averaged over {context_noun(runs[0])}s. {key}.",
        alt=f"One dot per model and group, share of {said_of}. {said}.",
        draw=lambda width: charts.spread(
            dots, category=category, reference=reference, width=width
        ),
        table=pd.DataFrame({"group": groups, **of_each}),
    )


def differences_figure(comparison: Comparison) -> Figure:
    """Every pair of models, context by context."""
    rows = [
        (f"{d.a} minus {d.b}", d.measure, d.value, d.low, d.high)
        for d in comparison.overall
        if d.value is not None and d.measure in MEASURES
    ]
    return chart(
        "differences",
        "Differences between models, context by context",
        "Right of zero: the first model has the higher risk. Thick: "
        f"{100 * comparison.level:g} % intervals, for all pairs together. Ring: holds zero, so "
        f"the order is open. {len(comparison.groups)} groups × {comparison.n_contexts:,} contexts, "
        f"{comparison.n_eff:,.1f} effective.",
        pd.DataFrame(rows, columns=["pair", "measure", "value", "low", "high"]),
        "{pair}, {measure}: {value:+.3f}",
        charts.differences,
    )


def factor_figure(
    y: ArrayLike,
    x: ArrayLike,
    *,
    factor: str,
    groups: Sequence[str],
    weights: ArrayLike | None = None,
    y_se: ArrayLike | None = None,
    measure: str = "r",
    basis: str = "",
    source: str = "",
    largest_p: float = 1.0,
) -> Figure | str:
    """Groups as points (sized by weight), the fitted line and its interval band; where the slope's
    p is above `largest_p`, the slope as a line of text, because a band that fills the plot shows
    nothing.

    Arguments as for `measure.regress`, which makes the fit; `basis` describes the risks' basis, and
    `source` says where the factor and the weights come from.
    Fewer than four groups with both numbers, or a factor that does not vary, are errors.
    """
    name, measured = (
        FACTOR_NAMES.get(factor, factor.replace("_", " ")),
        GROUP_RISKS[measure].axis if measure in GROUP_RISKS else measure,
    )
    fit = regress(y, {factor: x}, weights=weights, y_se=y_se)
    slope = fit[factor]
    step, unit = FACTOR_STEPS.get(factor, (1, "unit"))
    value, low, high = (
        show(step * v, "signed") for v in (slope.value, slope.low, slope.high)
    )
    slope_text = (
        f"{value} per {unit} ({100 * fit.level:g} % interval {low} to {high}, p "
        f"{p_relation(slope.p)})"
    )
    title = f"{measured[:1].upper()}{measured[1:]} against {name}"
    if slope.p is not None and slope.p > largest_p:
        return f"{title}: {slope_text}; {fit.n} groups."
    table = pd.DataFrame({"group": list(groups), "x": x, "y": y})
    if weights is not None:
        table["size"] = np.asarray(weights, dtype=float)
        table = table[table["size"] > 0]
    table = table.dropna(subset=table.columns.drop("group"))
    line = regression_line(y, x, points=table["x"], weights=weights, y_se=y_se)
    size = None if weights is None else "people employed, thousands"
    return Figure(
        key=f"{'factor' if measure in GROUP_RISKS else 'lean'}-{factor.replace('_', '-')}",
        title=title,
        caption=(
            f"One point per group{f', sized by {size}' if size else ''}; line: weighted least "
            f"squares, shaded: its interval. {slope_text}. n = {fit.n} groups"
            f"{'; ' + basis if basis else ''}. A slope says that the two go together, not why."
            f"{' ' + source if source else ''}"
        ),
        alt=f"Scatter plot. {title}: {slope_text.lower()}; {fit.n} groups.",
        draw=lambda width: charts.regression(
            table, line, factor=name, measure=measured, size=size, width=width
        ),
        table=table,
    )


def regression_line(
    y: ArrayLike,
    x: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    y_se: ArrayLike | None = None,
    points: ArrayLike | None = None,
) -> pd.DataFrame:
    """x, y, low, high of the fitted line over the range of `points` (of x when not given).

    The interval at a point is that of the intercept with x measured from there: the same robust
    errors as the slope's, without a separate formula.
    """
    values = np.asarray(x, dtype=float)
    seen = values if points is None else np.asarray(points, dtype=float)
    rows = []
    for at in np.linspace(np.nanmin(seen), np.nanmax(seen), 25):
        here = regress(y, {"x": values - at}, weights=weights, y_se=y_se)["intercept"]
        rows.append((float(at), here.value, here.low, here.high))
    return pd.DataFrame(rows, columns=["x", "y", "low", "high"])
