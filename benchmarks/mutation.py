"""A mutation: one wrong edit of the source, and the tests that should notice it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Mutation:
    """`old` becomes `new` in a file; `tests` (and the expression of -k) should notice."""

    guard: str
    """What is removed or made wrong; --guard chooses by it."""

    file: str
    """The file of the source, below `clinometer`."""

    old: str
    """A text that stands in it exactly once."""

    new: str
    """What it becomes."""

    tests: str
    """The files or folders of tests that should notice, with spaces between."""

    only: str = ""
    """The expression of -k that chooses among them; "" for all."""

    def __str__(self) -> str:
        return f"{self.guard}: {self.file}: {self.old!r} -> {self.new!r}"

    def source(self, package: Path) -> str:
        """Return the sound text of the file in a copy of the package."""
        return (package / self.file).read_text(encoding="utf-8")

    def stale(self) -> str:
        """Return why the mutation cannot be made any more; "" if it can."""
        package = ROOT / "src" / "clinometer"
        if not (package / self.file).is_file():
            return f"{self}: expected the file, found none"
        number = self.source(package).count(self.old)
        if number != 1:
            return f"{self}: expected the text once, found it {number} times"
        for path in self.tests.split():
            if not (ROOT / path).exists():
                return f"{self}: expected {path}, found none"
        return ""
