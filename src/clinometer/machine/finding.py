"""One component: what was found, what it enables, how to get it."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Finding:
    """A thing the program can use, present or not.

    found      what was found and where; None when it is missing
    enables    what works with it, and only with it
    command    the command that installs it; None if there is none
    """

    name: str
    found: str | None
    enables: str
    command: str | None = None

    def __bool__(self) -> bool:
        return self.found is not None

    def to_dict(self) -> dict[str, str | None]:
        return asdict(self)

    @property
    def line(self) -> str:
        """What is missing, what that costs, and the command that installs it.

        >>> Finding("browser", None, "the browser tests", "apt-get install chromium").line
        'browser: not found; needed for the browser tests: apt-get install chromium'
        """
        if self.found is not None:
            return f"{self.name}: {self.found}"
        return f"{self.name}: not found; needed for {self.enables}" + (
            f": {self.command}" if self.command else ""
        )
