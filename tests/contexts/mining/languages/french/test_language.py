"""French sentences to templates: a table by hand, decided by the real parser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clinometer.contexts.mining import MineSettings, mine
from clinometer.contexts.mining.languages import open_language
from clinometer.contexts.mining.languages.french.language import TOPIC, French
from clinometer.errors import SettingsError
from clinometer.topics import load_topic

ROWS = (Path(__file__).parent / "sentences.txt").read_text(encoding="utf-8").splitlines()
CASES = [tuple(row.split(" => ")) for row in ROWS if row and not row.startswith("#")]


@pytest.fixture(scope="module")
def settings() -> MineSettings:
    return MineSettings(topic=load_topic(TOPIC))


@pytest.fixture(scope="module")
def french(settings: MineSettings) -> French:
    return French(settings)


@pytest.mark.parametrize(("sentence", "wanted"), CASES)
def test_sentence(french: French, sentence: str, wanted: str) -> None:
    candidates = french.find(f"Il pleut. {sentence} La ville a un pont.")
    assert len(candidates) == 1
    (decisions,) = french.decide(candidates)
    assert wanted in [d.template or f"({d.rule})" for d in decisions]


@pytest.mark.parametrize(
    "text",
    [
        "Bonjour, dit-il.",  # after its verb
        "Le docteur ne savait pas s'il viendrait.",  # s'il, but si elle
        "Hier, elle dormait.",
        "M. Durand part. Elle reste.",
    ],
)
def test_sentences_without_a_possible_link_need_no_parser(french: French, text: str) -> None:
    assert french.find(text) == []


def test_determiners_do_not_make_another_context(french: French) -> None:
    one, other = "L'[X] prit un livre et [Y]", "L'[X] prit le livre et [Y]"
    assert french.merge_key(one) == french.merge_key(other)
    assert french.merge_key(one) != french.merge_key("L'[X] prit un train et [Y]")


def test_a_corpus_is_mined(settings: MineSettings, tmp_path: Path) -> None:
    corpus = tmp_path / "fr.txt"
    corpus.write_text(
        "Le notaire dit qu'il avait perdu son carnet. La ville est belle.\n"
        "Quand elle eut fini son discours, elle sortit. La table dit qu'elle viendra.\n"
        "La voisine dit qu'elle attendra.\n",
        encoding="utf-8",
    )
    contexts = mine([corpus], tmp_path / "fr.csv", settings)
    assert dict(zip(contexts.templates, contexts.counts, strict=True)) == {
        "L'[X] dit qu'[Y]": 2,
        "Quand l'[X] eut fini son discours, [Y]": 1,
    }
    assert contexts.metadata.language == "fr"
    assert contexts.metadata.parser == "fr_core_news_sm"


def test_the_topic_shows_no_gender() -> None:
    """Every group begins with a vowel or a mute h, so that l' stands before it."""
    topic = load_topic(TOPIC)
    for group in topic.groups:
        assert group.text[0] in "aàâeéèêiîoôœuh", group.text
        assert group.text.split()[0].endswith(("e", "aide")), group.text
    prompt = topic.render("Quand l'[X] arriva, [Y]", "architecte")
    assert prompt.fill("elle") == "Quand l'architecte arriva, elle"
    elided = topic.render("L'[X] dit qu'[Y]", "urbaniste")
    assert elided.fill("il") == "L'urbaniste dit qu'il"


def test_settings_that_cannot_be_mined(settings: MineSettings) -> None:
    with pytest.raises(SettingsError, match="see the topic gender-fr"):
        open_language(replace(settings, strategy="predicate"))
    missing = open_language(replace(settings, parser="fr_none_sm"))
    with pytest.raises(SettingsError, match="python -m spacy download fr_none_sm"):
        list(missing.decide(["Elle dit qu'elle viendra."]))
