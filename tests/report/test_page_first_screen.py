"""The first screen: what stands on it, and that its numbers are those of the run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.present import present
from tests.report.made import hiring_run, made_run, summary_of

from clinometer.measure import Estimate
from clinometer.report.page import (
    badge,
    chips,
    contexts_worth,
    evidence,
    first_screen,
    limits,
    sentences,
)
from clinometer.runs import Run, audit
from clinometer.runs.findings import facts, steady


@pytest.mark.parametrize(
    ("R", "low", "high", "said"),
    [
        (0.398, 0.137, 0.213, "About half of R (34–54 %) is a steady lean; the rest swings"),
        (0.398, 0.190, 0.213, "About half of R (48–54 %) is a steady lean; the rest swings"),
        (0.398, 0.020, 0.360, "cannot be told"),
        (0.400, 0.300, 0.380, "Most of R (75–95 %) is a steady lean; the rest swings"),
        (0.400, 0.040, 0.160, "Most of R (60–90 %) swings with the sentence; the rest is steady."),
        (0.400, 0.390, 0.400, "Nearly all of R is a steady lean."),
        (0.400, 0.000, 0.010, "Nearly all of R swings with the sentence."),
    ],
)
def test_the_share_that_is_steady(small: Run, R: float, low: float, high: float, said: str) -> None:
    """Of a run with this R and this interval of the bias risk."""
    report = replace(
        small.risks,
        R=Estimate(R, 0.9 * R, 1.1 * R, 0.95, "made"),
        R_bias=Estimate((low + high) / 2, low, high, 0.95, "made"),
    )
    assert said in present(steady(facts(replace(small, risks=report)))).text


def test_sentences_say_how_far_how_sure_and_how_many_groups(small: Run) -> None:
    first, said = small.findings[0], sentences(small)
    assert said[0] == first.text
    assert (first.clear, first.counted) == (summary_of(small).cells.clear.sum(), 30)
    assert f"{small.risks.R.value:.3f}" in " ".join(said)
    assert "95 % intervals" in " ".join(said)
    says, says_not = limits([small])
    assert says[0].startswith("Each model was asked")
    assert says_not[0].startswith("They do not say that a model is fair")


def test_contexts_are_never_worth_more_than_there_are(small: Run) -> None:
    odd = replace(small, risks=replace(small.risks, n_contexts=14, n_eff=15.0))
    assert contexts_worth(odd) == "14 sentences"
    few = replace(small, risks=replace(small.risks, n_contexts=10, n_eff=4.3))
    assert contexts_worth(few) == "10 sentences that count like 4"
    assert evidence(few) == ("thin", "10 sentences that count like 4")


def test_undecided_answers_are_thin_evidence() -> None:
    level, why = evidence(hiring_run(covered=0.1))
    assert level == "thin"
    assert why.startswith("10 % of the answers of 80 questions")
    assert evidence(hiring_run(covered=0.8))[0] != "thin"


def test_chips_hold_the_numbers_of_the_run(small: Run) -> None:
    found = {chip.name: chip for chip in chips(small)}
    for name, e in (
        ("R", small.risks.R),
        ("steady lean", small.risks.R_bias),
        ("swing", small.risks.R_volatility),
    ):
        assert found[name].value == f"{e.value:.3f}"
        given = "" if e.low is None or e.high is None else f"{e.low:.3f}–{e.high:.3f}"
        assert found[name].interval == given
    assert "evidence" in found


def test_examples_are_the_extremes_and_differ(small: Run) -> None:
    one = summary_of(small)
    screen = first_screen([one])
    p = small.preferences
    strongest = screen.examples[0]
    trusted = p.values[~p.low_coverage]
    assert max(strongest.shares) == pytest.approx(float(trusted.max()))
    assert screen.examples[1].favoured != strongest.favoured
    swing = screen.examples[-1]
    assert swing.second is not None
    assert swing.second.favoured != swing.favoured
    assert swing.second.group == swing.group
    assert screen.examples[0].group != screen.examples[1].group
    assert strongest.why == f"strongest answer of {len(trusted):,}"


def test_several_models_are_ranked_and_set_apart(small: Run, another: Run) -> None:
    screen = first_screen([summary_of(small, "a"), summary_of(another, "b")])
    ranking, spread = screen.pictures
    frame = present(ranking.table)
    assert frame["R"].is_monotonic_decreasing
    assert spread.key == "spread"
    assert screen.badge.startswith("Evidence thin: 40 sentences")


def test_the_badge_says_what_would_tell_more(small: Run) -> None:
    few = made_run(None, groups=4, contexts=4)
    assert few.findings[0].sure == "cannot tell"
    assert "· next: more" in badge(few)
    assert badge(small).endswith("· next: hold the next model to it with clinometer gate")


def test_a_perfect_model_has_no_example() -> None:
    screen = first_screen([summary_of(audit("reference:unbiased", contexts="paper-gender"))])
    assert "as the reference in every sentence" in screen.title
    assert screen.examples == ()


def test_more_than_two_categories_are_stacked() -> None:
    screen = first_screen([summary_of(made_run(None, groups=9, contexts=12, categories=5))])
    assert len(screen.examples[0].shares) == 5
    assert "category 4" in screen.pictures[0].svg()
