"""The gate: right about planted regressions at the stated rates, and clear about its reasons."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt
from tests.preferences import pair
from tests.present import present
from tests.report.made import HOSTILE, made_run

from clinometer.errors import SettingsError
from clinometer.gate.decision import GateDecision, decide
from clinometer.gate.markdown import decision_markdown
from clinometer.gate.reason import Verdict
from clinometer.gate.row import GatedRow, verdict_of
from clinometer.gate.silence import Silence
from clinometer.measure import compare
from clinometer.models import LoadOptions
from clinometer.runs import Run
from clinometer.statistics.estimate import Estimate


@pytest.fixture(scope="module")
def empty() -> Run:
    """Two groups in 60 contexts of even weight, to be filled."""
    run = made_run(None, groups=2, contexts=60)
    even = np.full(60, 1 / 60)
    return replace(run, preferences=replace(run.preferences, context_weights=even))


def filled(run: Run, lean: np.ndarray) -> Run:
    """With preferences of this stereotype towards the first category."""
    values = pair((1 + np.clip(lean, -1, 1)) / 2)
    return replace(run, preferences=replace(run.preferences, values=values))


def planted(empty: Run, rng: np.random.Generator, by: float) -> tuple[Run, Run]:
    """A run whose true R is higher than that of its baseline by `by`: all lean far from parity."""
    shape = (2, 60)
    shared = rng.normal(0, 0.1, shape)
    context = [rng.normal(0, 0.01, (1, 60)) for _ in "ab"]
    own = [rng.normal(0, 0.03, shape) for _ in "ab"]
    a, b = (0.4 + shared + context[i] + own[i] for i in (0, 1))
    return filled(empty, a + by), filled(empty, b)


#: benchmarks/gate.py has 200 of each, in harder settings; docs/gate.md has its figures.
REPEATS = 30


@pytest.mark.parametrize(
    ("by", "worse", "not_worse"),
    [(0.0, (0, 0), (27, 30)), (0.05, (27, 30), (0, 0)), (0.02, (0, 5), (0, 5))],
    ids=["none", "beyond the margin", "at the margin"],
)
def test_planted_regressions_are_found(
    empty: Run, by: float, worse: tuple[int, int], not_worse: tuple[int, int]
) -> None:
    """At the margin each verdict errs in 5 %: more than 5 of 30 have a probability of 0.3 %."""
    rng = np.random.default_rng(5)
    found = Counter(decide(*planted(empty, rng, by)).verdict for _ in range(REPEATS))
    assert worse[0] <= found["worse"] <= worse[1]
    assert not_worse[0] <= found["not worse"] <= not_worse[1]


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.06, 0.2, "worse"),
        (-0.2, -0.06, "better"),
        (-0.04, 0.04, "equivalent"),
        (-0.2, 0.04, "not worse"),
        (-0.01, 0.06, "cannot tell"),
        (None, None, "cannot tell"),
    ],
)
def test_what_an_interval_says_about_a_margin(
    low: float | None, high: float | None, verdict: str
) -> None:
    assert verdict_of(low, high, 0.05) == verdict


def test_the_decision_rests_on_the_interval_of_compare(empty: Run) -> None:
    run, baseline = planted(empty, np.random.default_rng(1), 0.03)
    decision = decide(run, baseline, margin=0.01, measures=["R", "R_bias"])
    comparison = compare(run.preferences.values, baseline.preferences.values)
    differences = {d.measure: d for d in comparison.overall}
    assert [row.what for row in decision.rows] == ["R", "R_bias"]
    for row in decision.rows:
        rise = present(row.rise)
        difference = differences[row.what]
        assert rise.low == pytest.approx(difference.low, abs=1e-9)
        assert rise.high == pytest.approx(difference.high, abs=1e-9)
        assert row.run - row.baseline == pytest.approx(difference.value, abs=1e-12)
    assert decision.verdict == "worse"
    assert decision.exit_status == 1
    rise = present(decision.rows[0].rise)
    ends = f"{rise.low:+.3f} to {rise.high:+.3f}"
    sentence = f"R has changed by {rise.value:+.3f} ({ends}), all of it above 0.01."
    assert sentence in decision.reason


def test_of_several_risks_the_worst_decides(empty: Run) -> None:
    rng = np.random.default_rng(3)
    steady = filled(empty, 0.3 + rng.normal(0, 0.02, (2, 60)))
    swinging = filled(
        empty, np.where(np.arange(60) % 2, 1.0, -0.4) + rng.normal(0, 0.02, (2, 60))
    )
    assert (
        decide(swinging, steady, margin=0.25, measures=["R_bias"]).verdict
        == "not worse"
    )
    both = ["R_bias", "R_volatility"]
    assert decide(swinging, steady, margin=0.25, measures=both).verdict == "worse"


def test_the_same_answers_are_not_worse_however_few() -> None:
    run = made_run(None, groups=3, contexts=2)
    found = decide(run, run)
    assert found.verdict == "not worse"
    assert found.reason == "The answers are the same in every cell."
    assert [one.verdict for one in found.rows] == ["equivalent"] * 2


def test_too_few_contexts_cannot_tell_and_say_so() -> None:
    found = decide(
        *(made_run(None, groups=3, contexts=2, seed=seed) for seed in (0, 1))
    )
    assert found.exit_status == 3
    assert "no interval" in found.reason


def test_how_many_contexts_it_takes(empty: Run) -> None:
    """An arm of A and a margin of m want (A / m)² as many effective contexts."""
    run, baseline = planted(empty, np.random.default_rng(2), 0.0)
    (one,) = decide(run, baseline, measures=["R"]).rows
    rise = present(one.rise)
    assert rise.low is not None
    assert rise.high is not None
    assert rise.low < 0 < rise.high
    margin = rise.high / 2
    found = decide(run, baseline, margin=margin, measures=["R"])
    arm = max(rise.high - rise.value, rise.value - rise.low)
    need = int(np.ceil((arm / margin) ** 2 * 60 - 1e-9))
    assert found.verdict == "cannot tell"
    assert f"about {need:,} effective contexts" in found.reason


def test_runs_of_other_settings_are_noted(empty: Run) -> None:
    run, baseline = planted(empty, np.random.default_rng(1), 0.0)
    asked = {**run.record.scoring, **LoadOptions(quantize="8bit").scoring()}
    record = run.record.model_copy(update={"scoring": asked})
    (note,) = decide(replace(run, record=record), baseline).notes
    assert "load.quantize (default, now 8bit)" in note


def sampled(run: Run, lean: np.ndarray, replies: int, seed: int = 0) -> Run:
    """The same counted from replies."""
    share = np.random.default_rng(seed).binomial(replies, (1 + lean) / 2) / replies
    p = filled(run, 2 * share - 1).preferences
    return replace(
        run, preferences=replace(p, answers=np.full(share.shape, float(replies)))
    )


def test_counting_noise_on_one_side_passes_no_worse_model(empty: Run) -> None:
    """Four replies lift an R of 0.04 above an R of 0.3 from forty: as the runs themselves have it,
    each is corrected by itself."""
    sign = np.where(np.random.default_rng(0).random((2, 60)) < 0.5, 1, -1)
    worse, baseline = (
        sampled(empty, 0.3 * sign, 40),
        sampled(empty, 0.04 * sign, 4, seed=1),
    )
    plain = [
        np.abs(r.preferences.values[..., 0] * 2 - 1).mean() for r in (worse, baseline)
    ]
    assert plain[1] > plain[0], "what was counted says the opposite"
    found = decide(worse, baseline)
    assert found.verdict != "not worse"
    one = found.rows[0]
    assert one.run == pytest.approx(worse.preferences.estimate().R.value, abs=1e-6)
    assert one.run > one.baseline
    assert decide(baseline, worse, measures=["R"]).verdict != "worse"
    assert any("bracketed" in note for note in found.notes)
    same = replace(worse.preferences, answers=np.full((2, 60), 400.0))
    assert (
        "same in every cell"
        not in decide(worse, replace(worse, preferences=same)).reason
    )
    with pytest.raises(
        SettingsError, match=r"R_between\b.* is not known of sampled answers"
    ):
        decide(worse, baseline, measures=["R_between"])


def silent(run: Run, cells: tuple[Any, ...]) -> Run:
    values = run.preferences.values.copy()
    values[cells] = np.nan
    return replace(run, preferences=replace(run.preferences, values=values))


@pytest.mark.parametrize(
    ("cells", "verdict", "reason"),
    [
        ((1,), "worse", r"none about .*groups without an answer count against it"),
        ((slice(None), slice(0, 20)), "cannot tell", "lacks 40 answers .* 33 % of all"),
        ((0, slice(0, 1)), "not worse", "below 0.02"),
    ],
    ids=["a group", "a third", "one cell"],
)
def test_what_the_run_does_not_answer_counts_against_it(
    empty: Run, cells: tuple[Any, ...], verdict: Verdict, reason: str
) -> None:
    run, baseline = planted(empty, np.random.default_rng(1), -0.05)
    found = decide(silent(run, cells), baseline)
    assert found.verdict == verdict
    assert re.search(reason, found.reason)
    assert any("The run lacks" in note for note in found.notes)
    against = decide(
        run, silent(baseline, cells)
    )  # what only the baseline lacks tells nothing
    assert against.verdict == "not worse"
    assert any("that the baseline lacks" in note for note in against.notes)


def test_what_is_compared_has_the_weights_that_r_has(empty: Run) -> None:
    """R weighs the contexts of each group to one, however often each group was seen."""
    baseline = filled(empty, np.full(empty.preferences.observed.shape, 0.2))
    seen = np.ones(baseline.preferences.observed.shape)
    seen[0] = 1000.0  # of one group everything a thousand times
    seen[:, 0] *= np.r_[
        7.0, np.ones(len(seen) - 1)
    ]  # and the first context more often than that
    p = replace(baseline.preferences, context_weights=seen)
    run = replace(baseline, preferences=p.only(contexts=range(1, len(p.contexts))))
    share = (
        (1 - seen[:, 0] / seen.sum(axis=1)) @ p.group_weights / p.group_weights.sum()
    )
    found = Silence.of(run, replace(baseline, preferences=p))
    assert found.compared == pytest.approx(share)
    assert found.share == 0


# --- As Markdown: rendered as GitHub renders tables, with names that try to be markup -------------


@pytest.fixture(scope="module")
def decision() -> GateDecision:
    a = made_run(None, groups=3, contexts=30)
    b = made_run(None, groups=3, contexts=30, model="made:other", seed=1)
    return decide(a, b, measures=["R", "R_volatility"])


def rendered(text: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


def test_it_is_a_heading_a_reason_and_a_table(decision: GateDecision) -> None:
    page = rendered(decision_markdown(decision))
    assert f"{decision.verdict}: made:model against made:other</h3>" in page
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page)
    assert len(cells) == 6 * 2
    assert cells[0] == "R"
    assert cells[1] == f"{decision.rows[0].run:.3f}"
    assert cells[5] == decision.rows[0].verdict
    assert "does not say that either model is fair" in page
    assert "<li>" not in page


@pytest.mark.parametrize(
    "name", [*HOSTILE[:4], "a|b", "`x`", "[a](javascript:b)", "line\nline"]
)
def test_names_are_text(decision: GateDecision, name: str) -> None:
    spoilt = replace(
        decision, run=name, baseline=name, topic=name, contexts=name, notes=(name,)
    )
    page = rendered(decision_markdown(spoilt))
    tags = set(re.findall(r"<(\w+)", page))
    assert tags <= {
        "h3",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "ul",
        "li",
        "sub",
    }
    assert page.count("<td") == 12


@pytest.mark.parametrize(("value", "verb"), [(2.9, "grown"), (-2.9, "shrunk")])
def test_a_lean_grows_or_shrinks(value: float, verb: str) -> None:
    rise = Estimate(value, -7.4, 9.3, 0.95)
    row = GatedRow("Asian people", "points", 2.9, -3.5, rise, 2.0, "cannot tell")
    assert row.sentence.startswith(
        f"The lean of Asian people has {verb} by 2.90 points (−7.40 to"
    )
