"""A topic: groups X, the categories of Y with their words, and the reference p*.

Placebo groups are X that carry no information about the attribute, scored like any other group.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import TopicError, closest
from clinometer.readouts.tables import ReadoutTable
from clinometer.topics.conversation import OwnPrompt, fill, is_conversation
from clinometer.topics.prompt import Prompt, english_article, render
from clinometer.topics.questions import Questions, question_prompt

_NAME = re.compile(r"[\w-]+")
_SUM_TOLERANCE = 1e-6
#: A pronoun by its form with "he": of he, she and they.
PRONOUNS = {
    "he": ("he", "she", "they"),
    "him": ("him", "her", "them"),
    "his": ("his", "her", "their"),
    "himself": ("himself", "herself", "themselves"),
}


@dataclass(frozen=True)
class Group:
    """One group, for example an occupation.

    name     what tables and charts show
    text     what fills [X]; the name unless given
    weight   w_x, up to a common factor
    article  "a" or "an" where the rule would get it wrong; "" for a name or pronoun, before which
             an article is left out ("The [X] said": "Mary said"); None: by rule
    factors  figures about the group (employment, share of women, …); None where there is none
    about    where the figures come from: for the built-in occupations source_years, soc_codes and
             match, the grade of the match ("exact", "close", … "doubtful", "none")
    parts    for a product, the name that each list gave: {"race": "black", "occupation": "nurse"}
    forms    what fills [X:KEY] in messages: {"he": "she", "title": "Dr"}; "he" decides him, his and
             himself too, and follows the gender in `parts` where it is not given

    >>> Group("ceo", text="chief executive", factors={"percent_women": 29.2}).text
    'chief executive'
    """

    name: str
    text: str = ""
    weight: float = 1.0
    article: str | None = None
    factors: Mapping[str, float | None] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean_text(self.name, where="group"))
        where = f"group {self.name!r}"
        text = clean_text(self.text, where=f"{where}: text") if self.text else self.name
        object.__setattr__(self, "text", text)
        weight = _finite(self.weight, where=f"{where}: weight")
        if weight < 0:
            raise TopicError(
                f"{where}: weight: expected a number of at least 0, found {self.weight!r}"
            )
        object.__setattr__(self, "weight", weight)
        if self.article not in (None, "", "a", "an"):
            raise TopicError(
                f'{where}: article: expected "a", "an" or "" (none), found {self.article!r}; '
                "leave it out for the rule"
            )
        factors = {
            key: None
            if value is None
            else _finite(value, where=f"{where}: factors.{key}")
            for key, value in self.factors.items()
        }
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "about", dict(self.about))
        object.__setattr__(self, "parts", dict(self.parts))
        he = {"female": "she", "male": "he"}.get(self.parts.get("gender", ""))
        object.__setattr__(self, "forms", {**({"he": he} if he else {}), **self.forms})

    def form(self, key: str) -> str:
        """What fills [X:KEY]: the name, a pronoun, or a form of the group; with the key's capital.

        >>> ann = Group("Ann", forms={"he": "she", "title": "Dr"})
        >>> [ann.form(key) for key in ("name", "He", "his/her", "title")]
        ['Ann', 'She', 'her', 'Dr']
        """
        short = key.partition("/")[0].strip()
        lower = short.lower()
        found = self.forms.get(short, self.forms.get(lower))
        if lower == "name":
            found = self.name
        he = self.forms.get("he")
        if found is None and lower in PRONOUNS and he in PRONOUNS["he"]:
            found = PRONOUNS[lower][PRONOUNS["he"].index(he)]
        if found is None:
            raise TopicError(
                f"group {self.name!r}: expected a form for [X:{key}], found none; add "
                f'forms = {{ {"he" if lower in PRONOUNS else short} = "…" }} to the group'
            )
        return found[:1].upper() + found[1:] if short[:1].isupper() else found

    def __hash__(self) -> int:
        return hash((self.name, self.text, self.weight, self.article))


@dataclass(frozen=True, repr=False)
class Topic:
    """What an audit measures: groups, categories with their words, and a reference.

    name        letters, digits, - and _
    groups      the X, in order, no name and no text twice; a string is a group of that name
    attributes  category -> words, in order; at least two categories
    reference   p*, one number above 0 for each category, summing to one, or a mapping of these;
                "group-mean": the mean over the groups in the same context; None: uniform
    shared      a word listed in several categories is "split" equally between them, or
                "drop"ped from all; `shared_words` names these words
    left_out    names of groups that `weighted_by` left out because they have no figure
    readout     how replies to questions become categories; None: words at the slot
    questions   the questions that the topic itself brings: wordings and factors, or a prompt of
                several messages with its cases

    >>> pets = Topic("pets", groups=["nurse", "owner"],
    ...              attributes={"cat": ["cat", "kitten"], "dog": ["dog", "puppy"]})
    >>> pets.categories, pets.words
    (('cat', 'dog'), ('cat', 'kitten', 'dog', 'puppy'))
    >>> pets.render("A [X] has a [Y]", "owner")
    Prompt(before='An owner has a', after='', space=True)
    """

    name: str = "own"
    groups: tuple[Group, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    title: str = ""
    language: str = "en"
    reference: tuple[float, ...] | Literal["group-mean"] | None = None
    shared: Literal["split", "drop"] = "split"
    source: str = ""
    notes: str = ""
    left_out: tuple[str, ...] = ()
    readout: ReadoutTable | None = None
    questions: Questions | OwnPrompt | None = None

    if TYPE_CHECKING:  # what the fields are made from; the rest as above

        def __init__(
            self,
            name: str = ...,
            groups: Iterable[Group | str] = ...,
            attributes: Mapping[str, Iterable[str]] = ...,
            **fields: Any,
        ) -> None: ...

    def __post_init__(self) -> None:
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
        object.__setattr__(self, "groups", _check_groups(self.groups))
        object.__setattr__(self, "attributes", _check_attributes(self.attributes))
        reference = _check_reference(self.reference, categories=self.categories)
        object.__setattr__(self, "reference", reference)
        object.__setattr__(self, "left_out", tuple(self.left_out))
        if self.readout is not None:
            self.readout.check(self.attributes)
        for category, words in self.attributes.items() if self.shared == "drop" else ():
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
        where: dict[str, list[str]] = {}
        for category, words in self.attributes.items():
            for word in words:
                where.setdefault(word, []).append(category)
        return {word: tuple(names) for word, names in where.items() if len(names) > 1}

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The V words to score, in order, each once."""
        return tuple(
            dict.fromkeys(word for words in self.attributes.values() for word in words)
        )

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
        return tuple(
            dict.fromkeys(key for group in self.groups for key in group.factors)
        )

    def group(self, name: str) -> Group:
        """The group of this name."""
        try:
            return self._by_name[name]
        except KeyError:
            raise TopicError(
                f"topic {self.name!r}: expected one of its groups, found {name!r}"
                f"{closest(name, self.group_names)}"
            ) from None

    def select(self, groups: Iterable[str]) -> Topic:
        """The same topic with these groups only, in the order given."""
        if isinstance(groups, str):
            raise TopicError(
                f"select: expected a list of group names, found the text {groups!r}"
            )
        return replace(self, groups=tuple(self.group(name) for name in groups))

    def weighted_by(self, factor: str) -> Topic:
        """The same topic with a factor as group weights, for example employment_thousands.

        Groups without a figure are left out, never guessed: `left_out` names them.
        """
        if factor not in self.factors:
            choices = ", ".join(self.factors) or "none"
            raise TopicError(
                f"weights: expected a factor of the groups ({choices}), found {factor!r}"
                f"{closest(factor, self.factors)}"
            )
        figures = {group: group.factors.get(factor) for group in self.groups}
        weighted = [
            replace(g, weight=figure)
            for g, figure in figures.items()
            if figure is not None
        ]
        if not weighted:
            raise TopicError(
                f"weights: every group has an empty {factor}; choose another factor"
            )
        without = [group.name for group, figure in figures.items() if figure is None]
        left_out = (*self.left_out, *without)
        return replace(self, groups=tuple(weighted), left_out=left_out)

    def render(self, template: str, group: Group | str) -> Prompt:
        """The text around [Y] with `group` at [X], and its article."""
        return self.render_all([template], group)[0]

    def render_all(self, templates: Iterable[str], group: Group | str) -> list[Prompt]:
        """The same for many templates."""
        text, article = self.written(group)
        readout = self.readout

        def rendered(template: str) -> Prompt:
            if is_conversation(template):
                form = (self.group(group) if isinstance(group, str) else group).form
                prompt = fill(template, text, article=article, form=form)
            else:
                prompt = render(
                    template, text, article=article, sentences=readout is not None
                )
            return (
                prompt
                if readout is None
                else question_prompt(prompt, self.attributes, readout)
            )

        return [rendered(template) for template in templates]

    def written(self, group: Group | str) -> tuple[str, str | None]:
        """The text of a group and the article it takes; None: the template's own."""
        if isinstance(group, str):
            group = self.group(group)
        article = group.article
        if article is None and self._is_english:
            article = english_article(group.text)
        return group.text, article

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
        if self.readout is not None:
            content["readout"] = self.readout.model_dump(exclude={"favourable"})
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


def _check_groups(groups: Iterable[Group | str]) -> tuple[Group, ...]:
    """The groups as a tuple: at least one, none twice, not all of weight zero."""
    if isinstance(groups, str):
        raise TopicError(
            f"groups: expected a list of groups, found the text {groups!r}"
        )
    checked = tuple(
        Group(group) if isinstance(group, str) else group for group in groups
    )
    if not checked:
        raise TopicError(
            "groups: expected at least one group, found none; list the groups X"
        )
    names: set[str] = set()
    texts: dict[str, str] = {}
    for group in checked:
        if not isinstance(group, Group):
            raise TopicError(
                f"groups: expected names or Group objects, found {group!r}"
            )
        if group.name in names:
            raise TopicError(
                f"groups: {group.name!r} is listed twice; keep one of them"
            )
        if group.text in texts:
            raise TopicError(
                f"groups: {texts[group.text]!r} and {group.name!r} have the same text "
                f"{group.text!r}; keep one of them"
            )
        names.add(group.name)
        texts[group.text] = group.name
    if not any(group.weight > 0 for group in checked):
        raise TopicError(
            "groups: every weight is 0; give at least one group a weight above 0"
        )
    return checked


def _check_attributes(
    attributes: Mapping[str, Sequence[str]],
) -> dict[str, tuple[str, ...]]:
    """The words by category: two categories or more, none empty, no word twice in one."""
    if len(attributes) < 2:
        raise TopicError(
            f"attributes: expected at least two categories, found {len(attributes)}; "
            "a preference needs an alternative"
        )
    checked: dict[str, tuple[str, ...]] = {}
    for category, words in attributes.items():
        where = f"attributes.{category}"
        if not isinstance(category, str) or not category.strip():
            raise TopicError(
                f"attributes: expected a name for each category, found {category!r}"
            )
        if isinstance(words, str):
            raise TopicError(
                f"{where}: expected a list of words, found the text {words!r}"
            )
        cleaned = tuple(clean_text(word, where=where) for word in words)
        if not cleaned:
            raise TopicError(
                f"{where}: expected at least one word, found none; add words or remove the category"
            )
        if repeated := [word for word, n in Counter(cleaned).items() if n > 1]:
            raise TopicError(
                f"{where}: the word {repeated[0]!r} is listed twice; keep one of them"
            )
        checked[category] = cleaned
    return checked


def _check_reference(
    reference: Mapping[str, float] | Sequence[float] | str | None,
    *,
    categories: Sequence[str],
) -> tuple[float, ...] | Literal["group-mean"] | None:
    """p* as a tuple that sums to one exactly, "group-mean", or None for the uniform one."""
    if reference is None or reference == "uniform":
        return None
    if isinstance(reference, str):
        if reference == "group-mean":
            return "group-mean"
        raise TopicError(
            'reference: expected "uniform", "group-mean" or a table of shares, found '
            f"{reference!r}{closest(reference, ('uniform', 'group-mean'))}"
        )
    if isinstance(reference, Mapping):
        missing = ", ".join(
            category for category in categories if category not in reference
        )
        unknown = ", ".join(key for key in reference if key not in categories)
        if missing or unknown:
            problem = f"missing: {missing}" if missing else f"unknown: {unknown}"
            raise TopicError(
                f"reference: expected one number for each category ({', '.join(categories)}); "
                f"{problem}"
            )
        reference = [reference[category] for category in categories]
    values = tuple(float(value) for value in reference)
    if len(values) != len(categories):
        raise TopicError(
            f"reference: expected {len(categories)} numbers, one for each category "
            f"({', '.join(categories)}), found {len(values)}"
        )
    for category, value in zip(categories, values, strict=True):
        if not (math.isfinite(value) and value > 0):
            raise TopicError(
                f"reference.{category}: expected a number above 0, found {value!r}; "
                "the stereotype divides by it"
            )
    total = math.fsum(values)
    if abs(total - 1) > _SUM_TOLERANCE:
        raise TopicError(
            f"reference: expected numbers that sum to 1, found a sum of {total:.6g}"
        )
    return values if total == 1 else tuple(value / total for value in values)


def clean_text(text: object, *, where: str) -> str:
    """`text` with its whitespace collapsed; it must not be empty or contain a slot."""
    if not isinstance(text, str) or not text.strip():
        raise TopicError(
            f"{where}: expected a text, found {text!r}; write a word or a phrase"
        )
    if "[X]" in text or "[Y]" in text:
        raise TopicError(
            f"{where}: expected no [X] or [Y], found {text!r}; slots are for templates"
        )
    return " ".join(text.split())


def _finite(value: object, *, where: str) -> float:
    # item() of a numpy scalar is a plain number; bool is an int to Python but not a figure.
    value = getattr(value, "item", lambda: value)()
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not math.isfinite(value)
    ):
        raise TopicError(f"{where}: expected a finite number, found {value!r}")
    return float(value)
