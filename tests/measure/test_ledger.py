"""Changes against the plain estimators, swaps by hand, the rules, and planted fixes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.fixes import RIGHT, World, once

from clinometer.measure.components import CellMoments, Deviations
from clinometer.measure.ledger import (
    Change,
    Changes,
    Responses,
    _contributions,
    changes,
    ruling,
)
from clinometer.statistics.estimate import Estimate


def world(kind: str = "20 replies", groups: int = 4, contexts: int = 20) -> World:
    return World(kind, groups, contexts, np.random.default_rng(3))


def lean_of(cells: CellMoments) -> tuple[float, float, float]:
    return Deviations.of(cells).parts(fixed=False)


def swapped(
    a: CellMoments, b: CellMoments, unit: int
) -> tuple[CellMoments, CellMoments]:
    """The two with the answers of one context exchanged."""
    there = a.units == unit

    def mixed(first: CellMoments, second: CellMoments) -> CellMoments:
        mean = np.where(there[None, :, None], second.mean, first.mean)
        within, n = (
            np.where(there, getattr(second, name), getattr(first, name))
            for name in ("within", "n")
        )
        return replace(first, mean=mean, within=within, n=n)

    return mixed(a, b), mixed(b, a)


@pytest.mark.parametrize("kind", ["20 replies", "probabilities", "ratings"])
def test_what_contexts_contribute_adds_up_and_turns_its_sign_when_one_is_swapped(
    kind: str,
) -> None:
    w = world(kind)
    a, b = w.asked().cells, w.asked(lean=0.3, swing=0.5).cells
    contributions = _contributions(Deviations.of(a), Deviations.of(b))
    whole = np.array([contributions.lean, contributions.swing, contributions.dice])
    difference = np.subtract(lean_of(b), lean_of(a))
    assert whole.sum(axis=1) == pytest.approx(difference)
    for unit in (0, 7):
        first, second = swapped(a, b, unit)
        turned = whole.sum(axis=1) - 2 * whole[:, unit]
        assert turned == pytest.approx(np.subtract(lean_of(second), lean_of(first)))


def test_changes_are_roots_and_means_of_what_both_answered() -> None:
    w = world("ratings")
    a, b = w.asked(), w.asked(lower=0.1)
    found = changes(a, b)
    assert found.lean.before == pytest.approx(np.sqrt(max(lean_of(a.cells)[0], 0)))
    assert found.lean.after == pytest.approx(np.sqrt(max(lean_of(b.cells)[0], 0)))
    assert found.good is not None
    assert found.good.change.value == pytest.approx(b.good.mean() - a.good.mean())  # type: ignore[union-attr]
    assert found.good.sign == -1
    assert changes(replace(a, margin=20.0), b).good.sign == 0  # type: ignore[union-attr]
    assert found.dice is not None
    same = changes(a, a)
    assert same.lean.change.value == 0
    assert same.lean.sign == 0


def test_exact_probabilities_have_no_dice_and_a_word_topic_no_costs() -> None:
    w = world("probabilities")
    a, b = w.asked(), w.asked(lean=0.0)
    assert changes(a, b).dice is None
    plain = changes(Responses(a.cells), Responses(b.cells))
    assert plain.good is None
    assert not plain.silence
    assert Responses(a.cells).tests(also=2) == 3
    assert a.tests() == 3


@pytest.mark.parametrize(
    ("points", "sign"), [(0.9, 0), (1.1, 1), (-0.9, 0), (-1.1, -1)]
)
def test_silence_that_changes_by_less_than_a_point_has_no_verdict(
    points: float, sign: int
) -> None:
    """The same change in each of 20 contexts: there is no doubt of its sign."""
    answers = world("probabilities").asked()
    before = replace(answers, other=np.full((4, 20), 5.0))
    after = replace(answers, other=np.full((4, 20), 5.0 + points))
    silence = changes(before, after, groups=list("abcd")).silence
    assert silence[""].change.value == pytest.approx(points)
    assert silence[""].sign == sign
    assert set(silence) == ({"", *"abcd"} if sign else {""})


@pytest.mark.parametrize(
    ("lean", "gone"), [(0.0, True), (0.3, False), (0.7, False), (1.0, False)]
)
def test_a_lean_is_gone_where_most_of_it_is_and_nothing_clear_is_left(
    lean: float, gone: bool
) -> None:
    w = world("probabilities", contexts=40)
    a, b = w.asked(), w.asked(lean=lean)
    found = changes(a, b)
    assert found.gone is gone
    assert found.lean.after < 0.5 * found.lean.before or lean > 0.3


def change(value: float, *, clear: bool = True, before: float = 10.0) -> Change:
    ends = (value - 1, value + 1)
    sign = (1 if value > 0 else -1) * clear
    return Change(before, before + value, Estimate(value, *ends, 0.95), sign)


@pytest.mark.parametrize(
    ("found", "given", "expected"),
    [
        (Changes(change(-9), gone=True), {}, "removed the lean"),
        (Changes(change(-9)), {}, "less lean"),
        (Changes(change(-9), swing=change(+8)), {}, "less lean, more swing"),
        (Changes(change(-9), gone=True, swing=change(-1)), {}, "removed the lean"),
        (Changes(change(+9)), {}, "more lean"),
        (Changes(change(-9, clear=False), swing=change(+8)), {}, "nothing clear"),
        (Changes(change(-9), gone=True), {"control": Changes(change(-1, clear=False))},
         "nothing clear"),
        (Changes(change(-9), gone=True), {"control": Changes(change(-8))}, "removed the lean"),
        (Changes(change(-9), gone=True, good=change(-5)), {}, "everyone worse"),
        (Changes(change(-9), gone=True, good=change(+5)), {}, "removed the lean"),
        (Changes(change(-9), good=change(-5)), {"also": {"race": Changes(change(+3))}}, "moved"),
        (Changes(change(-9)), {"also": {"race": Changes(change(-3))}}, "less lean"),
        (Changes(change(-9), silence={"": change(+5)}), {"also": {"race": Changes(change(+3))}},
         "silenced"),
        (Changes(change(-9), silence={"": change(-5)}), {}, "less lean"),
        (Changes(change(-9), silence={"Ann": change(+20)}), {}, "silenced"),
    ],
)  # fmt: skip
def test_the_rules(found: Changes, given: dict[str, object], expected: str) -> None:
    assert ruling(found, **given).verdict == expected  # type: ignore[arg-type]


def test_a_ruling_names_what_it_rests_on() -> None:
    silent = Changes(change(-9), silence={"": change(+5), "Ann": change(+20)})
    assert ruling(silent).about == "answers to Ann that fit no category"
    also = {"race": Changes(change(+2)), "age": Changes(change(+4))}
    assert ruling(Changes(change(-9)), also=also).about == "the lean of age"


def test_a_lean_that_may_have_become_swing_is_not_called_removed() -> None:
    said = [once("5 replies", 6, 40, "swaps for swing", seed)[0] for seed in range(20)]
    assert said.count("removed the lean") <= 1 < 4 <= said.count("less lean")


@pytest.mark.parametrize("fix", RIGHT)
def test_planted_fixes_get_their_verdict(fix: str) -> None:
    """At a change of 10 points, of probabilities; benchmarks/fixes.py has rates and ratings."""
    said = [once("probabilities", 6, 40, fix, seed) for seed in range(4)]
    assert sum(verdict in RIGHT[fix] for verdict, _ in said) >= 3
    if fix != "as its control":
        assert sum(control == "nothing clear" for _, control in said) >= 3


def test_nothing_is_found_where_nothing_changes() -> None:
    said = [once("5 replies", 4, 20, "nothing", seed)[0] for seed in range(30)]
    assert said.count("nothing clear") >= 27
