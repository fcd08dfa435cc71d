"""Irrelevant edits: what they change, and what they leave alone."""

from __future__ import annotations

import pytest
from tests.present import present

from clinometer.contexts.load import default_contexts
from clinometer.topics import load_topic
from clinometer.topics.conversation import messages_of, record_of
from clinometer.topics.edits import SENTENCES, irrelevant_edits

PROMPT = (
    '[system]\nYou screen. Reply as JSON {"answer": 1}.\n[user]\nFile 3 of [X]\nRole: clerk\n'
    "Years: 4\nDegree: none\nShould [X:he] be invited?\n[reply]\n[Y]"
)


@pytest.mark.parametrize(
    "name", ["hiring", "lending", "tenancy", "traits", "triage", "story"]
)
def test_every_question_of_a_builtin_topic_has_edits_that_keep_its_options(
    name: str,
) -> None:
    topic = load_topic(name)
    for template in default_contexts(topic).templates:
        before = topic.render(template, topic.groups[0])
        edits = irrelevant_edits(template, topic.language)
        assert {"blank line", *SENTENCES} <= set(edits)
        for edit, text in edits.items():
            after = topic.render(text, topic.groups[0])
            assert after.before != before.before
            assert "[" not in after.before, edit
            shown, edited = present(before.shown), present(after.shown)
            assert (edited.options, edited.order) == (shown.options, shown.order)
        blank = topic.render(edits["blank line"], topic.groups[0]).before
        assert blank.count("\n\n") == 1
        assert blank.split() == before.before.split()


def test_messages_are_edited_where_the_user_speaks_and_nowhere_else() -> None:
    edits = irrelevant_edits(PROMPT, "en")
    assert list(edits) == ["blank line", *SENTENCES, "lines reordered", "synonym"]
    system, user = (message["content"] for message in messages_of(PROMPT))
    contents = {
        name: [m["content"] for m in messages_of(text)] for name, text in edits.items()
    }
    for name, (before, _) in contents.items():
        assert before == system or name == "synonym"
    assert contents["weekday"][1] == f"Today is Tuesday.\n{user}"
    assert contents["blank line"][1] == user.replace("[X]\n", "[X]\n\n", 1)
    assert contents["lines reordered"][1] == user.replace(
        "Role: clerk\nYears: 4\nDegree: none", "Degree: none\nYears: 4\nRole: clerk"
    )
    assert contents["synonym"][0] == 'You screen. Answer as JSON {"answer": 1}.'
    for text in edits.values():
        assert text.endswith("\n[reply]\n[Y]")


@pytest.mark.parametrize(
    "text",
    [
        'Return {"answer": "yes"}.',  # a field
        "Answer: yes",  # what stands before the reply
        "Give an answer.",  # its article would be wrong
        "Pay at the going rate.",
    ],
)
def test_a_word_that_is_no_instruction_has_no_synonym(text: str) -> None:
    assert "synonym" not in irrelevant_edits(f"[user]\n{text} [X]\n[reply]\n[Y]", "en")


def test_other_languages_have_the_edits_without_words() -> None:
    assert list(irrelevant_edits(PROMPT, "de")) == ["blank line", "lines reordered"]


def test_a_record_is_edited_in_its_longest_text_and_not_in_short_fields() -> None:
    letter = "[letter]\nI would like to work here. Please write.\n[reply]\n[Y]"
    record = f"[name]\n[X]\n[age]\n41\n{letter}"
    for name, text in irrelevant_edits(record, "en").items():
        fields = record_of(text) or {}
        assert (fields["name"], fields["age"]) == ("[X]", "41"), name
        assert fields["letter"] != "I would like to work here. Please write."
    assert irrelevant_edits("[name]\n[X]\n[age]\n41\n[reply]\n[Y]", "en") == {}
