"""Mining as the BVF paper describes it, beside the default."""

from __future__ import annotations

import pytest

from clinometer.contexts.mining.languages.english.language import English
from clinometer.contexts.mining.settings import MineSettings
from clinometer.errors import SettingsError
from clinometer.topics import load_topic

#: sentence -> the template by default, and as in the paper
GENDER = {
    "Detective Smith said he would leave no stone unturned.": ("The [X] said that [Y]",) * 2,
    "The female engineer explained that it was late.": (None, "The [X] explained that [Y]"),
    "The female engineer explained the plan.": (None, "The [X] explained the plan [Y]"),
    "The woman announced that the bridge had collapsed.": (None, "The [X] announced that [Y]"),
    "The king died in those days.": (None, "The [X] died that [Y]"),
    "The female population grew quickly.": (None, None),
    "The men said that it was late.": (None, None),
}


def templates(sentence: str, settings: MineSettings) -> list[str]:
    """Of a sentence that is a candidate; none of one that is not."""
    language = English(settings)
    (decisions,) = language.decide(language.find(sentence) or ["None at all here."])
    return [one.template for one in decisions if one.template]


@pytest.mark.parametrize("sentence", GENDER)
def test_a_word_may_be_or_modify_the_subject_as_in_the_paper(sentence: str) -> None:
    topic = load_topic("gender")
    for as_in_paper, expected in zip((False, True), GENDER[sentence], strict=True):
        found = templates(sentence, MineSettings(topic=topic, as_in_paper=as_in_paper))
        assert found == ([] if expected is None else [expected])


def test_predicates_have_any_length_as_in_the_paper() -> None:
    sentence = (
        "Smith managed to persuade the board to agree to fund the school for the children of the "
        "workers before he left."
    )
    template = "The [X] managed to persuade the board to agree to fund the school before [Y]"
    topic = load_topic("gender")
    assert templates(sentence, MineSettings(topic=topic, min_confidence=0)) == []
    assert templates(sentence, MineSettings(topic=topic, as_in_paper=True)) == [template]


def test_for_race_the_subjects_are_occupations_as_in_the_paper() -> None:
    race = load_topic("race")
    played = "The [X], who played a role, is [Y]"
    for subject, expected in (("engineer", [played]), ("woman", [])):
        sentence = f"The {subject} played a role in the project."
        assert templates(sentence, MineSettings(topic=race, as_in_paper=True)) == expected
        assert templates(sentence, MineSettings(topic=race, about="any")) == [played]


def test_other_languages_have_no_paper() -> None:
    with pytest.raises(SettingsError, match="English"):
        MineSettings(topic=load_topic("gender-zh"), as_in_paper=True)
