"""The built-in phrases of lexicon.toml, and the classes of nouns."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Token

MODIFIER = "modifier"
AFTER_NOUN = "after_noun"
ADVERB = "adverb"
ADJUNCT = "adjunct"
"""These are the kinds of phrases: before a noun, after a noun, before an adjective or a verb, and
after a clause."""

PEOPLE = (
    "workers",
    "people",
    "relatives",
    "groups",
    "elders",
    "children",
    "criminals",
)
"""Classes of nouns that name people."""

_WORKER_ENDINGS = ("man", "men", "woman", "women", "ist", "ists", "ician", "icians")
_PEOPLE_ENDINGS = ("eans", "ians", "cans")


@cache
def phrases() -> dict[str, dict[str, tuple[str, ...]]]:
    """Return all phrases by kind and list, and the nouns by class."""
    text = files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8")
    by_kind: dict[str, dict[str, tuple[str, ...]]] = {}
    for kind, lists in tomllib.loads(text).items():
        separator = r";\s+|;$" if kind in (AFTER_NOUN, ADJUNCT) else r"\s+"
        by_kind[kind] = {}
        for name, content in lists.items():
            items = re.split(separator, " ".join(content.split()))
            by_kind[kind][name] = tuple(dict.fromkeys(filter(None, items)))
    return by_kind


@cache
def word_list(name: str) -> frozenset[str]:
    """Return a list of single words, such as those that say when."""
    return frozenset(phrases()["words"][name])


@cache
def _classes() -> dict[str, str]:
    """Return the class of each noun; of one that several have, the first."""
    classes: dict[str, str] = {}
    for name, nouns in phrases()["nouns"].items():
        for noun in nouns:
            classes.setdefault(noun, name)
    return classes


def class_of(noun: Token) -> str:
    """Return the class of a noun; "" if it is not known.

    "women", "families" and "churches" are looked up as "woman", "family" and "church" too.
    """
    word = noun.lower_
    if word in ("children", "kids"):
        return "children"
    forms = [word, word.removesuffix("s"), word.removesuffix("es")]
    if word.endswith("ies"):
        forms.append(word[:-3] + "y")
    if word.endswith("men"):
        forms.append(word[:-3] + "man")
    classes = _classes()
    for form in forms:
        if form in classes:
            return classes[form]
    if word.endswith(_WORKER_ENDINGS):
        return "workers"
    if word.endswith(_PEOPLE_ENDINGS):
        return "people"
    return ""
