"""The figures of reports: runs in, charts with their words out.

First one run, then several, then a lean against a social factor. Every caption names the basis of
its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from clinometer.display.numbers import (
    AXES,
    MEASURES,
    p_relation,
    percent,
    show,
)
from clinometer.display.text import brief
from clinometer.errors import SettingsError
from clinometer.measure import Comparison, Estimate, Preferences, reference_risks
from clinometer.measure.distribution import stereotype_sample, weighted_density
from clinometer.measure.leaning import GroupLean
from clinometer.report import charts
from clinometer.report.cell_statistics import CellStatistics, Leans
from clinometer.report.charts.style import (
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
from clinometer.runs.answers import mean_preferences
from clinometer.runs.compare import leaning
from clinometer.runs.findings import deviation
from clinometer.runs.nouns import (
    asks,
    context_noun,
    favourable,
    group_noun,
    noun_of,
    question_label,
)
from clinometer.runs.people import joint, kinds_shown
from clinometer.statistics.regression import regress
from clinometer.topics.conversation import CASE

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

#: What the points of a regression are sized by.
_WEIGHT = "people employed, thousands"

#: Groups on the first screen, and how many of each side before the rest is taken evenly.
FIRST_GROUPS, _EXTREMES = 18, 4

#: Groups on which models differ most, below the chart of their risks on the same screen.
_SPREAD_GROUPS = 12

#: Groups and contexts of the figure of swing.
_SWING_GROUPS, _SWING_CONTEXTS = charts.MOST_GROUPS, 15


def basis(run: Run) -> str:
    """The basis of every number of a run; every chart shows it."""
    report = run.risks
    seen = len(report.groups) - len(report.missing_groups)
    text = f"{seen} groups × {report.n_contexts:,} contexts, {report.n_eff:,.1f} effective"
    return text + (f", {report.missing_cells:,} cells missing" if report.missing_cells else "")


def leans_figure(leans: Leans) -> Figure:
    """The groups: of two categories dots with intervals, as shares of words or as distances from
    what all groups get in the same context; of more categories stacked shares.

    At most FIRST_GROUPS: the outermost, and evenly spaced ones between; people in panels, where
    they are shown in several ways.
    """
    run = leans.run
    if measured_from_mean(run):
        return _departures_figure(leans)
    groups = _few(_by_lean(leans))
    names = run.preferences.categories
    two = len(names) == 2
    last = names[_right(run) if two else -1]
    words = "" if asks(run) else " words"
    frame = _leans_frame(leans)
    said = "; ".join(
        f"{r['group']} {percent(r[f'share of {last}'])}" + ("" if r["clear"] else " (not clear)")
        for r in frame.iloc[groups].to_dict("records")
    )
    title = f"{_question(run)} By {group_noun(run)}"
    draw = _dots if two else _stacks
    return Figure(
        key="groups",
        title=title,
        caption=f"{_shown_of(len(groups), len(leans.seen))}{_how_to_read(leans)}",
        alt=f"{title}. Share of {last}{words}: {said}.",
        draw=lambda width: draw(leans, groups, width),
        table=frame,
    )


def _few(groups: list[int]) -> list[int]:
    """At most FIRST_GROUPS, in order: the outermost and evenly spaced ones between."""
    if len(groups) <= FIRST_GROUPS:
        return groups
    steps = np.linspace(_EXTREMES, len(groups) - _EXTREMES - 1, FIRST_GROUPS - 2 * _EXTREMES)
    return [*groups[:_EXTREMES], *(groups[round(i)] for i in steps), *groups[-_EXTREMES:]]


def _shown_of(shown: int, of: int) -> str:
    return f"{shown} of {of} shown. " if shown < of else ""


def _question(run: Run) -> str:
    """What the chart of the groups answers."""
    if run.risks.criterion.points:
        return "How does it score people?"
    if asks(run):
        return "What does it answer?"
    kind = (
        "a gendered word" if run.record.topic.title.startswith("Gender") else "one of these words"
    )
    return f"When it writes {kind}, which one?"


def _how_to_read(leans: Leans) -> str:
    run = leans.run
    names, context = run.preferences.categories, context_noun(run)
    if len(names) > 2:
        of_words = "" if asks(run) else "'s words"
        return f"Share of each category{of_words}, averaged over {context}s. Grey name: not clear."
    thin = f" Thin: middle 90 % of its {context}s."
    if leans.whole_range:
        thin = f" Thin: lowest to highest {context}."
    return f"Dot: average.{_thick(run, leans.mean_low)}{thin} Ring: not clear."


def _thick(run: Run, ends: ArrayLike) -> str:
    """What the thick line is: the interval that goes with the tests of all groups."""
    if not np.isfinite(np.asarray(ends, dtype=float)).any():
        return f" No interval: {run.risks.n_contexts} {context_noun(run)}s are too few."
    level = 100 * run.record.settings.level
    return f" Thick: its {level:g} % interval, all {noun_of(run)[0]} looked at."


def measured_from_mean(run: Run) -> bool:
    """Whether groups are drawn as distances from their mean: decisions and scores."""
    p, criterion = run.preferences, run.risks.criterion
    decides = criterion.name == "share" and len(p.categories) == 2
    return isinstance(p.reference, str) and (decides or bool(criterion.points))


def palette(run: Run) -> list[str]:
    """A colour per category; of a decision a hue for the favourable answer, grey for the other."""
    y, colours = decision(run), category_colours(len(run.preferences.categories))
    return colours if y is None else [DECISION if i == y else MARK for i in range(2)]


def decision(run: Run) -> int | None:
    """Of a decision between two answers the favourable one, of a scale its upper end; None for any
    other run."""
    if len(run.preferences.categories) != 2:
        return None
    return 1 if run.risks.criterion.points else favourable(run)


def is_faint(run: Run) -> bool:
    """Whether the words carry so little probability that their shares say nothing."""
    return run.findings[0].kind == "improbable"


def _by_lean(leans: Leans) -> list[int]:
    """Groups with an answer, in order of their lean; of more than two categories by their risk."""
    value = -np.nan_to_num(leans.run.risks.r, nan=-np.inf)
    if leans.share.shape[1] == 2:
        value = leans.share[:, _right(leans.run)]
    return [int(x) for x in leans.seen[np.argsort(value[leans.seen], kind="stable")]]


def _right(run: Run) -> int:
    """Of two categories the one that an axis ends with: the favourable one, else the second."""
    y = favourable(run)
    return 1 if y is None else y


def _leans_frame(leans: Leans) -> pd.DataFrame:
    """One row per group: shares, ranges, whether its lean is clear."""
    run = leans.run
    names = run.preferences.categories
    frame = pd.DataFrame({"group": run.risks.groups})
    for y, name in enumerate(names):
        frame[f"share of {name}"] = leans.share[:, y]
        frame[f"lowest share of {name}"] = leans.low[:, y]
        frame[f"highest share of {name}"] = leans.high[:, y]
    frame["leans to"] = [names[y] if y >= 0 else None for y in leans.favoured]
    frame["clear"] = leans.clear
    for name in ("r", "r_bias", "r_volatility"):
        frame[name] = getattr(run.risks, name)
    return frame


def _dots(leans: Leans, groups: Sequence[int], width: int) -> charts.Spec:
    run, end = leans.run, _right(leans.run)
    names, colours = run.preferences.categories, palette(run)
    words = "" if asks(run) else " words"
    frame = pd.DataFrame(
        {
            "group": [run.risks.groups[x] for x in groups],
            "share": leans.share[groups, end],
            "low": leans.low[groups, end],
            "high": leans.high[groups, end],
            "mean_low": leans.mean_low[groups, end],
            "mean_high": leans.mean_high[groups, end],
            "favoured": [names[y] for y in leans.favoured[groups]],
            "clear": leans.clear[groups],
        }
    )
    frame["about"] = [
        f"{brief(r['group'], 40)}: {percent(r['share'])} {names[end]}{words} on average"
        f"{_ends_of(r, percent)}; its {context_noun(run)}s {percent(r['low'])} to "
        f"{percent(r['high'])}; {'clear' if r['clear'] else 'not clear'}"
        for r in frame.to_dict("records")
    ]
    return charts.leans(
        frame,
        categories=(names[1 - end], names[end]),
        colours=(colours[1 - end], colours[end]),
        reference=_reference_share(leans, end),
        faint=is_faint(run),
        width=width,
    )


def _ends_of(row: Mapping[Any, Any], form: Callable[[float], str]) -> str:
    if np.isnan(row["mean_low"]):
        return ""
    return f" (interval {form(row['mean_low'])} to {form(row['mean_high'])})"


def _departures_figure(leans: Leans) -> Figure:
    """Distances from what all groups get in the same context; people in panels, each from the
    average of its panel."""
    run, context = leans.run, context_noun(leans.run)
    whole = leans.whole or run
    kinds = kinds_shown(whole)
    panels = len(kinds) > 1
    frame = _kinds_frame(whole, kinds) if panels else distances(run)
    found = len(frame)
    frame = pd.concat(
        [part.iloc[_few(list(range(len(part))))] for _, part in frame.groupby("panel", sort=False)]
    )
    unit = unit_of(run)
    of = "the average of its panel" if panels else f"what all {noun_of(run)[0]} get"
    title = f"{_question(run)} By {group_noun(run)}"
    said = "; ".join(
        f"{r['group']} {_signed(r['share'])}" + ("" if r["clear"] else " (not clear)")
        for r in frame.head(40).to_dict("records")
    )
    columns = {"panel": "shown as", "share": unit, "mean_low": "low", "mean_high": "high"}
    table = frame.rename(columns=columns)[
        [*(["shown as"] if panels else []), "group", unit, "low", "high", "clear"]
    ]
    return Figure(
        key="groups",
        title=title,
        caption=(
            f"{_shown_of(len(frame), found)}Dot: from {of} in the same {context}, in {unit}."
            f"{_thick(run, frame['mean_low'])} Ring: not clear."
        ),
        alt=f"{title}. {unit.capitalize()} from {of}: {said}.",
        draw=lambda width: _departures(run, frame, width),
        table=table,
    )


def unit_of(run: Run) -> str:
    """What scores and decisions are measured in."""
    return "points" if run.risks.criterion.points else "percentage points"


def _kinds_frame(run: Run, kinds: Mapping[str, Preferences]) -> pd.DataFrame:
    """`distances` of each kind from its own mean, its panel named after kind and mean."""
    settings, points = run.record.settings, run.risks.criterion.points
    known, frames = run.preferences.exact(settings.population), []
    level = joint(settings.level, len(kinds))
    for kind, p in kinds.items():
        found = p.leans(level=level, clusters=settings.clusters, known=known)
        means = p.group_weights @ mean_preferences(p) / p.group_weights.sum()
        mean = f"{means @ np.array(points):.2f}" if points else percent(means[_right(run)])
        frames.append(distances(run, found).assign(panel=f"{kind.capitalize()}, average {mean}"))
    return pd.concat(frames, ignore_index=True)


def distances(run: Run, leans: Sequence[GroupLean] | None = None) -> pd.DataFrame:
    """One row per group with an answer, the lowest first: its distance from the mean and the ends
    of the interval that decides whether it is clear (NaN without one), in points of the scale or
    percentage points."""
    criterion = run.risks.criterion
    scale = criterion.length if criterion.points else 100.0
    top = run.preferences.categories[-1 if criterion.points else _right(run)]
    rows: list[tuple[str, float, float, float, bool]] = []
    for one in run.leans if leans is None else leans:
        if one.lean is None:
            continue
        sign = scale if one.favoured == top else -scale
        ends = [np.nan if v is None else sign * v for v in (one.low, one.high)]
        low, high = ends if sign > 0 else reversed(ends)
        rows.append((one.group, sign * one.lean, low, high, one.category is not None))
    frame = pd.DataFrame(rows, columns=["group", "share", "mean_low", "mean_high", "clear"])
    return frame.assign(panel="").sort_values("share", kind="stable", ignore_index=True)


def _departures(run: Run, table: pd.DataFrame, width: int) -> charts.Spec:
    names, points = run.preferences.categories, run.risks.criterion.points
    end, unit = _right(run), unit_of(run)
    panels = bool(table["panel"].any())
    less, more = (f"more {names[1 - end]}", f"more {names[end]}")
    if points:
        less, more = "lower", "higher"
    colours = (MARK, DECISION) if points else (palette(run)[1 - end], palette(run)[end])
    frame = table.assign(favoured=np.where(table["share"] < 0, less, more))
    frame["about"] = [
        f"{brief(r['group'], 40)}: {_signed(r['share'])} {unit}{_ends_of(r, _signed)}; "
        f"{'clear' if r['clear'] else 'not clear'}"
        for r in frame.to_dict("records")
    ]
    return charts.departures(
        frame,
        colours=colours,
        ends=(less, more),
        unit=unit if panels else f"{unit} from the average",
        faint=is_faint(run),
        width=width,
    )


def _signed(value: float) -> str:
    """+1.2, −0.35: a distance on the axis of a chart."""
    return f"{value:+.2g}".replace("-", "−")


def _stacks(leans: Leans, groups: Sequence[int], width: int) -> charts.Spec:
    run = leans.run
    frame = pd.DataFrame(
        [
            {
                "group": run.risks.groups[x],
                "category": name,
                "share": float(leans.share[x, y]),
                "clear": bool(leans.clear[x]),
                "about": f"{brief(run.risks.groups[x], 40)}: {percent(leans.share[x, y])} {name}",
            }
            for x in groups
            for y, name in enumerate(run.preferences.categories)
        ]
    )
    return charts.shares(
        frame, categories=run.preferences.categories, faint=is_faint(run), width=width
    )


def _reference_share(leans: Leans, y: int) -> tuple[float, str]:
    """The share of a category that is no lean, and what it is called."""
    reference = leans.run.preferences.reference
    if isinstance(reference, str):
        weights = np.where(np.isnan(leans.share[:, y]), 0.0, leans.run.risks.group_weights)
        return float(weights @ np.nan_to_num(leans.share[:, y]) / weights.sum()), "mean"
    if reference is None or np.asarray(reference).ndim != 1:
        return 1 / leans.share.shape[1], "even"
    return float(np.asarray(reference)[y]), "reference"


def swing_figure(cells: CellStatistics) -> Figure | None:
    """The groups with the highest volatility risk in the contexts that swing most."""
    run, p = cells.run, cells.run.preferences
    r = np.nan_to_num(run.risks.r_volatility, nan=-np.inf)
    groups = [int(x) for x in np.argsort(-r, kind="stable")[:_SWING_GROUPS] if r[x] > 1e-9]
    if not groups or len(p.contexts) < 2:
        return None
    means = np.asarray(run.risks.mean_stereotype)[groups][:, None, :]
    spread = np.nan_to_num(np.abs(cells.s[groups] - means).max(axis=2)).mean(axis=0)
    order = np.argsort(-spread, kind="stable")[:_SWING_CONTEXTS]
    pull = np.nan_to_num(cells.context_mean[:, -1])
    contexts = [int(c) for c in order[np.argsort(pull[order], kind="stable")]]
    templates = p.templates or p.contexts
    if CASE in p.labels:
        labels = [p.labels[CASE][c] for c in contexts]
    elif asks(run):
        labels = [question_label(templates[c]) for c in contexts]
    else:
        labels = [templates[c].replace("[X]", "…").replace("[Y]", "___") for c in contexts]
    points, right = cells.scores, decision(run)
    sides = p.categories if right is None else ("below the mean", "above the mean")
    rows = []
    for c, label in zip(contexts, labels, strict=True):
        for x in groups:
            if np.isnan(cells.strength[x, c]):
                continue
            y = int(cells.favoured[x, c])
            row = {"group": p.groups[x], "template": label, "strength": cells.depth[x, c]}
            if right is None:
                shown = f"{100 * p.values[x, c, y]:.0f}"
                rows.append({**row, "leans": p.categories[y], "text": shown})
            else:  # a score, or the share of the favourable answer, beside its mean
                number = points[x, c] if points is not None else 100 * p.values[x, c, right]
                shown = f"{number:.1f}" if points is not None else f"{number:.0f}"
                side = sides[int(cells.s[x, c, right] > 0)]
                rows.append({**row, "leans": side, "text": shown})
    context = context_noun(run)
    number = "its share in per cent" if right is None else "its mean score"
    if right is not None and points is None:
        number = f"the share of “{brief(p.categories[right], 20)}” in per cent"
    what = "the favoured category" if right is None else "below or above the mean"
    said = "; ".join(f"{brief(p.groups[x], 30)} {r[x]:.3f}" for x in groups[:8])
    table = pd.DataFrame(rows)
    return Figure(
        key="swing",
        title=f"The most swinging {noun_of(run)[0]}, {context} by {context}",
        caption=(
            f"The {len(groups)} of {len(p.groups)} {noun_of(run)[0]} with the highest volatility "
            f"risk, in the {len(contexts)} of {len(p.contexts):,} {context}s that move them most: "
            f"a selection, not the average; a phone shows the first {charts.MOST_ON_A_PHONE}. "
            f"Colour: {what}, the deeper the further from the reference; number: {number}; blank: "
            f"no answer. {basis(run)}."
        ),
        alt=f"Heat map. Volatility risk of the groups shown: {said}.",
        draw=lambda width: charts.answers(
            table,
            categories=sides,
            colours=palette(run) if right is None else [MARK, DECISION],
            width=width,
        ),
    )


def distribution_figure(cells: CellStatistics, *, groups: Sequence[str] = ()) -> Figure | None:
    """s over contexts of all groups together and of some of them; None where nothing varies."""
    run = cells.run
    two = len(run.preferences.categories) == 2
    category = run.risks.categories[_right(run) if two else 0]
    curves, means = [], []
    for name, group in [("all groups", None), *((g, g) for g in groups)]:
        try:
            values, weights = stereotype_sample(run.preferences.grid, category, group)
        except SettingsError:  # a group without any observed cell
            continue
        means.append((name, float(weights @ values)))
        low, high = float(values.min()), float(values.max())
        pad = 0.4 * (high - low) + 1e-6
        if run.risks.criterion.normalize:  # s cannot lie beyond its scale
            ends = max(low - pad, -1.0), min(high + pad, 1.0)
        else:
            ends = low - pad, high + pad
        at = np.linspace(*ends, 161)
        try:
            height = _density(values, weights, at)
        except SettingsError:  # equal values have a mean and no width
            continue
        curves += [(name, a, h) for a, h in zip(at, height, strict=True)]
    table = pd.DataFrame(curves, columns=["curve", "s", "density"])
    marks = pd.DataFrame(means, columns=["curve", "mean"])
    if table.empty:
        return None
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
    reference = run.record.topic.reference
    categories = reference if isinstance(reference, list) else len(run.preferences.categories)
    rows = []
    for label, name in REFERENCES:
        criterion = run.risks.criterion
        risks = reference_risks(name, categories=categories, criterion=criterion)  # type: ignore[arg-type]
        rows.append({"name": label, "muted": True, **risks._asdict()})
    return rows


def risk_rows(runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, Any]]:
    """name, R, R_bias, R_volatility with their intervals, n_contexts, n_eff."""
    rows = []
    for name, run in zip(names, runs, strict=True):
        row: dict[str, Any] = {"name": name, "muted": False}
        for measure in MEASURES:
            estimate = getattr(run.risks, measure)
            row[measure] = estimate.value
            row[f"{measure}_low"], row[f"{measure}_high"] = estimate.low, estimate.high
        rows.append({**row, "n_contexts": run.risks.n_contexts, "n_eff": run.risks.n_eff})
    return rows


def risks_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    """R of each model and its two parts, the highest R first; behind them what shuffled words
    give."""
    table = pd.DataFrame(risk_rows(runs, names)).drop(columns=["muted"])
    floors = [run.record.floor for run in runs]
    if any(floors):
        for measure in MEASURES:
            by_chance = [None if floor is None else getattr(floor, measure) for floor in floors]
            for end in ("low", "high"):
                ends = [None if e is None else getattr(e, end) for e in by_chance]
                table[f"{measure}_chance_{end}"] = ends
    table = table.sort_values("R", ascending=False, kind="stable", ignore_index=True)
    noun, level = context_noun(runs[0]), 100 * runs[0].record.settings.level
    about = ("all of it", f"the same in every {noun}", f"another lean in another {noun}")
    behind = "; grey: the same words, shuffled" if any(floors) else ""
    return chart(
        "risks",
        "Risk of each model and its two parts",
        f"Dot: value; band: its {level:g} % interval{behind}. R = Rᵇ + Rᵛ, 0 is the reference. "
        f"{_bases(runs, names)}.",
        table,
        "{name}: R {R:.3f}, bias {R_bias:.3f}, volatility {R_volatility:.3f}",
        charts.risks,
        about=about,
    )


#: Lean, swing and dice as a page shows them: title, key of the table, colour.
PARTS = (("Steady lean", "lean", BIAS), ("Swing", "swing", VOLATILITY), ("Dice", "dice", MARK))


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
        scale = 1.0 if run.risks.criterion.points else 100.0
        row: dict[str, Any] = {"name": name, "clear": i in clear}
        for _, part, _ in PARTS:
            e: Estimate | None = getattr(split, part)
            size = None if e is None else deviation(e, scale)
            row[part] = None if size is None else size.value
            row[f"{part}_low"] = None if size is None else size.low
            row[f"{part}_high"] = None if size is None else size.high
        row["another_group"] = None if placebo is None else scale * placebo.groups
        row["irrelevant_edit"] = None if placebo is None else scale * placebo.edit
        rows.append(row)
    return sorted(rows, key=lambda row: -(row["lean"] or 0.0))


def parts_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure | None:
    """Lean, swing and dice of each model, a panel each; None unless all have repeated replies."""
    splits = [run.record.components for run in runs]
    if not all(s is not None and s.total > 0 for s in splits) or not all(
        run.preferences.grid.relative for run in runs
    ):
        return None
    table = pd.DataFrame(parts_rows(runs, names))
    first, unit = runs[0], unit_of(runs[0])
    one, noun = group_noun(first), context_noun(first)
    digits = ".2f" if unit == "points" else ".1f"
    rows = []
    for title, part, _ in PARTS:
        for r in table.to_dict("records"):
            if pd.isna(r[part]):
                continue
            low, high = r[f"{part}_low"], r[f"{part}_high"]
            clear = True
            if part == "lean":
                clear = bool(r["clear"])
                # The interval of the decision, which is about all models: it ends at 0 where the
                # lean is not clear.
                low = low if clear else min(low, 0.0)
            ends = "" if pd.isna(low) else f" ({low:{digits}} to {high:{digits}})"
            rows.append(
                {
                    "name": r["name"],
                    "panel": title,
                    "value": r[part],
                    "low": low,
                    "high": high,
                    "clear": clear,
                    "text": f"{r[part]:{digits}} {unit}{ends}" + ("" if clear else "; not clear"),
                }
            )
    drawn = pd.DataFrame(rows)
    tops = drawn.assign(top=drawn[["value", "high"]].max(axis=1)).groupby("panel")["top"].max()
    own = float(tops.get("Dice", 0.0))
    shared = float(max(tops.get("Steady lean", 0.0), tops.get("Swing", 0.0))) or own or 1.0
    longer = f"; axis {own / shared:.0f} × as long" if own > 1.5 * shared else ""
    about = {
        "Steady lean": f"between {one}s, the same in every {noun}",
        "Swing": f"between {one}s, another in another {noun}",
        "Dice": f"the same request, asked again{longer}",
    }
    panels = [
        charts.Panel(title, f"{about[title]}, {unit}", ink, own if title == "Dice" else shared)
        for title, _, ink in PARTS
        if title in set(drawn["panel"])
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
        draw=lambda width: charts.measures(drawn, panels=panels, width=width),
        table=table,
    )


def spread_figure(leans: Sequence[Leans], names: Sequence[str]) -> Figure | None:
    """The groups on which models of one topic differ most: one numbered dot per model."""
    first = leans[0].run
    if any(
        one.run.preferences.categories != first.preferences.categories
        or one.run.risks.groups != first.risks.groups
        for one in leans
    ):
        return None
    highest = max(leans, key=lambda one: one.run.risks.R.value)
    categories = first.preferences.categories
    y = highest.counts[0][0] if highest.counts else 0
    if len(categories) == 2:
        y = _right(first)
    shares = np.stack([one.share[:, y] for one in leans])
    measured = np.asarray(~np.isnan(shares).any(axis=0))
    spread = np.where(measured, np.ptp(np.nan_to_num(shares), axis=0), -1)
    groups = [int(x) for x in np.argsort(-spread, kind="stable")[:_SPREAD_GROUPS] if measured[x]]
    if not groups:
        return None
    groups.sort(key=lambda x: float(shares[:, x].mean()))
    category = categories[y]
    inks = model_colours(len(names))
    frame = pd.DataFrame({"group": first.risks.groups})
    for k, name in enumerate(names):
        frame[f"{name}: share of {category}"] = shares[k]
    dots = pd.DataFrame(
        [
            {
                "group": first.risks.groups[x],
                "number": k + 1,
                "ink": inks[k],
                "share": float(shares[k, x]),
                "about": f"{brief(first.risks.groups[x], 40)}, model {k + 1}: "
                f"{percent(float(shares[k, x]))} {category} words",
            }
            for x in groups
            for k in range(len(names))
        ]
    )
    key = ", ".join(
        f"{k + 1}:\N{NO-BREAK SPACE}{name}" for k, name in enumerate(distinct(names, 40))
    )
    said = "; ".join(
        f"{frame['group'][x]} differs by {100 * float(spread[x]):.0f} points" for x in groups
    )
    reference = _reference_share(leans[0], y)
    return Figure(
        key="spread",
        title="Where the models differ most",
        caption=f"Share of {category} words, averaged over sentences. {key}.",
        alt=f"One dot per model and group, share of {category} words. {said}.",
        draw=lambda width: charts.spread(dots, category=category, reference=reference, width=width),
        table=frame,
    )


def differences_figure(comparison: Comparison) -> Figure:
    """Every pair of models, context by context."""
    table = pd.DataFrame(
        [
            {
                "pair": f"{d.a} minus {d.b}",
                "measure": d.measure,
                "value": d.value,
                "low": d.low,
                "high": d.high,
            }
            for d in comparison.overall
            if d.value is not None and d.measure in MEASURES
        ]
    )
    return chart(
        "differences",
        "Differences between models, context by context",
        "Right of zero: the first model has the higher risk. Thick: "
        f"{100 * comparison.level:g} % intervals, for all pairs together. Ring: holds zero, so "
        f"the order is open. {len(comparison.groups)} groups × {comparison.n_contexts:,} contexts, "
        f"{comparison.n_eff:,.1f} effective.",
        table,
        "{pair}, {measure}: {value:+.3f}",
        charts.differences,
    )


def _bases(runs: Sequence[Run], names: Sequence[str]) -> str:
    """The basis of the numbers, once if it is the same for all."""
    bases = {basis(run) for run in runs}
    if len(bases) == 1:
        return bases.pop()
    return "; ".join(f"{brief(n, 40)}: {basis(r)}" for r, n in zip(runs, names, strict=True))


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
    name = FACTOR_NAMES.get(factor, factor.replace("_", " "))
    fit = regress(y, {factor: x}, weights=weights, y_se=y_se)
    slope = fit[factor]
    step, unit = FACTOR_STEPS.get(factor, (1, "unit"))
    value, low, high = (show(step * v, "signed") for v in (slope.value, slope.low, slope.high))
    slope_text = (
        f"{value} per {unit} ({100 * fit.level:g} % interval {low} to {high}, p "
        f"{p_relation(slope.p)})"
    )
    shown = AXES.get(measure, measure)
    title = f"{shown[:1].upper()}{shown[1:]} against {name}"
    if slope.p is not None and slope.p > largest_p:
        return f"{title}: {slope_text}; {fit.n} groups."
    table = pd.DataFrame({"group": list(groups), "x": x, "y": y})
    if weights is not None:
        table["size"] = np.asarray(weights, dtype=float)
    used = ~table.isna().any(axis=1) & (table["size"] > 0 if weights is not None else True)
    table = table[used]
    line = regression_line(y, x, weights=weights, y_se=y_se, points=table["x"])
    sized = f", sized by {_WEIGHT}" if weights is not None else ""
    return Figure(
        key=f"{'factor' if measure in AXES else 'lean'}-{factor.replace('_', '-')}",
        title=title,
        caption=(
            f"One point per group{sized}; line: weighted least squares, shaded: its interval. "
            f"{slope_text}. n = {fit.n} groups{'; ' + basis if basis else ''}. A slope says that "
            f"the two go together, not why.{' ' + source if source else ''}"
        ),
        alt=f"Scatter plot. {title}: {slope_text.lower()}; {fit.n} groups.",
        draw=lambda width: charts.regression(
            table,
            line,
            factor=name,
            measure=AXES.get(measure, measure),
            size=_WEIGHT if weights is not None else None,
            width=width,
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
