"""Shared by all fillers: how many words a blank takes, and which words cannot end a phrase."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from numpy.random import Generator

from clinometer.errors import TableError
from clinometer.models import ModelInfo
from clinometer.reliability.benchmarks import need_columns, read_rows
from clinometer.reliability.statement import Blanks, VariantSet
from clinometer.storage.untrusted import read_json

# --- Shared by all fillers: how many words a blank takes, and which words cannot end a phrase ----


Fills = tuple[str, ...]

#: Articles, prepositions, conjunctions, auxiliaries, pronouns: a phrase that ends with one of them
#: is incomplete, and versions that differ only in them say the same.
FUNCTION_WORDS = frozenset(
    """a an the this that these those my your his her its our their and or but nor so yet if because
    as than of in on at by for with from to into onto over under about after before between through
    during without within against is are was were be been being am do does did has have had having
    will would can could shall should may might must not no i you he she it we they me him us them
    who whom whose which what when where why how there here very too also just""".split()  # noqa: SIM905
)


class Filler(Protocol):
    """Fills blanks by sampling; fills do not repeat the words next to the blank."""

    info: ModelInfo

    def fill(self, blanks: Blanks, *, n: int, temperature: float, seed: int) -> list[Fills]:
        """n samples of a text per blank; they may repeat and are not checked."""


def is_modifier(blanks: Blanks, number: int) -> bool:
    """Whether a word follows the blank ("the ___ office"), so that one or two words fit; a blank
    before punctuation or the end takes a phrase."""
    rest = blanks.parts[number + 1].lstrip()
    return bool(rest) and rest[0].isalnum()


def sample_length(blanks: Blanks, number: int, chance: Generator) -> int:
    """Words for a blank: mostly one before a noun, two to four after a clause."""
    if is_modifier(blanks, number):
        return int(chance.choice([1, 2], p=[0.8, 0.2]))
    return int(chance.choice([2, 3, 4]))


def neighbours(parts: Sequence[str], number: int) -> frozenset[str]:
    """The words on both sides of a blank, which a fill must not repeat ("the the").

    >>> sorted(neighbours(["The ", " nurse is"], 0))
    ['nurse', 'the']
    """
    sides = parts[number].split()[-1:] + parts[number + 1].split()[:1]
    return frozenset("".join(c for c in w if c.isalnum()).casefold() for w in sides)


# --- Context-added versions from files: jsonl with lists, or a table with one version per row ----


#: The built-in phrases, and the model that chooses among them.
PHRASES, CHOOSER = "phrases", "pocket:gpt2-l"
DEFAULT_FILLER = PHRASES


def maker(model: str | None, filler: str | None) -> str:
    """A writing model and a filler in words.

    >>> maker(None, None), maker("smollm2", "pocket:bert")
    ('filler phrases', 'smollm2, filler pocket:bert')
    """
    if model is None:
        return f"filler {filler or DEFAULT_FILLER}"
    return model if filler is None else f"{model}, filler {filler}"


def read_variants(path: str | Path) -> VariantSet:
    """Versions by statement id.

    jsonl: {"id": …, "variants": [ … ]}. csv, tsv, parquet: columns id and version, one row each.
    White space around a version is stripped: generators leave newlines.
    """
    file = Path(path).expanduser()
    rows = read_rows(file)
    need_columns(file, rows, ("id",))
    column = next((c for c in ("variants", "version", "variant", "text") if c in rows[0]), None)
    if column is None:
        raise TableError(
            f"{file}: expected a column 'version' or 'variants', found {', '.join(rows[0])}"
        )
    found: dict[str, list[str]] = {}
    for number, row in enumerate(rows, start=1):
        value = row.get(column)
        many = value if isinstance(value, list) else [value]
        if not all(v is None or isinstance(v, str) for v in many):
            raise TableError(f"{file}: row {number}: expected text in {column!r}, found {value!r}")
        here = found.setdefault(str(row["id"]), [])
        here += ["" if v is None else v.strip() for v in many]
    return VariantSet({key: tuple(values) for key, values in found.items()}, _made_by(file))


def _made_by(file: Path) -> str:
    """What wrote the versions, by the record that `reliability audit` leaves with them."""
    try:
        settings = read_json(file.with_suffix(".json"))["settings"]
        return maker(settings["model"], settings["filler"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
