"""A topic: groups X, the categories of Y with their words, and the reference p*.

Placebo groups are X that carry no information about the attribute, scored like any other group.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import TopicError, closest
from clinometer.readouts.tables import WORDS, ReadoutTable
from clinometer.topics.checks import (
    Reference,
    checked_attributes,
    checked_groups,
    checked_reference,
)
from clinometer.topics.conversation import fill, is_conversation
from clinometer.topics.group import Group
from clinometer.topics.own_prompt import OwnPrompt
from clinometer.topics.prompt import Prompt, english_article, render
from clinometer.topics.questions import Questions, question_prompt

_NAME = re.compile(r"[\w-]+")


@dataclass(frozen=True, repr=False)
class Topic:
    """What an audit measures: groups, categories with their words, and a reference.

    >>> pets = Topic("pets", groups=["nurse", "owner"],
    ...              attributes={"cat": ["cat", "kitten"], "dog": ["dog", "puppy"]})
    >>> pets.categories, pets.words
    (('cat', 'dog'), ('cat', 'kitten', 'dog', 'puppy'))
    >>> pets.render("A [X] has a [Y]", "owner")
    Prompt(before='An owner has a', after='', space=True)
    """

    name: str = "own"
    """Letters, digits, - and _."""

    groups: tuple[Group, ...] = ()
    """The X, in order, no name and no text twice; a string is a group of that name."""

    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Category -> words, in order; at least two categories."""

    title: str = ""
    language: str = "en"

    reference: Reference = None
    """p*, one number above 0 for each category, summing to one, or a mapping of these.

    "group-mean": the mean over the groups in the same context; None: uniform.
    """

    shared: Literal["split", "drop"] = "split"
    """What becomes of a word listed in several categories; `shared_words` names these words.

    It is "split" equally between them, or "drop"ped from all.
    """

    source: str = ""
    notes: str = ""

    left_out: tuple[str, ...] = ()
    """Names of groups that `weighted_by` left out because they have no figure."""

    readout: ReadoutTable = WORDS
    """How replies to questions become categories; or words at the slot."""

    questions: Questions | OwnPrompt | None = None
    """The questions that the topic itself brings.

    Wordings and factors, or a prompt of several messages with its cases.
    """

    if TYPE_CHECKING:  # what the fields are made from; the rest as above

        def __init__(
            self,
            name: str = ...,
            groups: Iterable[Group | str] = ...,
            attributes: Mapping[str, Iterable[str]] = ...,
            **fields: Any,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._check_texts()
        object.__setattr__(self, "groups", checked_groups(self.groups))
        object.__setattr__(self, "attributes", checked_attributes(self.attributes))
        reference = checked_reference(self.reference, categories=self.categories)
        object.__setattr__(self, "reference", reference)
        object.__setattr__(self, "left_out", tuple(self.left_out))
        self.readout.check(self.attributes)
        if self.shared == "drop":
            self._check_words_are_left()

    def _check_texts(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise TopicError(
                f"name: expected letters, digits, - and _, found {self.name!r}"
            )
        if self.shared not in ("split", "drop"):
            raise TopicError(
                f'shared: expected "split" or "drop", found {self.shared!r}'
            )
        if not isinstance(self.language, str) or not self.language.strip():
            raise TopicError(
                f'language: expected a tag such as "en", found {self.language!r}'
            )

    def _check_words_are_left(self) -> None:
        """Refuse a category all of whose words are shared, and dropped."""
        for category, words in self.attributes.items():
            if all(word in self.shared_words for word in words):
                raise TopicError(
                    f"attributes.{category}: every word is shared with another category, and "
                    'shared = "drop" leaves none; add a word or write shared = "split"'
                )

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        return (
            f"Topic({self.name!r}, {len(self.groups)} groups, "
            f"{len(self.categories)} categories, {len(self.words)} words)"
        )

    @property
    def categories(self) -> tuple[str, ...]:
        """The names of the K categories, in order."""
        return tuple(self.attributes)

    @cached_property
    def shared_words(self) -> dict[str, tuple[str, ...]]:
        """Each word listed in several categories -> these categories."""
        categories: dict[str, list[str]] = {}
        for category, words in self.attributes.items():
            for word in words:
                categories.setdefault(word, []).append(category)
        return {
            word: tuple(names) for word, names in categories.items() if len(names) > 1
        }

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The V words to score, in order, each once."""
        words: dict[str, None] = {}
        for words_of_category in self.attributes.values():
            words.update(dict.fromkeys(words_of_category))
        return tuple(words)

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the groups, in order."""
        return tuple(group.name for group in self.groups)

    @cached_property
    def group_weights(self) -> NDArray[np.float64]:
        """w_x, in the order of the groups, summing to one."""
        weights = np.array([group.weight for group in self.groups])
        weights /= weights.max()  # so that the sum of huge weights cannot overflow
        weights /= weights.sum()
        weights.flags.writeable = False
        return weights

    @property
    def factors(self) -> tuple[str, ...]:
        """The names of the factors that at least one group has, in order."""
        names: dict[str, None] = {}
        for group in self.groups:
            names.update(dict.fromkeys(group.factors))
        return tuple(names)

    def group(self, name: str) -> Group:
        """Return the group of this name."""
        try:
            return self._by_name[name]
        except KeyError:
            raise TopicError(
                f"topic {self.name!r}: expected one of its groups, found {name!r}"
                f"{closest(name, self.group_names)}"
            ) from None

    def select(self, groups: Iterable[str]) -> Topic:
        """Return the topic with these groups only, in the order given."""
        if isinstance(groups, str):
            raise TopicError(
                f"select: expected a list of group names, found the text {groups!r}"
            )
        return replace(self, groups=tuple(self.group(name) for name in groups))

    def weighted_by(self, factor: str) -> Topic:
        """Return the topic with a factor as group weights, for example employment_thousands.

        Groups without a figure are left out, never guessed: `left_out` names them.
        """
        if factor not in self.factors:
            choices = ", ".join(self.factors) or "none"
            raise TopicError(
                f"weights: expected a factor of the groups ({choices}), found {factor!r}"
                f"{closest(factor, self.factors)}"
            )
        weighted = []
        left_out = list(self.left_out)
        for group in self.groups:
            figure = group.factors.get(factor)
            if figure is None:
                left_out.append(group.name)
            else:
                weighted.append(replace(group, weight=figure))
        if not weighted:
            raise TopicError(
                f"weights: every group has an empty {factor}; choose another factor"
            )
        return replace(self, groups=tuple(weighted), left_out=tuple(left_out))

    def render(self, template: str, group: Group | str) -> Prompt:
        """Return the text around [Y] with `group` at [X], and its article."""
        return self.render_all([template], group)[0]

    def render_all(self, templates: Iterable[str], group: Group | str) -> list[Prompt]:
        """Return the texts around [Y] of many templates with `group` at [X]."""
        text, article = self.written(group)
        prompts = []
        for template in templates:
            if is_conversation(template):
                form = self._group(group).form
                prompt = fill(template, text, article=article, form=form)
            else:
                sentences = self.readout.asks
                prompt = render(template, text, article=article, sentences=sentences)
            if self.readout.asks:
                prompt = question_prompt(prompt, self.attributes, self.readout)
            prompts.append(prompt)
        return prompts

    def written(self, group: Group | str) -> tuple[str, str | None]:
        """Return the text of a group and the article it takes; None: the template's own."""
        group = self._group(group)
        article = group.article
        if article is None and self._is_english:
            article = english_article(group.text)
        return group.text, article

    def _group(self, group: Group | str) -> Group:
        return self.group(group) if isinstance(group, str) else group

    @cached_property
    def sha256(self) -> str:
        """Digest of all that changes a prompt or a weight; not of titles, notes or figures."""
        content: dict[str, Any] = {
            "language": self.language,
            "groups": [[g.name, g.text, g.weight, g.article] for g in self.groups],
            "attributes": [
                [category, list(words)] for category, words in self.attributes.items()
            ],
            "reference": self.reference,
            "shared": self.shared,
            "articles": [[], []] if self._is_english else None,
        }
        if any(group.forms for group in self.groups):
            content["forms"] = [dict(group.forms) for group in self.groups]
        content |= self.readout.tables(exclude=("favourable",))
        text = json.dumps(
            content, ensure_ascii=False, sort_keys=True, separators=(",", ":")
        )
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def _by_name(self) -> dict[str, Group]:
        return {group.name: group for group in self.groups}

    @cached_property
    def _is_english(self) -> bool:
        return self.language.lower().split("-")[0] == "en"
