"""Intersectional groups and attributes."""

from __future__ import annotations

import pytest

from clinometer.errors import TopicError
from clinometer.topics import Group, product_attributes, product_groups


def test_crossed_groups_multiply_weights_and_keep_figures() -> None:
    nurse = Group("nurse", weight=3, factors={"pay": 5.0}, about={"match": "exact"})
    black = Group("black", weight=2, factors={"pay": 99.0})
    groups = product_groups("{race} {job}", {"race": [black, "white"], "job": [nurse, "cook"]})
    assert [g.name for g in groups] == ["black nurse", "black cook", "white nurse", "white cook"]
    assert [g.weight for g in groups] == [6, 2, 3, 1]  # 2·3, 2·1, 1·3, 1·1
    assert groups[0].factors == {"pay": 5.0}
    assert groups[0].about == {"match": "exact"}
    assert groups[0].parts == {"race": "black", "job": "nurse"}


def test_order_and_figures_follow_the_pattern_not_the_mapping() -> None:
    lists: dict[str, list[Group | str]] = {
        "job": [Group("nurse", factors={"pay": 5.0})],
        "race": ["black", "white"],
    }
    groups = product_groups("{race} {job}", lists)
    assert [g.name for g in groups] == ["black nurse", "white nurse"]
    assert groups[0].factors == {"pay": 5.0}


def test_text_and_article_come_from_the_first_component() -> None:
    herbal = Group("herbal", text="Herbal", article="an")
    (group,) = product_groups("{kind} {job}", {"kind": [herbal], "job": ["healer"]})
    assert (group.name, group.text, group.article) == ("herbal healer", "Herbal healer", "an")
    (other,) = product_groups("old {kind} {job}", {"kind": [herbal], "job": ["healer"]})
    assert other.article is None


def test_crossed_attributes() -> None:
    product = product_attributes(
        "{age} {gender}",
        {
            "gender": {"male": ["man"], "female": ["woman", "lady"]},
            "age": {"young": ["young"], "old": ["old", "elderly"]},
        },
    )
    assert list(product) == ["young × male", "young × female", "old × male", "old × female"]
    assert product["old × female"] == ("old woman", "old lady", "elderly woman", "elderly lady")


def test_three_factors() -> None:
    product = product_attributes("{a}{b}{c}", {k: {"0": ["0"], "1": ["1"]} for k in "abc"})
    assert len(product) == 8
    assert product["0 × 1 × 1"] == ("011",)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{race}", r"groups\.pattern: expected \{race\}, \{job\}, each once"),
        ("{race} {jobs}", "each once"),
        ("{race} {job} {job}", "each once"),
        ("{race} {job} {}", "braces around names only"),
    ],
)
def test_a_pattern_that_does_not_match_the_lists_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(TopicError, match=message):
        product_groups(pattern, {"race": ["black"], "job": ["nurse"]})


def test_crossing_needs_two_lists() -> None:
    with pytest.raises(TopicError, match="expected two lists or more, found 1"):
        product_groups("{race}", {"race": ["black"]})


def test_empty_lists_are_refused() -> None:
    with pytest.raises(TopicError, match=r"groups\.job: expected at least one entry"):
        product_groups("{race} {job}", {"race": ["black"], "job": []})
    with pytest.raises(TopicError, match=r"attributes\.age\.old: expected at least one entry"):
        product_attributes("{age} {sex}", {"age": {"old": []}, "sex": {"f": ["woman"]}})
