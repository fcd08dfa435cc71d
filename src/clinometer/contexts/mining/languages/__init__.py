"""Languages the miner supports, one folder each; no other code depends on a language.

Another distribution adds a language by an entry point in the group `clinometer.languages`: the
language tag, and a module whose `open_language(settings)` gives a `Language`; see
docs/howto/language.md. What the languages share is here, too: decisions, word lists, words in a
text, and spaCy parses.
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol

from clinometer.errors import SettingsError
from clinometer.extras import require

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

    from clinometer.contexts.mining.run import MineSettings

#: Language tag -> module with a function `open_language(settings)`.
MODULES = {
    "en": "clinometer.contexts.mining.languages.english.language",
    "zh": "clinometer.contexts.mining.languages.chinese.language",
}
#: The group of entry points in which other distributions name theirs.
ENTRY_POINTS = "clinometer.languages"
#: Components that most sentences do not need; named entities are found later, on demand.
LATER = ("ner", "lemmatizer")


class Language(Protocol):
    """Protocol for a language that can be mined."""

    def find(self, text: str) -> list[Any]:
        """The sentences of an article that are worth parsing, as `decide` takes them; cheap,
        without a parser."""
        ...

    def decide(self, candidates: Sequence[Any], /) -> Iterator[list[Decision]]:
        """The decisions on each sentence, in order."""
        ...

    def merge_key(self, template: str) -> str:
        """Templates with the same key are near-duplicates and are counted as one."""
        ...

    def describe(self) -> dict[str, str]:
        """Strategy, parser and its version, for the sidecar."""
        ...


def language_modules() -> dict[str, str]:
    """Language tag -> module, ours and those of installed distributions; ours come first."""
    return {e.name: e.value for e in entry_points(group=ENTRY_POINTS)} | MODULES


def open_language(settings: MineSettings) -> Language:
    """The miner for the language of the topic."""
    code = settings.topic.language.lower().split("-")[0]
    modules = language_modules()
    if code not in modules:
        raise SettingsError(
            f"topic {settings.topic.name!r}: expected one of the languages "
            f"{', '.join(sorted(modules))} for mining, found {settings.topic.language!r}"
        )
    language: Language = importlib.import_module(modules[code]).open_language(settings)
    return language


class Dropped(Exception):
    """Raised by a rule that drops a sentence; its name is counted and shown."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


def drop_if(refused: object, rule: str) -> None:
    """Drop a sentence by the rule, if what the rule refuses is true of it."""
    if refused:
        raise Dropped(rule)


def has_dep(tokens: Iterable[Token], *labels: str) -> bool:
    """Whether one of the tokens has one of these dependency labels."""
    return any(token.dep_ in labels for token in tokens)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one word of Y in a sentence, or on one predicate.

    template    the context, or None
    rule        the rule that dropped it; "" if it was kept
    evidence    a readable extract of the parse
    confidence  the probability that [Y] refers to [X], where one was estimated
    """

    sentence: str
    template: str | None
    rule: str
    evidence: str
    confidence: float | None = None


@cache
def read_toml(package: str, file: str) -> dict[str, Any]:
    """A file of lists or numbers in `package`."""
    return tomllib.loads(files(package).joinpath(file).read_text(encoding="utf-8"))


def read_lexicon(package: str) -> dict[str, Any]:
    """The lists and tables of the language in `package`."""
    return read_toml(package, "lexicon.toml")


@cache
def word_list(package: str, name: str) -> frozenset[str]:
    """The words of one list, separated by white space in the file; _ stands for a space.

    >>> "tell" in word_list("clinometer.contexts.mining.languages.english", "needs_whom")
    True
    """
    return frozenset(
        word.replace("_", " ") for word in read_lexicon(package)[name].split()
    )


class WordAutomaton:
    """Finds whole words of a list, ignoring case.

    >>> list(WordAutomaton(["he", "she"]).find("There She said he"))
    [(6, 'she'), (15, 'he')]
    """

    def __init__(self, words: Iterable[str]) -> None:
        require("finding words in a corpus", "ahocorasick")
        import ahocorasick

        self._automaton = ahocorasick.Automaton()
        for word in words:
            self._automaton.add_word(word.lower(), word.lower())
        self._automaton.make_automaton()

    def find(self, text: str) -> Iterator[tuple[int, str]]:
        """The start of each word, and the word, in the order of their ends."""
        lower = text.lower()
        if len(lower) != len(
            text
        ):  # lower() lengthens a few letters, which would shift positions
            lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        for end, word in self._automaton.iter(lower):
            begin = end - len(word) + 1
            before, after = lower[begin - 1 : begin], lower[end + 1 : end + 2]
            if not (before.isalnum() or after.isalnum()):
                yield begin, word


class Parsed:
    """A parsed sentence. Entities are found on first access."""

    def __init__(self, doc: Doc, find_names: Any = None) -> None:
        self.doc = doc
        self._find_names = find_names

    def entity(self, token: Token) -> str:
        """The entity label of a token (PERSON, ORG, …), or "" if it has none."""
        if self._find_names is not None:
            self.doc = self._find_names(self.doc)
            self._find_names = None
        return self.doc[token.i].ent_type_


class SpacyParser:
    """An installed spaCy pipeline with the components in `needed`.

    `installs` is the command that installs this pipeline, unless spaCy has it for download.
    """

    def __init__(self, name: str, *, needed: Sequence[str], installs: str) -> None:
        installs = installs or f"python -m spacy download {name}"
        require("parsing", "spacy")
        import spacy

        self.name = name
        try:
            self.nlp = spacy.load(name)
        except OSError as exc:
            raise SettingsError(
                f"parser {name!r}: no spaCy pipeline of this name is installed: {installs}; "
                "or name another with --parser"
            ) from exc
        if not set(needed) <= set(self.nlp.pipe_names):
            raise SettingsError(
                f"parser {name!r}: expected a pipeline with {' and '.join(needed)}, "
                f"found {', '.join(self.nlp.pipe_names) or 'none'}"
            )
        self.version = str(self.nlp.meta.get("version", ""))
        self._ner = self.nlp.get_pipe("ner") if self.nlp.has_pipe("ner") else None
        self._runs = [p for p in self.nlp.pipe_names if p in LATER]

    def parse(self, sentences: Iterable[str]) -> Iterator[Parsed]:
        """Parse sentences in order. The vocabulary seen is then discarded, to bound memory."""
        with self.nlp.memory_zone():
            for doc in self.nlp.pipe(sentences, batch_size=64, disable=self._runs):
                yield Parsed(doc, self._ner)
