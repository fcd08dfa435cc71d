"""Runs, run folders and preferences beside each other: one verb, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from clinometer.display.numbers import counted, p_relation, risk, show
from clinometer.display.text import brief
from clinometer.errors import ClinometerError, RunError, SettingsError
from clinometer.findings.finding import UNDECIDED, Finding, Sure
from clinometer.findings.phrases import NAMED, ends, listed, ruled_out
from clinometer.findings.unit import Unit
from clinometer.measure import Comparison, Estimate, Preferences
from clinometer.measure import compare as compare_arrays
from clinometer.measure.differences import Difference
from clinometer.measure.risks import RISKS
from clinometer.measure.unpaired import compare_unpaired
from clinometer.runs.names import context_noun, group_noun, groups_noun
from clinometer.runs.run import Run
from clinometer.runs.scales import on_one_scale
from clinometer.runs.shifts import Shift, shifts
from clinometer.statistics.significance import holm

Comparable = Run | Preferences | str | Path

Align = Literal["same", "common", "groups"]
ALIGN = get_args(Align)

DECISIVE = ("R", "R_bias")
"""The risks that comparisons and gates decide by, unless others are asked for."""


def compare(
    *models: Comparable,
    names: Sequence[str] | None = None,
    align: Align = "same",
    clusters: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Paired differences of the risks of two or more models; a difference is first minus second.
    Arrays are compared by `clinometer.measure.compare`.

    Args:
        models: runs or their folders, or `Preferences`, matched by group and context.
        names: of the models; None uses those of the runs, or numbers.
        align: "same" requires the same groups and contexts; "common" compares what all share, with
            the weights of the first; "groups" compares the groups that all share, each model in its
            own contexts, with its own weights and reference. For runs, "same" means the same topic
            and context set; samples from one set with one seed are nested, and count as the same:
            all of them share the smallest, whose weights are taken.
        clusters: a label of the contexts (predicate, source) by which they are resampled
            together.
        level, seed: of the intervals.

    >>> from clinometer import audit
    >>> round(compare(*audit(["reference:stereotyped", "reference:unbiased"])).overall[0].value, 9)
    1.0
    """
    opened = _open(models)
    if align not in ALIGN:
        raise SettingsError(
            f"align: expected one of {', '.join(ALIGN)}, found {align!r}"
        )
    labels = list(names) if names else _labels(opened)
    runs = [model for model in opened if isinstance(model, Run)]
    preferences = on_one_scale([_preferences(model) for model in opened])
    first = preferences[0]
    if len(runs) == len(opened):
        if align == "same":
            _check_same_questions(runs, labels)
            align = "common"  # the remaining differences are nested samples
        first = preferences[_smallest_sample(runs)]
    _check_same_measure(first, preferences, labels)

    cells = SharedCells.of(first, preferences)
    cells.check(align)
    if align == "same":
        _check_same_cells(preferences, cells, labels)
    if align == "groups":
        return _compare_by_group(
            first, preferences, cells, labels, clusters, level=level, seed=seed
        )
    return _compare_by_cell(
        first, preferences, cells, labels, clusters, level=level, seed=seed
    )


def _open(models: Sequence[Comparable]) -> list[Run | Preferences]:
    """Return the models with folders read as runs; refuse anything else."""
    if len(models) < 2:
        raise SettingsError(
            f"compare: expected at least two models as separate arguments, compare(a, b); "
            f"found {len(models)}"
        )
    opened = [
        Run.load(model) if isinstance(model, str | Path) else model for model in models
    ]
    for model in opened:
        if not isinstance(model, Run | Preferences):
            raise SettingsError(
                f"compare: expected runs, their folders or Preferences, found {type(model)}; "
                "clinometer.measure.compare takes arrays"
            )
    return opened


def _preferences(model: Run | Preferences) -> Preferences:
    return model.preferences if isinstance(model, Run) else model


def _labels(models: Sequence[Run | Preferences]) -> list[str]:
    """Return the names of runs, and the positions of models that have no name."""
    names = iter(run_names([model for model in models if isinstance(model, Run)]))
    return [
        next(names) if isinstance(model, Run) else str(i)
        for i, model in enumerate(models)
    ]


def _smallest_sample(runs: Sequence[Run]) -> int:
    """Return the position of the run with the smallest sample of contexts.

    Nested samples share the smallest, whose weights are taken. Without samples it is the first.
    """
    drawn = [run.record.contexts.drawn for run in runs]
    sizes = [np.inf if sample is None else sample.n for sample in drawn]
    return int(np.argmin(sizes))


def _check_same_questions(runs: Sequence[Run], labels: Sequence[str]) -> None:
    """Refuse runs of another topic, or in other contexts, than the first."""
    first = runs[0]
    for run, label in zip(runs[1:], labels[1:], strict=False):
        if run.record.topic.sha256 != first.record.topic.sha256:
            difference = "about another topic"
        elif not same_contexts(first, run):
            difference = "in other contexts"
        else:
            continue
        raise RunError(
            f"compare: {label} was asked {difference} than {first.model}; "
            'align="groups" (--align groups) compares each in its own contexts, "common" '
            "in what they share"
        )


def _check_same_measure(
    first: Preferences, preferences: Sequence[Preferences], labels: Sequence[str]
) -> None:
    """Refuse preferences with other categories, or another criterion, than the first."""
    for label, p in zip(labels, preferences, strict=False):
        if p.categories != first.categories:
            raise RunError(
                f"compare: expected the categories {', '.join(first.categories)}, found "
                f"{', '.join(p.categories)} in {label}: nothing to compare"
            )
        if p.criterion != first.criterion:
            raise RunError(
                f"compare: {label} measures R by another criterion ({_criterion_text(p)}) than "
                f"the first ({_criterion_text(first)}): measure both alike (--criterion)"
            )


def _criterion_text(p: Preferences) -> str:
    parts = p.grid.criterion.to_dict()
    return ", ".join(f"{name} {value}" for name, value in parts.items())


@dataclass(frozen=True)
class SharedCells:
    """The groups and contexts that all models share, in the order of the first."""

    groups: list[str]
    contexts: list[str]

    @classmethod
    def of(cls, first: Preferences, preferences: Sequence[Preferences]) -> SharedCells:
        return cls(
            [g for g in first.groups if all(g in p.groups for p in preferences)],
            [c for c in first.contexts if all(c in p.contexts for p in preferences)],
        )

    def check(self, align: Align) -> None:
        """Refuse models without a common group, or without a common context to pair them by."""
        if not self.groups:
            raise RunError("compare: expected runs with a group in common, found none")
        if not self.contexts and align != "groups":
            raise RunError(
                "compare: expected runs with a context in common, found none; "
                'align="groups" (--align groups) pairs the groups alone'
            )

    def cut_groups(self, p: Preferences) -> Preferences:
        """Return the preferences of the shared groups, in the model's own contexts."""
        return p.only(_positions(p.groups, self.groups))

    def cut(self, p: Preferences) -> Preferences:
        """Return the preferences of the shared groups in the shared contexts."""
        return p.only(
            _positions(p.groups, self.groups), _positions(p.contexts, self.contexts)
        )


def _check_same_cells(
    preferences: Sequence[Preferences], cells: SharedCells, labels: Sequence[str]
) -> None:
    """Refuse preferences with groups or contexts that not all of them have."""
    shape = (len(cells.groups), len(cells.contexts))
    for label, p in zip(labels, preferences, strict=False):
        if (len(p.groups), len(p.contexts)) != shape:
            raise RunError(
                f"compare: {label} has other groups or contexts than the first; "
                'align="common" compares what they share, align="groups" their groups'
            )


def _compare_by_group(
    first: Preferences,
    preferences: Sequence[Preferences],
    cells: SharedCells,
    labels: Sequence[str],
    clusters: str | None,
    **inference: Any,
) -> Comparison:
    """Compare each model in its own contexts, with the group weights of the first."""
    group_weights = cells.cut_groups(first).group_weights
    models = [
        replace(cells.cut_groups(p), group_weights=group_weights) for p in preferences
    ]
    return compare_unpaired(models, names=labels, clusters=clusters, **inference)


def _compare_by_cell(
    first: Preferences,
    preferences: Sequence[Preferences],
    cells: SharedCells,
    labels: Sequence[str],
    clusters: str | None,
    **inference: Any,
) -> Comparison:
    """Compare in the shared cells, with the weights and the reference of the first."""
    models = [cells.cut(p) for p in preferences]
    shared = cells.cut(first)
    return compare_arrays(
        *(p.values for p in models),
        names=labels,
        clusters=None if clusters is None else shared.label(clusters),
        samples=[p.samples for p in models],
        mask=np.logical_and.reduce([p.observed for p in models]),
        groups=cells.groups,
        categories=first.categories,
        context_weights=shared.context_weights,
        group_weights=shared.group_weights,
        reference=shared.reference,
        criterion=first.criterion,
        **inference,
    )


def _positions(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    position = {name: i for i, name in enumerate(names)}
    return [position[name] for name in wanted]


def run_names(runs: Sequence[Run]) -> list[str]:
    """Return the names of runs in a comparison.

    These are their models; where they repeat, with the context sets, the folders or numbers,
    whichever tells them apart.
    """
    names = [run.model for run in runs]
    numbers = [str(i + 1) for i in range(len(runs))]
    distinctions = [
        [run.record.contexts.name for run in runs],
        [run.path.name if run.path else str(i) for i, run in enumerate(runs)],
        numbers,
    ]
    for distinction in distinctions:
        if len(set(names)) == len(names):
            break
        names = [
            f"{run.model} ({text})" for run, text in zip(runs, distinction, strict=True)
        ]
    return names


def resampling_note(runs: Sequence[tuple[str, Run]]) -> str:
    """Return a warning if the intervals of runs use different resampling units; "" otherwise.

    `runs` are (name, run). Runs without intervals, and reference models, have no unit.
    """
    units: dict[str, str] = {}
    for name, run in runs:
        if run.record.model.kind == "reference":
            continue
        label = run.record.settings.clusters
        units[name] = (
            "contexts" if label is None else f"clusters of contexts by {label}"
        )
    if len(set(units.values())) < 2:
        return ""
    unit_of_each = ", ".join(f"{unit} for {name}" for name, unit in units.items())
    return (
        f"The intervals of these runs use different resampling units ({unit_of_each}): one may be "
        "wider than another for that reason alone. Use the same --clusters in every audit to make "
        "them comparable."
    )


def same_contexts(*runs: Run) -> bool:
    """Whether runs used the same contexts, or nested samples from the same set."""
    contexts = [run.record.contexts for run in runs]
    seeds = {record.drawn.seed for record in contexts if record.drawn is not None}
    nested = len(seeds) == 1 and None not in seeds
    sets = {
        record.drawn.source if nested and record.drawn else record.sha256
        for record in contexts
    }
    return len(sets) == 1


def only_contexts_differ(runs: Sequence[Run]) -> bool:
    """Whether runs have the same topic but were asked in different contexts."""
    topics = {run.record.topic.sha256 for run in runs}
    return len(topics) == 1 and not same_contexts(*runs)


# --- What is said of several runs ----------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """Runs beside each other: what `compare`, `gate`, the report and JSON all say of them.

    comparison  the differences of their risks
    shifts      of two runs, who gets more or less from the first than from the second
    findings    the verdict first
    """

    comparison: Comparison
    shifts: tuple[Shift, ...]
    findings: tuple[Finding, ...]


def compared(
    runs: Sequence[Run],
    names: Sequence[str] | None = None,
    *,
    align: Align | None = None,
    **how: Any,
) -> Compared:
    """Runs beside each other. With `align` None, runs of which only the contexts differ are paired
    by their groups; `how` as for `compare`."""
    if align is None:
        align = "groups" if only_contexts_differ(runs) else "same"
    comparison = compare(*runs, names=names, align=align, **how)
    said = comparison_findings(
        comparison, one=group_noun(runs[0]), many=groups_noun(runs[0])
    )
    if len(runs) > 2:
        lean = leaning_models(runs, comparison.models)
        first = () if lean is None else (lean,)
        return Compared(comparison, (), (*first, *said))
    moved: list[Shift] = []
    if align != "groups":
        moved = shifts(*runs, level=comparison.level, clusters=how.get("clusters"))
    if not moved:
        return Compared(comparison, (), said)
    units = counted(comparison.n_contexts, context_noun(runs[0]))
    shift = shift_finding(moved, comparison.models, runs[0].outcome.unit, units)
    sampled = any(run.preferences.counted for run in runs)
    # Of replies, who gets what is the result; R is for researchers.
    findings = (shift, *said) if sampled else (said[0], shift, *said[1:])
    return Compared(comparison, tuple(moved), findings)


def runs_findings(runs: Sequence[Run], names: Sequence[str]) -> tuple[Finding, ...]:
    """What several runs show together, or why they cannot be compared."""
    lean = leaning_models(runs, names)
    if lean is not None:
        return (lean,)
    because = ""
    if len({tuple(run.preferences.categories) for run in runs}) > 1:
        because = "on different topics: their risks are not comparable"
    elif len({run.preferences.groups for run in runs}) > 1:
        because = "about different groups, which clinometer compare --align common puts together"
    else:
        try:
            return compared(runs, names, level=runs[0].record.settings.level).findings[
                :1
            ]
        except ClinometerError as error:
            because = f"that cannot be compared in pairs: {error}"
    values = sorted(run.risks.R.value for run in runs)
    numbers = {"lowest": Estimate(values[0]), "highest": Estimate(values[-1])}
    text = f"{len(names)} runs {because} (R {risk(values[0])} to {risk(values[-1])})."
    return (Finding("models", text, "cannot tell", tuple(names), numbers=numbers),)


def comparison_findings(
    comparison: Comparison, *, one: str = "group", many: str = "groups"
) -> tuple[Finding, ...]:
    """The findings of a comparison, the verdict first: of several models one for all, then each
    pair in R and in bias risk, then which single groups differ."""
    pairs = [d for d in comparison.overall if d.measure in DECISIVE]
    if "R" not in {d.measure for d in pairs}:
        pairs = list(comparison.overall)
    whole = [d for d in pairs if d.measure == pairs[0].measure]
    order = [(d.a, d.b) for d in whole]
    each = [
        difference(d, comparison)
        for d in sorted(pairs, key=lambda d: order.index((d.a, d.b)))
    ]
    single = [groups_of_pair(comparison, d, one, many) for d in whole]
    head = (_of_all(comparison, whole),) if len(whole) > 1 else ()
    return (*head, *each, *(said for said in single if said is not None))


def _of_all(comparison: Comparison, pairs: Sequence[Difference]) -> Finding:
    """How several models compare."""
    measure = pairs[0].measure
    values = {r.model: r.value for r in comparison.ranks if r.measure == measure}
    order = sorted(values, key=values.__getitem__)
    lowest, highest = order[0], order[-1]
    clear = [d for d in pairs if d.clear_sign(comparison.level)]
    span = f"R {risk(values[lowest])} to {risk(values[highest])}"
    sure: Sure = "clear" if clear else "unclear"
    words: dict[str, str] = {}
    if clear:
        named = "which has the lowest R is not clear"
        if any({d.a, d.b} == {lowest, highest} for d in clear):
            words = {"lowest": lowest, "highest": highest}
            named = f"{brief(lowest, 40)} has the lowest, {brief(highest, 40)} the highest R"
        verb = "differs" if len(clear) == 1 else "differ"
        text = (
            f"Of {len(values)} models ({span}), {named}; {len(clear)} of {len(pairs)} pairs {verb} "
            "clearly."
        )
    elif all(d.low is None for d in pairs):
        sure = "cannot tell"
        text = f"{len(values)} models: {span}; these contexts cannot tell whether they differ."
    else:
        text = f"No difference between the {len(values)} models is clear: {span}."
    return Finding(
        "models",
        text,
        sure,
        tuple(values),
        tally={"clear": len(clear), UNDECIDED: len(pairs) - len(clear)},
        numbers={
            "lowest": Estimate(values[lowest]),
            "highest": Estimate(values[highest]),
        },
        words=words,
    )


def difference(d: Difference, comparison: Comparison) -> Finding:
    """How far two models differ in one risk, and whether that is clear after the correction for
    all pairs."""
    what, a, b = RISKS[d.measure].in_sentences, brief(d.a, 40), brief(d.b, 40)
    words, who = {"measure": d.measure}, (d.a, d.b)
    number = with_interval(d, comparison.level)
    if number is None:
        text = f"{a} and {b} cannot be compared in {what}."
        return Finding("difference", text, "cannot tell", who, words=words)
    numbers = {"difference": number, "n_eff": Estimate(comparison.n_eff)}
    if d.p_corrected is not None:
        numbers["p"] = Estimate(d.p_corrected)
    sure: Sure = "unclear"
    if d.clear_sign(comparison.level):
        sure, way = "clear", "higher" if number.value > 0 else "lower"
        known = number.low is not None
        beside = (
            ends(number, size=True) if known else f" (p {p_relation(d.p_corrected)})"
        )
        text = f"{a} has a clearly {way} {what} than {b}: by {risk(abs(number.value))}{beside}."
    elif number.low is None:
        sure = "cannot tell"
        text = (
            f"{a} and {b} differ by {risk(abs(number.value))} in {what}; {comparison.n_eff:.1f} "
            "effective contexts cannot tell whether others would show it."
        )
    else:
        text = (
            f"{a} and {b} do not clearly differ in {what}: {show(number.value, 'signed')} "
            f"({show(number.low, 'signed')} to {show(number.high, 'signed')})."
        )
    return Finding("difference", text, sure, who, numbers=numbers, words=words)


def with_interval(d: Difference, level: float) -> Estimate | None:
    """A difference as a number with its interval; None where there is none."""
    if d.value is None or d.low is None or d.high is None:
        return None if d.value is None else Estimate(d.value)
    return Estimate(d.value, d.low, d.high, level, "paired")


def groups_of_pair(
    comparison: Comparison, pair: Difference, one: str = "group", many: str = "groups"
) -> Finding | None:
    """Which groups differ clearly between two models, after the correction for all of them; None
    for a risk that single groups do not have."""
    measure = pair.measure.replace("R", "r", 1)
    rows = [
        d
        for d in comparison.by_group
        if (d.a, d.b, d.measure) == (pair.a, pair.b, measure)
    ]
    if not rows:
        return None
    clear = [
        d
        for d in rows
        if d.p_corrected is not None and d.p_corrected <= 1 - comparison.level
    ]
    a, b = brief(pair.a, 40), brief(pair.b, 40)
    text, numbers, words = (
        f"No single {one} differs clearly between {a} and {b}.",
        {},
        {},
    )
    if clear:
        top = max(clear, key=lambda d: abs(d.value or 0.0))
        words["most"], numbers["p"] = top.group or "", Estimate(top.p_corrected or 0.0)
        verb = "differs" if len(clear) == 1 else "differ"
        text = (
            f"{len(clear)} of {len(rows)} {many} {verb} clearly between {a} and {b}, "
            f"{brief(words['most'], 40)} most (p {p_relation(numbers['p'].value)})."
        )
    tally = {"clear": len(clear), UNDECIDED: len(rows) - len(clear)}
    sure: Sure = "clear" if clear else "unclear"
    who = (pair.a, pair.b)
    return Finding("groups", text, sure, who, tally=tally, numbers=numbers, words=words)


def shift_finding(
    moved: Sequence[Shift], who: Sequence[str], unit: Unit, units: str
) -> Finding:
    """Who gets more or less from the first of two runs than from the second: first kinds of people,
    then single groups."""
    clear = sorted(
        (s for s in moved if s.clear),
        key=lambda s: (not s.column, -abs(s.change.value)),
    )
    groups = {s.name: s.change for s in clear[: 2 * NAMED]}
    numbers = {} if clear else ruled_out(s.change for s in moved)
    a, b = (brief(name, 40) for name in who)
    sure: Sure = "unclear"
    if clear:
        sure, left = "clear", len(clear) - len(groups)
        said = [
            f"{brief(name, 40)} {unit.more_or_less(one)}"
            for name, one in groups.items()
        ]
        others = f"; {left} more shift clearly" if left > 0 else ""
        text = f"Measured from the mean, {a} gives {listed(said)} than {b}{others}."
    elif numbers:
        out = unit.amount(numbers["ruled out"].value)
        ruled = f"; a shift of more than {out} is ruled out"
        text = f"Nobody gets clearly more or less from {a} than from {b}{ruled}."
    else:
        sure = "cannot tell"
        text = f"{units} cannot tell whether {a} treats anybody differently than {b}."
    tally = {"clear": len(clear), UNDECIDED: len(moved) - len(clear)}
    words = {"unit": unit.name}
    return Finding(
        "shifts",
        text,
        sure,
        tuple(who),
        tally=tally,
        groups=groups,
        numbers=numbers,
        words=words,
    )


def leaning(runs: Sequence[Run]) -> list[int]:
    """Which of several models lean steadily, corrected for all of them (Holm)."""
    splits = [run.record.components for run in runs]
    p = [1.0 if one is None or one.p is None else one.p for one in splits]
    corrected = holm(p)
    return [
        i for i, run in enumerate(runs) if corrected[i] <= 1 - run.record.settings.level
    ]


def leaning_models(runs: Sequence[Run], names: Sequence[str]) -> Finding | None:
    """How many of several models lean steadily, corrected for all of them; None unless all have
    repeated scores of one kind."""
    splits = [run.record.components for run in runs]
    told = [one for one in splits if one is not None and one.p is not None]
    if len(told) < len(runs) or not all(run.outcome.leads_with_parts for run in runs):
        return None
    which = [names[i] for i in leaning(runs)]
    n, total, many = len(which), len(runs), groups_noun(runs[0])
    over = f"differently over {counted(told[0].contexts, context_noun(runs[0]))}"
    text = f"None of {total} models clearly scores {many} {over}."
    if which:
        verb = "scores" if n == 1 else "score"
        said = listed(brief(name, 40) for name in which)
        text = f"{n} of {total} models clearly {verb} {many} {over}: {said}."
    tally = {"leaning": n, UNDECIDED: total - n}
    sure: Sure = "clear" if which else "unclear"
    return Finding("leaning models", text, sure, tuple(which), tally=tally)


def edited_models(runs: Sequence[Run]) -> Finding | None:
    """In how many models an irrelevant edit moves the answer more than another group does; None
    where none was asked."""
    asked = [run.record.placebo for run in runs if run.record.placebo is not None]
    if not asked:
        return None
    more = sum(one.edit > one.groups for one in asked)
    clear = sum(one.high is not None and one.high < 1 for one in asked)
    text = (
        "An edit that should not matter (a blank line, the weather, the colour of a car) moves "
        f"the answer more than another {group_noun(runs[0])} does in {more} of "
        f"{counted(len(asked), 'model')}, clearly in {clear}."
    )
    tally, numbers = (
        {"more": more, "less": len(asked) - more},
        {"clear": Estimate(clear)},
    )
    sure: Sure = "clear" if clear else "unclear"
    return Finding("edited models", text, sure, tally=tally, numbers=numbers)
