"""Ratings as they are read, agreement as it is told, and what is accepted; statistics against
independent packages, hand-made values and invariants."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from statsmodels.stats import inter_rater
from tests.command import Clinometer, refused
from tests.present import present

from clinometer.errors import SettingsError, TableError
from clinometer.reliability import agreement as chance
from clinometer.reliability.agreement import (
    Ratings,
    Sums,
    accepted,
    agreement,
    parse_share,
    read_ratings,
)


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
    assert len(accepted(paper_like())) == 2291  # the size of the published dataset
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
    words = ["yes", "no", "no"] * 100
    table = {str(i): {"a": word, "b": "yes", "c": word} for i, word in enumerate(words)}
    found = agreement(Ratings.of(table), replicates=0)
    a, b, _ = found.annotators
    assert (b.shares["yes"], b.against["yes"], b.against["no"]) == (1.0, 0, 200)
    assert b.with_majority["no"] == 200
    assert a.against == {"no": 0, "yes": 0}
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
    # Two judgements agree with probability 0.7² + (1 - 0.7²) / 2; chance is 1/2: kappa = 0.49.
    held = 0
    for seed in range(200):
        truth, seen = rng.integers(2, size=120), rng.random((120, 3)) < 0.7
        words = np.where(seen, truth[:, None], rng.integers(2, size=(120, 3))).astype(
            str
        )
        ratings = Ratings.of(
            {str(i): dict(zip("abc", row, strict=True)) for i, row in enumerate(words)}
        )
        found = present(agreement(ratings, replicates=400, seed=seed).fleiss)
        held += present(found.low) <= 0.49 <= present(found.high)
    assert 0.90 <= held / 200 <= 0.99


def test_degenerate_judgements_give_a_sentence_instead_of_a_number() -> None:
    alike = agreement(
        Ratings.of({"1": {"a": "yes", "b": "yes"}, "2": {"a": "yes", "b": "yes"}})
    )
    assert (alike.fleiss, alike.alpha) == (None, None)
    assert "not defined" in alike.notes[0]
    apart = agreement(Ratings.of({"1": {"a": "yes"}, "2": {"b": "no"}}))
    assert (apart.observed, apart.cohen[0].kappa) == (None, None)
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
    assert accepted(ratings) == ("two of three", "two of two")
    assert accepted(ratings, judgements=3) == ("two of three",)
    assert accepted(ratings, judgements=1, share=Fraction(1)) == ("two of two", "alone")
    assert accepted(ratings, ("yes", "no")) == (
        "two of three",
        "one of two",
        "two of two",
    )
    with pytest.raises(SettingsError, match="expected one of no, yes; found maybe"):
        accepted(ratings, ("maybe",))
    for text in ("x", "1/0", ""):
        with pytest.raises(SettingsError, match="such as 2/3"):
            parse_share(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sentence,annotator_1\na,1\n", "expected a column 'id'"),
        (
            "id,a,b\n1,2,3\n",
            "expected columns annotator_1, annotator_2, …, found id, a, b",
        ),
        ("id,annotator_1,annotator_2\n1,2,3\n1,2,3\n", "found '1' in rows 2 and 3"),
        ("id,annotator,value\n1,x,yes\n1,x,no\n", "one judgement of '1' by 'x'"),
        ("id,annotator_1,annotator_2\n,2,3\n", "row 2: expected an id, found none"),
        (
            "id,rater\n" + "".join(f"{i},{i / 7}\n" for i in range(60)),
            "at most 50 different ones",
        ),
    ],
)
def test_a_broken_table_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=said):
        read_ratings(path)


def test_wide_and_long_tables_give_the_same_result(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text(
        "id,Annotator 1,Annotator 2\n1,4.0,3\n2,,5\n3,skip,2\n"
    )
    (tmp_path / "l.csv").write_text(
        "id,annotator,value\n1,Annotator 1,4\n1,Annotator 2,3\n2,Annotator 2,5\n3,Annotator 2,2\n"
    )
    wide, long = read_ratings(tmp_path / "w.csv"), read_ratings(tmp_path / "l.csv")
    assert wide.categories == long.categories == ("2", "3", "4", "5")
    assert wide.codes.tolist() == long.codes.tolist() == [[2, 1], [-1, 3], [-1, 0]]
    assert wide.means().tolist() == [3.5, 5.0, 2.0]


def test_the_command_writes_the_final_dataset(
    clinometer: Clinometer, tmp_path: Path
) -> None:
    ratings, dataset, out = (tmp_path / n for n in ("r.csv", "d.csv", "final.csv"))
    ratings.write_text(
        "id,annotator_1,annotator_2,annotator_3\na,yes,yes,no\nb,no,no,yes\n"
    )
    dataset.write_text("id,sentence,target_term\nb,B.,x\na,A.,y\n")
    command = ("reliability", "validate", ratings)
    done = clinometer(*command, "--dataset", dataset, "--accepted", out)
    assert done.status == 0
    assert "1 of 2 items accepted" in done.out
    assert "66.7 %" in done.out
    assert out.read_text() == "id,sentence,target_term\na,A.,y\n"
    done = clinometer(*command, "--out", tmp_path / "figure4.svg")
    assert done.status == 0, done.err
    assert list(tmp_path.glob("figure4*.svg"))
    refused(clinometer(*command, "--set", "accept=maybe"), "expected one of no, yes")
    refused(clinometer(*command, "--out", out), ".svg or .png")
    refused(clinometer(*command, ratings, "--accepted", out), "expected without SCORES")
    refused(clinometer(*command[:2], tmp_path / "none.csv"), "no such file")


NEAR = 1e-9


def made(
    seed: int, *, items: int, annotators: int, categories: int, missing: float
) -> np.ndarray:
    """Judgements that agree more often than chance, with gaps."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(categories, size=items)
    guess = rng.integers(categories, size=(items, annotators))
    codes = np.where(rng.random((items, annotators)) < 0.6, truth[:, None], guess)
    codes[rng.random((items, annotators)) < missing] = -1
    codes[:categories, 0] = np.arange(categories)  # every category occurs, in a pair
    codes[:categories, 1] = np.arange(categories)
    return codes


def sums_of(codes: np.ndarray, values: np.ndarray | None = None) -> Sums:
    K = int(codes.max()) + 1
    return Sums.of(codes, np.arange(K, dtype=float) if values is None else values)


def value(statistic: Any, sums: Sums, *args: Any, **kwargs: Any) -> float:
    return float(statistic(sums, sums.counts, *args, **kwargs))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_alpha_matches_the_krippendorff_package(seed: int, level: Any) -> None:
    codes = made(
        seed, items=80, annotators=2 + seed % 4, categories=2 + seed % 4, missing=0.25
    )
    values = np.sort(np.random.default_rng(seed).uniform(0.5, 9, size=codes.max() + 1))
    theirs = krippendorff.alpha(
        np.where(codes < 0, np.nan, values[codes]).T, level_of_measurement=level
    )
    ours = value(chance.krippendorff_alpha, sums_of(codes, values), level=level)
    assert ours == pytest.approx(theirs, abs=NEAR)


@pytest.mark.parametrize("seed", range(6))
def test_kappas_match_statsmodels(seed: int) -> None:
    """Three of five people judge each item, drawn anew: gaps, and Fleiss' own design."""
    rng = np.random.default_rng(seed)
    codes = made(seed, items=90, annotators=5, categories=4, missing=0.0)
    for row in codes:
        row[rng.permutation(5)[:2]] = -1
    sums = sums_of(codes)
    counts = np.stack([(codes == k).sum(axis=1) for k in range(4)], axis=1)
    theirs = inter_rater.fleiss_kappa(counts, method="fleiss")
    assert value(chance.fleiss_kappa, sums) == pytest.approx(theirs, abs=NEAR)
    for a, b in combinations(range(3), 2):
        both = codes[(codes[:, a] >= 0) & (codes[:, b] >= 0)]
        table = np.zeros((4, 4))
        np.add.at(table, (both[:, a], both[:, b]), 1)
        kappa = float(inter_rater.cohens_kappa(table, return_results=False))
        assert value(chance.cohen_kappa, sums, a, b) == pytest.approx(kappa, abs=NEAR)


@pytest.mark.parametrize("seed", range(4))
def test_unequal_numbers_of_judgements_match_a_slow_computation(seed: int) -> None:
    """Pairs counted one by one; no package takes unequal numbers for Fleiss."""
    codes = made(seed, items=40, annotators=5, categories=3, missing=0.4)
    given = [[int(v) for v in row if v >= 0] for row in codes]
    pairs = [list(combinations(row, 2)) for row in given]
    observed = np.mean([np.mean([x == y for x, y in some]) for some in pairs if some])
    shares = [[row.count(k) / len(row) for k in range(3)] for row in given if row]
    by_chance = (np.mean(shares, axis=0) ** 2).sum()
    sums = sums_of(codes)
    assert value(chance.observed_agreement, sums) == pytest.approx(observed, abs=NEAR)
    kappa = (observed - by_chance) / (1 - by_chance)
    assert value(chance.fleiss_kappa, sums) == pytest.approx(kappa, abs=NEAR)


def test_by_hand() -> None:
    # Two items, two people: yes yes, yes no. P = 1/2; shares 3/4, 1/4: P_e = 5/8;
    # kappa = (4/8 - 5/8) / (3/8) = -1/3. Alpha: D_o = 1/2, D_e = 2·3·1/(4·3) = 1/2: 0.
    sums = sums_of(np.array([[1, 1], [1, 0]]))
    assert value(chance.fleiss_kappa, sums) == pytest.approx(-1 / 3)
    assert value(chance.krippendorff_alpha, sums) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("statistic", [chance.fleiss_kappa, chance.krippendorff_alpha])
def test_extremes_and_category_names(statistic: Any) -> None:
    same = np.repeat(np.arange(3), 4)[:, None].repeat(3, axis=1)
    assert value(statistic, sums_of(same)) == pytest.approx(1)
    codes = made(1, items=60, annotators=3, categories=3, missing=0.2)
    other = np.where(codes < 0, -1, np.array([2, 0, 1])[codes])
    assert value(statistic, sums_of(other)) == pytest.approx(
        value(statistic, sums_of(codes))
    )
    twice = np.concatenate(
        [codes, np.full((5, 3), -1)]
    )  # items nobody judged change nothing
    assert value(statistic, sums_of(twice)) == pytest.approx(
        value(statistic, sums_of(codes))
    )


def test_replicates_at_once_match_replicates_one_by_one() -> None:
    codes = made(3, items=50, annotators=3, categories=3, missing=0.3)
    sums = sums_of(codes)
    draws = np.random.default_rng(0).multinomial(50, sums.counts / 50, size=7)
    for one, row in zip(
        chance.krippendorff_alpha(sums, draws, "interval"), draws, strict=True
    ):
        again = sums_of(np.repeat(sums.patterns, row, axis=0), sums.values)
        assert one == pytest.approx(value(chance.krippendorff_alpha, again, "interval"))
