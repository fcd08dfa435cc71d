"""Pages of the repository that stand outside docs/, as pages of the site, and links to them.

Links are written as GitHub wants them (`../ARCHITECTURE.md`); here they lead to the page of the
site. A link to any other file of the repository becomes its name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
#: File of the repository -> name of its page.
PAGES = {
    "ARCHITECTURE.md": "architecture",
    "CHANGELOG.md": "changes",
    "CODE_OF_CONDUCT.md": "conduct",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    "benchmarks/README.md": "benchmarks",
    "pocket/README.md": "pocket",
}
_LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!https?:|mailto:|#|/)(?P<path>[^)#\s]+)(?P<anchor>#[^)]*)?\)"
)


def relinked(text: str, folder: str) -> str:
    """The text with the links of a file in that folder of the repository as links of the site.

    >>> relinked("[map](../ARCHITECTURE.md), [words](glossary.md#x), [a](../LICENSE)", "docs")
    '[map](/generated/project/architecture.md), [words](/glossary.md#x), `LICENSE`'
    """

    def site(match: re.Match[str]) -> str:
        path = os.path.normpath(os.path.join(folder, match["path"]))  # noqa: PTH118
        anchor = match["anchor"] or ""
        if path in PAGES:
            return f"[{match['text']}](/generated/project/{PAGES[path]}.md{anchor})"
        if path.startswith("docs/") and (ROOT / path).exists():
            return f"{match['image']}[{match['text']}](/{path.removeprefix('docs/')}{anchor})"
        return f"`{path}`"

    return _LINK.sub(site, text)


def write_pages(folder: Path) -> None:
    """Write the pages into the folder; a page that is right is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, name in PAGES.items():
        page = folder / f"{name}.md"
        text = relinked((ROOT / file).read_text("utf-8"), str(Path(file).parent))
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    if not name.startswith("generated/"):
        source[0] = relinked(source[0], str(Path("docs") / Path(name).parent))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
