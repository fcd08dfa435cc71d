"""The words of the Chinese miner: its lists, the pronouns, and the ends of titles."""

from __future__ import annotations

from functools import partial

from clinometer.contexts.mining.languages.lexicon import word_list

PRONOUNS = ("他", "她")

TITLES_OF_PERSONS = tuple("家 师 员 者 手 人 官".split())
"""Ends of words for what a person is, also without a name after them: 化学家."""

TITLES = (
    *TITLES_OF_PERSONS,
    *"王 长 士 统 相 臣 授 将 帝 客 工 匠 司令 导演 教练 法官 总理".split(),
)
"""Ends of words for what a person is: 化学家, 总统."""

listed = partial(word_list, __package__)
"""Return the words of a list in lexicon.toml."""


def longest_first(name: str) -> list[str]:
    """Return the words of a list, so that none is taken for the beginning of another."""
    return sorted(listed(name), key=len, reverse=True)
