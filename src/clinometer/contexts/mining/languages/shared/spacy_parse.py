"""The parts of spaCy that the miner needs; named entities are found only on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from clinometer.errors import SettingsError
from clinometer.extras import require

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

#: Components that most sentences do not need; named entities are found later, on demand.
LATER = ("ner", "lemmatizer")


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

    `installs` is the command that installs a pipeline of this name; the components in `later` do
    not run on every sentence.
    """

    def __init__(
        self, name: str, *, needed: Sequence[str], installs: str, later: Sequence[str] = LATER
    ) -> None:
        self.name = name
        self.nlp = _load(name, needed, installs)
        self.version = str(self.nlp.meta.get("version", ""))
        self._ner = self.nlp.get_pipe("ner") if self.nlp.has_pipe("ner") else None
        self._runs = [p for p in self.nlp.pipe_names if p in later]

    def parse(self, sentences: Iterable[str]) -> Iterator[Parsed]:
        """Parse sentences in order. The vocabulary seen is then discarded, to bound memory."""
        with self.nlp.memory_zone():
            for doc in self.nlp.pipe(sentences, batch_size=64, disable=self._runs):
                yield Parsed(doc, self._ner)

    def parse_words(self, sentences: Iterable[list[str]]) -> Iterator[Parsed]:
        """Parse sentences that are already tokenised, as in annotated corpora."""
        from spacy.tokens import Doc

        docs = (Doc(self.nlp.vocab, words=words) for words in sentences)
        for doc in self.nlp.pipe(docs, batch_size=64, disable=self._runs):
            yield Parsed(doc, self._ner)


def _load(name: str, needed: Sequence[str], installs: str) -> Language:
    require("parsing", "spacy")
    import spacy

    try:
        nlp = spacy.load(name)
    except OSError as exc:
        raise SettingsError(
            f"parser {name!r}: no spaCy pipeline of this name is installed: {installs}; "
            "or name another with --parser"
        ) from exc
    missing = [component for component in needed if component not in nlp.pipe_names]
    if missing:
        raise SettingsError(
            f"parser {name!r}: expected a pipeline with {' and '.join(needed)}, "
            f"found {', '.join(nlp.pipe_names) or 'none'}"
        )
    return nlp
