"""Topics and groups made in Python, and placebo groups."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clinometer.errors import TopicError
from clinometer.measure import membership
from clinometer.topics import Group, Topic

GROUPS = (
    Group("nurse", factors={"people": 30, "pay": 5}),
    Group("cook", factors={"people": 10}),
    Group("pilot", factors={"people": None, "pay": 9}),
)
WORDS = {"male": ("he", "canary"), "female": ("she", "her", "canary")}
TOPIC = Topic("gender", GROUPS, WORDS)


def test_a_shared_word_is_named_and_counts_by_the_topics_rule() -> None:
    assert TOPIC.shared_words == {"canary": ("male", "female")}
    split = membership(TOPIC.words, TOPIC.attributes, shared=TOPIC.shared)
    np.testing.assert_array_equal(split, [[1, 0], [0.5, 0.5], [0, 1], [0, 1]])
    dropped = replace(TOPIC, shared="drop")
    assert dropped.words == TOPIC.words
    counts = membership(dropped.words, dropped.attributes, shared=dropped.shared)
    np.testing.assert_array_equal(counts, [[1, 0], [0, 0], [0, 1], [0, 1]])


def test_uniform_weights_unless_given() -> None:
    np.testing.assert_allclose(TOPIC.group_weights, [1 / 3] * 3)
    given_weights = Topic("t", (Group("a", weight=3), Group("b", weight=1)), WORDS)
    np.testing.assert_allclose(given_weights.group_weights, [0.75, 0.25])
    huge = Topic("t", (Group("a", weight=1e308), Group("b", weight=1e308)), WORDS)
    np.testing.assert_allclose(
        huge.group_weights, [0.5, 0.5]
    )  # their sum would overflow


def test_weighted_by_leaves_out_groups_without_a_figure() -> None:
    weighted = TOPIC.weighted_by("people")
    assert weighted.group_names == ("nurse", "cook")
    assert weighted.left_out == ("pilot",)  # its figure is None
    np.testing.assert_allclose(weighted.group_weights, [0.75, 0.25])
    assert TOPIC.weighted_by("pay").left_out == ("cook",)  # it has no such figure
    topic = Topic("t", (Group("a", factors={"people": None, "change": -2.0}),), WORDS)
    for wrong, factor, message in (
        (TOPIC, "peple", r"\(people, pay\), found 'peple'; did you mean people"),
        (topic, "people", "every group has an empty people"),
        (topic, "change", "group 'a': weight: expected a number of at least 0"),
    ):
        with pytest.raises(TopicError, match=message):
            wrong.weighted_by(factor)


def test_select_takes_groups_by_name_in_the_order_given() -> None:
    assert TOPIC.select(groups=["pilot", "nurse"]).group_names == ("pilot", "nurse")
    with pytest.raises(TopicError, match="groups, found 'pilots'; did you mean pilot"):
        TOPIC.select(["pilots"])
    with pytest.raises(
        TopicError, match="expected a list of group names, found the text 'nurse'"
    ):
        TOPIC.select("nurse")


def test_reference_is_aligned_and_sums_to_one_exactly() -> None:
    topic = replace(TOPIC, reference=(0.2500000001, 0.75))
    assert isinstance(topic.reference, tuple)
    assert math.fsum(topic.reference) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "a b"}, "name: expected letters"),
        ({"shared": "both"}, 'shared: expected "split" or "drop"'),
        ({"language": ""}, "language: expected a tag"),
        ({"groups": ()}, "groups: expected at least one group"),
        ({"groups": (Group("a"), Group("a"))}, "'a' is listed twice"),
        (
            {"groups": (Group("a"), Group("b", text="a"))},
            "'a' and 'b' have the same text",
        ),
        ({"groups": (Group("a", weight=0),)}, "every weight is 0"),
        ({"groups": (3,)}, "expected names or Group objects, found 3"),
        ({"attributes": {}}, "expected at least two categories, found 0"),
        ({"attributes": {"a": ("x",)}}, "expected at least two categories, found 1"),
        (
            {"attributes": {"a": ("x",), "b": ()}},
            r"attributes\.b: expected at least one word",
        ),
        (
            {"attributes": {"a": ("x",), "b": "y"}},
            r"attributes\.b: expected a list of words",
        ),
        ({"attributes": {"a": ("x", " x"), "b": ("y",)}}, "'x' is listed twice"),
        ({"attributes": {"a": (" ",), "b": ("y",)}}, r"attributes\.a: expected a text"),
        (
            {"attributes": {"a": ("x", "y"), "b": ("z",), "c": ("y", "x")}},
            r"attributes\.c: expected words that tell it from attributes\.a",
        ),
        (
            {"attributes": {"a": ("caf\u00e9",), "b": ("cafe\u0301", "tea")}},
            r"attributes\.b: .* of attributes\.a in another Unicode form",
        ),
        ({"attributes": {"a": ("[X]",), "b": ("y",)}}, r"expected no \[X\] or \[Y\]"),
        ({"attributes": {" ": ("x",), "b": ("y",)}}, "a name for each category"),
        ({"reference": (1.0,)}, "expected 2 numbers"),
        ({"reference": (0.5, 0.4)}, "found a sum of 0.9"),
        ({"reference": (1.0, 0.0)}, r"reference\.female: expected a number above 0"),
        ({"reference": (1.5, -0.5)}, r"reference\.female: expected a number above 0"),
        ({"reference": (math.nan, 0.5)}, r"reference\.male: expected a number above 0"),
        (
            {"shared": "drop", "attributes": {"a": ("x",), "b": ("x", "y")}},
            r"attributes\.a: every word is shared",
        ),
    ],
)
def test_invalid_topics_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TopicError, match=message) as caught:
        replace(TOPIC, **change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "group: expected a text"),
        ({"name": "the [X]"}, "expected no"),
        ({"weight": -1}, "group 'a': weight: expected a number of at least 0"),
        (
            {"weight": math.nan},
            "group 'a': weight: expected a finite number, found nan",
        ),
        ({"weight": math.inf}, "weight: expected a finite number"),
        ({"weight": "1"}, "weight: expected a finite number"),
        ({"weight": True}, "weight: expected a finite number"),
        ({"article": "the"}, 'article: expected "a", "an" or ""'),
        ({"factors": {"pay": math.inf}}, r"factors\.pay: expected a finite number"),
    ],
)
def test_invalid_groups_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TopicError, match=message):
        Group(**{"name": "a", **change})


def test_sha256_depends_only_on_what_is_scored() -> None:
    same = replace(TOPIC, title="A title", source="elsewhere", notes="…")
    assert same.sha256 == TOPIC.sha256
    for changed in (
        replace(TOPIC, reference=(0.4, 0.6)),
        replace(TOPIC, shared="drop"),
        replace(TOPIC, language="de"),
        TOPIC.select(["cook", "nurse", "pilot"]),
        TOPIC.weighted_by("people"),
        replace(TOPIC, attributes={"male": ("he",), "female": ("she",)}),
    ):
        assert changed.sha256 != TOPIC.sha256


def test_sha256_is_stable_between_versions() -> None:
    topic = Topic("t", (Group("nurse"),), {"a": ("x",), "b": ("y",)})
    # sha256 of {"articles":[[],[]],"attributes":[["a",["x"]],["b",["y"]]],
    #            "groups":[["nurse","nurse",1.0,null]],"language":"en","reference":null,
    #            "shared":"split"} without line breaks and spaces
    assert (
        topic.sha256
        == "013e8d12a3903281972256edcf8e031bcf0aef3980240bc961540d7d6146f5e1"
    )
