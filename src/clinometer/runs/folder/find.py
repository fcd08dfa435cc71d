"""Where runs are: the folders below a folder, and the default folder of a new run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from clinometer.errors import RunError
from clinometer.models import ModelSource, ModelSpec
from clinometer.models.catalog.spec import asked_name
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import audit_identity
from clinometer.runs.placebo import FOLDER as PLACEBO
from clinometer.runs.settings import AuditSettings, Contexts, find_contexts, resolve
from clinometer.storage.resumable import differences
from clinometer.storage.untrusted import folder_name
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
            inside = [e for e in inside if e.name != PLACEBO]
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
    contexts: Contexts,
    settings: AuditSettings | None = None,
    *,
    planned: Mapping[str, Any] | None = None,
    **options: Any,
) -> Path:
    """`base`/MODEL-TOPIC-CONTEXTS, with the number of contexts if they are sampled.

    The same audit gets the same folder again, and so resumes. If it contains another run (other
    groups, another weight precision), -2, -3 … follow: no run overwrites another. Settings are
    given as to `resolve`.
    """
    source = find_contexts(topic, contexts)
    resolved = partial(
        resolve, options, topic, source, settings=settings, model=model, planned=planned
    )
    audit = resolved()
    reference = ModelSpec.parse(model).place is ModelSource.REFERENCE
    name = model if reference else asked_name(model, audit.settings.load)
    limit = audit.settings.max_contexts
    size = [] if limit is None else [str(limit)]
    stem = "-".join(folder_name(part) for part in (name, topic.name, audit.contexts.name, *size))
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))

    def is_free(path: Path) -> bool:
        """Whether the folder is empty, or holds this audit."""
        folder = RunFolder(path)
        if not folder.exists():
            return True
        try:
            before = folder.read_record().identity
            return not differences(before, audit_identity(name, resolved(earlier=before)))
        except RunError:
            return False  # damaged, or of another version: not ours to overwrite

    return next(base / folder for folder in names if is_free(base / folder))
