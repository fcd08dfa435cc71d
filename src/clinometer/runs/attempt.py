"""What an earlier try of an audit left in its folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clinometer.errors import RunError
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import ProtocolRecord, RunRecord, added
from clinometer.runs.placebo import FOLDER as PLACEBO
from clinometer.runs.protocol import ProtocolFile
from clinometer.storage.reply_log import ReplyLog


@dataclass(frozen=True, eq=False)
class Attempt:
    """An earlier try of an audit, read in one go, under the lock of its folder."""

    stored: RunRecord | None = None
    """The record in the folder, also where a fresh audit removes it; None without one."""

    record: RunRecord | None = None
    """The record that the audit goes on with; None where it begins."""

    edits_usage: dict[str, int] = field(default_factory=dict)
    """What the edited questions have used."""

    @classmethod
    def read(cls, folder: RunFolder | None, *, fresh: bool) -> Attempt:
        """Read a folder. A record that cannot be read does not keep `fresh` from starting over."""
        if folder is None:
            return cls()
        stored = _stored_record(folder, fresh=fresh)
        if stored is None or fresh:
            return cls(stored)
        edits_usage = _usage_of_edits(folder)
        if not edits_usage:
            _count_replies(stored, folder.replies)
        return cls(stored, stored, edits_usage)

    @property
    def identity(self) -> dict[str, Any] | None:
        """What the audit was begun with."""
        return None if self.record is None else self.record.identity

    @property
    def plan(self) -> ProtocolRecord | None:
        """The protocol that it was begun with, which a later one cannot replace."""
        return None if self.record is None else self.record.protocol

    @property
    def usage(self) -> dict[str, int]:
        """What it has used in all."""
        if self.record is None:
            return {}
        return added(self.record.usage, self.edits_usage)

    def is_unplanned_by(self, plan: ProtocolFile) -> bool:
        """Whether it was begun before this plan was given: the plan is late."""
        if self.stored is None:
            return False
        earlier_plan = self.stored.protocol
        return earlier_plan is None or earlier_plan.sha256 != plan.sha256


def _stored_record(folder: RunFolder, *, fresh: bool) -> RunRecord | None:
    try:
        return folder.read_record() if folder.exists() else None
    except RunError:
        if fresh:
            return None
        raise


def _usage_of_edits(folder: RunFolder) -> dict[str, int]:
    edits = RunFolder(folder.path / PLACEBO)
    return edits.read_record().usage if edits.exists() else {}


def _count_replies(record: RunRecord, replies: Path) -> None:
    """Add to a record what its replies say was used; a kill may have come before it was written."""
    logged = ReplyLog(replies).used
    record.usage = {
        name: max(record.usage.get(name, 0), logged.get(name, 0))
        for name in {**logged, **record.usage}
    }
