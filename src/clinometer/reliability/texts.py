"""The texts of a run: every statement and each of its versions, and why some are left out."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from clinometer.errors import TableError
from clinometer.models.whole_texts import MarkedText
from clinometer.reliability.settings import ReliabilitySettings
from clinometer.reliability.statement import Statement, Versions, count_words
from clinometer.storage.parquet_parts import digest_of

ORIGINAL = -1
"""The number of the statement itself among its versions."""

EMPTY = "empty"
"""Left out: a text without words."""

CHANGED = "target_changed"
"""Left out: a version without the target term."""


@dataclass(frozen=True, eq=False)
class TextsToScore:
    """All texts of a run, statement by statement."""

    statements: tuple[Statement, ...]

    table: pd.DataFrame
    """A row for each text: `statement`, the statement that it belongs to, by number; `version`, its
    number among the versions (-1: the statement itself); `text`; `targets`, the spans of its target
    terms; `words`, its context words; `left_out`, why it is not scored or not counted, "" if it is;
    and `identical`, whether it is a version that equals the statement."""

    @classmethod
    def of(
        cls,
        statements: Sequence[Statement],
        versions: Versions,
        settings: ReliabilitySettings,
    ) -> TextsToScore:
        """Return the texts of a set of statements; refuse sets in which an id occurs twice."""
        if not statements:
            raise TableError("statements: expected at least one, found none")
        ids = Counter(statement.id for statement in statements)
        statement_id, times = ids.most_common(1)[0]
        if times > 1:
            raise TableError(
                f"statements: expected every id once, found {statement_id!r} {times} times"
            )
        all_words_count = settings.text_options.targets == "scored"
        rows = []
        for i, statement in enumerate(statements):
            of_statement = versions.get(statement.id, ())[: settings.versions]
            for number, text in enumerate([statement.text, *of_statement], ORIGINAL):
                row = _row(statement, text, all_words_count=all_words_count)
                identical = number != ORIGINAL and text == statement.text
                place = {"statement": i, "version": number, "identical": identical}
                rows.append(place | row)
        return cls(tuple(statements), pd.DataFrame(rows))

    @cached_property
    def originals(self) -> pd.DataFrame:
        """The texts that are the statements themselves, in their order."""
        return self.table[self.table["version"] == ORIGINAL]

    @cached_property
    def versions(self) -> pd.DataFrame:
        """The texts that are versions."""
        return self.table[self.table["version"] != ORIGINAL]

    @property
    def counted(self) -> pd.DataFrame:
        """The versions that count."""
        return self.versions[self.versions["left_out"] == ""]

    @property
    def marked(self) -> list[MarkedText]:
        """The texts as models are asked about them."""
        pairs = zip(self.table["text"], self.table["targets"], strict=True)
        return [MarkedText(text, targets) for text, targets in pairs]

    def counts(self) -> dict[str, int]:
        """Return counts of all texts and of every irregularity."""
        counts = Counter[str]()
        for statement in self.statements:
            blanks = statement.blanks
            counts["without_target"] += not statement.targets
            counts["target_not_in_sentence"] += not statement.has_its_targets
            counts["empty"] += not statement.text.strip()
            counts["without_points"] += blanks is None
            counts["without_blanks"] += blanks is not None and not len(blanks)
        n = len(self.statements)
        of_statements = {
            "statements": n,
            "statements_without_versions": n - self.versions["statement"].nunique(),
        }
        for name, count in counts.items():
            of_statements[f"statements_{name}"] = count
        versions = self.versions
        reasons = Counter(versions["left_out"])
        repeated = versions.duplicated(["statement", "text", "targets"])
        return of_statements | {
            "versions": len(versions),
            "versions_empty": reasons[EMPTY],
            "versions_target_changed": reasons[CHANGED],
            "versions_identical_to_statement": int(versions["identical"].sum()),
            "versions_repeated": int(repeated.sum()),
        }

    @cached_property
    def keys(self) -> list[str]:
        """What the score of each text is known by."""
        contents = [json.dumps([text.text, text.targets]) for text in self.marked]
        return [digest_of(content.encode()) for content in contents]

    def digest(self) -> str:
        """Return what a run's scores depend on besides model and options: its texts in order."""
        texts = self.table[["text", "targets", "left_out"]].to_numpy().tolist()
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _row(statement: Statement, text: str, *, all_words_count: bool) -> dict[str, Any]:
    """Return the columns of a text that do not depend on its place.

    A term missing from the statement is not a target of its versions either: all their words
    are context, like all words of the statement.
    """
    has_targets = bool(statement.targets) and statement.has_its_targets
    spans = statement.target_spans(text) if has_targets else ()
    left_out = ""
    if not text.strip():
        left_out = EMPTY
    elif has_targets and not spans:
        left_out = CHANGED
    if all_words_count:
        spans = ()  # texts that differ in nothing else are the same
    return {
        "text": text,
        "targets": spans,
        "words": count_words(text, spans),
        "left_out": left_out,
    }
