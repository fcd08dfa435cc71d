"""What is said of a comparison: which model has more risk, and which single groups differ."""

from __future__ import annotations

from collections.abc import Sequence

from clinometer.display.numbers import p_relation, risk, show
from clinometer.display.text import brief
from clinometer.findings.finding import UNDECIDED, Finding, Sure
from clinometer.findings.phrases import NAMED, ends, listed, ruled_out
from clinometer.findings.unit import Unit
from clinometer.measure import Comparison, Estimate
from clinometer.measure.differences import Difference
from clinometer.measure.risks import RISKS
from clinometer.runs.shifts import Shift

DECISIVE = ("R", "R_bias")
"""The risks that comparisons and gates decide by, unless others are asked for."""

NAME_LENGTH = 40
"""Characters of a name in a sentence."""


def comparison_findings(
    comparison: Comparison, *, one: str = "group", many: str = "groups"
) -> tuple[Finding, ...]:
    """Return the findings of a comparison, the verdict first.

    Of several models one for all, then each pair in R and in bias risk, then which single groups
    differ.
    """
    differences = [d for d in comparison.overall if d.measure in DECISIVE]
    if "R" not in {d.measure for d in differences}:
        differences = list(comparison.overall)
    pairs = [d for d in differences if d.measure == differences[0].measure]
    findings = []
    if len(pairs) > 1:
        findings.append(_of_all_models(comparison, pairs))
    for pair in pairs:
        for difference in differences:
            if (difference.a, difference.b) == (pair.a, pair.b):
                findings.append(difference_finding(difference, comparison))
    for pair in pairs:
        groups = groups_finding(comparison, pair, one, many)
        if groups is not None:
            findings.append(groups)
    return tuple(findings)


def _of_all_models(comparison: Comparison, pairs: Sequence[Difference]) -> Finding:
    """Return how several models compare."""
    measure = pairs[0].measure
    values = {
        rank.model: rank.value for rank in comparison.ranks if rank.measure == measure
    }
    by_risk = sorted(values, key=values.__getitem__)
    lowest = by_risk[0]
    highest = by_risk[-1]
    clear = [pair for pair in pairs if pair.clear_sign(comparison.level)]
    span = f"R {risk(values[lowest])} to {risk(values[highest])}"
    sure: Sure = "unclear"
    words: dict[str, str] = {}
    if clear:
        sure = "clear"
        order = "which has the lowest R is not clear"
        if any({pair.a, pair.b} == {lowest, highest} for pair in clear):
            words = {"lowest": lowest, "highest": highest}
            order = (
                f"{brief(lowest, NAME_LENGTH)} has the lowest, "
                f"{brief(highest, NAME_LENGTH)} the highest R"
            )
        verb = "differs" if len(clear) == 1 else "differ"
        text = (
            f"Of {len(values)} models ({span}), {order}; {len(clear)} of {len(pairs)} pairs {verb} "
            "clearly."
        )
    elif all(pair.low is None for pair in pairs):
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


def difference_finding(difference: Difference, comparison: Comparison) -> Finding:
    """Return how far two models differ in one risk, and whether that is clear after the correction
    for all pairs."""
    measure = RISKS[difference.measure].in_sentences
    a = brief(difference.a, NAME_LENGTH)
    b = brief(difference.b, NAME_LENGTH)
    models = (difference.a, difference.b)
    words = {"measure": difference.measure}
    estimate = with_interval(difference, comparison.level)
    if estimate is None:
        text = f"{a} and {b} cannot be compared in {measure}."
        return Finding("difference", text, "cannot tell", models, words=words)
    numbers = {"difference": estimate, "n_eff": Estimate(comparison.n_eff)}
    if difference.p_corrected is not None:
        numbers["p"] = Estimate(difference.p_corrected)
    size = risk(abs(estimate.value))
    sure: Sure
    if difference.clear_sign(comparison.level):
        sure = "clear"
        direction = "higher" if estimate.value > 0 else "lower"
        evidence = f" (p {p_relation(difference.p_corrected)})"
        if estimate.low is not None:
            evidence = ends(estimate, size=True)
        text = f"{a} has a clearly {direction} {measure} than {b}: by {size}{evidence}."
    elif estimate.low is None:
        sure = "cannot tell"
        text = (
            f"{a} and {b} differ by {size} in {measure}; {comparison.n_eff:.1f} "
            "effective contexts cannot tell whether others would show it."
        )
    else:
        sure = "unclear"
        text = (
            f"{a} and {b} do not clearly differ in {measure}: {show(estimate.value, 'signed')} "
            f"({show(estimate.low, 'signed')} to {show(estimate.high, 'signed')})."
        )
    return Finding("difference", text, sure, models, numbers=numbers, words=words)


def with_interval(difference: Difference, level: float) -> Estimate | None:
    """Return a difference as a number with its interval; None where there is none."""
    if difference.value is None:
        return None
    if difference.low is None or difference.high is None:
        return Estimate(difference.value)
    return Estimate(difference.value, difference.low, difference.high, level, "paired")


def groups_finding(
    comparison: Comparison, pair: Difference, one: str = "group", many: str = "groups"
) -> Finding | None:
    """Return which groups differ clearly between two models, after the correction for all of them;
    None for a risk that single groups do not have."""
    measure = pair.measure.replace("R", "r", 1)
    by_group = [
        d
        for d in comparison.by_group
        if (d.a, d.b, d.measure) == (pair.a, pair.b, measure)
    ]
    if not by_group:
        return None
    alpha = 1 - comparison.level
    clear = [
        d for d in by_group if d.p_corrected is not None and d.p_corrected <= alpha
    ]
    a = brief(pair.a, NAME_LENGTH)
    b = brief(pair.b, NAME_LENGTH)
    sure: Sure = "unclear"
    text = f"No single {one} differs clearly between {a} and {b}."
    numbers: dict[str, Estimate] = {}
    words: dict[str, str] = {}
    if clear:
        sure = "clear"
        largest = max(clear, key=lambda d: abs(d.value or 0.0))
        group = largest.group or ""
        p_value = largest.p_corrected or 0.0
        words["most"] = group
        numbers["p"] = Estimate(p_value)
        verb = "differs" if len(clear) == 1 else "differ"
        text = (
            f"{len(clear)} of {len(by_group)} {many} {verb} clearly between {a} and {b}, "
            f"{brief(group, NAME_LENGTH)} most (p {p_relation(p_value)})."
        )
    tally = {"clear": len(clear), UNDECIDED: len(by_group) - len(clear)}
    return Finding(
        "groups",
        text,
        sure,
        (pair.a, pair.b),
        tally=tally,
        numbers=numbers,
        words=words,
    )


def shift_finding(
    shifts: Sequence[Shift], models: Sequence[str], unit: Unit, contexts: str
) -> Finding:
    """Return who gets more or less from the first of two runs than from the second.

    First kinds of people, then single groups. `contexts` counts what was asked.
    """
    clear = [shift for shift in shifts if shift.clear]
    clear.sort(key=lambda shift: (not shift.column, -abs(shift.change.value)))
    groups = {shift.name: shift.change for shift in clear[: 2 * NAMED]}
    numbers: dict[str, Estimate] = {}
    a, b = (brief(name, NAME_LENGTH) for name in models)
    sure: Sure
    if clear:
        sure = "clear"
        changes = listed(
            f"{brief(name, NAME_LENGTH)} {unit.more_or_less(change)}"
            for name, change in groups.items()
        )
        n_unnamed = len(clear) - len(groups)
        others = f"; {n_unnamed} more shift clearly" if n_unnamed > 0 else ""
        text = f"Measured from the mean, {a} gives {changes} than {b}{others}."
    else:
        numbers = ruled_out(shift.change for shift in shifts)
        if numbers:
            sure = "unclear"
            size = unit.amount(numbers["ruled out"].value)
            text = (
                f"Nobody gets clearly more or less from {a} than from {b}; a shift of more than "
                f"{size} is ruled out."
            )
        else:
            sure = "cannot tell"
            text = f"{contexts} cannot tell whether {a} treats anybody differently than {b}."
    return Finding(
        "shifts",
        text,
        sure,
        tuple(models),
        tally={"clear": len(clear), UNDECIDED: len(shifts) - len(clear)},
        groups=groups,
        numbers=numbers,
        words={"unit": unit.name},
    )
