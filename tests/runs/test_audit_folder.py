"""Where a run is kept when nobody said where: readable, never in the way of another run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clinometer.contexts import ContextSet, load_contexts
from clinometer.runs import audit
from clinometer.runs.audit import default_folder
from clinometer.topics import Topic, load_topic

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
    assert folder(tmp_path, max_contexts=5).name == "reference-random-gender-paper-gender-5"
    assert folder(tmp_path, "pocket:bert", chat=True).name == "pocket-bert-chat-gender-paper-gender"


def test_the_same_audit_reuses_its_folder_and_another_gets_the_next(tmp_path: Path) -> None:
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
    assert folder(tmp_path, single_token=True) == first.with_name(first.name + "-3")


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
