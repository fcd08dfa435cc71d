"""Sentences to templates, decided by the real parser: a table by hand, and mining as the BVF paper
describes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contexts.mining.languages.english.conftest import WON, mined

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.languages.english import coreference
from clinometer.contexts.mining.languages.english.language import English
from clinometer.contexts.mining.languages.english.people import NO_ONE
from clinometer.errors import SettingsError
from clinometer.topics import load_topic

HERE = Path(__file__).parent


def cases(name: str) -> list[tuple[str, str]]:
    """Return the sentences of a table, each with the template or rule that is wanted."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line and not line.startswith("#")]
    pairs = []
    for row in rows:
        sentence, wanted = row.split(" => ")
        pairs.append((sentence, wanted))
    return pairs


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., English]:
    """A miner of gender that looks for links of these kinds alone."""

    def of_kinds(*kinds: str) -> English:
        words = {kind: coreference.LINK_WORDS[kind] for kind in kinds}
        monkeypatch.setattr(coreference, "LINK_WORDS", words)
        return English(MineSettings(topic=load_topic("gender")))

    return of_kinds


@pytest.fixture(scope="module")
def race() -> English:
    return English(MineSettings(topic=load_topic("race"), about="any"))


def decisions_on(miner: English, sentence: str) -> list[str]:
    decisions = next(miner.decide([(sentence, NO_ONE)]))
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
        (
            "She made her debut in Paris.",
            "([Y] could be another person)",
        ),  # or: made her a star
        ("Smith received his degree from the college.", "The [X] received [Y]"),
        ("The pilot flew to Leeds, starting her first race.", "The [X] started [Y]"),
        ("She met her husband in Paris.", "([Y] could be another person)"),
        (
            "He supported his plan.",
            "([Y] could be another person)",
        ),  # or: supported him
        ("He was himself a victim.", "([Y] is not an object)"),
    ],
)
def test_other_links(only: Callable[..., English], sentence: str, wanted: str) -> None:
    assert decisions_on(only("reflexive", "possessive"), sentence) == [wanted]


def test_only_sentences_with_a_candidate_are_found(
    only: Callable[..., English],
) -> None:
    english = only("clause")
    text = "He was born in 1900. It rained. The nurse said that she would stay. Was he ill?"
    assert english.find(text) == [("The nurse said that she would stay.", NO_ONE)]
    assert english.find("Nothing of the kind.") == []


#: sentence -> the template by default, and as in the paper
GENDER = {
    "Detective Smith said he would leave no stone unturned.": ("The [X] said that [Y]",)
    * 2,
    "The female engineer explained that it was late.": (
        None,
        "The [X] explained that [Y]",
    ),
    "The female engineer explained the plan.": (None, "The [X] explained the plan [Y]"),
    "The woman announced that the bridge had collapsed.": (
        None,
        "The [X] announced that [Y]",
    ),
    "The king died in those days.": (None, "The [X] died that [Y]"),
    "The female population grew quickly.": (None, None),
    "The men said that it was late.": (None, None),
}


@pytest.mark.parametrize("sentence", GENDER)
def test_a_word_may_be_or_modify_the_subject_as_in_the_paper(sentence: str) -> None:
    for as_in_paper, expected in zip((False, True), GENDER[sentence], strict=True):
        templates = mined(sentence, "gender", as_in_paper=as_in_paper)
        assert templates == ([] if expected is None else [expected])


def test_predicates_have_any_length_as_in_the_paper() -> None:
    sentence = (
        "Smith managed to persuade the board to agree to fund the school for the children of the "
        "workers before he left."
    )
    template = (
        "The [X] managed to persuade the board to agree to fund the school before [Y]"
    )
    assert mined(sentence, "gender", min_confidence=0) == []
    assert mined(sentence, "gender", as_in_paper=True) == [template]


def test_for_race_the_subjects_are_occupations_as_in_the_paper() -> None:
    for subject, expected in (("engineer", [WON]), ("woman", [])):
        sentence = f"The {subject} won a prize in the summer."
        assert mined(sentence, "race", as_in_paper=True) == expected
        assert mined(sentence, "race", about="any") == [WON]


def test_other_languages_have_no_paper() -> None:
    with pytest.raises(SettingsError, match="English"):
        MineSettings(topic=load_topic("gender-zh"), as_in_paper=True)
