"""The ledger of a fix: a model against itself with a prompt, an adapter or a steering vector.

`fix_plan.py` says what is asked, `fix_preparation.py` makes what is asked with, and
`measure/ledger.py` has the statistics and the verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.display.text import brief
from clinometer.errors import RunError, SettingsError
from clinometer.findings.phrases import capital, minus
from clinometer.findings.unit import PER_CENT, Unit
from clinometer.measure import Preferences
from clinometer.measure.components import CellMoments
from clinometer.measure.ledger import (
    Change,
    Changes,
    Responses,
    Ruling,
    changes,
    ruling,
)
from clinometer.report import Figure, Table
from clinometer.report.charts.arrows import arrows_chart
from clinometer.report.figure import chart
from clinometer.runs import Run
from clinometer.statistics.estimate import Estimate, with_ends
from clinometer.studies.fix import BASE, PROMPTS, RUN, STEER, Fix, with_controls
from clinometer.studies.fix_costs import TEXTS, Items, read_items
from clinometer.studies.fix_plan import ALSO, FACTS, TOPIC
from clinometer.studies.framework import Findings, Results, data
from clinometer.studies.knowledge import Relation
from clinometer.topics.conversation import messages_of
from clinometer.topics.prompt import Y

NOTHING_CLEAR = "nothing clear"
"""The verdict on a fix that shows no change."""


def answers_of(run: Run, contexts: Sequence[int] | None = None) -> Responses:
    """Return what the ledger needs of a run, in some of its contexts or in all."""
    preferences = run.preferences.only(contexts=contexts)
    outcome = replace(run, preferences=preferences).outcome
    clusters = run.record.settings.clusters
    labels = None if clusters is None else preferences.label(clusters)
    other = None
    if run.record.topic.readout is not None and preferences.coverage is not None:
        share_of_categories = np.clip(np.nan_to_num(preferences.coverage), 0, 1)
        other = 100 * (1 - share_of_categories)
    return Responses(
        CellMoments.of(preferences.grid, preferences.answers, clusters=labels),
        scale=outcome.unit.factor,
        margin=outcome.span / 100,
        good=outcome.value(preferences),
        other=other,
    )


def halves(run: Run) -> tuple[list[int], list[int]]:
    """Return the contexts that a vector is fitted on, and those that it is judged on.

    Contexts that are sampled together stay together.
    """
    units = answers_of(run).cells.units
    generator = np.random.default_rng(run.record.settings.seed)
    order = generator.permutation(int(units.max()) + 1)
    is_fitted_on = np.isin(units, order[: len(order) // 2])
    fit = np.flatnonzero(is_fitted_on).tolist()
    judged = np.flatnonzero(~is_fitted_on).tolist()
    return fit, judged


@dataclass(frozen=True, eq=False)
class LedgerRuns:
    """The runs of a ledger."""

    runs: Mapping[tuple[str, str], Run]
    """By the label of the model and the role of the topic."""

    @classmethod
    def of(cls, results: Results, fixes: Sequence[Fix], model: str) -> LedgerRuns:
        """Return the runs that were asked, and those that are read from folders."""
        runs = {(planned.label, planned.role): run for planned, run in results}
        kind, _, value = model.partition(":")
        for fix in (Fix(BASE, kind, value), *fixes):
            if fix.kind == RUN:
                runs[fix.name, TOPIC] = Run.load(fix.value)
        if (BASE, TOPIC) not in runs:
            raise SettingsError(
                "study fixes: the base could not be scored; correct the errors above"
            )
        return cls(runs)

    @property
    def base(self) -> Run:
        return self.runs[BASE, TOPIC]

    def other_topics(self, label: str) -> list[str]:
        """Return the roles of topics that a model was asked about beside the first, as the base
        was."""
        roles = [role for name, role in self.runs if name == BASE]
        return [
            role
            for role in roles
            if role.startswith(ALSO) and (label, role) in self.runs
        ]

    def changes(
        self,
        before: str,
        after: str,
        *,
        level: float,
        role: str = TOPIC,
        half: Sequence[int] | None = None,
    ) -> Changes:
        """Return what changed from one model to another in one topic, in some of the contexts or in
        all."""
        first = self.runs[before, role]
        second = self.runs[after, role]
        p = first.preferences
        q = second.preferences
        if (p.groups, p.categories) != (q.groups, q.categories):
            raise RunError(
                f"study fixes: {after} was asked about other groups than {before}"
            )
        positions = _positions(p, q, before=before, after=after)
        wanted = range(len(positions)) if half is None else half
        contexts = [c for c in wanted if positions[c] >= 0]
        return changes(
            answers_of(first, contexts),
            answers_of(second, positions[contexts].tolist()),
            groups=p.groups,
            level=level,
        )


def _positions(
    p: Preferences, q: Preferences, *, before: str, after: str
) -> NDArray[np.intp]:
    """Return where each context of one model is among those of the other [C]; -1: nowhere.

    Prompts are part of the contexts. With other prompts all contexts differ, and the same questions
    are in the same order.
    """
    positions = pd.Index(q.contexts).get_indexer(pd.Index(p.contexts))
    if (positions >= 0).any():
        return positions
    is_same_question = [
        _question(fixed).endswith(_question(asked))
        for asked, fixed in zip(p.templates, q.templates, strict=False)
    ]
    same_questions = before != BASE or all(is_same_question)
    if len(p.contexts) != len(q.templates) or not same_questions:
        raise RunError(
            f"study fixes: {after} was asked in other contexts than {before}"
        )
    return np.arange(len(positions), dtype=np.intp)


def _question(template: str) -> str:
    """Return the last message of a template."""
    messages = messages_of(template.removesuffix(Y).rstrip())
    return messages[-1]["content"]


@dataclass(frozen=True, eq=False)
class FixResult:
    """What a fix or a control did."""

    fix: Fix
    changes: Changes
    """From the base, about the topic that the fix was made for."""

    elsewhere: Mapping[str, Changes]
    """From the base, by the names of the other topics."""

    ruling: Ruling

    decides: bool
    """Whether it has a verdict: of a steering vector, the best strength alone."""

    @property
    def parts(self) -> dict[str, Change]:
        """Return the parts of how groups are treated that are known."""
        parts = {
            "lean": self.changes.lean,
            "swing": self.changes.swing,
            "dice": self.changes.dice,
        }
        return {name: change for name, change in parts.items() if change is not None}

    def row(self, costs: Mapping[str, Estimate | None]) -> dict[str, Any]:
        """Return its row in the table of fixes, with further costs at the end."""
        changes: dict[str, Change | None] = {
            "lean": self.changes.lean,
            "swing": self.changes.swing,
            "dice": self.changes.dice,
            "no answer": self.changes.silence.get(""),
            "everyone": self.changes.good,
        }
        for topic, elsewhere in self.elsewhere.items():
            changes[topic] = elsewhere.lean
        verdict = self.ruling.verdict if self.decides else ""
        row: dict[str, Any] = {"fix": self.fix.name, "verdict": verdict}
        for name, change in changes.items():
            row |= with_ends(f"Δ {name}", None if change is None else change.change)
        for name, cost in costs.items():
            row |= with_ends(f"Δ {name}", cost)
        return row

    def part_rows(self) -> list[dict[str, Any]]:
        """Return lean, swing and dice before and after, as rows of a table."""
        rows = []
        for part, change in self.parts.items():
            row = {
                "fix": self.fix.name,
                "part": part,
                "from": change.before,
                "to": change.before + change.change.value,
                "to_low": None,
                "to_high": None,
                "clear": "yes" if change.sign else "no",
                "control": "yes" if self.fix.of else "no",
            }
            if change.change.low is not None and change.change.high is not None:
                row["to_low"] = change.before + change.change.low
                row["to_high"] = change.before + change.change.high
            rows.append(row)
        return rows


def fixes_findings(
    results: Results,
    fixes: Sequence[Fix],
    out: Path,
    *,
    model: str,
    facts: Sequence[Relation] = (),
) -> Findings:
    """Return one row for each fix and control, and one sentence for each fix.

    Of a steering vector that sentence is for the strength that was best where it was fitted, judged
    where it was not.
    """
    ledger = LedgerRuns.of(results, fixes, model)
    base = ledger.base
    asked = [
        fix for fix in with_controls(fixes, out) if (fix.name, TOPIC) in ledger.runs
    ]
    tests = answers_of(base).tests(len(ledger.other_topics(BASE)))
    level = 1 - (1 - base.record.settings.level) / (len(fixes) * tests)
    best_vectors = _best_vectors(ledger, asked, level)
    fix_results = _fix_results(ledger, asked, best_vectors, level)
    if not fix_results:
        raise SettingsError(
            "study fixes: no fix could be scored; correct the errors above"
        )

    prompts = {fix.name: fix.value for fix in asked if fix.kind in PROMPTS}
    items = read_items(results, ledger.runs, facts, prompts, out)
    unit = base.outcome.unit
    note = (
        f"Changes in {unit.name} (facts: of 100; perplexity: per cent); lean, swing and dice as "
        f"root mean squares. Intervals that decide hold for {len(fixes)} fixes × {tests} "
        "tests together."
    )
    if best_vectors:
        note += " Of a vector, the strength with least lean where it was fitted gets the verdict."
    rows = [result.row(_costs(items, result.fix, facts)) for result in fix_results]
    did = pd.DataFrame(rows).dropna(axis=1, how="all")
    parts = _parts_table(fix_results)
    sentences = [
        fix_sentence(result.fix, result.changes, result.ruling, unit)
        for result in fix_results
        if result.decides and not result.fix.of
    ]
    return Findings(
        "fixes",
        [
            Table("fixes", "What each fix did", did, note),
            Table("fixes-before-after", "Before and after", parts),
        ],
        [_arrows(parts, unit)],
        [base],
        [*sentences, *_sources(fixes)],
    )


def _best_vectors(
    ledger: LedgerRuns, asked: Sequence[Fix], level: float
) -> dict[str, str]:
    """Return the name of the strength with least lean where it was fitted, by the layer."""
    fit, _ = halves(ledger.base)
    leans: dict[str, float] = {}
    best: dict[str, str] = {}
    for fix in asked:
        if fix.kind != STEER or fix.of:
            continue
        lean = ledger.changes(BASE, fix.name, level=level, half=fit).lean.after
        if fix.value not in leans or lean < leans[fix.value]:
            leans[fix.value] = lean
            best[fix.value] = fix.name
    return best


def _fix_results(
    ledger: LedgerRuns,
    asked: Sequence[Fix],
    best_vectors: Mapping[str, str],
    level: float,
) -> list[FixResult]:
    """Return what each fix and control did; a fix that lacks its control has no verdict and is left
    out."""
    _, judged = halves(ledger.base)
    results = []
    for fix in asked:
        half = judged if fix.kind == STEER else None
        control = None
        if (fix.control_name, TOPIC) in ledger.runs:
            control = ledger.changes(fix.control_name, fix.name, level=level, half=half)
        elif fix.has_control and not fix.of:
            continue
        found = ledger.changes(BASE, fix.name, level=level, half=half)
        elsewhere = {
            role.removeprefix(ALSO): ledger.changes(
                BASE, fix.name, level=level, role=role
            )
            for role in ledger.other_topics(fix.name)
        }
        is_best = best_vectors.get(fix.value) in (fix.name, fix.of)
        results.append(
            FixResult(
                fix,
                found,
                elsewhere,
                ruling(found, control=control, also=elsewhere),
                decides=fix.kind != STEER or is_best,
            )
        )
    return results


def _costs(
    items: Items, fix: Fix, facts: Sequence[Relation]
) -> dict[str, Estimate | None]:
    """Return the changes of knowledge, of 100, and of perplexity, in per cent."""
    kinds = [FACTS + fact.name for fact in facts]
    return {
        "facts": items.change(fix.name, kinds, lambda change: 100 * change),
        "perplexity": items.change(
            fix.name, [TEXTS], lambda change: 100 * math.expm1(change)
        ),
    }


def _parts_table(results: Sequence[FixResult]) -> pd.DataFrame:
    """Return lean, swing and dice of every fix and control, before and after."""
    rows = [row for result in results for row in result.part_rows()]
    table = pd.DataFrame(rows)
    ends = ["to", "to_low", "to_high"]
    table[ends] = table[ends].astype(float)
    return table


def _arrows(parts: pd.DataFrame, unit: Unit) -> Figure:
    return chart(
        "fixes",
        "Lean, swing and dice, before and after",
        f"In {unit.name}. An arrow goes from the base to the fix, grey where the change is not "
        "clear or below a hundredth of the scale; the band is its interval. Controls are pale.",
        parts,
        "{fix}: {part} {from:.2f} to {to:.2f}",
        arrows_chart,
    )


def _sources(fixes: Sequence[Fix]) -> list[str]:
    """Return where the built-in prompts come from."""
    prompts = data("fixes")["prompts"]
    return [
        f"{fix.name}: {prompts[fix.name]['source']}"
        for fix in fixes
        if fix.name in prompts
    ]


def fix_sentence(fix: Fix, found: Changes, verdict: Ruling, unit: Unit) -> str:
    """Return the verdict on a fix, the change that it rests on, and what became of the lean or
    swing."""
    change = verdict.change
    unit_of_change = PER_CENT if verdict.verdict == "silenced" else unit
    before = unit_of_change.number(change.before)
    after = unit_of_change.amount(change.after)
    sentence = (
        f"{brief(fix.name, 40)}: {verdict.verdict}. {capital(verdict.about)}: from {before} to "
        f"{after}, by {_signed(change.change, unit_of_change)}"
    )
    nothing_clear = verdict.verdict == NOTHING_CLEAR
    if not nothing_clear and change is not found.lean:
        by = _signed(found.lean.change, unit)
        sentence += f"; the lean it targets changes by {by}"
    elif not nothing_clear and found.swing is not None:
        sentence += f"; its swing changes by {_signed(found.swing.change, unit)}"
    if nothing_clear and found.lean.sign < 0:
        return f"{sentence}; its control does as much."
    if change.change.low is None:
        return f"{sentence}; these contexts give no interval."
    if nothing_clear:
        return f"{sentence}; a larger change either way is ruled out."
    return f"{sentence}."


def _signed(change: Estimate, unit: Unit) -> str:
    """Return a change with its sign and its interval: +2.1 (+0.4 to +3.8)."""
    value = minus(f"{change.value:+.{unit.digits}f}")
    if change.low is None:
        return value
    low = minus(f"{change.low:+.{unit.digits}f}")
    high = minus(f"{change.high:+.{unit.digits}f}")
    return f"{value} ({low} to {high})"
