"""The texts to score: every statement and version once, with what is unusual about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import TableError
from clinometer.models.texts.types import MarkedText
from clinometer.reliability.scoring.settings import ReliabilitySettings
from clinometer.reliability.statement import Statement, VariantSet, count_words

#: The index of the statement itself among its versions.
ORIGINAL = -1

EMPTY, CHANGED, REPEATED = "empty", "target_changed", "repeated"


@dataclass(frozen=True)
class AskedText:
    """One text: the statement (version -1) or a version of it.

    left_out says why it is not scored or not counted, "" if it is; `identical` marks a version that
    equals the statement.
    """

    statement: int
    version: int
    marked: MarkedText
    words: int
    left_out: str = ""
    identical: bool = False

    @property
    def is_asked(self) -> bool:
        return not self.left_out


@dataclass(frozen=True)
class TextsToScore:
    """All texts of a run, statement by statement, and what is unusual about the statements."""

    statements: tuple[Statement, ...]
    texts: tuple[AskedText, ...]
    target_missing: NDArray[np.bool_]

    @property
    def n_versions(self) -> int:
        """The largest number of versions of a statement."""
        return 1 + max((t.version for t in self.texts), default=ORIGINAL)

    def counts(self) -> dict[str, int]:
        """Counts of all texts and of every irregularity."""
        versions = [t for t in self.texts if t.version != ORIGINAL]
        why = Counter(t.left_out for t in versions)
        with_versions = {t.statement for t in versions}
        return {
            "statements": len(self.statements),
            "statements_without_versions": len(self.statements) - len(with_versions),
            "statements_without_target": sum(not s.targets for s in self.statements),
            "statements_target_not_in_sentence": int(self.target_missing.sum()),
            "statements_empty": sum(not s.text.strip() for s in self.statements),
            "statements_without_points": sum(s.points is None for s in self.statements),
            "statements_without_blanks": sum(
                s.blanks is not None and not len(s.blanks) for s in self.statements
            ),
            "versions": len(versions),
            "versions_empty": why[EMPTY],
            "versions_target_changed": why[CHANGED],
            "versions_repeated_and_left_out": why[REPEATED],
            "versions_identical_to_statement": sum(t.identical for t in versions),
            "versions_repeated": len(versions) - len({(t.statement, t.marked) for t in versions}),
        }


def ask(
    statements: Sequence[Statement], variants: VariantSet, settings: ReliabilitySettings
) -> TextsToScore:
    """Collect the texts; refuses sets in which an id occurs twice."""
    twice = [i for i, n in Counter(s.id for s in statements).items() if n > 1]
    if twice:
        raise TableError(f"statements: expected every id once, found {twice[0]!r} several times")
    if not statements:
        raise TableError("statements: expected at least one, found none")
    texts: list[AskedText] = []
    missing = np.zeros(len(statements), dtype=np.bool_)
    for i, statement in enumerate(statements):
        missing[i] = not statement.has_its_targets
        texts.append(_text(statement, i, ORIGINAL, statement.text, settings))
        seen: set[str] = set()
        for v, version in enumerate(variants.of(statement)[: settings.versions]):
            asked = _text(statement, i, v, version, settings)
            if settings.duplicates == "once" and version in seen and asked.is_asked:
                asked = replace(asked, left_out=REPEATED)
            seen.add(version)
            texts.append(asked)
    return TextsToScore(tuple(statements), tuple(texts), missing)


def _text(
    statement: Statement, index: int, version: int, text: str, settings: ReliabilitySettings
) -> AskedText:
    """A term missing from the statement is not a target of its versions either: all their words
    are context, like all words of the statement."""
    has_targets = bool(statement.targets) and statement.has_its_targets
    spans = statement.target_spans(text) if has_targets else ()
    left_out = ""
    if not text.strip():
        left_out = EMPTY
    elif has_targets and not spans and not settings.keep_changed:
        left_out = CHANGED
    if settings.text_options.targets == "scored":
        spans = ()  # every word counts, and texts that differ in nothing else are the same
    return AskedText(
        statement=index,
        version=version,
        marked=MarkedText(text, spans),
        words=count_words(text, spans),
        left_out=left_out,
        identical=version != ORIGINAL and text == statement.text,
    )
