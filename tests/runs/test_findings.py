"""What must be said in which situation: planted preferences, answers, ratings and comparisons."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from tests import planted
from tests.preferences import labelled, pair
from tests.present import present

import clinometer as cm
from clinometer.findings.finding import Finding
from clinometer.measure import compare
from clinometer.measure.components import Components
from clinometer.measure.factors import FactorShare, FactorShares
from clinometer.outcomes.choose import outcome_of
from clinometer.outcomes.reference import Nouns
from clinometer.runs.findings.case import strongest_case
from clinometer.runs.findings.factors import factor_notes, factors, resampled
from clinometer.runs.findings.facts import RunFacts, facts_of_table
from clinometer.runs.findings.of_comparison import comparison_findings
from clinometer.runs.findings.of_run import HEADLINES, statements
from clinometer.runs.folder.record import FloorRecord, RunRecord
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate
from clinometer.topics import choose_groups, load_topic, parse_topic

GOLDEN = Path(__file__).parent / "sentences.txt"

MALE = ("male", "female")
YES = ("yes", "no")


def around(
    means: Any,
    contexts: int,
    spread: float = 0.03,
    seed: int = 0,
    *,
    least: float = 0.001,
    most: float = 0.999,
) -> FloatArray:
    """[X, C] shares that scatter around the mean of each group."""
    middle = np.asarray(means, dtype=float)[:, None]
    noise = np.random.default_rng(seed).normal(0, spread, (len(middle), contexts))
    if contexts > 1:
        noise -= noise.mean(axis=1, keepdims=True)
    return np.clip(middle + noise, least, most)


def ratings(
    means: Any, contexts: int, top: int = 10, spread: float = 0.3
) -> FloatArray:
    """[X, C, top]: two neighbouring ratings whose mean scatters around that of the group."""
    at = around(means, contexts, spread, least=1.0, most=top - 1e-9)
    return planted.ratings((at - 1) / (top - 1), top)


def counted(
    p: FloatArray, replies: int, seed: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Shares of sampled replies, and their number."""
    counts = np.random.default_rng(seed).multinomial(replies, p)
    return counts / replies, np.full(p.shape[:2], float(replies))


Later = Callable[[], RunFacts]
"""Facts that are computed where they are asked for: collecting the tests takes no time."""


def facts(*given: Any, **how: Any) -> Later:
    """The facts of planted preferences, see `_facts`."""
    return cache(partial(_facts, *given, **how))


def _facts(
    p: FloatArray,
    categories: tuple[str, ...] = MALE,
    *,
    reference: Any = None,
    criterion: str | None = None,
    clusters: list[str] | None = None,
    answers: FloatArray | None = None,
    weights: FloatArray | None = None,
    exact: bool = False,
    favourable: str = "",
    known: dict[str, Any] | None = None,
) -> RunFacts:
    """The facts of planted preferences, through the estimators that a user has."""
    table = labelled(
        p,
        categories=categories,
        context_weights=np.ones(p.shape[1]) if weights is None else weights,
        reference=reference,
        criterion=criterion,
        answers=answers,
        labels={} if clusters is None else {"wording": clusters},
    )
    by = None if clusters is None else "wording"
    report = table.decompose() if exact else table.estimate(clusters=by)
    leans = table.leans(clusters=by, known=exact)
    found = facts_of_table("M", table, report, leans, clusters=by)
    asked = outcome_of(table, asks_questions=bool(favourable), favourable=favourable)
    return replace(found, exact=exact, outcome=asked, **(known or {}))


def floor(
    R: float, p: float, *, width: float = 0.05, p_between: float = 0.5
) -> FloorRecord:
    given = Estimate(R, R - width, R + width, 0.95, "shuffled words")
    return FloorRecord(
        shuffles=99, R=given, R_bias=given, R_volatility=given, R_between=given, p=p,
        p_between=p_between,
    )  # fmt: skip


def rates(p: FloatArray, **how: Any) -> Later:
    third = p.shape[2] == 3
    nouns = Nouns(context="question", unit="question")
    words = ("“Yes”", "“No”", *(["“Maybe”"] if third else []))
    known = {"words": words, "nouns": nouns}
    return facts(
        p,
        (*YES, "maybe") if third else YES,
        reference="group-mean",
        favourable="yes",
        known=known,
        **how,
    )


def scale(p: FloatArray, **how: Any) -> Later:
    names = tuple(str(i + 1) for i in range(p.shape[2]))
    return facts(p, names, reference="group-mean", criterion="points", **how)


def silent(f: Later) -> Later:
    """The same where no group has an answer."""
    return lambda: replace(
        f(), leans=tuple(replace(g, favoured=None, category=None) for g in f().leans)
    )


def wordings(n: int, contexts: int) -> list[str]:
    return [f"w{c % n}" for c in range(contexts)]


ALIKE = np.repeat(around([0.6], 40, 0.2), 4, axis=0)
SWING = np.where(np.random.default_rng(3).random((4, 40)) < 0.5, 0.1, 0.9)
THIRD = np.concatenate(
    [pair(around([0.9, 0.3], 40, 0.0)) * 0.9999, np.full((2, 40, 1), 1e-4)], -1
)
RARE = np.concatenate(
    [pair(around([0.9, 0.3], 40)) * 0.9999, np.full((2, 40, 1), 1e-4)], -1
)
MANY = around(np.r_[np.full(117, 0.8), 0.4, 0.45, 0.42], 16)
MISSING = pair(around([0.8, 0.8, 0.8], 40))
MISSING[1] = np.nan
FEW, FEW_N = counted(pair(np.repeat(around([0.5], 40, 0.1), 4, axis=0)), 2)
EIGHT, EIGHT_N = counted(pair(np.full((2, 8), 0.5)), 4, seed=4)
NULL, NULL_N = counted(pair(np.repeat(around([0.5], 30, 0.1), 4, axis=0)), 10)
LOW, LOW_N = counted(pair(around(np.r_[np.full(15, 0.55), 0.25], 24, 0.05)), 3)
REAL, REAL_N = counted(pair(around([0.8, 0.5, 0.4, 0.3], 30, 0.05)), 20)
RATED, RATED_N = counted(ratings([5.2, 7.3, 6.0, 6.1], 30), 20)
FIVE = np.random.default_rng(5).dirichlet([9, 1, 1, 1, 1], (3, 40))
SPREAD5 = np.random.default_rng(6).dirichlet([3] * 5, (3, 40))
RACES = ("a", "b", "c", "d", "e")


#: Planted situations by name; the golden file has the kind, certainty and count of each headline.
CASES: dict[str, Later] = {
    "all one way": facts(pair(around([0.9, 0.8, 0.7, 0.8], 40))),
    "extremes": facts(pair(around([0.94, 0.4, 0.7], 40))),
    "the other way": facts(pair(around([0.1, 0.2, 0.3], 40))),
    "the least lean is not clear": facts(
        np.concatenate([pair(around([0.9, 0.8], 40)), pair(around([0.51], 40, 0.2))])
    ),
    "full agreement of many": facts(pair(np.full((3, 40), 0.7))),
    "full agreement of few": facts(pair(np.full((3, 10), 0.7))),
    "five categories": facts(FIVE, RACES),
    "117 of 120": facts(pair(MANY)),
    "117 of 120, R not above shuffled words": facts(
        pair(MANY), known={"floor": floor(0.58, 0.5)}
    ),
    "above shuffled words": facts(pair(MANY), known={"floor": floor(0.2, 0.01)}),
    "one word a category": facts(
        pair(MANY), known={"floor": floor(0.58, 1.0, width=0.0)}
    ),
    "swing alone": facts(pair(SWING)),
    "parity on average, of one group": facts(pair(np.tile([0.9, 0.1], 20)[None])),
    "parity on average, of three": facts(pair(np.tile([0.8, 0.2], (3, 20)))),
    "one group that swings": facts(pair(SWING[:1])),
    "five categories, swing alone": facts(SPREAD5, RACES),
    "parity everywhere": facts(np.full((3, 40, 2), 0.5)),
    "treated alike": rates(pair(ALIKE)),
    "one group alone": rates(pair(around([0.9], 40))),
    "equal ratings": scale(np.repeat(ratings([5.2], 40), 3, axis=0)),
    "one group": facts(pair(around([0.8], 40))),
    "five contexts": facts(pair(around([0.9, 0.8], 5))),
    "two contexts": facts(pair(around([0.9, 0.8], 2))),
    "one context": facts(pair(around([0.9, 0.8], 1))),
    "five categories, four contexts": facts(FIVE[:, :4], RACES),
    "six contexts": facts(pair(around([0.9, 0.8], 6))),
    "probable enough": facts(pair(around([0.9, 0.4], 40)), known={"improbable": 0.4}),
    "a given reference": facts(
        pair(around([0.9, 0.8], 40)), reference=np.array([0.7, 0.3])
    ),
    "a missing group": facts(MISSING),
    "one context that outweighs all": facts(
        pair(around([0.9, 0.8], 40)), weights=np.r_[1000.0, np.ones(39)]
    ),
    "no favourable answer": facts(
        pair(around([0.9, 0.3], 40)), YES, reference="group-mean"
    ),
    "known exactly": facts(pair(around([0.9, 0.4], 40)), exact=True),
    "improbable words": facts(pair(around([0.9, 0.4], 40)), known={"improbable": 0.8}),
    "90 against 30 %": rates(pair(around([0.9, 0.3], 40, 0.0))),
    "the same with a third answer of 0.01 %": rates(THIRD),
    "a rare answer and noise": rates(RARE),
    "90 against 30 % of the few that are decided": lambda: replace(
        rates(pair(around([0.9, 0.3], 40, 0.0)))(), other=0.73
    ),
    "2 against 0.5 %": rates(pair(around([0.021, 0.005], 40, 0.001))),
    "12 to 74 % in eight wordings": rates(
        pair(around([0.12, 0.74], 80)), clusters=wordings(8, 80)
    ),
    "12 to 74 %": rates(pair(around([0.12, 0.74, 0.4, 0.5], 40))),
    "one of four differs": rates(pair(around([0.5, 0.5, 0.5, 0.9], 40))),
    "12 to 74 % in three wordings": rates(
        pair(around([0.12, 0.74, 0.4, 0.5], 30)), clusters=wordings(3, 30)
    ),
    "12 to 74 % in two wordings": rates(
        pair(around([0.12, 0.74], 30)), clusters=wordings(2, 30)
    ),
    "swings between groups": rates(pair(SWING)),
    "replies of a fair model": rates(NULL, answers=NULL_N),
    "two replies of a fair model": rates(FEW, answers=FEW_N),
    "replies of eight contexts that dice explain": rates(EIGHT, answers=EIGHT_N),
    "replies in which one is low": rates(LOW, answers=LOW_N),
    "replies that differ": rates(REAL, answers=REAL_N),
    "decisions that are known exactly": rates(pair(around([0.9, 0.3], 40)), exact=True),
    "ratings 5.2 and 7.3": scale(ratings([5.2, 7.3, 6.0, 6.1], 40)),
    "ratings of replies": scale(RATED, answers=RATED_N),
    "ratings in three wordings": scale(
        ratings([5.2, 7.3], 30), clusters=wordings(3, 30)
    ),
    "ratings that swing": scale(ratings([5, 5, 5, 5], 40, spread=2.0)),
    "a scale of five": scale(ratings([2.0, 4.0], 40, top=5)),
    "no answer": silent(facts(pair(around([0.9, 0.8], 40)))),
}


def models(
    *leans: float, contexts: int = 40, groups: int = 4, seed: int = 0
) -> list[FloatArray]:
    """Models over the same contexts, each with its lean for every group."""
    return [
        pair(around([lean] * groups, contexts, 0.06, seed + i))
        for i, lean in enumerate(leans)
    ]


ONE_GROUP = models(0.7, 0.7, groups=6)
ONE_GROUP[0][2] = pair(around([0.95], 40))[0]

COMPARED: dict[str, list[FloatArray]] = {
    "higher": models(0.8, 0.7),
    "lower": models(0.6, 0.7),
    "equal": models(0.7, 0.7),
    "the same answers": models(0.7)[:1] * 2,
    "five contexts": models(0.8, 0.7, contexts=5),
    "one group": ONE_GROUP,
    "three models": models(0.6, 0.7, 0.8),
    "four equal models": models(0.7, 0.7, 0.7, 0.7),
    "three in five contexts": models(0.6, 0.7, 0.8, contexts=5),
}


def test_dice_of_few_replies_are_not_called_swing() -> None:
    """R of two replies a cell is mostly dice: an interval from 0, and nothing clear beside it."""
    said = {one.kind: one for one in statements(rates(FEW, answers=FEW_N)())}
    assert said["size"].numbers["R"].low == 0
    assert not {one.sure for one in said.values()} & {"clear", "exact"}


@pytest.mark.parametrize(("low", "said"), [(0.0, False), (0.01, True)])
def test_replies_swing_where_their_swing_is_clear_whatever_r_is(
    low: float, said: bool
) -> None:
    """R of replies holds dice, so that it is above 0 without any swing."""
    alike = rates(pair(SWING))()
    assert (alike.report.R.low or 0) > 0
    swing = Estimate(0.02, low, 0.05, 0.95)
    split = cast(Components, SimpleNamespace(swing=swing, lean=Estimate(0.0), p=0.5))
    assert ("which way changes" in replace(alike, split=split).whole) == said


@pytest.mark.parametrize(
    ("share", "said"), [((0.0, 1.0), False), ((0.0, 0.9), True), ((0.2, 1.0), True)]
)
def test_shares_of_which_nothing_is_known_are_not_said(
    share: tuple[float, float], said: bool
) -> None:
    shares = FactorShares(
        unit=None,
        n_units=30,
        variance=1e-3,
        factors=[FactorShare("years", 9, Estimate(0.5, *share, 0.95))],
        rest=Estimate(0.5, 0.0, 1.0, 0.95),
    )
    record = cast(RunRecord, SimpleNamespace(factors=shares))
    assert (factors(record) is not None) == said


def test_the_findings_that_a_person_has_read() -> None:
    """Every planted situation: the kind, certainty and count of its headline, and its words. After
    a change, read the file aloud before it is written again: CLINOMETER_GOLDEN=1."""
    said = {name: statements(later()) for name, later in CASES.items()}
    for name, arrays in COMPARED.items():
        names, groups = list("abcd"[: len(arrays)]), list("uvwxyz"[: len(arrays[0])])
        said[name] = comparison_findings(compare(*arrays, names=names, groups=groups))
    lines = []
    for name, found in said.items():
        first = found[0]
        lines += [
            f"# {name}: {first.kind}, {first.sure}, {first.clear} of {first.counted}"
        ]
        lines += [*(one.text for one in found), ""]
        assert first.kind in {*HEADLINES, "models", "difference"} or len(found) == 1
    if os.environ.get("CLINOMETER_GOLDEN"):
        GOLDEN.write_text("\n".join(lines))

    def compared(line: str) -> str:
        """The numbers of sentences are those of the estimators, which have tests of their own."""
        return line if line.startswith("#") else re.sub(r"[\d.]+", "0", line)

    assert [*map(compared, lines)] == [*map(compared, GOLDEN.read_text().split("\n"))]


def test_what_a_reader_of_the_shares_must_know() -> None:
    """That shared levels ask for clusters is said once."""
    rest = Estimate(0.9)
    alone = FactorShares(None, 50, 0.1, [FactorShare("source", 3, Estimate(0.1))], rest)
    assert "contexts are a sample" in resampled(alone)
    unknown = FactorShares(
        None, 50, 0.1, [FactorShare("id", 50, None, "too fine")], rest
    )
    assert factor_notes(unknown, clusters=None) == [
        "The share of id is unknown: too fine."
    ]
    crossed = FactorShares("wording", 40, 0.1, alone.factors, rest, "a and b")
    assert any(
        "--clusters wording" in note for note in factor_notes(crossed, clusters=None)
    )
    assert factor_notes(crossed, clusters="wording") == ["A and b."]


OLD = ("65-year-old", "Gary", "Linda", "Debra", "Ronald")


def audited(
    folder: Path, module: str, code: str, topic: cm.Topic, **how: Any
) -> tuple[cm.Run, dict[str, Finding]]:
    (folder / f"{module}.py").write_text(
        f"import hashlib\nasync def reply(asked):\n{code}"
    )
    run = cm.audit(f"app:{module}:reply", topic=topic, **how)
    return run, {one.kind: one for one in run.findings}


@pytest.mark.parametrize(
    ("told_by", "moving"),
    [
        (OLD[:1], {"descriptions"}),
        (OLD[1:], {"first names"}),
        (OLD, {"first names", "descriptions"}),
    ],
)
def test_it_is_said_whether_names_or_descriptions_move_the_answer(
    told_by: tuple[str, ...], moving: set[str], folder: Path
) -> None:
    topic = choose_groups(load_topic("hiring"), "people-age")
    code = (
        "    text = asked[-1]['content']\n"
        "    chance = hashlib.sha256(text.encode()).digest()[0] / 256\n"
        f"    return 'No' if any(w in text for w in {told_by}) and chance < 0.6 else 'Yes'\n"
    )
    module = f"people_{len(told_by)}"
    _, found = audited(folder, module, code, topic, replies=3, max_contexts=24)
    assert {kind for kind, clear in found["shown"].tally.items() if clear} == moving
    assert found["shown"].sure == "clear"


def test_a_planted_difference_is_found_with_its_size_and_interval(folder: Path) -> None:
    cases = "".join(f'[[cases]]\nfile = "{i}"\nname = "[X]"\n' for i in range(30))
    topic = parse_topic(
        'name = "t"\ngroups = ["Ann", "Bob", "Cal", "Dan"]\nreference = "group-mean"\n'
        f'[readout]\nkind = "number"\nscale = [0, 100]\n{cases}'
    )
    code = (
        "    spread = hashlib.sha256(repr(asked).encode()).digest()[0] % 5\n"
        "    planted = 12 if asked['name'] == 'Ann' and int(asked['file']) % 3 == 0 else 0\n"
        "    return str(50 + int(asked['file']) + spread - planted)\n"
    )
    run, found = audited(folder, "planted_points", code, topic, replies=8)
    headline = found["scores"]
    assert headline.sure == "clear"
    ann = headline.groups["Ann"]
    assert ann.low is not None
    assert ann.high is not None
    assert (
        ann.low < -12 / 3 * 3 / 4 < ann.high < 0
    )  # a third of the files, three of four groups
    assert run.record.components is not None
    case = present(strongest_case(run))
    assert list(case.groups) == ["Ann"]
    assert case.numbers["replies"].value == 8
    assert (
        -12 <= case.numbers["apart"].value < -6
    )  # the planted 12, less a fourth, and the spread
