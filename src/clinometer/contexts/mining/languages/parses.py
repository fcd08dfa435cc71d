"""Parses of sentences by spaCy, with names found on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from clinometer.errors import SettingsError
from clinometer.extras import require

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

LATER = ("ner", "lemmatizer")
"""Components that most sentences do not need; named entities are found on demand."""


def has_dep(tokens: Iterable[Token], *labels: str) -> bool:
    """Return whether one of the tokens has one of these dependency labels."""
    return any(token.dep_ in labels for token in tokens)


class Parsed:
    """A parsed sentence. Entities are found on first access."""

    def __init__(
        self, doc: Doc, find_names: Callable[[Doc], Doc] | None = None
    ) -> None:
        self.doc = doc
        self._find_names = find_names

    def entity(self, token: Token) -> str:
        """Return the entity label of a token (PERSON, ORG, …), or "" if it has none."""
        if self._find_names is not None:
            self.doc = self._find_names(self.doc)
            self._find_names = None
        label: str = self.doc[token.i].ent_type_
        return label


class SpacyParser:
    """An installed spaCy pipeline with the components in `needed`.

    `installs` is the command that installs this pipeline, unless spaCy has it for download.
    """

    def __init__(self, name: str, *, needed: Sequence[str], installs: str) -> None:
        require("parsing", "spacy")
        import spacy

        self.name = name
        try:
            self.nlp = spacy.load(name)
        except OSError as exc:
            command = installs or f"python -m spacy download {name}"
            raise SettingsError(
                f"parser {name!r}: no spaCy pipeline of this name is installed: {command}; "
                "or name another with --parser"
            ) from exc
        if not set(needed) <= set(self.nlp.pipe_names):
            raise SettingsError(
                f"parser {name!r}: expected a pipeline with {' and '.join(needed)}, "
                f"found {', '.join(self.nlp.pipe_names) or 'none'}"
            )
        self.version = str(self.nlp.meta.get("version", ""))
        self._ner = self.nlp.get_pipe("ner") if self.nlp.has_pipe("ner") else None
        self._disabled = [name for name in self.nlp.pipe_names if name in LATER]

    def parse(self, sentences: Iterable[str]) -> Iterator[Parsed]:
        """Parse sentences in order. Their vocabulary is then discarded, to bound memory."""
        with self.nlp.memory_zone():
            docs = self.nlp.pipe(sentences, batch_size=64, disable=self._disabled)
            for doc in docs:
                yield Parsed(doc, self._ner)
