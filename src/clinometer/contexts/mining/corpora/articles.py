"""Articles by format. Damaged ones are counted and skipped; a file without any is an error."""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, Any

from clinometer.contexts.mining.corpora.unpack import LONGEST_LINE, read
from clinometer.errors import ContextError

#: A .txt file is split at line ends into articles of at least this many characters.
BLOCK = 10_000
_PIECE = 1 << 16

NOT_JSON = "not valid JSON"
NO_TEXT = "field missing or not text"
NOT_UNICODE = "text with half a surrogate pair"


def blocks(found: Iterable[str]) -> Iterator[str]:
    """Lines of plain text, joined into articles of at least BLOCK characters."""
    gathered: list[str] = []
    size = 0
    for line in found:
        gathered.append(line)
        size += len(line)
        if (size >= BLOCK and not line.strip()) or size >= 8 * BLOCK:
            yield "\n".join(gathered)
            gathered, size = [], 0
    if size:
        yield "\n".join(gathered)


def json_lines(found: Iterable[str], damage: Counter[str]) -> Iterator[Any]:
    """The value on each line."""
    for line in found:
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                damage[NOT_JSON] += 1


def json_values(stream: IO[bytes], *, name: str) -> Iterator[Any]:
    """The elements of a JSON array, or a sequence of JSON values, read one at a time.

    Unlike a damaged line, a damaged value hides where the next one begins: it is an error.
    """
    decoder, utf8 = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8-sig")("replace")
    text, begun, ended, number = "", False, False, 0
    while True:
        text = text.lstrip(" \t\r\n,]")
        if text and not begun:
            text, begun = text.removeprefix("["), True
        elif text:
            try:
                value, end = decoder.raw_decode(text)
            except RecursionError:
                raise ContextError(f"{name}: expected articles, found deeply nested JSON") from None
            except ValueError as exc:
                if ended or len(text) > LONGEST_LINE:
                    raise ContextError(
                        f"{name}: expected valid JSON, found damage after {number} articles; "
                        "download it again"
                    ) from exc
            else:
                text, number = text[end:], number + 1
                yield value
                continue
        elif ended:
            return
        piece = read(stream.read, max(_PIECE, len(text)), name=name)
        ended = not piece
        text += utf8.decode(piece, final=ended)


def texts(found: Iterable[Any], field: str, *, name: str, damage: Counter[str]) -> Iterator[str]:
    """The text of each article: a field of an object, or a plain string."""
    articles = 0
    fields: list[str] = []
    for article in found:
        text = article.get(field) if isinstance(article, dict) else article
        if not isinstance(text, str):
            fields = fields or (list(map(str, article)) if isinstance(article, dict) else [])
            damage[NO_TEXT] += 1
        elif not _unicode(text):
            damage[NOT_UNICODE] += 1
        else:
            articles += 1
            yield text
    if not articles and damage[NO_TEXT]:
        raise _no_field(name, field, fields)


def _unicode(text: str) -> bool:
    """Whether the text can be written: JSON may escape half of a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _no_field(name: str, field: str, fields: list[str]) -> ContextError:
    return ContextError(
        f"{name}: no article has text in the field {field!r}, found "
        f"{', '.join(fields[:8]) or 'no fields'}; name the right one with --field"
    )
