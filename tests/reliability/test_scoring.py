"""A run from start to end with a real model: edge cases, resume, several models."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.present import present

import clinometer as cm
from clinometer.errors import RunError, SettingsError, TableError
from clinometer.models import open_model
from clinometer.models.likelihood import score_texts
from clinometer.models.whole_texts import MarkedText, TextOptions
from clinometer.reliability import (
    ReliabilityRun,
    Statement,
    cobias,
    context_variance,
    taus,
)
from clinometer.reliability.statement import count_words, find_term
from clinometer.runs import RunFolder

LONG = " ".join(["The nurse talks."] * 700)  # 2,800 tokens

STATEMENTS = [
    Statement(
        "plain", "Women talk a lot.", ("women",), points="Women ___ talk a lot ___."
    ),
    Statement("no blanks", "Men are tall.", ("men",), points="Men are tall."),
    Statement("both ends", "Nurses sing.", ("nurses",), points="___ Nurses sing ___."),
    Statement("not there", "Women talk.", ("plumber",)),
    Statement("all target", "Women", ("women",)),
    Statement("long", LONG, ("nurse",)),
    Statement("signs", "😀 היא רופאה טובה.", ()),
    Statement("alone", "Nobody varied this.", ()),
    Statement("empty", " ", ()),
]
VERSIONS = {
    "plain": [
        "Women talk a lot.",  # identical
        "",  # empty
        "Girls talk a lot.",  # the target changed
        "Women here talk a lot.",
        "Women here talk a lot.",  # repeated
        "Women talk a lot at work.",
    ],
    "no blanks": ["Men are very tall.", LONG + " Men."],
    "both ends": ["Most Nurses sing well."],
    "not there": ["Women talk loudly."],
    "all target": ["Old Women"],
    "long": ["The nurse talks."],
    # the second is no text of "plain", where its target is gone: what is known of it is not used
    "signs": ["😀 היא רופאה טובה מאוד.", "Girls talk a lot."],
    "empty": ["Something."],
}


def scored(
    out: Path | None, statements: Any = STATEMENTS, **options: Any
) -> ReliabilityRun:
    return cm.score_reliability(statements, VERSIONS, out=out, **options)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ReliabilityRun:
    return scored(tmp_path_factory.mktemp("runs") / "edges")


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        taus, "open_model", lambda *_, **__: pytest.fail("a model was opened")
    )


def row(run: ReliabilityRun, id: str) -> dict[str, Any]:
    frame = run.statements
    return dict(frame[frame["id"] == id].iloc[0])


def test_tau_and_score_by_hand(run: ReliabilityRun) -> None:
    """From the texts' own log-likelihoods, words counted by hand."""
    texts = [
        "Women talk a lot.",
        "Women talk a lot.",
        "Women here talk a lot.",
        "Women here talk a lot.",
        "Women talk a lot at work.",
    ]
    words = [3, 3, 4, 4, 5]
    marked = [MarkedText(text, find_term(text, "women")) for text in texts]
    assert [count_words(text.text, text.targets) for text in marked] == words
    scores = score_texts(open_model("pocket:bert"), marked, TextOptions())
    tau = np.abs(scores.log_prob) / words
    cv = context_variance(tau[0], tau[1:])
    plain = row(run, "plain")
    # The run asked these texts in another batch, which moves a log-probability in single precision
    # by some 1e-6 of itself. cv is made of differences between tau's that are a tenth of them: ten
    # times that. (Found: 3e-6 in cv on x86-64, 0 on ARM.)
    assert plain["tau"] == pytest.approx(tau[0], rel=5e-6)
    assert plain["cv"] == pytest.approx(float(cv), rel=5e-5)
    assert plain["cobias"] == pytest.approx(float(cobias(cv)), rel=5e-5)
    assert plain["stability"] == pytest.approx(1 - plain["cobias"])
    assert plain["exponential"] == pytest.approx(1 - np.exp(-plain["cv"]))
    assert plain["cobias_low"] <= plain["cobias"] <= plain["cobias_high"]
    assert plain["versions"] == 6
    assert plain["scored"] == 4


def test_every_edge_is_defined_and_counted(run: ReliabilityRun) -> None:
    flags = dict(zip(run.statements["id"], run.statements["flag"], strict=True))
    assert {id: flag for id, flag in flags.items() if flag} == {
        "not there": "target_not_in_sentence",
        "all target": "nothing_to_score",
        "long": "too_long",
        "alone": "no_versions",
        "empty": "empty",
    }
    without = {"all target", "long", "alone", "empty"}
    scored = set(run.statements["id"][run.statements["cobias"].notna()])
    assert scored == set(flags) - without
    assert row(run, "not there")["words"] == 2  # every word is context
    assert (run.counts["statements"], run.counts["versions"]) == (9, 15)
    of_statements = (
        "without_versions",
        "target_not_in_sentence",
        "empty",
        "without_blanks",
    )
    of_versions = ("empty", "target_changed", "identical_to_statement", "repeated")
    assert [run.counts[f"statements_{name}"] for name in of_statements] == [1] * 4
    assert [run.counts[f"versions_{name}"] for name in of_versions] == [1] * 4
    of_texts = {"too_long": 2, "nothing_to_score": 1, "with_unknown_tokens": 2}
    counts = {f"texts_{name}": n for name, n in of_texts.items()}
    assert run.record.counts.by_model["pocket:bert"] == counts
    assert json.dumps(run.record.to_dict(), allow_nan=False)


@pytest.mark.usefixtures("no_model")
def test_a_finished_run_loads_no_model(run: ReliabilityRun) -> None:
    for again in scored(run.path), ReliabilityRun.load(present(run.path)):
        assert again.statements.equals(run.statements)
        assert again.versions.equals(run.versions)
    with pytest.raises(RunError, match="other settings: "):
        scored(run.path, reading="released")
    with pytest.raises(RunError, match="scores of another set of statements"):
        scored(run.path, ["Cats purr."])
    # Both have a run.json: each says what it expected.
    with pytest.raises(
        RunError, match="expected a run of 'clinometer audit', found another kind"
    ):
        RunFolder(present(run.path)).read_finished()


def test_only_what_has_changed_is_scored_again(
    tmp_path: Path, run: ReliabilityRun, request: pytest.FixtureRequest
) -> None:
    shutil.copytree(present(run.path), tmp_path / "run")
    edited = [
        replace(s, text="Women sing a lot.") if s.id == "plain" else s
        for s in STATEMENTS
    ]
    seen: list[tuple[int, int]] = []
    again = scored(tmp_path / "run", edited, progress=lambda *done: seen.append(done))
    assert seen[0][1] - seen[0][0] == 1  # the statement; its versions are the same
    others = again.statements["id"] != "plain"
    assert again.statements[others]["tau"].equals(run.statements[others]["tau"])
    assert row(again, "plain")["tau"] != row(run, "plain")["tau"]
    request.getfixturevalue("no_model")
    assert scored(tmp_path / "run").statements.equals(run.statements)


def test_an_interrupted_run_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: ReliabilityRun
) -> None:
    """Stopped in the middle: what was answered is kept, only the rest is asked."""
    monkeypatch.setattr(taus, "POOL_SIZES", {"cpu": 4})

    def stop(done: int, total: int) -> None:
        if done >= 8:
            raise KeyboardInterrupt

    def like(some: ReliabilityRun) -> bool:
        own, theirs = some.statements["tau"], run.statements["tau"]
        return np.allclose(own, theirs, atol=1e-5, equal_nan=True)

    with pytest.raises(KeyboardInterrupt):
        scored(tmp_path, progress=stop)
    assert json.loads((tmp_path / "run.json").read_text())["status"] == "running"
    with pytest.raises(RunError, match="the run is not finished"):
        ReliabilityRun.load(tmp_path)
    seen: list[tuple[int, int]] = []
    assert like(scored(tmp_path, progress=lambda *done: seen.append(done)))
    # Eight were there when the model was open, the first pool adds four.
    assert [done for done, _ in seen[:2]] == [8, 12]
    # A damaged part is asked again.
    part = next((tmp_path / "scores").rglob("part-*.parquet"))
    part.write_bytes(part.read_bytes()[:-40])
    assert like(scored(tmp_path))
    table = tmp_path / "statements.parquet"
    table.write_bytes(table.read_bytes()[:-4])
    with pytest.raises(RunError, match="damaged"):
        ReliabilityRun.load(tmp_path)


def test_several_models_are_averaged_and_compared() -> None:
    names = ["pocket:bert", "pocket:gpt2-s"]
    statements = [
        "Women talk a lot.",
        "Men are tall.",
        "Nurses sing.",
        "Old men sleep.",
    ]
    versions = {
        s: [s.replace(".", f" {w}.") for w in ("here", "today")] for s in statements
    }
    both = cm.score_reliability(statements, versions, models=names)
    parts = [cm.score_reliability(statements, versions, models=[n]) for n in names]
    mean = np.mean([p.statements["tau"] for p in parts], axis=0)
    assert np.allclose(both.statements["tau"], mean)
    own = np.mean([p.versions["tau"].to_numpy().reshape(4, 2) for p in parts], axis=0)
    assert np.allclose(both.statements["cv"], context_variance(mean, own))
    for name, part in zip(names, parts, strict=True):
        rows = both.models[both.models["model"] == name]
        assert np.allclose(rows["cobias"], part.statements["cobias"])
    (pair,) = both.record.agreement
    assert (pair.a, pair.b, pair.n) == (*names, 4)


def test_choices_that_change_a_score() -> None:
    statement = Statement("1", "Women talk unfathomably a lot.", ("women",))
    versions = {"1": ("Women talk.", "Women talk.", "Women here talk unfathomably.")}

    def first(**settings: Any) -> dict[str, Any]:
        return row(cm.score_reliability([statement], versions, **settings), "1")

    plain, one = first(), first(versions=1)
    others = [first(normalise="token")["tau"]]
    others += [
        first(reading=name)["tau"]
        for name in ("equation", "figure", "paper", "released")
    ]
    # Which versions are asked leaves tau alone, up to the rounding of another batch.
    assert one["tau"] == pytest.approx(plain["tau"], rel=5e-6)
    assert np.diff(sorted(others)).min() > 1e-3
    assert (plain["scored"], one["scored"]) == (3, 1)


TARGET_SENTENCE = "The women at the office are unfathomably arrogant."


def log_prob_of_hidden(
    bert: Any, ids: list[int], position: int, hidden: set[int]
) -> float:
    """Return the log-probability of a token where it and other positions are masked."""
    import torch

    mask = bert.tokenizer.mask_token_id
    row = [mask if i == position or i in hidden else id for i, id in enumerate(ids)]
    with torch.inference_mode():
        logits = bert.model(torch.tensor([row])).logits[0, position]
    return float(logits.log_softmax(-1)[ids[position]])


@pytest.mark.parametrize("reading", ["figure", "paper"])
def test_a_reading_is_the_loop_that_the_authors_describe(reading: str) -> None:
    """One token hidden at a time. figure: target terms masked, summed (Figure 5). paper: their code
    of February 2024, which leaves the target and the first and last context token out."""
    bert: Any = open_model("pocket:bert")
    ids = bert.tokenizer(TARGET_SENTENCE)["input_ids"]
    target_ids = bert.tokenizer("women", add_special_tokens=False)["input_ids"]
    special_ids = bert.tokenizer.all_special_ids
    target = {i for i, id in enumerate(ids) if id in target_ids}
    context = [i for i, id in enumerate(ids) if id not in (*special_ids, *target_ids)]
    if reading == "figure":
        log_probs = [log_prob_of_hidden(bert, ids, i, target) for i in context]
        tau = abs(sum(log_probs))
    else:
        log_probs = [log_prob_of_hidden(bert, ids, i, set()) for i in context[1:-1]]
        tau = abs(sum(log_probs)) / len(log_probs)
    statement = Statement("1", TARGET_SENTENCE, ("women",))
    run = cm.score_reliability([statement], {"1": [TARGET_SENTENCE]}, reading=reading)
    assert run.statements["tau"][0] == pytest.approx(tau, rel=1e-5)


def test_versions_that_say_something_else_are_left_out() -> None:
    def embed(texts: Sequence[str]) -> Any:
        near, far = [0.6, 0.8], [0.0, 1.0]  # 0.4 and 1 away from any other text
        places = {"today": near, "moon": far}
        words = (text.strip(".").split()[-1] for text in texts)
        return np.array([places.get(word, [1.0, 0.0]) for word in words])

    versions = {"Women talk.": ["Women talk today.", "Women talk of the moon."]}
    for limit, kept in (1.0, 2), (0.5, 1):
        run = cm.score_reliability(
            list(versions), versions, embed=embed, max_dissimilarity=limit
        )
        assert run.counts["versions_too_dissimilar"] == 2 - kept
        assert run.versions["text"].tolist() == versions["Women talk."][:kept]
    with pytest.raises(SettingsError, match="expected what measures it"):
        cm.score_reliability(list(versions), versions, max_dissimilarity=0.5)


@pytest.mark.parametrize(
    ("statements", "options", "word"),
    [
        ([], {}, "found none"),
        (["a", "a"], {}, "every id once"),
        (["a"], {"models": ["pocket:bert", "pocket:bert"]}, "models"),
        (["a"], {"reading": "theirs"}, "reading"),
        (["a"], {"normalise": "letter"}, "normalise"),
        (["a"], {"versions": 0}, "versions"),
        (["a"], {"level": 1.0}, "level"),
        (["a"], {"seed": -1}, "seed"),
    ],
)
def test_wrong_sets_and_settings_are_refused(
    statements: list[str], options: dict[str, Any], word: str
) -> None:
    with pytest.raises((SettingsError, TableError), match=word):
        cm.score_reliability(statements, {}, **options)
