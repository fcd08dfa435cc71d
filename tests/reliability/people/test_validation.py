"""A score against people: the published data, statsmodels, and data made with a known answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinometer.errors import SettingsError, TableError
from clinometer.reliability.people import Ratings, read_ratings, validate
from clinometer.reliability.people.validation import beyond, fit


def test_published_ratings_and_scores_are_reproduced(
    shared_data: Path, clinometer: Callable[..., Any]
) -> None:
    folder = shared_data / "cobias"
    files = folder / "validation_ratings.csv", folder / "validation_scores.csv"
    done = clinometer("reliability", "validate", *files, "--json", "--replicates", 500)
    found = json.loads(done.out)
    summary = found["summary"]
    assert summary["items"] == 500
    assert summary["unmatched"] == 0
    assert round(summary["spearman"]["rho"]["value"], 3) == 0.645
    assert 2e-60 < summary["spearman"]["p"] < 5e-60
    assert round(summary["fleiss_kappa"]["value"], 3) == 0.140
    assert round(summary["krippendorff_alpha"]["interval"]["value"], 3) == 0.179
    for name in ("multinomial", "ordinal"):
        one = found[name]
        assert one["problem"] == ""
        assert one["p"] < 1e-20
        assert 0.1 < one["mcfadden"] < 0.2
    assert found["multinomial"]["df"] == 4
    assert found["ordinal"]["terms"][0]["odds_ratio"] > 2
    assert found["score_beyond_length"]["p"] < 1e-20
    rho = summary["spearman_given_length"]["rho"]
    assert rho["low"] < rho["value"] < summary["spearman"]["rho"]["value"]


def test_what_the_command_prints(shared_data: Path, clinometer: Callable[..., Any]) -> None:
    folder = shared_data / "cobias"
    files = folder / "validation_ratings.csv", folder / "validation_scores.csv"
    done = clinometer("reliability", "validate", *files, "--replicates", 200)
    for text in ("0.645", "3.4e-60", "0.140", "0.179", "McFadden", "a higher judgement"):
        assert text in done.out
    wrong = clinometer("reliability", "validate", *files, "--column", "score")
    assert wrong.status == 2
    assert "expected a column 'score', found id, cobias, sentence" in wrong.err


def test_ratios_without_end_are_printed(clinometer: Callable[..., Any], tmp_path: Path) -> None:
    """Eight statements and five answers: one of them cannot be told by the score."""
    scores = (0.710, 0.732, 0.664, 0.716, 0.770, 0.646, 0.798, 0.765)
    said = ((1, 1), (3, 3), (4, 5), (5, 5), (2, 2), (4, 4), (1, 1), (2, 3))
    ratings, table = tmp_path / "ratings.csv", tmp_path / "scores.csv"
    rows = [f"{i},{a},{b}\n" for i, (a, b) in enumerate(said)]
    ratings.write_text("id,rater_1,rater_2\n" + "".join(rows))
    table.write_text("id,cobias\n" + "".join(f"{i},{s}\n" for i, s in enumerate(scores)))
    done = clinometer("reliability", "validate", ratings, table, "--replicates", 0)
    assert (done.status, done.err) == (0, "")
    assert "Caution: multinomial regression" in done.out


def test_two_categories_are_plain_logistic_regression() -> None:
    """Multinomial and ordinal are then the same model: an independent check of each."""
    from statsmodels.discrete.discrete_model import Logit

    rng = np.random.default_rng(2)
    x = rng.normal(size=300)
    y = (rng.random(300) < 1 / (1 + np.exp(-1.2 * x))).astype(int)
    z = (x - x.mean()) / x.std(ddof=1)
    theirs = Logit(y, np.column_stack([np.ones(300), z])).fit(disp=False)
    for kind in ("multinomial", "ordinal"):
        ours = fit(kind, y, {"x": x}, categories=("no", "yes"))
        assert ours.chi2 == pytest.approx(theirs.llr, abs=1e-6)
        assert ours.mcfadden == pytest.approx(theirs.prsquared, abs=1e-9)
        assert ours.df == 1
        sign = 1 if kind == "ordinal" or ours.base == "no" else -1
        assert sign * ours.terms[0].value == pytest.approx(theirs.params[1], abs=1e-4)
        assert ours.terms[0].se == pytest.approx(theirs.bse[1], abs=1e-4)


def test_a_planted_ordinal_relation_is_recovered() -> None:
    rng = np.random.default_rng(3)
    x, noise = rng.normal(size=3000), rng.normal(size=3000)
    latent = 0.8 * x + rng.logistic(size=3000)
    y = np.digitize(latent, [-1.5, 0.0, 1.0])
    both = fit("ordinal", y, {"x": x, "noise": noise}, categories="abcd")
    assert both.terms[0].value == pytest.approx(0.8, abs=0.12)
    assert both.terms[0].low < 0.8 * x.std() < both.terms[0].high
    assert both.terms[1].p > 0.01
    alone = fit("ordinal", y, {"noise": noise}, categories="abcd")
    chi2, df, p = beyond(both, alone)
    assert df == 1
    assert chi2 > 100
    assert p < 1e-20


def test_a_model_that_cannot_be_fitted_gives_the_reason() -> None:
    x = np.arange(40.0)
    y = (x > 19).astype(int)
    apart = fit("multinomial", y, {"x": x}, categories=("no", "yes"))
    assert apart.problem
    json.dumps(apart.to_dict(), allow_nan=False)
    with pytest.raises(SettingsError, match="x: expected values that vary"):
        fit("ordinal", y, {"x": np.ones(40)}, categories=("no", "yes"))
    with pytest.raises(SettingsError, match="expected at least two categories, found no"):
        fit("ordinal", y * 0, {"x": x}, categories=("no", "yes"))


def test_words_can_stand_for_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    score = rng.random(120)
    table = {}
    for i, s in enumerate(score):
        table[str(i)] = {a: "yes" if rng.random() < s else "no" for a in "abc"}
    scores = {str(i): float(s) for i, s in enumerate(score)} | {"other": 0.5}
    found = validate(Ratings.of(table), scores, replicates=100)
    assert found.correlation is None
    assert found.unmatched == 1
    assert found.ordinal is not None
    assert found.ordinal.chi2 == pytest.approx(found.multinomial.chi2, abs=1e-4)
    assert found.ordinal.p < 1e-4
    with pytest.raises(TableError, match="at least three ids that are also judged, found 0"):
        validate(Ratings.of(table), {"x": 1.0})


def test_the_middle_judgement_is_the_lower_of_two(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    rows = ["1,1,4,", "2,2,2,5", "3,,,3", "4,5,1,4", "5,2,3,"]
    path.write_text("id,rater a,rater b,rater c\n" + "\n".join(rows) + "\n")
    scores = {str(i): float(i * i % 7) for i in range(1, 6)}
    found = validate(read_ratings(path), scores, replicates=0)
    assert found.outcome == {"1": 1, "2": 2, "3": 1, "4": 1}
