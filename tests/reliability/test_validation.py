"""Scores against people: the published judgements, scipy, statsmodels, and planted answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import mannwhitneyu, rankdata, spearmanr
from tests.command import Clinometer, refused
from tests.present import present

import clinometer as cm
from clinometer.errors import SettingsError, TableError
from clinometer.reliability import ReliabilityRun, Statement
from clinometer.reliability.random_words import random_control
from clinometer.reliability.ratings import Ratings, read_ratings, sentence_key
from clinometer.reliability.record import ReliabilityRecord
from clinometer.reliability.regression import regression
from clinometer.reliability.statement_scores import (
    ADDED,
    LENGTH,
    RANDOM,
    TAU,
    StatementScores,
)
from clinometer.reliability.validation import right_order, validate
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.record import ModelRecord


def validated(clinometer: Clinometer, *arguments: Any) -> dict[str, Any]:
    done = clinometer("reliability", "validate", *arguments, "--json")
    assert (done.status, done.err) == (0, "")
    summary: dict[str, Any] = json.loads(done.out)["summary"]
    return summary


def test_the_500_published_ratings(shared_data: Path, clinometer: Clinometer) -> None:
    """Rated 1 to 5; by the other judgements a high one means enough context: both go up."""
    folder = shared_data / "cobias"
    files = folder / "validation_ratings.csv", folder / "validation_scores.csv"
    found = validated(clinometer, *files, "--high", "enough")
    assert (found["statements"], found["unmatched"], found["annotators"]) == (500, 0, 3)
    score, length = found["rows"]
    assert round(score["rho"]["value"], 3) == 0.645
    assert round(score["given_length"]["value"], 3) == 0.602
    assert round(length["rho"]["value"], 3) == 0.292  # shorter ones are rated higher
    assert found["regression"]["df"] == 4
    assert round(found["regression"]["chi2"], 1) == 176.8
    assert round(found["regression"]["mcfadden"], 3) == 0.153
    first = found["findings"][0]
    assert (first["kind"], first["sure"]) == ("agreement with people", "clear")
    command = ("reliability", "validate", *files)
    refused(clinometer(*command), "add --high")
    columns = "expected a column 'score', found id, cobias, sentence"
    refused(clinometer(*command, "--column", "score"), columns)
    refused(
        clinometer(*command, "--column", "sentence"),
        "sentence: expected a number, found '",
    )


@pytest.mark.parametrize(
    ("model", "order"), [("bert-base-uncased", 0.65), ("albert-base-v2", 0.57)]
)
def test_the_190_judgements_of_the_paper(
    shared_data: Path, clinometer: Clinometer, model: str, order: float
) -> None:
    """One consensus label, no ids: found by their sentences. No more context needed: higher."""
    folder = shared_data / "cobias"
    found = validated(
        clinometer,
        folder / "paper" / "validation_190.csv",
        folder / f"published_pll_{model}.jsonl.gz",
        *("--dataset", folder / "statements.csv"),
        *("--annotator", "is_context_required", "--high", "missing"),
    )
    assert found["annotators"] == 1
    assert found["statements"] > 180
    assert found["outcome"]["n"] > 150
    assert found["right_order"]["value"] == pytest.approx(order, abs=0.015)
    assert found["rows"][0]["rho"]["value"] > 0
    odds = found["regression"]["odds"][0]
    assert (odds["outcome"], found["regression"]["base"]) == ("y", "n")
    assert odds["ratio"] < 1


def test_the_scores_of_the_paper_agree_with_its_judgements_beyond_length(
    shared_data: Path,
) -> None:
    """Three large models, February 2024: ids are those of the merged pairs, of which one side was
    judged. Mean over the ten temperatures."""
    folder = shared_data / "cobias"
    labels = read_ratings(
        folder / "paper" / "validation_190.csv", columns=["is_context_required"]
    )
    pairs = pd.read_csv(
        folder / "merged_pairs.csv", dtype={"id": str}, encoding="utf-8-sig"
    )
    known = set(labels.items)
    sides = pairs[["sentence_1", "sentence_2"]].astype(str).to_numpy()
    judged = [a if sentence_key(a) in known else b for a, b in sides]
    scores = pd.read_csv(folder / "paper" / "temperatures.csv", dtype={"id": str})
    mean = scores.groupby("id")["cobias"].mean()
    texts = dict(zip(pairs["id"], judged, strict=True))
    table = StatementScores.of_table(
        {str(i): x for i, x in mean.items()}, texts, name="the paper's"
    )
    found = validate(labels, table, high="missing")
    assert (found.statements, found.outcome) == (184, {"n": 154, "y": 30})
    for number in (found.rows[0].rho, found.rows[0].given_length):
        assert present(present(number).low) > 0
    assert present(present(found.right_order).low) > 0.5
    assert present(found.regression).odds[0].high < 1
    assert present(found.regression).chi2 < 20  # printed: 71.02


def test_the_overlap_says_what_a_high_rating_means(shared_data: Path) -> None:
    """Statements that need no context were rated higher; only six of them need it."""
    folder = shared_data / "cobias"
    ratings = read_ratings(folder / "validation_ratings.csv")
    labels = read_ratings(
        folder / "paper" / "validation_190.csv", columns=["is_context_required"]
    )
    sentences = {s.id: s.text for s in cm.load_statements(folder / "statements.csv")}
    scores = dict(zip(ratings.items, ratings.means().tolist(), strict=True))
    table = StatementScores.of_table(scores, sentences, name="mean rating")
    found = validate(labels, table, high="missing", replicates=0)
    assert found.outcome["y"] == 6
    assert 40 <= found.statements <= 43
    assert present(found.right_order).value > 0.6
    keyed = table.by_sentence().columns["mean rating"].values
    said = pd.Series(labels.most_frequent()).reindex(keyed.index)
    assert keyed[said == "n"].mean() == pytest.approx(3.36, abs=0.02)
    assert keyed[said == "y"].mean() == pytest.approx(2.83, abs=0.01)


def test_ratios_without_end_are_printed(clinometer: Clinometer, tmp_path: Path) -> None:
    """Eight statements and five answers: one of them cannot be told by the score."""
    scores = (0.710, 0.732, 0.664, 0.716, 0.770, 0.646, 0.798, 0.765)
    said = ((1, 1), (3, 3), (4, 5), (5, 5), (2, 2), (4, 4), (1, 1), (2, 3))
    ratings, table = tmp_path / "ratings.csv", tmp_path / "scores.csv"
    ratings.write_text(
        "id,rater_1,rater_2\n"
        + "".join(f"{i},{a},{b}\n" for i, (a, b) in enumerate(said))
    )
    table.write_text(
        "id,cobias\n" + "".join(f"{i},{s}\n" for i, s in enumerate(scores))
    )
    done = clinometer("reliability", "validate", ratings, table, "--high", "enough")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("cobias ")
    assert "Caution: " in done.out


def test_two_categories_are_plain_logistic_regression() -> None:
    from statsmodels.discrete.discrete_model import Logit

    rng = np.random.default_rng(2)
    x = rng.normal(size=300)
    y = (rng.random(300) < 1 / (1 + np.exp(-1.2 * x))).astype(int)
    z = (x - x.mean()) / x.std(ddof=1)
    theirs = Logit(y, np.column_stack([np.ones(300), z])).fit(disp=False)
    ours = regression(y, x, categories=("no", "yes"))
    assert ours.chi2 == pytest.approx(theirs.llr, abs=1e-6)
    assert ours.mcfadden == pytest.approx(theirs.prsquared, abs=1e-9)
    sign = 1 if ours.base == "no" else -1
    (odds,) = ours.odds
    assert np.log(odds.ratio) == pytest.approx(sign * theirs.params[1], abs=1e-6)
    assert (ours.df, odds.low <= odds.ratio <= odds.high) == (1, True)


def test_what_cannot_be_fitted_gives_the_reason() -> None:
    x = np.arange(40.0)
    y = (x > 19).astype(int)
    assert regression(y, x, categories=("no", "yes")).problem
    for said, score in (y, x * 0), (y * 0, x):
        ratings = Ratings.of({str(i): {"a": str(k)} for i, k in enumerate(said)})
        scores = StatementScores.of_table(
            {str(i): s for i, s in enumerate(score)}, {}, name="x"
        )
        found = validate(ratings, scores, high="enough", replicates=0)
        assert found.regression is None
        assert "one of the two does not vary" in found.findings[0].text


def test_the_right_order_is_that_of_mann_and_whitney() -> None:
    rng = np.random.default_rng(5)
    score, judged = rng.integers(0, 9, 60).astype(float), rng.integers(0, 2, 60)
    found = right_order(score, judged, replicates=500)
    upper, lower = score[judged == 1], score[judged == 0]
    expected = mannwhitneyu(upper, lower).statistic / (len(upper) * len(lower))
    assert found.value == pytest.approx(expected)
    assert present(found.low) < 0.5 < present(found.high)


def test_the_middle_judgement_is_the_lower_of_two(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    rows = ["1,1,4,", "2,2,2,5", "3,,,3", "4,5,1,4", "5,2,3,"]
    path.write_text("id,rater a,rater b,rater c\n" + "\n".join(rows) + "\n")
    scores = StatementScores.of_table(
        {str(i): float(i * i % 7) for i in range(1, 6)}, {}, name="x"
    )
    found = validate(read_ratings(path), scores, high="enough", replicates=0)
    assert found.outcome == {"1": 1, "2": 2, "3": 1, "4": 1}


def test_judgements_without_an_order_or_a_match_are_refused() -> None:
    scores = StatementScores.of_table({"1": 0.1, "2": 0.2}, {}, name="x")
    words = Ratings.of({"1": {"a": "red"}, "2": {"a": "blue"}, "3": {"a": "green"}})
    with pytest.raises(TableError, match="numbers"):
        validate(words, scores, high="enough")
    with pytest.raises(TableError, match="at least four"):
        validate(Ratings.of({"1": {"a": "3"}, "2": {"a": "4"}}), scores, high="enough")


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
    versions = [
        {
            "id": i,
            "text": "more " * (int(MORE[k]) + extra) + TEXTS[k],
            "left_out": left_out,
        }
        for k, i in enumerate(ids)
        for extra, left_out in ((0, ""), (2, ""), (50 * (k % 3), "changed"))
    ]
    alone = [
        {"id": i, "model": m, "cobias": x}
        for m in models
        for i, x in zip(ids, scores, strict=True)
    ]
    statements = {"id": ids, "text": TEXTS, "tau": np.arange(N) + 1.0, "cobias": scores}
    tables = {
        "versions": pa.Table.from_pylist(versions),
        "models": pa.Table.from_pylist(alone),
    }
    return ReliabilityRun(record, {"statements": pa.table(statements), **tables})


#: These ratings rise with COBIAS: a high one says that there is enough context.
ENOUGH: dict[str, Any] = {"replicates": 100, "high": "enough"}


def test_rows_equal_scipy() -> None:
    scores = TRUTH + RNG.normal(size=N)
    table = StatementScores.of_runs({"ours": made(scores, ("a", "b"))})
    validation = validate(Ratings.of(RATED), table, **ENOUGH)
    rows = {row.name: row for row in validation.rows}
    assert list(rows) == ["ours", "ours, a alone", "ours, b alone", LENGTH, TAU, ADDED]

    ratings = [
        [float(v) for v in by_annotator.values()] for by_annotator in RATED.values()
    ]
    mean_ratings = np.mean(ratings, axis=1)
    words = np.array([len(text.split()) for text in TEXTS])
    values_of_row = {"ours": scores, LENGTH: -words, ADDED: MORE + 1}
    for name, values in values_of_row.items():
        rho = spearmanr(values, mean_ratings).statistic
        assert present(rows[name].rho).value == pytest.approx(rho)

    # Given length: the correlation of what a line through the ranks of length leaves of both ranks.
    score_residuals = residuals_of_ranks(scores, words)
    rating_residuals = residuals_of_ranks(mean_ratings, words)
    partial_rho = np.corrcoef(score_residuals, rating_residuals)[0, 1]
    ours = present(rows["ours"].given_length).value
    tau = present(rows[TAU].given_length).value
    assert ours == pytest.approx(partial_rho)
    assert present(rows[TAU].ahead).value == pytest.approx(ours - tau)
    assert rows[LENGTH].given_length is None


def residuals_of_ranks(values: FloatArray, predictor: FloatArray) -> FloatArray:
    """Return the ranks of values less what a line through the predictor's ranks says of them."""
    ranks = rankdata(values)
    predictor_ranks = rankdata(predictor)
    line = np.polyfit(predictor_ranks, ranks, 1)
    return np.asarray(ranks - np.polyval(line, predictor_ranks))


@dataclass(frozen=True)
class PlantedRatings:
    """Ratings that follow TRUTH, by people who say 5 for enough or for missing context."""

    high: str
    table: dict[str, dict[str, str]]

    @property
    def wrong(self) -> str:
        return "missing" if self.high == "enough" else "enough"

    @property
    def with_direction(self) -> Ratings:
        return Ratings.of(
            self.table, rows={id: {"high_means": self.high} for id in self.table}
        )

    @property
    def without_direction(self) -> Ratings:
        return Ratings.of(self.table)


@pytest.fixture(params=["enough", "missing"])
def planted_ratings(request: pytest.FixtureRequest) -> PlantedRatings:
    if request.param == "enough":
        return PlantedRatings("enough", RATED)
    turned = {}
    for id, by_annotator in RATED.items():
        turned[id] = {name: str(6 - int(v)) for name, v in by_annotator.items()}
    return PlantedRatings("missing", turned)


@pytest.fixture(scope="module")
def good() -> ReliabilityRun:
    return made(TRUTH)


@pytest.fixture(scope="module")
def noise() -> ReliabilityRun:
    return made(np.random.default_rng(10).normal(size=N))


@pytest.fixture(scope="module")
def trial(good: ReliabilityRun, noise: ReliabilityRun) -> StatementScores:
    """A good score, with noise as its control by random words."""
    return StatementScores.of_runs({"good": good}, {"good": noise})


def test_a_planted_score_passes(
    planted_ratings: PlantedRatings, trial: StatementScores
) -> None:
    validation = validate(planted_ratings.with_direction, trial, replicates=300)
    assert validation.passed
    assert validation.rows[-1].name == RANDOM
    kinds = [finding.kind for finding in validation.findings]
    assert kinds == ["agreement with people", "passed"]


def test_noise_does_not_pass(
    planted_ratings: PlantedRatings, noise: ReliabilityRun
) -> None:
    more_noise = made(np.random.default_rng(11).normal(size=N))
    table = StatementScores.of_runs({"noise": noise}, {"noise": more_noise})
    assert not validate(planted_ratings.with_direction, table, replicates=300).passed


def test_a_score_no_better_than_its_control_does_not_pass(
    planted_ratings: PlantedRatings, good: ReliabilityRun
) -> None:
    table = StatementScores.of_runs({"good": good}, {"good": good})
    assert not validate(planted_ratings.with_direction, table, replicates=300).passed


def test_a_score_without_a_control_does_not_pass(
    planted_ratings: PlantedRatings, good: ReliabilityRun
) -> None:
    table = StatementScores.of_runs({"good": good})
    validation = validate(planted_ratings.with_direction, table, replicates=300)
    assert not validation.passed
    assert validation.findings[-1].kind == "no control"


def test_the_direction_may_be_an_option(
    planted_ratings: PlantedRatings, trial: StatementScores
) -> None:
    ratings = planted_ratings.without_direction
    assert validate(ratings, trial, high=planted_ratings.high, replicates=300).passed
    against = validate(ratings, trial, high=planted_ratings.wrong, replicates=300)
    assert against.findings[-1].kind == "not passed"
    assert "runs against" in against.findings[0].text


def test_a_direction_is_neither_guessed_nor_contradicted(
    planted_ratings: PlantedRatings, trial: StatementScores
) -> None:
    with pytest.raises(SettingsError, match="add --high enough or --high missing"):
        validate(planted_ratings.without_direction, trial)
    with pytest.raises(SettingsError, match=f"expected '{planted_ratings.high}'"):
        validate(planted_ratings.with_direction, trial, high=planted_ratings.wrong)


def test_two_directions_in_a_table_are_refused(
    planted_ratings: PlantedRatings, trial: StatementScores
) -> None:
    directions = {id: {"high_means": "missing"} for id in planted_ratings.table}
    directions["0"] = {"high_means": "both"}
    with pytest.raises(TableError, match="found both, missing"):
        validate(Ratings.of(planted_ratings.table, rows=directions), trial)


def test_random_ratings_have_no_verdict_at_a_low_level() -> None:
    """At a level of 0.01 an interval excludes 0 almost always: half of all noise would pass."""
    noise, control = made(RNG.normal(size=N)), made(RNG.normal(size=N))
    above = 0
    for seed in range(20):
        values = np.random.default_rng(seed).integers(1, 6, N)
        rated = Ratings.of({f"{k}": {"1": str(v)} for k, v in enumerate(values)})
        trial = StatementScores.of_runs({"noise": noise}, {"noise": control})
        found = validate(rated, trial, **ENOUGH, level=0.01)
        above += present(present(found.rows[0].given_length).low) > 0
        assert not found.passed
        assert found.findings[-1].kind == "low level"
    assert above >= 5, "what a verdict by these intervals alone would have let pass"


STATEMENTS = [
    Statement(str(i), f"The {who} at the office {does}.", (who,))
    for i, (who, does) in enumerate(
        [
            ("women", "sing"),
            ("men", "talk a lot"),
            ("nurses", "left early today"),
            ("boys", "lie"),
        ]
    )
]
VERSIONS = {
    s.id: (s.text.replace("office", "law office"), f"{s.text[:-1]} again.")
    for s in STATEMENTS
}


def test_the_command_and_the_validation(tmp_path: Path, clinometer: Clinometer) -> None:
    cm.score_reliability(STATEMENTS, VERSIONS, out=tmp_path / "run")
    rated = "id,annotator_1,annotator_2,high_means\n0,1,2,enough\n1,3,3,\n2,5,4,enough\n3,2,1,\n"
    (tmp_path / "ratings.csv").write_text(rated)
    command = ["reliability", "validate", tmp_path / "ratings.csv", tmp_path / "run"]
    done = clinometer(*command)
    assert done.status == 0, done.err
    assert "random words" in done.out
    assert "does not pass" in done.out  # four statements prove nothing
    kept = ReliabilityRun.load(tmp_path / "run" / "random-words")
    again = random_control(ReliabilityRun.load(tmp_path / "run"))
    assert again.statements.equals(kept.statements)
    assert validated(clinometer, *command[2:], "--no-random-words")["passed"] is False
