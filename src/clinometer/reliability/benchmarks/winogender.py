"""Winogender schemas (Rudinger et al. 2018): all_sentences.tsv.

240 sentences, each with a male, a female and a neutral pronoun; the pronoun is the target term. The
male and the female sentence are each other's pair; COBIAS scores the neutral ones.
"""

from __future__ import annotations

from pathlib import Path

from clinometer.reliability.benchmarks.files import need_columns, read_rows
from clinometer.reliability.pair_merge import Merged, merge
from clinometer.reliability.statement import Statement

_GENDERS = ("male", "female", "neutral")
_PAIR = {"male": "female", "female": "male", "neutral": "male"}


def read_winogender(path: Path) -> list[Statement]:
    """Every sentence: 240 schemas with three pronouns each."""
    found = []
    for key, sentences in _triples(path).items():
        merged = merge(*(sentences[g] for g in _GENDERS if g in sentences))
        for i, gender in enumerate(g for g in _GENDERS if g in sentences):
            found.append(
                Statement(
                    id=f"wg_{key}.{gender}",
                    text=sentences[gender],
                    targets=_pronoun(merged, i),
                    category="gender",
                    source="winogender",
                    other=sentences.get(_PAIR[gender]),
                    direction=gender,
                )
            )
    return found


def _triples(path: Path) -> dict[str, dict[str, str]]:
    """Sentences by schema (technician.customer.1) and gender."""
    file = path / "all_sentences.tsv" if path.is_dir() else path
    rows = read_rows(file)
    need_columns(file, rows, ("sentid", "sentence"))
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        key, _, gender = row["sentid"].removesuffix(".txt").rpartition(".")
        found.setdefault(key, {})[gender] = row["sentence"]
    return found


def _pronoun(merged: Merged, side: int) -> tuple[str, ...]:
    """The first differing word: "they" of "they were"."""
    return tuple(span[side].split()[0].strip(".,") for span in merged.spans[:1])
