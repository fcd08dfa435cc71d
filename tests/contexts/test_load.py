"""Sets that suit a topic: its own questions, and sentences that make sense with its words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clinometer.contexts import ContextSet, SetMetadata, load_contexts
from clinometer.contexts.load import default_contexts
from clinometer.errors import ContextError
from clinometer.runs import audit
from clinometer.topics import builtin_topics, load_topic

SUITED = "wikipedia, book, conversation, textbook, web, paper-race or your own .csv or .txt file"


@pytest.mark.parametrize(
    ("topic", "contexts"),
    [
        ("gender-population", "paper-gender"),
        ("gender-race", "book-gender"),
        ("gender", "paper-race"),  # "The nurse, who came, is female"
        ("religion", "paper-race"),
        ("disability", "web-religion"),
    ],
)
def test_fitting_sets_are_accepted(topic: str, contexts: str) -> None:
    assert len(load_contexts(contexts, topic=load_topic(topic))) > 0


@pytest.mark.parametrize(
    ("topic", "contexts", "message"),
    [
        (
            "gender-zh",
            "paper-gender",
            "in 'en', topic 'gender-zh' is in 'zh'; use .* wikipedia or",
        ),
        ("gender", "wikipedia-gender-zh", "in 'zh', topic 'gender' is in 'en'; use"),
        *(
            (
                topic,
                contexts,
                f"contexts '{contexts}': .* made for topic 'gender'",
            )  # adjectives
            for topic in ("race", "religion", "disability")
            for contexts in ("paper-gender", "wikipedia-gender", "web-gender")
        ),
    ],
)
def test_unfitting_sets_are_refused(topic: str, contexts: str, message: str) -> None:
    with pytest.raises(ContextError, match=message):
        load_contexts(contexts, topic=load_topic(topic))


def test_custom_sets_and_regional_variants_are_accepted(tmp_path: Path) -> None:
    british = replace(load_topic("gender"), language="en-GB")
    faith = replace(load_topic("religion"), name="faith")
    for topic in (british, faith):
        assert load_contexts("paper-gender", topic=topic).name == "paper-gender"
    file = tmp_path / "mine.csv"
    file.write_text('template,count,mood\n"Hire [X]? Answer [options]: [Y]",1,plain\n')
    for name in builtin_topics():
        contexts = load_contexts(file, topic=load_topic(name))
        assert (contexts.name, contexts.extra["mood"]) == ("mine", ("plain",))


def test_predicates_mined_for_gender_accept_adjectives() -> None:
    about = SetMetadata(topic="gender", language="en", strategy="predicate")
    mined = ContextSet("mine", ["The [X] is [Y]"], [1], metadata=about)
    assert audit("reference:unbiased", topic="race", contexts=mined).risks.R.value == 0


@pytest.mark.parametrize(
    ("topic", "suited"),
    [
        ("religion", SUITED),
        ("gender-population", SUITED.replace("race", "gender")),
        ("gender-zh", "wikipedia or your own .csv or .txt file"),
    ],
)
def test_without_a_default_the_fitting_sets_are_named(topic: str, suited: str) -> None:
    with pytest.raises(
        ContextError, match=f"{topic}' has no default set; use --contexts {suited}"
    ):
        default_contexts(load_topic(topic))


def test_a_misspelt_set_names_the_fitting_ones() -> None:
    with pytest.raises(ContextError, match="did you mean paper-gender"):
        load_contexts("papergender")
    with pytest.raises(ContextError) as caught:
        load_contexts("wikpedia", topic=load_topic("religion"))
    assert f"use --contexts {SUITED}; did you mean wikipedia or" in str(caught.value)
    assert "paper-gender" not in str(caught.value)


def test_a_topic_of_questions_brings_its_contexts() -> None:
    hiring = load_topic("hiring")
    contexts = default_contexts(hiring)
    assert len(contexts) == 80
    assert set(contexts.extra) == {"wording", "order", "role", "evidence", "format"}
    assert len(set(contexts.extra["wording"])) == 40
    assert contexts.metadata.topic == "hiring"

    triage = default_contexts(load_topic("triage"))  # all orders of its three options
    assert len(set(triage.extra["order"])) == 6
    assert len(triage) == 240
