"""The texts of a source, one by one, in whatever format it is."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from clinometer.contexts.mining.corpora.damage import NO_TEXT, NOT_UNICODE
from clinometer.contexts.mining.corpora.dump import dump_articles, plain_text
from clinometer.contexts.mining.corpora.lines import (
    blocks_of_lines,
    json_of_lines,
    read_lines,
)
from clinometer.contexts.mining.corpora.parquet import parquet_rows
from clinometer.contexts.mining.corpora.sources import Source
from clinometer.contexts.mining.corpora.streams import open_source
from clinometer.errors import ContextError


def articles(
    source: Source,
    *,
    field: str,
    damage: Counter[str],
    numbers: Iterable[int] | None = None,
) -> Iterator[str]:
    """Return the texts of a source, one by one; `damage` counts what is skipped.

    With `numbers`, which count from 1 and increase, only the articles with these numbers.
    """
    texts = raw_articles(source, field=field, damage=damage)
    if numbers is not None:
        texts = _numbered(texts, numbers)
    return map(plain_text, texts) if source.kind == ".xml" else texts


def _numbered(texts: Iterator[str], numbers: Iterable[int]) -> Iterator[str]:
    position = 0
    for number in numbers:
        yield from itertools.islice(texts, number - position - 1, number - position)
        position = number


def raw_articles(source: Source, *, field: str, damage: Counter[str]) -> Iterator[str]:
    """Yield the texts of a source; those of a dump with their markup.

    To take it out takes most of the time.
    """
    name = source.name
    if source.kind == ".parquet":
        rows = parquet_rows(Path(source.place), field)
        yield from _texts(rows, field, name=name, damage=damage)
        return
    with open_source(source) as stream:
        if source.kind == ".xml":
            yield from dump_articles(stream, name=name, damage=damage)
            return
        lines = read_lines(stream, name=name, damage=damage)
        if source.kind == ".jsonl":
            values = json_of_lines(lines, damage)
            yield from _texts(values, field, name=name, damage=damage)
        else:
            yield from blocks_of_lines(lines)


def _texts(
    rows: Iterable[Any], field: str, *, name: str, damage: Counter[str]
) -> Iterator[str]:
    """Yield the text of each article: a field of an object, or a plain string."""
    has_article = False
    other_fields: list[str] = []
    for row in rows:
        text = row.get(field) if isinstance(row, dict) else row
        if not isinstance(text, str):
            damage[NO_TEXT] += 1
            if not other_fields and isinstance(row, dict):
                other_fields = [str(key) for key in row]
        elif not _is_unicode(text):
            damage[NOT_UNICODE] += 1
        else:
            has_article = True
            yield text
    if not has_article and damage[NO_TEXT]:
        raise ContextError(
            f"{name}: no article has text in the field {field!r}, found "
            f"{', '.join(other_fields[:8]) or 'no fields'}; name the right one with --field"
        )


def _is_unicode(text: str) -> bool:
    """Return whether a text is whole; JSON may escape half of a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
