"""Ratings as they are read, agreement as it is told, and what is accepted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.present import present

from clinometer.errors import SettingsError, TableError
from clinometer.reliability.people import Ratings, Rule, accepted, agreement, read_ratings
from clinometer.reliability.people.agreement import parse_share


def paper_like() -> Ratings:
    """Table 1 of the paper: 766 yes by all, 1,525 by two, 1,253 no by two, 70 by all."""
    table: dict[str, dict[str, str]] = {}
    for n, said in ((766, "yyy"), (1525, "yyn"), (1253, "nny"), (70, "nnn")):
        for _ in range(n):
            i = len(table)
            turned = said[i % 3 :] + said[: i % 3]
            words = ("yes" if c == "y" else "no" for c in turned)
            table[str(i)] = dict(zip(("a", "b", "c"), words, strict=True))
    return Ratings.of(table)


def test_table_1_of_the_paper() -> None:
    found = agreement(paper_like(), replicates=100)
    assert found.levels == (
        ("no", Fraction(2, 3), 1253),
        ("no", Fraction(1), 70),
        ("yes", Fraction(2, 3), 1525),
        ("yes", Fraction(1), 766),
    )
    assert len(accepted(paper_like(), Rule())) == 2291  # the size of the published dataset
    assert sum(n for _, share, n in found.levels if share == 1) / 3614 == pytest.approx(
        0.2313, abs=5e-5
    )
    assert present(found.fleiss).value < 0
    sample = paper_like().stratified(seed=1)
    assert Counter(sample.most_frequent().values()) == {"no": 1323, "yes": 1323}
    kappa = present(agreement(sample, replicates=0).fleiss).value
    assert -0.16 < kappa < 0  # the paper, on its sample: -0.08


def test_an_annotator_who_stands_apart_is_named() -> None:
    """Figure 4: one says yes to everything, so they differ where the others say no."""
    rng = np.random.default_rng(0)
    table = {}
    for i in range(300):
        word = "yes" if rng.random() < 0.5 else "no"
        table[str(i)] = {"a": word, "b": "yes", "c": word}
    found = agreement(Ratings.of(table), replicates=0)
    b = found.annotators[1]
    assert b.shares["yes"] == 1.0
    assert b.against["yes"] == 0
    assert b.against["no"] == b.with_majority["no"] > 100
    assert found.annotators[0].against == {"no": 0, "yes": 0}
    (note,) = found.notes
    assert "b for 0 %: they use the categories differently" in note


def test_the_kappa_paradox_is_explained_where_one_answer_prevails() -> None:
    table = {str(i): {"a": "yes", "b": "yes"} for i in range(90)}
    table |= {f"x{i}": {"a": "yes", "b": "no"} for i in range(5)}
    table |= {f"y{i}": {"a": "no", "b": "yes"} for i in range(5)}
    found = agreement(Ratings.of(table), replicates=200)
    # P = 0.9; shares 0.95 and 0.05: by chance 0.905; kappa = -0.005 / 0.095
    assert present(found.fleiss).value == pytest.approx(-0.005 / 0.095)
    assert found.notes[0].startswith("Kappa paradox: 95 % of the judgements are 'yes'")
    assert "agree on 90 %" in found.notes[0]
    even = {str(i): {"a": w, "b": w} for i, w in enumerate(["yes", "no"] * 20)}
    assert agreement(Ratings.of(even), replicates=0).notes == ()


def test_intervals_cover_the_truth_at_their_level() -> None:
    """Two of three people see the truth: kappa is known, and 95 % intervals cover it."""
    rng = np.random.default_rng(5)

    def draw(n: int) -> Ratings:
        truth = rng.integers(2, size=n)
        seen = rng.random((n, 3)) < 0.7
        words = np.where(seen, truth[:, None], rng.integers(2, size=(n, 3)))
        table = {str(i): {str(j): str(w) for j, w in enumerate(r)} for i, r in enumerate(words)}
        return Ratings.of(table)

    # Two judgements agree with probability 0.7² + (1 - 0.7²) / 2; chance is 1/2: kappa = 0.49.
    held = 0
    for seed in range(200):
        found = present(agreement(draw(120), replicates=400, seed=seed).fleiss)
        held += present(found.low) <= 0.49 <= present(found.high)
    assert 0.90 <= held / 200 <= 0.99


def test_degenerate_judgements_give_a_sentence_instead_of_a_number() -> None:
    alike = agreement(Ratings.of({"1": {"a": "yes", "b": "yes"}, "2": {"a": "yes", "b": "yes"}}))
    assert alike.fleiss is None
    assert "not defined" in alike.notes[0]
    apart = agreement(Ratings.of({"1": {"a": "yes"}, "2": {"b": "no"}}))
    assert apart.observed is None
    assert "No item was judged by two people" in apart.notes[0]
    with pytest.raises(TableError, match="two annotators or more, found 1"):
        agreement(Ratings.of({"1": {"a": "yes"}}))
    json.dumps([alike.to_dict(), apart.to_dict()], allow_nan=False)


def test_acceptance_is_counted_exactly() -> None:
    table: dict[str, dict[str, str]] = {
        "two of three": {"a": "yes", "b": "yes", "c": "no"},
        "one of two": {"a": "yes", "b": "no", "c": ""},
        "two of two": {"a": "yes", "b": "yes", "c": "skip"},
        "alone": {"a": "yes", "b": "", "c": ""},
    }
    ratings = Ratings.of(table)
    assert accepted(ratings, Rule()) == ("two of three", "two of two")
    assert accepted(ratings, Rule(judgements=3)) == ("two of three",)
    assert accepted(ratings, Rule(judgements=1, share=Fraction(1))) == ("two of two", "alone")
    assert accepted(ratings, Rule(("yes", "no"))) == ("two of three", "one of two", "two of two")
    with pytest.raises(SettingsError, match="expected one of no, yes; found maybe"):
        accepted(ratings, Rule(("maybe",)))
    for text in ("x", "1/0", ""):
        with pytest.raises(SettingsError, match="such as 2/3"):
            parse_share(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sentence,annotator_1\na,1\n", "expected a column 'id'"),
        ("id,a,b\n1,2,3\n", "expected columns annotator_1, annotator_2, …, found id, a, b"),
        ("id,annotator_1,annotator_2\n1,2,3\n1,2,3\n", "found '1' in rows 2 and 3"),
        ("id,annotator,value\n1,x,yes\n1,x,no\n", "one judgement of '1' by 'x'"),
        ("id,annotator_1,annotator_2\n,2,3\n", "row 2: expected an id, found none"),
    ],
)
def test_a_broken_table_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=said):
        read_ratings(path)


def test_wide_and_long_tables_give_the_same_result(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("id,Annotator 1,Annotator 2\n1,4.0,3\n2,,5\n3,skip,2\n")
    (tmp_path / "l.csv").write_text(
        "id,annotator,value\n1,Annotator 1,4\n1,Annotator 2,3\n2,Annotator 2,5\n3,Annotator 2,2\n"
    )
    wide, long = read_ratings(tmp_path / "w.csv"), read_ratings(tmp_path / "l.csv")
    assert wide.categories == long.categories == ("2", "3", "4", "5")
    assert wide.codes.tolist() == long.codes.tolist() == [[2, 1], [-1, 3], [-1, 0]]
    assert wide.means().tolist() == [3.5, 5.0, 2.0]


def test_more_classes_than_a_scale_has_are_refused() -> None:
    table = {str(i): {"a": str(i / 7), "b": "1"} for i in range(60)}
    with pytest.raises(TableError, match="at most 50 different ones"):
        Ratings.of(table)


def test_the_command_writes_the_final_dataset(
    clinometer: Callable[..., Any], tmp_path: Path
) -> None:
    ratings, dataset, out = (tmp_path / n for n in ("r.csv", "d.csv", "final.csv"))
    ratings.write_text("id,annotator_1,annotator_2,annotator_3\na,yes,yes,no\nb,no,no,yes\n")
    dataset.write_text("id,sentence,target_term\nb,B.,x\na,A.,y\n")
    done = clinometer("reliability", "validate", ratings, "--dataset", dataset, "--accepted", out)
    assert done.status == 0
    assert "1 of 2 items accepted" in done.out
    assert "66.67%" in done.out
    assert out.read_text() == "id,sentence,target_term\na,A.,y\n"
    wrong = clinometer("reliability", "validate", ratings, "--set", "accept=maybe")
    assert wrong.status == 2
    assert "expected one of no, yes" in wrong.err
    assert clinometer("reliability", "validate", tmp_path / "none.csv").status == 2
    done = clinometer("reliability", "validate", ratings, "--out", tmp_path / "figure4.svg")
    assert done.status == 0, done.err
    assert list(tmp_path.glob("figure4*.svg"))
    wrong = clinometer("reliability", "validate", ratings, "--out", out)
    assert ".svg or .png" in wrong.err
    wrong = clinometer("reliability", "validate", ratings, ratings, "--accepted", out)
    assert "expected without SCORES" in wrong.err
