"""A small corpus of our own making, and a topic."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clinometer.contexts.mining import MineSettings
from clinometer.topics import load_topic

VERBS = ("said", "says", "claimed", "thinks", "admitted", "knew")
PERSONS = ("nurse", "lawyer", "teacher", "pilot", "writer")


def text(number: int) -> str:
    """An article: two sentences with a context, two without."""
    person, verb = PERSONS[number % 5], VERBS[number % 6]
    pronoun = ("he", "she")[number % 2]
    return (
        f"The city of Arden has {number} bridges. The {person} {verb} that {pronoun} would stay. "
        f"It rained for a week.\nThe {person} left the room because {pronoun} was tired."
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[..., Path]:
    """Write n articles, and then texts, as .jsonl."""

    def write(n: int, *texts: str) -> Path:
        path = tmp_path / "corpus.jsonl"
        articles = [*(text(number) for number in range(n)), *texts]
        rows = [json.dumps({"text": article}) + "\n" for article in articles]
        path.write_text("".join(rows), encoding="utf-8")
        return path

    return write


def assert_same_sets(a: Path, b: Path) -> None:
    """Check that two sets have the same bytes, their sidecars too."""
    assert a.read_bytes() == b.read_bytes()
    assert a.with_suffix(".json").read_bytes() == b.with_suffix(".json").read_bytes()


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Path]:
    """A file c.csv in a folder of its own."""

    def in_folder(folder: str) -> Path:
        (tmp_path / folder).mkdir(exist_ok=True)
        return tmp_path / folder / "c.csv"

    return in_folder


@pytest.fixture
def gender() -> MineSettings:
    return MineSettings(topic=load_topic("gender"))
