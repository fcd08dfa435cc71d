"""Guidelines as a page shows them: Markdown in, inert HTML out."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from markdown_it import MarkdownIt

from clinometer.errors import InputError

#: Maximum length: annotators do not read longer texts while they work.
_LONGEST = 200_000


def read_guidelines(mode: str, path: Path | None = None) -> str:
    """The Markdown of a file, or our own for a mode."""
    if path is None:
        own = resources.files("clinometer.web.annotation") / "texts" / f"{mode}.md"
        return own.read_text(encoding="utf-8")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected a text file, cannot be read: {error}") from error
    if len(text) > _LONGEST:
        raise InputError(f"{path}: expected at most {_LONGEST:,} characters, found {len(text):,}")
    return text


def to_html(markdown: str) -> str:
    """Markdown as HTML: tags in it are shown as text, there are no pictures, no script links.

    >>> to_html("**a** <script>1</script>")
    '<p><strong>a</strong> &lt;script&gt;1&lt;/script&gt;</p>\\n'
    """
    reader = MarkdownIt("commonmark", {"html": False}).disable("image")
    return str(reader.render(markdown))
