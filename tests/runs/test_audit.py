"""An audit from start to end, with a real model where one is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmarks.float64 import compared
from tests.models import zoo
from tests.present import present

from clinometer.contexts import ContextSet, load_contexts
from clinometer.errors import RunError, SettingsError
from clinometer.models import WordOptions
from clinometer.models.options import DEFAULT_TOLERANCE, SampleOptions
from clinometer.runs import AuditSettings, Run, RunFolder, audit
from clinometer.runs.audit import default_folder
from clinometer.topics import Topic, load_topic

CONTEXTS = ContextSet(
    "few",
    ["The [X] said that [Y]", "The [X] felt that [Y]", "The [X] wrote that [Y]"],
    [5, 3, 1],
)
TOPIC = load_topic("gender").select(["nurse", "engineer", "artist"])
MODEL = "pocket:gpt2-s"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("r") / "run"
    how: dict[str, Any] = {"criterion": "ratio", "coverage_threshold": 1e-4}
    return audit(MODEL, topic=TOPIC, contexts=CONTEXTS, out=out, **how)


def test_the_folder_contains_the_documented_files(run: Run) -> None:
    assert run.path is not None
    record = json.loads((run.path / "run.json").read_text(encoding="utf-8"))
    assert record["status"] == "finished"
    assert record["model"]["kind"] == "causal"
    assert record["contexts"]["sha256"] == CONTEXTS.sha256
    assert record["topic"]["sha256"] == TOPIC.sha256
    assert record["settings"]["words"]["tolerance"] == DEFAULT_TOLERANCE == 1e-3
    assert record["counts"]["words_shared"] == 1  # canary
    assert 0 < record["preference_bound"] <= 1e-3
    assert (
        0 < record["risk_bound"] <= 2 * record["preference_bound"]
    )  # R spans 1, p half of it
    assert set(record["summary"]["R"]) >= {"value", "low", "high", "level"}
    columns = {
        "preferences": ["group", "context_id", "attribute", "p", "coverage", "flag"],
        "contexts": ["context_id", "template", "weight", "influence"],
    }
    for name, expected in columns.items():
        assert pq.read_table(run.path / f"{name}.parquet").column_names == expected
    groups = pq.read_table(run.path / "groups.parquet").column_names
    assert {
        "group",
        "weight",
        "r",
        "r_bias",
        "r_volatility",
        "r_low",
        "leaning",
    } <= set(groups)
    assert list((run.path / "scores").glob("part-*.parquet"))


def test_settings_keep_their_names_in_the_record(run: Run) -> None:
    """A field of the options that is renamed is another key in every run.json."""
    record = json.loads((present(run.path) / "run.json").read_text(encoding="utf-8"))
    settings = record["settings"]
    assert " ".join(settings) == (
        "max_contexts placebo seed criterion coverage_threshold level clusters load words"
    )
    assert " ".join(settings["load"]) == (
        "kind device dtype revision batch_tokens device_map quantize steer chat "
        "chat_request sampled server allow begun"
    )
    assert " ".join(settings["load"]["server"]) == (
        "tokenizer route top_k concurrency timeout patience max_requests max_tokens "
        "price budget"
    )
    assert " ".join(settings["words"]) == "tolerance single_token"


def test_the_numbers_match_the_preferences(run: Run) -> None:
    table = pq.read_table(present(run.path) / "preferences.parquet").to_pandas()
    p = table.pivot_table("p", ["group", "context_id"], "attribute", observed=True)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    male = table[table.attribute == "male"].set_index(["group", "context_id"]).p
    weights = dict(zip(CONTEXTS.ids, CONTEXTS.weights, strict=True))
    r = sum(w * abs(2 * male["engineer", c] - 1) for c, w in weights.items())
    assert run.risks.r[1] == pytest.approx(r, abs=1e-12)
    for x, group in enumerate(TOPIC.group_names):
        mean = sum(w * male[group, c] for c, w in weights.items())
        assert run.risks.leaning[x] == ("male" if mean > 0.5 else "female")
    assert run.risks.leaning[1:] == ("male", "female")


def test_the_bound_of_a_run_is_that_of_its_worst_cell(run: Run) -> None:
    exact = audit(MODEL, topic=TOPIC, contexts=CONTEXTS, tolerance=0)
    assert exact.record.preference_bound == 0
    assert exact.record.risk_bound is None
    folder = RunFolder(present(run.path))
    (cells, scores), *_ = folder.read_scores(
        words=len(TOPIC.words), cells=9, repair=False
    )
    assert len(cells) == 9
    bound = np.empty(9)
    bound[cells] = scores.skipped / np.exp(scores.log_coverage)
    assert run.record.preference_bound == pytest.approx(bound.max(), rel=1e-5)


def test_a_run_keeps_the_tolerance_it_was_begun_with(tmp_path: Path) -> None:
    """Also where that was another version's default."""
    how: dict[str, Any] = {
        "topic": TOPIC,
        "contexts": CONTEXTS,
        "out": tmp_path / "run",
    }
    first = audit(MODEL, **how, tolerance=1e-4)
    again = audit(MODEL, **how)
    assert again.record.settings.words.tolerance == 1e-4
    assert again.record.preference_bound == first.record.preference_bound
    assert again.preferences.equals(first.preferences)
    with pytest.raises(RunError, match=r"words.tolerance \(0.0001, now 0.001\)"):
        audit(MODEL, **how, tolerance=DEFAULT_TOLERANCE)
    fresh = audit(MODEL, **how, fresh=True)
    assert fresh.record.settings.words.tolerance == DEFAULT_TOLERANCE


def test_settings_are_keywords_too() -> None:
    asked: dict[str, Any] = {"topic": TOPIC, "contexts": "paper-gender"}
    run = audit(
        "reference:random",
        **asked,
        criterion="ratio:2",
        device="cpu",
        single_token=True,
        replies=5,
        seed=3,
    )
    given = run.record.settings
    assert (given.criterion, given.load.device) == ("ratio:2", "cpu")
    assert given.words.single_token
    assert given.load.sampled == SampleOptions(replies=5, seed=3)
    base = AuditSettings(criterion="ratio:2", level=0.9)
    decided = replace(
        base, level=0.8, words=replace(base.words, tolerance=DEFAULT_TOLERANCE)
    )
    assert (
        audit("reference:random", **asked, settings=base, level=0.8).record.settings
        == decided
    )
    with pytest.raises(
        SettingsError, match=r"^max_context: no such setting; did you mean max_c"
    ):
        audit("reference:random", max_context=3)
    with pytest.raises(
        SettingsError, match="temperature: expected together with replies"
    ):
        audit("reference:random", temperature=0.5)


def test_reference_models_are_exact_and_several_models_stand_side_by_side(
    tmp_path: Path,
) -> None:
    names = ["reference:random", "reference:unbiased", "reference:stereotyped"]
    runs = audit(names, topic=TOPIC, contexts=CONTEXTS, out=tmp_path)
    assert [run.path for run in runs] == [
        tmp_path / name.replace(":", "-") for name in names
    ]
    risks = [(r.R.value, r.R_bias.value, r.R_volatility.value) for r in runs]
    assert risks == [(1, 0, 1), (0, 0, 0), (1, 1, 0)]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"topic": TOPIC.select(["nurse"])}, "topic"),
        ({"contexts": CONTEXTS.top(2)}, "contexts"),
        (
            {"settings": AuditSettings(words=WordOptions(tolerance=0))},
            "words.tolerance",
        ),
    ],
)
def test_another_audit_in_the_same_folder_is_refused_by_name(
    run: Run, change: dict[str, object], named: str
) -> None:
    arguments: dict[str, Any] = {"topic": TOPIC, "contexts": CONTEXTS, "out": run.path}
    with pytest.raises(RunError, match=named):
        audit(MODEL, **{**arguments, **change})


def test_a_reference_model_overwrites_no_other_run(run: Run, tmp_path: Path) -> None:
    before = Run.load(run.path or "").record
    with pytest.raises(RunError, match=r"other settings: model \('pocket:gpt2-s', now"):
        audit("reference:random", topic=TOPIC, contexts=CONTEXTS, out=run.path)
    assert Run.load(run.path or "").record == before
    out = tmp_path / "r"
    first, again = (audit("reference:random", out=out) for _ in range(2))
    assert first.record.summary == again.record.summary
    with pytest.raises(RunError, match="other settings: topic"):
        audit("reference:random", topic=TOPIC, out=out)
    other = audit("reference:random", topic=TOPIC, out=out, fresh=True)
    assert len(other.preferences.groups) == len(TOPIC)


def test_two_writers_are_refused(tmp_path: Path) -> None:
    with (
        RunFolder(tmp_path / "r").opened({}),
        pytest.raises(RunError, match="another process"),
    ):
        audit("reference:random", out=tmp_path / "r")


@pytest.mark.parametrize("family", ["bert", "llama", "t5"])
def test_no_cell_is_off_by_more_than_its_bound(family: str, tmp_path: Path) -> None:
    zoo.make(family, tmp_path)
    found = compared(family, tmp_path, 2)
    assert found["cells"] == 10
    assert found["cells with skipped words"] > 0  # there is something to bound
    assert found["bound"] <= 1e-3  # the default tolerance
    assert found["beyond its bound"] < 5e-6  # float32's rounding
    assert found["R beyond its bound"] < 5e-6


def test_clusters_widen_intervals_and_need_a_label(tmp_path: Path) -> None:
    verbs = ["said", "stated", "felt", "wrote", "added", "knew"]
    texts = [
        f"The [X] {verb} {at} that [Y]"
        for verb in verbs
        for at in ("here", "then", "once")
    ]
    counts = [1000 // (1 + i) + 1 for i in range(18)]
    contexts = ContextSet(
        "many", texts, counts, {"predicate": np.repeat(verbs, 3).tolist()}
    )
    arguments: dict[str, Any] = {
        "topic": TOPIC,
        "contexts": contexts,
        "out": tmp_path / "run",
    }
    single = audit(MODEL, **arguments)
    clustered = audit(MODEL, clusters="predicate", **arguments)
    assert clustered.risks.n_eff <= len(verbs) < single.risks.n_eff
    assert Run.load(tmp_path / "run").risks.to_dict() == clustered.risks.to_dict()
    with pytest.raises(SettingsError, match="predicate"):
        audit(MODEL, clusters="source", **arguments)


GENDER = load_topic("gender")
FEW = GENDER.select(["nurse", "cook"])


def folder(
    base: Path,
    model: str = "reference:random",
    *,
    topic: Topic = GENDER,
    contexts: ContextSet | None = None,
    **options: Any,
) -> Path:
    return default_folder(base, model, topic, contexts, **options)


def test_the_name_says_model_topic_and_contexts(tmp_path: Path) -> None:
    assert folder(tmp_path).name == "reference-random-gender-paper-gender"
    assert (
        folder(tmp_path, max_contexts=5).name
        == "reference-random-gender-paper-gender-5"
    )
    assert (
        folder(tmp_path, "pocket:bert", chat=True).name
        == "pocket-bert-chat-gender-paper-gender"
    )


def test_the_same_audit_reuses_its_folder_and_another_gets_the_next(
    tmp_path: Path,
) -> None:
    """Also where it was begun with another version's default tolerance."""
    first = folder(tmp_path, topic=FEW)
    audit("reference:random", topic=FEW, out=first, tolerance=1e-4)
    assert folder(tmp_path, topic=FEW) == first
    # The same answers, measured in another way.
    assert folder(tmp_path, topic=FEW, criterion="ratio:1") == first
    second = first.with_name(first.name + "-2")
    assert folder(tmp_path, topic=FEW, tolerance=0.0) == second
    assert folder(tmp_path) == second
    audit("reference:random", topic=GENDER, out=second)
    assert folder(tmp_path) == second
    third = first.with_name(first.name + "-3")
    assert folder(tmp_path, single_token=True) == third
    assert folder(tmp_path, contexts=load_contexts("paper-gender").top(3)) == third


@pytest.mark.parametrize("text", ["{", json.dumps({"schema_version": 99})])
def test_unreadable_folders_are_not_overwritten(tmp_path: Path, text: str) -> None:
    first = folder(tmp_path)
    first.mkdir()
    (first / "run.json").write_text(text, encoding="utf-8")
    assert folder(tmp_path) == first.with_name(first.name + "-2")
