"""Context-added versions from files: jsonl with lists, or a table with one version per row."""

from __future__ import annotations

from pathlib import Path

from clinometer.errors import TableError
from clinometer.reliability.benchmarks.files import need_columns, read_rows
from clinometer.reliability.statement import VariantSet


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
    return VariantSet({key: tuple(values) for key, values in found.items()})
