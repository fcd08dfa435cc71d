"""The run folders below a folder."""

from __future__ import annotations

import os
from pathlib import Path

#: Folders below the root that are looked through.
_DEPTH = 6


def run_folders(root: Path) -> list[Path]:
    """Folders with a run.json, the root itself among them, by name.

    Links are not followed and runs are not looked into; a folder that may not be read, or whose
    name is not text, is passed over.
    """
    found, waiting = [], [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            inside = [e for e in os.scandir(folder) if _is_text(e.name)]
        except OSError:
            continue
        if any(e.name == "run.json" and e.is_file(follow_symlinks=False) for e in inside):
            found.append(folder)
            if folder != root:
                continue
        if depth < _DEPTH:
            waiting += [
                (Path(e.path), depth + 1)
                for e in inside
                if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")
            ]
    return sorted(found)


def _is_text(name: str) -> bool:
    """Whether a file name can stand in an address: one that is not UTF-8 cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
