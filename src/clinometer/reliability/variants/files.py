"""Context-added versions from files: jsonl with lists, or a table with one version per row."""

from __future__ import annotations

from pathlib import Path

from clinometer.errors import TableError
from clinometer.reliability.benchmarks.files import need_columns, read_rows
from clinometer.reliability.statement import VariantSet
from clinometer.storage.untrusted import read_json

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
    """What wrote the versions, if `clinometer reliability variants` did: its record lies beside."""
    try:
        settings = read_json(file.with_suffix(".json"))["settings"]
        return maker(settings["model"], settings["filler"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
