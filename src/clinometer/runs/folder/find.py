"""Where runs are: the folders below a folder, and the default folder of a new run."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

from clinometer.contexts import ContextSet
from clinometer.errors import RunError
from clinometer.models import ModelSource, ModelSpec
from clinometer.models.catalog.spec import asked_name, folder_name
from clinometer.runs.audit import select_contexts
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import audit_identity
from clinometer.runs.settings import AuditSettings
from clinometer.storage.resumable import differences
from clinometer.topics import Topic

#: Folders below the root that are looked through.
_DEPTH = 6


def run_folders(root: Path) -> list[Path]:
    """Folders with a run.json, the root itself among them, by name.

    Links are not followed and runs are not looked into; a folder that may not be read, or whose
    name is not text, is passed over.
    """
    runs, waiting = [], [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            inside = [e for e in os.scandir(folder) if _is_text(e.name)]
        except OSError:
            continue
        if any(e.name == "run.json" and e.is_file(follow_symlinks=False) for e in inside):
            runs.append(folder)
            if folder != root:
                continue
        if depth < _DEPTH:
            waiting += [
                (Path(e.path), depth + 1)
                for e in inside
                if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")
            ]
    return sorted(runs)


def _is_text(name: str) -> bool:
    """Whether a file name can stand in an address: one that is not UTF-8 cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def default_folder(
    base: Path,
    model: str,
    topic: Topic,
    contexts: str | ContextSet | None,
    settings: AuditSettings,
) -> Path:
    """`base`/MODEL-TOPIC-CONTEXTS, with the number of contexts if they are sampled.

    The same audit gets the same folder again, and so resumes. If it contains another run (other
    groups, another weight precision), -2, -3 … follow: no run overwrites another.
    """
    settings = settings.asking(topic)
    chosen = select_contexts(topic, contexts, settings)
    reference = ModelSpec.parse(model).place is ModelSource.REFERENCE
    name = model if reference else asked_name(model, settings.load)
    sampled = [] if settings.max_contexts is None else [str(settings.max_contexts)]
    stem = "-".join(folder_name(part) for part in (name, topic.name, chosen.name, *sampled))
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))

    def is_free(path: Path) -> bool:
        """Whether the folder is empty, or holds this audit."""
        folder = RunFolder(path)
        if not folder.exists():
            return True
        try:
            before = folder.read_record().identity
            now = audit_identity(name, topic, chosen, settings.resumed(before))
            return not differences(before, now)
        except RunError:
            return False  # damaged, or of another version: not ours to overwrite

    return next(base / folder for folder in names if is_free(base / folder))
