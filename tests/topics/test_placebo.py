"""Placebo groups: neutral words with an article, pronoun and names without."""

from __future__ import annotations

import pytest

from clinometer.errors import TopicError
from clinometer.topics.topic import NAMES, NEUTRAL, PRONOUN, placebo_groups


@pytest.mark.parametrize("language", ["en", "en-GB", "EN"])
def test_only_neutral_words_take_an_article(language: str) -> None:
    groups = {group.name: group for group in placebo_groups(language)}
    assert list(groups) == [*NEUTRAL, PRONOUN, *NAMES["male"], *NAMES["female"]]
    assert {name for name, group in groups.items() if group.article == ""} == (
        set(groups) - set(NEUTRAL)
    )


def test_names_are_balanced_and_distinct() -> None:
    assert len(NAMES["male"]) == len(NAMES["female"])
    assert not set(NAMES["male"]) & set(NAMES["female"])


def test_other_languages_are_refused() -> None:
    with pytest.raises(TopicError, match=r"placebo groups: expected an English topic.*'zh'"):
        placebo_groups("zh")
