"""Sentences to templates: a table by hand, decided by the real parser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.languages.english import language
from clinometer.contexts.mining.languages.english.language import English
from clinometer.topics import load_topic

HERE = Path(__file__).parent


def cases(name: str) -> list[tuple[str, str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line and not line.startswith("#")]
    return [(sentence, wanted) for sentence, wanted in (row.split(" => ") for row in rows)]


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., English]:
    """The miner of gender, looking for links of these kinds alone."""

    def of_kinds(*kinds: str) -> English:
        monkeypatch.setattr(language, "LINK_WORDS", {k: language.LINK_WORDS[k] for k in kinds})
        return English(MineSettings(topic=load_topic("gender")))

    return of_kinds


@pytest.fixture(scope="module")
def race() -> English:
    return English(MineSettings(topic=load_topic("race"), about="any"))


def decisions_on(miner: English, sentence: str) -> list[str]:
    decisions = next(miner.decide([sentence]))
    return [d.template or f"({d.rule})" for d in decisions]


@pytest.mark.parametrize(("sentence", "wanted"), cases("skeletons.txt"))
def test_skeleton(only: Callable[..., English], sentence: str, wanted: str) -> None:
    decisions = decisions_on(only("clause"), sentence)
    templates = [t for t in decisions if not t.startswith("(")]
    assert wanted in decisions
    assert templates == ([] if wanted.startswith("(") else [wanted])


@pytest.mark.parametrize(("sentence", "wanted"), cases("predicates.txt"))
def test_predicate(race: English, sentence: str, wanted: str) -> None:
    assert wanted in decisions_on(race, sentence)


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("She devoted herself to music.", "The [X] devoted [Y]"),
        ("The lawyer asked himself a question.", "The [X] asked [Y]"),
        ("The pilot lost his job.", "The [X] lost [Y]"),
        ("She was known for her novels.", "The [X] was known for [Y]"),
        ("The writer was known for her novels.", "(confidence below the minimum)"),
        ("The report lost his name.", "(subject is not a person)"),
        ("She began her career in Paris.", "The [X] began [Y]"),
        ("She made her debut in Paris.", "([Y] could be another person)"),  # or: made her a star
        ("Smith received his degree from the college.", "The [X] received [Y]"),
        ("The pilot flew to Leeds, starting her first race.", "The [X] started [Y]"),
        ("She met her husband in Paris.", "([Y] could be another person)"),
        ("He supported his plan.", "([Y] could be another person)"),  # or: supported him
        ("He was himself a victim.", "([Y] is not an object)"),
    ],
)
def test_other_links(only: Callable[..., English], sentence: str, wanted: str) -> None:
    assert decisions_on(only("reflexive", "possessive"), sentence) == [wanted]


def test_only_sentences_with_a_candidate_are_found(only: Callable[..., English]) -> None:
    english = only("clause")
    text = "He was born in 1900. It rained. The nurse said that she would stay. Was he ill?"
    assert english.find(text) == ["The nurse said that she would stay."]
    assert english.find("Nothing of the kind.") == []
