"""Every case of the headline, read aloud: made by hand, checked by reading."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from clinometer.report.headline import (
    CASES,
    Facts,
    Rates,
    Side,
    headline,
    headline_of_several,
)
from tests.present import present
from tests.report.made import made_run, with_floor

from clinometer.measure import Estimate
from clinometer.runs import Run
from clinometer.runs.nouns import group_noun, noun_of, plural

SHE, HE = Side("female", 34, "nurse", "she"), Side("male", 2, "president", "he")
JOBS = Facts("SmolLM2", 120, 120, 0.253, 10, "occupations", True, sides=(SHE, HE))
RACE = replace(
    JOBS, sides=(Side("white", 60, "ceo", "white"), Side("asian", 9, "chemist", "asian"))
)
HALF = replace(JOBS, seen=34, finished=False)
NONE = replace(JOBS, sides=(), swing=(0.2, 0.6))
EVERY = replace(JOBS, finished=False)  # every group has an answer, but not in every context
NAMES = Facts("M", 8, 8, 0.3, 50, sides=(Side("honest", 3, "Emily", "honest"),))

SAID: list[tuple[Facts, str]] = [
    (
        JOBS,
        "SmolLM2 writes “she” for nurses and “he” for presidents: 36 of 120 occupations lean "
        "clearly, 34 of them to female.",
    ),
    (
        replace(JOBS, sides=(SHE,)),
        "SmolLM2 writes “she” for nurses: 34 of 120 occupations lean clearly, all to female.",
    ),
    (
        replace(JOBS, sides=(replace(SHE, count=1),)),
        "SmolLM2 writes “she” for nurses: 1 of 120 occupations leans clearly, to female.",
    ),
    (
        replace(JOBS, sides=(replace(SHE, count=120),)),
        "SmolLM2 writes “she” for all 120 occupations.",
    ),
    (
        replace(JOBS, sides=(replace(SHE, count=120, word=""),)),
        "SmolLM2 leans to female for all 120 occupations.",
    ),
    (
        replace(HALF, sides=(replace(SHE, count=34),)),
        "SmolLM2 writes “she” for all 34 occupations scored so far (of 120).",
    ),
    (
        replace(HALF, sides=(replace(SHE, count=20), HE)),
        "SmolLM2 writes “she” for nurses and “he” for presidents: 22 of 34 occupations scored so "
        "far (of 120) lean clearly, 20 of them to female.",
    ),
    (
        replace(HALF, sides=(replace(SHE, count=3),)),
        "SmolLM2 writes “she” for nurses: 3 of 34 occupations scored so far (of 120) lean clearly, "
        "all to female.",
    ),
    (
        replace(HALF, sides=(), swing=(0.6, 0.9)),
        "SmolLM2 swings with the wording: none of 34 occupations scored so far (of 120) leans "
        "clearly, and most of R 0.253 is swing.",
    ),
    (
        replace(JOBS, sides=(replace(SHE, word=""), replace(HE, word=""))),
        "SmolLM2 leans to female for nurses and to male for presidents: 36 of 120 occupations lean "
        "clearly, 34 of them to female.",
    ),
    (
        RACE,
        "SmolLM2 writes “white” for CEOs and “asian” for chemists: 69 of 120 occupations lean "
        "clearly, 60 of them to white.",
    ),
    (
        replace(RACE, sides=(*RACE.sides, Side("black", 4), Side("indian", 2))),
        "SmolLM2 writes “white” for CEOs and “asian” for chemists: 75 of 120 occupations lean "
        "clearly, 60 to white, 9 to asian, 4 to black, 2 elsewhere.",
    ),
    (
        replace(RACE, sides=(*RACE.sides, Side("black", 4))),
        "SmolLM2 writes “white” for CEOs and “asian” for chemists: 73 of 120 occupations lean "
        "clearly, 60 to white, 9 to asian, 4 to black.",
    ),
    (NONE, "SmolLM2: none of 120 occupations leans clearly in 10 sentences (R 0.253)."),
    (
        replace(NONE, swing=None),
        "SmolLM2: none of 120 occupations leans clearly in 10 sentences (R 0.253).",
    ),
    (
        replace(NONE, swing=(0.5, 0.9)),
        "SmolLM2 swings with the wording: none of 120 occupations leans clearly, and most of R "
        "0.253 is swing.",
    ),
    (
        replace(NONE, seen=1, groups=1),
        "SmolLM2: its only group does not lean clearly in 10 sentences (R 0.253).",
    ),
    (
        replace(NONE, intervals=False, contexts=1),
        "SmolLM2: one sentence cannot tell a steady lean from chance (R 0.253).",
    ),
    (
        replace(NONE, intervals=False, contexts=2),
        "SmolLM2: 2 sentences cannot tell a steady lean from chance (R 0.253).",
    ),
    (replace(JOBS, seen=0, sides=()), "SmolLM2 gave no answer that can be measured."),
    (
        replace(JOBS, R=0.0, sides=()),
        "SmolLM2 answers as the reference in every sentence: no lean, no swing.",
    ),
    (
        replace(JOBS, low_coverage=0.5),
        "SmolLM2 hardly ever writes any of the words: 50 % of its answers are close to noise.",
    ),
    (
        replace(JOBS, low_coverage=1.0),
        "SmolLM2 hardly ever writes any of the words: 100 % of its answers are close to noise.",
    ),
    (
        replace(JOBS, low_coverage=0.49, sides=(SHE,)),
        "SmolLM2 writes “she” for nurses: 34 of 120 occupations lean clearly, all to female.",
    ),
    (
        replace(JOBS, groups=1, seen=1, sides=(replace(SHE, count=1),)),
        "SmolLM2 writes “she” for nurses.",
    ),
    (
        replace(JOBS, chance="R 0.25 is not above what shuffled words give (0.24)"),
        "SmolLM2: R 0.25 is not above what shuffled words give (0.24).",
    ),
    (
        replace(JOBS, chance="R 0.25 is not …", contrast="R 0.25 overall is not above …"),
        "SmolLM2 writes “she” for nurses and “he” for presidents; R 0.25 overall is not above ….",
    ),
    (  # groups that differ, all of them to one side: no contrast to tell
        replace(JOBS, sides=(SHE,), chance="R 0.25 is not …", contrast="R 0.25 overall …"),
        "SmolLM2: R 0.25 is not ….",
    ),
    (
        EVERY,
        "SmolLM2 so far writes “she” for nurses and “he” for presidents: 36 of 120 occupations "
        "lean clearly, 34 of them to female.",
    ),
    (
        replace(EVERY, sides=(replace(SHE, count=120),)),
        "SmolLM2 so far writes “she” for all 120 occupations.",
    ),
    (
        replace(EVERY, sides=(), contexts=5),
        "SmolLM2 so far: none of 120 occupations leans clearly in 5 sentences (R 0.253).",
    ),
    (
        replace(EVERY, intervals=False, sides=(), contexts=1),
        "SmolLM2 so far: one sentence cannot tell a steady lean from chance (R 0.253).",
    ),
    (
        replace(
            NAMES,
            asked=True,
            rates=Rates("Yes", 0.7, 0.5, 0.9, ("Ann", 0.9), ("Ivan", 0.5), clear=5, under=2),
        ),
        "M answers “Yes” more often for Ann (90 %) than for Ivan (50 %): 5 of 8 groups clearly "
        "differ from the mean (70 %), 2 below it.",
    ),
    (
        replace(NAMES, asked=True, rates=Rates("Yes", 0.7, 0.69, 0.71)),
        "M answers “Yes” in 69 % to 71 % of cases: none of 8 groups clearly differs from the mean "
        "(R 0.300).",
    ),
    (
        replace(
            NAMES, asked=True, rates=Rates("Yes", 0.9, 0.4, 0.95, below=("Ivan", 0.4), clear=1)
        ),
        "M answers “Yes” less often for Ivan (40 %) than on average (90 %): 1 of 8 groups clearly "
        "differs.",
    ),
    (
        replace(NAMES, asked=True, low_coverage=1.0),
        "M hardly ever gives any of the answers: 100 % of its answers are close to noise.",
    ),
    (NAMES, "M writes “honest” for Emily: 3 of 8 groups lean clearly, all to honest."),
    (
        replace(NAMES, sides=(Side("honest", 8, "Emily", "honest"),)),
        "M writes “honest” for all 8 groups.",
    ),
    (
        replace(NAMES, sides=(Side("honest", 3, "Emily"), Side("dishonest", 1, "Ivan"))),
        "M leans to honest for Emily and to dishonest for Ivan: 4 of 8 groups lean clearly, 3 of "
        "them to honest.",
    ),
    (replace(NAMES, sides=()), "M: none of 8 groups leans clearly in 50 sentences (R 0.300)."),
    (
        replace(NAMES, sides=(), contexts=2000),
        "M: none of 8 groups leans clearly in 2,000 sentences (R 0.300).",
    ),
]


@pytest.mark.parametrize(("given", "said"), SAID, ids=range(len(SAID)))
def test_what_is_said(given: Facts, said: str) -> None:
    assert headline(given) == said


def test_every_case_is_read() -> None:
    spoken = {next(name for name, applies, _ in CASES if applies(f)) for f, _ in SAID}
    assert spoken == {name for name, _, _ in CASES}


def run_of(R: float, half: float, swing: float, *, contexts: int = 4) -> Run:
    """A run whose risks are these."""
    made = made_run(None, groups=3, contexts=contexts, replicates=0)
    values: dict[str, Any] = {
        "R": Estimate(R, R - half, R + half, 0.95, "made"),
        "R_bias": Estimate(R * (1 - swing), 0.0, R, 0.95, "made"),
        "R_volatility": Estimate(R * swing, 0.0, R, 0.95, "made"),
    }
    return replace(made, risks=replace(made.risks, **values))


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (
            [(0.2, 0.02, 0.1), (0.5, 0.02, 0.1)],
            "Of 2 models, b is furthest from the reference (R 0.500) and a nearest (R 0.200).",
        ),
        (
            [(0.30, 0.1, 0.07), (0.32, 0.1, 0.68), (0.31, 0.1, 0.14), (0.33, 0.1, 0.1)],
            "4 models are about equally far from the reference (R 0.300 to 0.330), but b swings: "
            "68 % of its risk, the others 7 % to 14 %.",
        ),
        (
            [(0.30, 0.1, 0.1), (0.32, 0.1, 0.6)],
            "2 models are about equally far from the reference (R 0.300 to 0.320), but b swings: "
            "60 % of its risk, the other 10 %.",
        ),
        (
            [(0.30, 0.1, 0.1), (0.32, 0.1, 0.2)],
            "2 models cannot be told apart in how far they are from the reference: R 0.300 to "
            "0.320.",
        ),
    ],
)
def test_several_models(runs: list[tuple[float, float, float]], said: str) -> None:
    """Each asked in contexts of its own, so that only the intervals can be compared."""
    made = [run_of(*one, contexts=4 + i) for i, one in enumerate(runs)]
    assert headline_of_several("abcd", made) == said


def test_models_asked_the_same_questions_are_compared_in_pairs() -> None:
    """One leans more in nearly every context: clear, although the intervals overlap."""
    less, more = (made_run(None, groups=3, contexts=60, lean=lean) for lean in (0.4, 1.3))
    assert present(less.risks.R.high) > present(more.risks.R.low)
    assert "b is furthest from the reference" in headline_of_several("ab", [less, more])
    assert "cannot be told apart" in headline_of_several("ab", [less, less])


def test_runs_on_different_topics_are_not_ranked() -> None:
    other = made_run(None, groups=4, contexts=4, categories=3, replicates=0)
    said = headline_of_several("ab", [run_of(0.2, 0.01, 0.1), other])
    assert "on different topics" in said
    assert "furthest" not in said


def test_groups_are_called_what_the_title_says() -> None:
    run = made_run(None, groups=2, contexts=4)
    titled = run.record.topic.model_copy(update={"title": "Mood by hobby"})
    run = replace(run, record=run.record.model_copy(update={"topic": titled}))
    assert (group_noun(run), noun_of(run)) == ("hobby", ("hobbies", False))


def test_models_that_are_all_below_the_floor() -> None:
    runs = [made_run(None, groups=3, contexts=20, seed=seed) for seed in (0, 1)]
    below = [with_floor(run) for run in runs]
    said = headline_of_several(["a", "b"], below)
    assert said.endswith("None of them is above what shuffled words give.")
    said = headline_of_several(["a", "b"], [below[0], runs[1]])
    assert said.endswith("1 of them is not above what shuffled words give.")


def test_plurals() -> None:
    words = {"physicist": "physicists", "woman": "women", "human": "humans", "boss": "bosses"}
    assert {word: plural(word) for word in words} == words
    odd = {"cfo": "CFOs", "police": "police", "faculty": "faculty", "salesperson": "salespeople"}
    assert {word: plural(word) for word in odd} == odd
