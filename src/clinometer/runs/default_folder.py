"""The default folder of a run."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from clinometer.contexts import ContextSet
from clinometer.errors import RunError
from clinometer.models import ModelSource, ModelSpec
from clinometer.models.catalog.spec import asked_name, folder_name
from clinometer.runs.audit import asked_contexts
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import audit_identity
from clinometer.runs.settings import AuditSettings
from clinometer.storage.resumable import differences
from clinometer.topics import Topic


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
    asked = asked_contexts(topic, contexts, settings)
    reference = ModelSpec.parse(model).place is ModelSource.REFERENCE
    name = model if reference else asked_name(model, settings.load)
    drawn = [] if settings.max_contexts is None else [str(settings.max_contexts)]
    stem = "-".join(folder_name(part) for part in (name, topic.name, asked.name, *drawn))
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))

    def is_ours(path: Path) -> bool:
        folder = RunFolder(path)
        if not folder.exists():
            return True
        try:
            before = folder.read_record().identity
            now = audit_identity(name, topic, asked, settings.resumed(before))
            return not differences(before, now)
        except RunError:
            return False  # damaged, or of another version: not ours to overwrite

    return next(path for path in (base / one for one in names) if is_ours(path))
