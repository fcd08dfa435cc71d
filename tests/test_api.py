"""The Python API as people use it: one call leads to the next, and everything shows itself."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
from tests.present import present
from tests.report.made import HOSTILE, made_run

import clinometer as cm
from clinometer import measure
from clinometer.errors import ContextError, RunError, SettingsError, TopicError

GROUPS = ["nurse", "engineer", "lawyer"]
ASKED: dict[str, Any] = {
    "topic": cm.load_topic("gender").select(GROUPS),
    "contexts": "paper-gender",
    "max_contexts": 8,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cm.Run:
    out = tmp_path_factory.mktemp("runs") / "gpt2-s"
    return cm.audit("pocket:gpt2-s", device="cpu", out=out, **ASKED)


@pytest.fixture(scope="module")
def other() -> cm.Run:
    return cm.audit("reference:unbiased", **ASKED)


def test_a_run_leads_to_its_risks_groups_and_tables(run: cm.Run) -> None:
    assert float(run.R) == run.risks.R.value
    assert f"{run.R_volatility:.2f}" == f"{run.risks.R_volatility.value:.2f}"
    assert run.risks.R.value == pytest.approx(
        run.risks.R_bias.value + run.risks.R_volatility.value, abs=1e-12
    )
    assert list(run.groups.index) == GROUPS
    nurse = run.groups.loc["nurse"]
    assert nurse["r"] == run.risks.r[0]
    assert nurse["r_low"] <= nurse["r"] <= nurse["r_high"]
    assert nurse["leaning"] == run.risks.leaning[0]
    cells = run.to_pandas()
    n = len(run.preferences.contexts)
    assert len(cells) == 3 * n * 2
    assert cm.Run.load(present(run.path)).risks.to_dict() == run.risks.to_dict()


def test_own_groups_words_and_sentences_are_lists_dicts_and_frames() -> None:
    said = "The [X] said that [Y]"
    words = {"male": ["he"], "female": ["she"]}
    topic = cm.Topic(groups=["nurse", "pilot"], attributes=words)
    listed = cm.audit(["reference:stereotyped"], topic=topic, contexts=[said])
    assert [float(run.R) for run in listed] == [1.0]
    frame = pd.DataFrame({"template": [said], "count": [3], "source": ["own"]})
    framed = cm.audit("reference:stereotyped", topic=topic, contexts=frame)
    assert framed.record.contexts.name == "own"
    assert framed.preferences.labels["source"] == ("own",)
    plain: dict[str, Any] = {"groups": ["nurse"], "attributes": words}
    series = pd.Series([said, "The [X] felt that [Y]"], index=[7, 9])
    assert (
        len(cm.audit("reference:stereotyped", topic=plain, contexts=series).contexts)
        == 2
    )
    for strange, message in (
        (5, "Series"),
        (pd.DataFrame({"text": ["a"]}), "template"),
    ):
        with pytest.raises(ContextError, match=message):
            cm.audit("reference:random", topic=topic, contexts=strange)  # type: ignore[arg-type]
    with pytest.raises(TopicError, match="groups"):
        cm.Topic(groups="nurse", attributes=words)
    with pytest.raises(TopicError, match="colour"):
        cm.audit("reference:random", topic={**plain, "colour": "red"})


def test_runs_folders_preferences_and_arrays_compare_alike(
    run: cm.Run, other: cm.Run
) -> None:
    found = cm.compare(run, other)
    assert found.models == ("pocket:gpt2-s", "reference:unbiased")
    assert found.overall[0].value == pytest.approx(run.risks.R.value, abs=1e-12)
    assert cm.compare(present(run.path), other).to_dict() == found.to_dict()
    assert cm.compare(str(run.path), other).to_dict() == found.to_dict()
    back = cm.compare(other, present(run.path))
    assert back.overall[0].value == pytest.approx(-run.risks.R.value, abs=1e-12)
    named = cm.compare(run, other, other, names=["a", "b", "c"])
    assert named.models == ("a", "b", "c")
    a, b = run.preferences, other.preferences
    assert cm.compare(a, b, names=found.models).to_dict() == found.to_dict()
    assert cm.compare(a, other, names=found.models).to_dict() == found.to_dict()
    arrays = measure.compare(
        a.values,
        b.values,
        names=found.models,
        groups=a.groups,
        context_weights=a.context_weights,
        group_weights=a.group_weights,
    )
    assert arrays.to_dict() == found.to_dict()


def test_a_run_writes_its_report_and_shows_itself_in_a_browser(
    run: cm.Run, tmp_path: Path
) -> None:
    assert run.plot().svg().startswith("<svg")
    (file,) = run.write_report(tmp_path / "r.html")
    page = file.read_text(encoding="utf-8")
    assert f"{run.risks.R.value:.3f}" in page
    cm.write_report([run, str(run.path)], str(tmp_path / "both.html"))
    for shown in (run, made_run(None, groups=3, contexts=5)):
        with shown.view(browser=False) as viewer:
            assert viewer.address.startswith("http://127.0.0.1:")
            assert viewer.address in repr(viewer)
            assert escape(viewer.address) in viewer._repr_html_()
            page = httpx.get(viewer.address, follow_redirects=True).text
            assert f"{shown.risks.R.value:.3f}" in page
        viewer.close()
        with pytest.raises(httpx.ConnectError):
            httpx.get(viewer.address)


@pytest.mark.parametrize(
    ("models", "more", "message"),
    [
        ((), {}, "as separate arguments"),
        (([[[0.5, 0.5]]],), {}, "as separate arguments"),
        (("run", [[[0.5, 0.5]]]), {}, "clinometer.measure.compare takes arrays"),
        (("run", "run"), {"names": ["only one"]}, "names"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    run: cm.Run, models: tuple[Any, ...], more: dict[str, Any], message: str
) -> None:
    given = [run if isinstance(one, str) else one for one in models]
    with pytest.raises(SettingsError, match=message) as caught:
        cm.compare(*given, **more)
    assert "\n" not in str(caught.value)


def test_a_reliability_run_shows_itself_and_is_a_table() -> None:
    statements = ["The women at the office are arrogant.", "The old man was slow."]
    versions = {
        text: [f"{text} Today.", f"As they say, {text.lower()}"] for text in statements
    }
    run = cm.score_reliability(statements, versions, device="cpu")
    assert list(run.to_pandas()["text"]) == statements
    assert repr(run).startswith("ReliabilityRun('pocket:bert', 2 statements: cobias 0.")
    assert "arrogant" in run._repr_html_()
    with pytest.raises(SettingsError, match="did you mean level"):
        cm.score_reliability(statements, versions, levl=0.9)


def test_everything_has_a_line_and_a_piece_of_a_page() -> None:
    """One of everything that the API returns and a run can make, with hostile names; the first
    three are tables, too."""
    a, b = (
        made_run(None, groups=12, contexts=12, hostile=True, seed=i) for i in (0, 1)
    )
    found = cm.compare(a, b)
    contexts = cm.ContextSet(
        HOSTILE[0], [f"The [X] {t} [Y]" for t in HOSTILE[:4]], [4, 3, 2, 1]
    )
    pieces: list[Any] = [
        a,
        a.risks,
        found,
        found.overall[0],
        found.by_group[0],
        a.preferences,
    ]
    for line in map(repr, [*pieces, a.risks.R, cm.load_topic("gender"), contexts]):
        assert "\n" not in line
        assert "\u202e" not in line
        assert "array(" not in line
    for page in (one._repr_html_() for one in pieces[:3]):
        assert "\u202e" not in page
        assert "<script" not in page
        assert "<img" not in page


def test_a_run_in_memory_is_saved_and_one_with_scores_copied(
    run: cm.Run, tmp_path: Path
) -> None:
    memory = cm.audit("pocket:gpt2-s", device="cpu", **ASKED)
    saved = memory.save(tmp_path / "memory")
    assert memory.path is None
    assert cm.Run.load(tmp_path / "memory").risks.to_dict() == memory.risks.to_dict()
    assert saved.write_report(tmp_path / "x.html")
    copied = run.save(tmp_path / "copy")
    assert len(list((tmp_path / "copy" / "scores").iterdir())) > 0
    assert cm.Run.load(tmp_path / "copy").preferences.equals(copied.preferences)
    with pytest.raises(RunError, match="fresh"):
        cm.audit("reference:unbiased", **ASKED).save(tmp_path / "copy")


def test_the_table_of_a_run_has_what_its_risks_are_made_of(
    run: cm.Run, other: cm.Run
) -> None:
    needed = [
        "group",
        "context",
        "attribute",
        "p",
        "context_weight",
        "group_weight",
        "reference",
    ]
    for each in (run, other):
        again = cm.risks(each.to_pandas()[needed])
        assert again.R.value == pytest.approx(each.R.value, abs=1e-9)
        assert again.R_bias.value == pytest.approx(each.R_bias.value, abs=1e-9)
    contexts = run.contexts
    assert contexts["weight"].sum() == pytest.approx(1)
    assert set(run.to_pandas()["context"]) == set(contexts["template"])
