"""Agreement of annotators as it is told."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.command import Clinometer, refused
from tests.present import present

from clinometer.errors import TableError
from clinometer.reliability.agreement import agreement
from clinometer.reliability.ratings import Ratings, accepted


def paper_like() -> Ratings:
    """Table 1 of the paper: 766 yes by all, 1,525 by two, 1,253 no by two, 70 by all."""
    table: dict[str, dict[str, str]] = {}
    for n, letters in ((766, "yyy"), (1525, "yyn"), (1253, "nny"), (70, "nnn")):
        for _ in range(n):
            i = len(table)
            rotated = letters[i % 3 :] + letters[: i % 3]
            words = ("yes" if c == "y" else "no" for c in rotated)
            table[str(i)] = dict(zip(("a", "b", "c"), words, strict=True))
    return Ratings.of(table)


def test_table_1_of_the_paper() -> None:
    result = agreement(paper_like(), replicates=100)
    assert result.levels == (
        ("no", Fraction(2, 3), 1253),
        ("no", Fraction(1), 70),
        ("yes", Fraction(2, 3), 1525),
        ("yes", Fraction(1), 766),
    )
    assert len(accepted(paper_like())) == 2291  # the size of the published dataset
    assert sum(
        n for _, share, n in result.levels if share == 1
    ) / 3614 == pytest.approx(0.2313, abs=5e-5)
    assert present(result.fleiss).value < 0
    sample = paper_like().stratified(seed=1)
    assert Counter(sample.most_frequent().values()) == {"no": 1323, "yes": 1323}
    kappa = present(agreement(sample, replicates=0).fleiss).value
    assert -0.16 < kappa < 0  # the paper, on its sample: -0.08


def test_an_annotator_who_stands_apart_is_named() -> None:
    """Figure 4: one says yes to everything, so they differ where the others say no."""
    words = ["yes", "no", "no"] * 100
    table = {str(i): {"a": word, "b": "yes", "c": word} for i, word in enumerate(words)}
    result = agreement(Ratings.of(table), replicates=0)
    a, b, _ = result.annotators
    assert (b.shares["yes"], b.against["yes"], b.against["no"]) == (1.0, 0, 200)
    assert b.with_majority["no"] == 200
    assert a.against == {"no": 0, "yes": 0}
    (note,) = result.notes
    assert "b for 0 %: they use the categories differently" in note


def test_the_kappa_paradox_is_explained_where_one_answer_prevails() -> None:
    table = {str(i): {"a": "yes", "b": "yes"} for i in range(90)}
    table |= {f"x{i}": {"a": "yes", "b": "no"} for i in range(5)}
    table |= {f"y{i}": {"a": "no", "b": "yes"} for i in range(5)}
    result = agreement(Ratings.of(table), replicates=200)
    # P = 0.9; shares 0.95 and 0.05: by chance 0.905; kappa = -0.005 / 0.095
    assert present(result.fleiss).value == pytest.approx(-0.005 / 0.095)
    assert result.notes[0].startswith("Kappa paradox: 95 % of the judgements are 'yes'")
    assert "agree on 90 %" in result.notes[0]
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
        result = present(agreement(ratings, replicates=400, seed=seed).fleiss)
        held += present(result.low) <= 0.49 <= present(result.high)
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
