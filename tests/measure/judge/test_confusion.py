"""People's labels against a judge's."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from clinometer.errors import SettingsError
from clinometer.measure.judge import Confusion, unlike


def test_labels_are_counted_and_what_is_no_category_is_left_out() -> None:
    people = ["yes"] * 8 + ["no"] * 6 + ["other", "yes"]
    judge = ["yes"] * 7 + ["no"] + ["no"] * 6 + ["yes", "refusal"]
    found = Confusion.of(people, judge, ["yes", "no"])
    assert found.counts.tolist() == [[7, 1], [0, 6]]
    assert found.left_out == 2
    assert found.agreement == pytest.approx(13 / 14)
    assert found.matrix.sum(axis=1) == pytest.approx([1, 1])


def test_kappa_is_that_of_another_package() -> None:
    rng = np.random.default_rng(0)
    people = rng.choice(["a", "b", "c"], 200, p=[0.6, 0.3, 0.1]).tolist()
    judge = [v if rng.random() < 0.7 else str(rng.choice(["a", "b", "c"])) for v in people]
    found = Confusion.of(people, judge, ["a", "b", "c"])
    assert found.kappa == pytest.approx(cohens_kappa(found.counts, return_results=False), abs=1e-12)


def test_a_matrix_that_cannot_be_used_is_refused_in_one_line() -> None:
    with pytest.raises(SettingsError, match="at least 5 replies that people call 'b'"):
        Confusion(("a", "b"), np.array([[9.0, 1.0], [1.0, 2.0]]))
    with pytest.raises(SettingsError, match="hardly depends on people's"):
        Confusion(("a", "b"), np.array([[50.0, 50.0], [52.0, 48.0]]))
    with pytest.raises(SettingsError, match="one of the judge for each"):
        Confusion.of(["a"], [], ["a", "b"])


def test_the_covariance_of_a_row_is_that_of_its_shares() -> None:
    rng = np.random.default_rng(1)
    true = np.array([0.7, 0.2, 0.1])
    shares = rng.multinomial(80, true, 20_000) / 80
    counts = np.array([[56.0, 16.0, 8.0], [5.0, 60.0, 5.0], [9.0, 1.0, 70.0]])
    made = Confusion(("a", "b", "c"), counts)
    assert made.covariance(0) == pytest.approx(np.cov(shares.T), abs=6e-4)


def test_a_judge_that_errs_alike_about_all_groups_is_rarely_called_unlike() -> None:
    rng = np.random.default_rng(2)
    called = 0
    for _ in range(400):
        tables = [rng.multinomial([60, 40], [[0.9, 0.1], [0.2, 0.8]]).astype(float) for _ in "xyz"]
        called += unlike([Confusion(("a", "b"), t) for t in tables]) < 0.05
    assert 0.02 <= called / 400 <= 0.09
