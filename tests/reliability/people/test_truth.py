"""The truth test: rows against scipy, planted scores pass, random ones do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import rankdata, spearmanr
from tests.present import present

import clinometer as cm
from clinometer.errors import SettingsError, TableError
from clinometer.reliability import ReliabilityRun, Statement, VariantSet
from clinometer.reliability.folder import ReliabilityRecord
from clinometer.reliability.people import Ratings
from clinometer.reliability.people.truth import (
    ADDED,
    LENGTH,
    RANDOM,
    TAU,
    random_control,
    random_words,
    truth_test,
)
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.record import ModelRecord

N = 120
RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=N)
TEXTS = ["word " * int(k) + "end." for k in RNG.integers(3, 20, N)]
#: Two versions of every statement, which add n and n + 2 words; a third one was left out.
MORE = np.random.default_rng(1).integers(1, 9, N)
RATED = {
    str(i): {
        f"annotator_{k}": str(int(np.clip(np.round(3 + TRUTH[i] + RNG.normal()), 1, 5)))
        for k in range(3)
    }
    for i in range(N)
}


def made(scores: FloatArray, models: tuple[str, ...] = ("m",)) -> ReliabilityRun:
    """A run with these scores, as if models had given them."""
    ids = [str(i) for i in range(N)]
    record = ReliabilityRecord(
        models=[ModelRecord(id=m, kind="masked", revision="0") for m in models],
        texts="",
        scoring={},
        settings={},
    )
    values = {"id": ids, "text": TEXTS, "tau": np.arange(N) + 1.0, "cobias": scores}
    by_model = {"id": ids * len(models), "model": [m for m in models for _ in ids]}
    versions = [
        (i, "more " * (int(MORE[k]) + extra) + TEXTS[k], left_out)
        for k, i in enumerate(ids)
        for extra, left_out in ((0, ""), (2, ""), (50 * (k % 3), "changed"))
    ]
    tables = {
        "statements": pa.table(values),
        "versions": pa.table(
            dict(zip(("id", "text", "left_out"), zip(*versions, strict=True), strict=True))
        ),
        "models": pa.table({**by_model, "cobias": np.tile(scores, len(models))}),
    }
    return ReliabilityRun(record, tables)


#: These ratings rise with COBIAS as printed: a high one says that context is missing.
MISSING: dict[str, Any] = {"replicates": 100, "high": "missing"}


def test_rows_equal_scipy() -> None:
    scores = TRUTH + RNG.normal(size=N)
    found = truth_test(Ratings.of(RATED), {"ours": made(scores, ("a", "b"))}, **MISSING)
    rows = {row.name: row for row in found.rows}
    assert list(rows) == ["ours", "ours, a alone", "ours, b alone", LENGTH, TAU, ADDED]
    mean = np.array([np.mean([float(v) for v in r.values()]) for r in RATED.values()])
    assert present(rows["ours"].rho).value == pytest.approx(spearmanr(scores, mean).statistic)
    words = np.array([len(t.split()) for t in TEXTS])
    assert present(rows[LENGTH].rho).value == pytest.approx(spearmanr(words, -mean).statistic)
    assert rows[LENGTH].given_length is None
    x, y, z = map(rankdata, (scores, mean, words))
    left = [v - np.polyval(np.polyfit(z, v, 1), z) for v in (x, y)]
    expected = np.corrcoef(left[0], left[1])[0, 1]
    assert present(rows["ours"].given_length).value == pytest.approx(expected)
    ahead = present(rows[TAU].ahead)
    assert ahead.value == pytest.approx(
        present(rows["ours"].given_length).value - present(rows[TAU].given_length).value
    )
    assert present(rows[ADDED].rho).value == pytest.approx(spearmanr(MORE + 1, mean).statistic)
    assert present(found.ceiling) == pytest.approx(
        np.sqrt(3 * present(found.raters) / (1 + 2 * present(found.raters)))
    )


def test_a_planted_score_passes_and_noise_does_not() -> None:
    good, noise, other = (made(x) for x in (TRUTH, RNG.normal(size=N), RNG.normal(size=N)))
    ratings = Ratings.of(RATED)
    how = MISSING | {"replicates": 300}
    found = truth_test(ratings, {"good": good}, controls={"good": noise}, **how)
    assert found.passed
    assert found.rows[-1].name == RANDOM
    assert present(present(found.rows[-1].ahead).low) > 0
    assert "passes" in found.notes[-1]
    assert not truth_test(ratings, {"good": good}, **how).passed  # without its control
    assert not truth_test(ratings, {"noise": noise}, controls={"noise": other}, **how).passed
    assert not truth_test(ratings, {"good": good}, controls={"good": good}, **how).passed
    with pytest.raises(TableError, match="four statements"):
        truth_test(Ratings.of({"x": {"1": "3"}}), {"good": good}, high="enough")


@pytest.mark.parametrize("high", ["enough", "missing"])
def test_ratings_in_either_direction_have_the_right_verdict(high: str) -> None:
    """The same opinion of people who say 5 for enough context, and of people who say 5 for missing
    context; the wrong direction does not pass, and none is not guessed."""
    good, noise = made(TRUTH), made(RNG.normal(size=N))
    turned = {k: {a: str(6 - int(v)) for a, v in row.items()} for k, row in RATED.items()}
    table = RATED if high == "missing" else turned
    ratings = Ratings.of(table, rows={k: {"high_means": high} for k in table})
    runs: dict[str, Any] = {"runs": {"good": good}, "controls": {"good": noise}}
    found = truth_test(ratings, **runs, replicates=300)
    assert found.passed
    assert present(found.rows[0].rho).value > 0.5
    unsaid, other = Ratings.of(table), "enough" if high == "missing" else "missing"
    assert truth_test(unsaid, **runs, high=high, replicates=300).passed
    assert not truth_test(unsaid, **runs, high=other, replicates=300).passed
    with pytest.raises(SettingsError, match="add --high enough or --high missing"):
        truth_test(unsaid, **runs)
    with pytest.raises(SettingsError, match=f"expected '{high}', as the ratings say"):
        truth_test(ratings, **runs, high=other)
    rows = {k: {"high_means": "both" if k == "0" else "missing"} for k in table}
    with pytest.raises(TableError, match="found both, missing"):
        truth_test(Ratings.of(table, rows=rows), **runs)


def test_random_ratings_have_no_verdict_at_a_low_level_or_without_the_control() -> None:
    """At a level of 0.01 an interval excludes 0 almost always: half of all noise would pass."""
    how: dict[str, Any] = MISSING | {"level": 0.01}
    noise, control = made(RNG.normal(size=N)), made(RNG.normal(size=N))
    above = 0
    for seed in range(20):
        values = np.random.default_rng(seed).integers(1, 6, N)
        rated = Ratings.of({f"{k}": {"1": str(v)} for k, v in enumerate(values)})
        alone = truth_test(rated, {"noise": noise}, **how)
        both = truth_test(rated, {"noise": noise}, controls={"noise": control}, **how)
        above += present(present(alone.rows[0].given_length).low) > 0
        assert not alone.passed
        assert not both.passed
        assert "No verdict: the score was not compared" in alone.notes[-1]
        assert "No verdict: it takes intervals of 95%" in both.notes[-1]
    assert above >= 5, "what a verdict by these intervals alone would have let pass"


def test_random_words_stand_where_the_context_stood() -> None:
    texts = ["The nurse is tired."]
    (made_,) = random_words(texts, [["The young nurse is tired at work."] * 5], seed=1)
    assert len(set(made_)) > 1
    for version in made_:
        words = version.split()
        assert (words[0], words[2:5], len(words)) == ("The", ["nurse", "is", "tired"], 7)
        assert version.endswith(".")


STATEMENTS = [
    Statement(str(i), f"The {who} at the office {does}.", (who,))
    for i, (who, does) in enumerate(
        [("women", "sing"), ("men", "talk a lot"), ("nurses", "left early today"), ("boys", "lie")]
    )
]
VERSIONS = VariantSet(
    {s.id: (s.text.replace("office", "law office"), f"{s.text[:-1]} again.") for s in STATEMENTS},
    "somebody",
)


def test_the_command_and_the_validation(tmp_path: Path, clinometer: Callable[..., Any]) -> None:
    run = cm.score_reliability(STATEMENTS, VERSIONS, out=tmp_path / "run", replicates=100)
    assert run.record.versions_by == "somebody"
    rated = "id,annotator_1,annotator_2,high_means\n0,1,2,enough\n1,3,3,\n2,5,4,enough\n3,2,1,\n"
    (tmp_path / "ratings.csv").write_text(rated)
    command = ["reliability", "validate", tmp_path / "ratings.csv", tmp_path / "run"]
    done = clinometer(*command, "--replicates", 100, "--out", tmp_path / "passed.json")
    assert done.status == 1, done.err
    assert "random words" in done.out
    assert "was not written" in done.err  # four statements prove nothing
    assert not (tmp_path / "passed.json").exists()
    kept = ReliabilityRun.load(tmp_path / "run" / "random-words")
    assert kept.record.versions_by == "random words"
    again = random_control(ReliabilityRun.load(tmp_path / "run"))
    assert again.statements.equals(kept.statements)
    done = clinometer(*command, "--no-random-words", "--json")
    assert json.loads(done.out)["summary"]["passed"] is False


def test_only_the_same_models_and_versions_are_validated(tmp_path: Path) -> None:
    from clinometer.reliability.validation_status import (
        read_validation,
        validation_status,
        write_validation,
    )
    from clinometer.statistics.estimate import Estimate

    run = cm.score_reliability(STATEMENTS, VERSIONS, replicates=100)
    assert not validation_status(run.record).validated
    sure = Estimate(0.3, 0.1, 0.5, 0.95, "bootstrap")
    file = tmp_path / "passed.json"
    how = {"rho": sure, "given_length": sure, "compared": ["random words"]}
    write_validation(run.record, file, statements=160, **how)
    read = read_validation(file)
    again = cm.score_reliability(STATEMENTS, VERSIONS, replicates=100, validation=read)
    assert validation_status(again.record).validated
    assert "160 statements" in validation_status(again.record).why
    assert "compared with random words" in validation_status(again.record).why
    other = VariantSet(VERSIONS.versions, "somebody else")
    with pytest.raises(SettingsError, match="versions_by"):
        cm.score_reliability(STATEMENTS, other, replicates=100, validation=read)
    changed = present(read).model_copy(update={"revisions": ["another"]})
    with pytest.raises(SettingsError, match="revisions"):
        cm.score_reliability(STATEMENTS, VERSIONS, replicates=100, validation=changed)
