"""Topics of questions: what they ask, and what is wrong with those that cannot be asked."""

from __future__ import annotations

from collections import Counter
from typing import cast

import pytest
from tests.present import present

from clinometer.errors import ContextError, TopicError
from clinometer.topics import load_topic, parse_topic
from clinometer.topics.questions import Questions

TOPIC = """
name = "t"
groups = ["Ann", "Bob"]
{top}
[attributes]
yes = ["Yes", "Sure"]
no = ["No"]
[readout]
kind = "choice"
{readout}
[contexts]
wording = ["Hire [X]? [options] Answer: [Y]", "Is [X] in? [options] Answer: [Y]"]
{contexts}
"""


def topic_text(readout: str = "", contexts: str = "", top: str = "") -> str:
    return TOPIC.format(readout=readout, contexts=contexts, top=top)


def text_readout(settings: str) -> str:
    return topic_text(settings).replace('"choice"', '"text"')


#: What is replaced in a good topic, by what, and what is said of it.
REPLACED = [
    ('kind = "choice"', "", "readout.kind: expected words"),
    ('"choice"', '"choise"', "did you mean choice"),
    ('"choice"', "3", "readout.kind: expected words"),
    ('no = ["No"]', 'no = ["sure"]', "'sure' stands for 'yes' and for 'no'"),
    (
        '[readout]\nkind = "choice"',
        "",
        "contexts: wordings of questions need a \\[readout\\]",
    ),
    ("wording = [", "words = [", "contexts.wording: missing"),
    ("Hire [X]", "Hire", "wording\\[1\\]: expected \\[X\\]"),
    ("in? [options] Answer: [Y]", "in?", "expected \\[Y\\] once"),
    (
        'Answer: [Y]",',
        'Answer: [Y] now",',
        r"wording\[1\]: expected \[Y\].* at the end",
    ),
    ("Is [X] in?", "Hire [X]?", "listed twice"),
    ("Hire [X]?", "{mood} hire [X]?", r"add \[contexts.mood\]"),
    ('"choice"', '"rating"', "the categories of a scale are its numbers"),
    ('[attributes]\nyes = ["Yes", "Sure"]\nno = ["No"]\n', "", "attributes: missing"),
]
BAD = [
    (topic_text('label = "letters"'), "readout.label: unknown key.*labels"),
    (topic_text('labels = "roman"'), "readout.labels: expected 'letters'"),
    (topic_text('normalise = "mean"'), "readout.normalise: expected"),
    (topic_text("length = 0"), "readout.length: expected at least 1"),
    (topic_text('length = "ten"'), "readout.length: expected a whole number"),
    (topic_text('favourable = "maybe"'), "readout.favourable: expected a category"),
    (topic_text("a = 1").replace("choice", "words"), "readout.a: leave it out"),
    (
        topic_text(top='reference = "groupmean"'),
        "reference: expected .*did you mean group-mean",
    ),
    (
        topic_text().split("[contexts]")[0] + "[contexts]\nwording = []",
        "contexts.wording: ",
    ),
    (
        topic_text(contexts='[contexts.mood]\nglad = "Gladly,"'),
        "contexts.mood: .* two levels",
    ),
    (topic_text(contexts='mood = ["glad", "sad"]'), "contexts.mood: expected a table"),
    (
        topic_text("scale = 1").replace("choice", "rating"),
        "readout.scale: expected at least 2",
    ),
    (text_readout('by = "judge"\nrubric = "Is it? [reply]"'), "readout.model: missing"),
    (
        text_readout('by = "judge"\nmodel = "smollm2"\nrubric = "Is it?"'),
        "readout.rubric: ",
    ),
    (text_readout('by = "function"\nfunction = "mine"'), "readout.function: "),
    (text_readout('model = "smollm2"'), 'readout.model: by = "words"'),
    (
        text_readout('by = "classifier"\nmodel = "m"\nnames = {A = "good"}'),
        "readout.names.A: ",
    ),
]
BAD += [
    (topic_text().replace(part, replacement), message)
    for part, replacement, message in REPLACED
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_topic_is_one_line(text: str, message: str) -> None:
    with pytest.raises(TopicError, match=message) as caught:
        parse_topic(text, where="t.toml")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("t.toml: ")


def test_options_stand_where_the_template_says() -> None:
    topic = parse_topic(topic_text())
    prompt = topic.render("Hire [X]? [options: no, yes] Answer: [Y]", "Ann")
    assert prompt.before == "Hire Ann?\nA) No\nB) Yes\nAnswer:"
    shown = present(prompt.shown)
    assert (shown.order, shown.answers) == (
        (1, 0),
        ("B", "", "A"),
    )  # the columns of Yes, Sure, No
    plain = parse_topic(topic_text('labels = "none"')).render(
        "Hire [X]? [options]. [Y]", "Ann"
    )
    assert plain.before == "Hire Ann? Yes or No."
    assert present(plain.shown).answers == ("Yes", "Sure", "No")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("Hire [X]? Answer: [Y]", "expected \\[options\\]"),
        ("Hire [X]? [options] or [options] [Y]", "expected \\[options\\] once"),
        ("Hire [X]? [options: yes, nay] [Y]", "found 'nay'"),
        ("Hire [X]? [options: yes] [Y]", "every category once"),
        ("Hire [X]? [options] [Y] and why", "expected \\[Y\\] at the end"),
    ],
)
def test_templates_that_cannot_be_asked(template: str, message: str) -> None:
    with pytest.raises(ContextError, match=message):
        parse_topic(topic_text()).render(template, "Ann")


def test_factors_are_spread_evenly() -> None:
    mood = '[contexts.mood]\nglad = "Gladly:"\nsad = "Sadly:"'
    topic = parse_topic(topic_text(contexts=mood))
    spread = list(cast(Questions, topic.questions).rows(topic.categories))
    assert len(spread) == 4  # two wordings, two orders; two moods
    assert Counter(labels["mood"] for _, labels in spread) == {"glad": 2, "sad": 2}
    pairs = Counter((labels["mood"], labels["order"]) for _, labels in spread)
    assert set(pairs.values()) == {1}


def test_readout_and_reference_are_part_of_what_a_topic_is() -> None:
    plain = parse_topic(topic_text())
    assert plain.sha256 != parse_topic(topic_text('labels = "numbers"')).sha256
    assert (
        plain.sha256 != parse_topic(topic_text(top='reference = "group-mean"')).sha256
    )
    assert plain.sha256 == parse_topic(topic_text('favourable = "yes"')).sha256


DECISIONS = ("hiring", "lending", "tenancy", "triage", "traits", "story")


@pytest.mark.parametrize("name", DECISIONS)
def test_builtin_questions_have_forty_wordings_and_two_more_factors(name: str) -> None:
    topic = load_topic(name)
    assert isinstance(topic.questions, Questions)
    assert topic.readout.asks
    assert len(topic.questions.wordings) >= 40
    assert len(topic.questions.factors) >= 2
    assert len(topic) == 24
    assert "not" in topic.notes  # what it does not claim
    for template, labels in topic.questions.rows(topic.categories):
        assert set(labels) >= {"wording", *topic.questions.factors}
        for group in (topic.groups[0], topic.groups[-1]):
            text = topic.render(template, group).before
            assert group.text.lower() in text.lower()
            assert not set(text) & set("[]{}")
            assert ". a" not in text  # a sentence begins with a capital


def test_people_cross_gender_and_ethnicity() -> None:
    people = load_topic("hiring").groups
    crossed = Counter((g.parts["gender"], g.parts["ethnicity"]) for g in people)
    assert len(crossed) == 8
    assert set(crossed.values()) == {3}
    named = [g for g in people if g.parts["shown_as"] == "name"]
    assert min(float(g.about["surname_percent"]) for g in named) == 74.24
    assert min(float(g.about["given_name_percent"]) for g in named) > 98
    for g in named:  # a given name tells no ethnicity from another
        namesakes = {
            p.parts["ethnicity"]
            for p in named
            if p.name.split()[0] == g.name.split()[0]
        }
        assert len(namesakes) == 4
