"""The work folder beside the output: what a killed run left, and what its next start continues.

contexts.csv.mining/
  settings.json             what is mined; a folder of another mining is refused
  sources/00000.jsonl       candidate sentences of a source, an article a line
  sources/00000.json        counts of that source; there when it was read to its end
  parts/000000.json         the tally of a piece, written whole or not at all
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clinometer.contexts.mining.decision import Decision
from clinometer.contexts.mining.tally import Tally
from clinometer.errors import ContextError
from clinometer.storage.atomic import replacing


class WorkFolder:
    """Reads and writes the folder; knows nothing of what is mined."""

    def __init__(self, out: Path) -> None:
        self.path = out.with_name(out.name + ".mining")

    def begin(self, settings: dict[str, Any], *, fresh: bool) -> None:
        """Make the folder, or check that it belongs to the same mining."""
        if fresh:
            self.remove()
        about = self.path / "settings.json"
        text = json.dumps(settings, sort_keys=True, ensure_ascii=False)
        if about.exists():
            if about.read_text(encoding="utf-8") != text:
                raise ContextError(
                    f"{self.path}: left by a mining with other settings or another corpus; "
                    "give the same command again to continue it, or --fresh to drop it"
                )
            return
        for folder in ("sources", "parts"):
            (self.path / folder).mkdir(parents=True, exist_ok=True)
        _write(about, text)

    def remove(self) -> None:
        """Remove the folder with all it holds."""
        shutil.rmtree(self.path, ignore_errors=True)

    # --- sources ------------------------------------------------------------------------------

    def spool(self, source: int) -> Path:
        """Where the candidate sentences of a source are."""
        return self.path / "sources" / f"{source:05}.jsonl"

    def read_counts(self, source: int) -> dict[str, Any] | None:
        """The counts of a source, or None when it was not read to its end."""
        return _read(self.spool(source).with_suffix(".json"))

    def write_counts(self, source: int, counts: dict[str, Any]) -> None:
        """Say that a source was read to its end."""
        _write(self.spool(source).with_suffix(".json"), json.dumps(counts))

    # --- pieces -------------------------------------------------------------------------------

    def has_part(self, number: int) -> bool:
        """Whether a piece was done."""
        return self._part(number).exists()

    def write_part(self, number: int, tally: Tally, decisions: list[Decision]) -> None:
        """Write the tally of a piece, and what it decided where that is wanted."""
        if decisions:
            rows = (
                json.dumps(
                    {
                        "sentence": d.sentence,
                        "template": d.template,
                        "dropped": d.rule or None,
                        "parse": d.evidence,
                    },
                    ensure_ascii=False,
                )
                for d in decisions
            )
            _write(self._part(number).with_suffix(".explain"), "".join(r + "\n" for r in rows))
        _write(self._part(number), json.dumps(tally.to_dict(), ensure_ascii=False))

    def tallies(self, pieces: int) -> Iterator[Tally]:
        """The tallies of all pieces, in order."""
        for number in range(pieces):
            yield Tally.from_dict(_read(self._part(number)) or {"templates": {}, "rules": {}})

    def explained(self, pieces: int) -> Iterator[str]:
        """The lines of --explain, in order."""
        for number in range(pieces):
            path = self._part(number).with_suffix(".explain")
            if path.exists():
                with path.open(encoding="utf-8") as file:
                    yield from file

    def _part(self, number: int) -> Path:
        return self.path / "parts" / f"{number:06}.json"


def _write(path: Path, text: str) -> None:
    with replacing(path, error=ContextError) as beside:
        beside.write_text(text, encoding="utf-8")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as exc:
        raise ContextError(f"{path}: damaged; start over with --fresh") from exc
    return data
