"""Where a run is kept when nobody said where: readable, never in the way of another run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clinometer.contexts import load_contexts
from clinometer.models import LoadOptions, WordOptions
from clinometer.runs import AuditSettings, audit
from clinometer.runs.folder.find import default_folder, run_folders
from clinometer.topics import load_topic


def test_runs_are_found_and_not_looked_into(tmp_path: Path) -> None:
    for name in ("a", "b/c", "b/c/inside", ".hidden/d", "e"):
        (tmp_path / name).mkdir(parents=True)
        if name != "e":
            (tmp_path / name / "run.json").write_text("{}", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert run_folders(tmp_path) == [tmp_path / "a", tmp_path / "b" / "c"]
    assert run_folders(tmp_path / "a") == [tmp_path / "a"]
    assert run_folders(tmp_path / "nowhere") == []


GENDER = load_topic("gender")


def folder(base: Path, model: str = "reference:random", **changed: object) -> Path:
    how: dict[str, Any] = {
        "topic": GENDER,
        "contexts": None,
        "settings": AuditSettings(),
        **changed,
    }
    return default_folder(base, model, how["topic"], how["contexts"], how["settings"])


def test_the_name_says_model_topic_and_contexts(tmp_path: Path) -> None:
    assert folder(tmp_path).name == "reference-random-gender-paper-gender"
    drawn = AuditSettings(max_contexts=5)
    assert folder(tmp_path, settings=drawn).name == "reference-random-gender-paper-gender-5"
    chat = AuditSettings(load=LoadOptions(chat=True))
    assert folder(tmp_path, "pocket:bert", settings=chat).name == (
        "pocket-bert-chat-gender-paper-gender"
    )


def test_the_same_audit_reuses_its_folder_and_another_gets_the_next(tmp_path: Path) -> None:
    few = GENDER.select(["nurse", "cook"])
    first = folder(tmp_path, topic=few)
    audit("reference:random", topic=few, out=first)
    assert folder(tmp_path, topic=few) == first
    # The same answers, measured in another way.
    measured = AuditSettings(criterion="ratio:1")
    assert folder(tmp_path, topic=few, settings=measured) == first
    second = first.with_name(first.name + "-2")
    assert folder(tmp_path) == second
    audit("reference:random", topic=GENDER, out=second)
    assert folder(tmp_path) == second
    other = AuditSettings(words=WordOptions(single_token=True))
    assert folder(tmp_path, settings=other) == first.with_name(first.name + "-3")


def test_contexts_with_one_name_but_different_content_stay_apart(tmp_path: Path) -> None:
    source = load_contexts("paper-gender")
    first = folder(tmp_path, contexts=source)
    audit("reference:random", topic=GENDER, contexts=source, out=first)
    assert folder(tmp_path, contexts=source.top(3)) == first.with_name(first.name + "-2")


@pytest.mark.parametrize("text", ["{", json.dumps({"schema_version": 99})])
def test_unreadable_folders_are_not_overwritten(tmp_path: Path, text: str) -> None:
    first = folder(tmp_path)
    first.mkdir()
    (first / "run.json").write_text(text, encoding="utf-8")
    assert folder(tmp_path) == first.with_name(first.name + "-2")


def test_a_run_of_another_default_tolerance_is_the_same_audit(tmp_path: Path) -> None:
    few = GENDER.select(["nurse", "cook"])
    first = folder(tmp_path, topic=few)
    audit("reference:random", topic=few, out=first, tolerance=1e-4)
    assert folder(tmp_path, topic=few) == first
    exact = AuditSettings(words=WordOptions(tolerance=0.0))
    assert folder(tmp_path, topic=few, settings=exact) == first.with_name(first.name + "-2")
