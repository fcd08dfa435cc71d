"""A protocol: what an audit will score, measure and decide, fixed before the first answer."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from clinometer.contexts import ContextSet
from clinometer.errors import SettingsError, first_problem
from clinometer.runs.folder.record import ProtocolRecord
from clinometer.runs.settings import AuditSettings, ResolvedAudit, resolve
from clinometer.storage.atomic import replacing
from clinometer.topics import Topic, load_topic

#: Settings of an audit that a protocol fixes.
PLANNED = (
    "population",
    "level",
    "max_contexts",
    "precision",
    "seed",
    "norm",
    "normalize",
    "clusters",
)


class Protocol(BaseModel):
    """The content of a protocol file. Unknown keys are refused.

    topic_sha256, contexts_sha256   of the topic (with its choice of groups) and the whole set
    measures                        what will be read, in the order of importance
    fail_above, fail_on             thresholds, as `audit` takes them
    tests                           further planned comparisons, in words or as commands
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    created: str
    models: list[str]
    topic: str
    topic_sha256: str
    groups: str | None = None
    contexts: str | None = None
    contexts_sha256: str
    measures: list[str] = ["R", "R_bias", "R_volatility", "R_shared", "R_between"]
    population: str = "similar"
    level: float = 0.95
    max_contexts: int | None = None
    precision: float | None = None
    seed: int = 0
    norm: float = float("inf")
    normalize: bool = True
    clusters: str | None = None
    fail_above: list[str] = []
    fail_on: str = "low"
    tests: list[str] = []
    notes: str = ""

    @classmethod
    def new(
        cls,
        models: list[str],
        topic: tuple[str, Topic],
        contexts: tuple[str | None, ContextSet],
        settings: AuditSettings,
        **more: Any,
    ) -> Protocol:
        """A protocol with the current time; topic and contexts as typed and as read."""
        return cls(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            models=models,
            topic=topic[0],
            topic_sha256=topic[1].sha256,
            contexts=contexts[0],
            contexts_sha256=contexts[1].sha256,
            **{name: getattr(settings, name) for name in PLANNED},
            **more,
        )

    def write(self, path: Path) -> None:
        """Write it as TOML; refuses an existing file, since a plan is made once."""
        if path.exists():
            raise SettingsError(f"{path}: exists; a protocol is written once, choose another name")
        lines = ["# What is planned, before the first answer: clinometer audit --protocol FILE"]
        lines += [
            f"{name} = {_toml(value)}"
            for name, value in self.model_dump().items()
            if value is not None
        ]
        with replacing(path, error=SettingsError) as temporary:
            temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @property
    def settings(self) -> dict[str, Any]:
        """The planned settings of the audit, by name."""
        return {name: getattr(self, name) for name in PLANNED}

    def load_topic(self) -> Topic:
        """The planned topic, with the planned groups."""
        topic = load_topic(self.topic)
        if self.groups is None:
            return topic
        return topic.select([name.strip() for name in self.groups.split(",") if name.strip()])

    def deviations(self, model: str, audit: ResolvedAudit) -> list[str]:
        """How an audit deviates from the plan; [] if it does not."""
        lines = []
        if model not in self.models:
            lines.append(f"model {model} was not planned")
        if audit.topic.sha256 != self.topic_sha256:
            lines.append("another topic, or other groups, than planned")
        if audit.source.sha256 != self.contexts_sha256:
            lines.append("other contexts than planned")
        # What the plan alone comes to: for questions the audit may choose the clusters itself.
        planned = resolve(self.settings, audit.topic, audit.source).settings
        for name in PLANNED:
            before, now = getattr(planned, name), getattr(audit.settings, name)
            if before != now:
                lines.append(f"{name.replace('_', ' ')} {now}, planned {before}")
        return lines


@dataclass(frozen=True)
class ProtocolFile:
    """A protocol and the file that it was read from."""

    protocol: Protocol
    name: str
    sha256: str

    @classmethod
    def read(cls, path: str | Path) -> ProtocolFile:
        """Read a protocol; what is wrong with the file is one line."""
        path = Path(path)
        try:
            content = path.read_bytes()
            protocol = Protocol.model_validate(tomllib.loads(content.decode("utf-8")))
        except OSError as error:
            raise SettingsError(
                f"{path}: expected a protocol file, found {error.strerror}"
            ) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path}: expected TOML: {error}") from error
        except ValidationError as error:
            raise SettingsError(f"{path}: {first_problem(error)}") from error
        return cls(protocol, path.name, hashlib.sha256(content).hexdigest())

    def record(self, model: str, audit: ResolvedAudit, *, late: bool) -> ProtocolRecord:
        """The protocol for run.json. A plan given `late`, after the first answer, deviates."""
        plan = self.protocol
        deviations = plan.deviations(model, audit)
        if late:
            deviations.append("the protocol was given after the first answer")
        return ProtocolRecord(
            file=self.name,
            sha256=self.sha256,
            created=plan.created,
            measures=plan.measures,
            fail_above=plan.fail_above,
            fail_on=plan.fail_on,
            tests=plan.tests,
            deviations=deviations,
        )


def protocol_sentences(protocol: ProtocolRecord | None) -> list[str]:
    """What was planned and what was not; [] without a protocol."""
    if protocol is None:
        return ["No protocol was given: nothing here was fixed before the first answer."]
    limits = f"; limits {', '.join(protocol.fail_above)}" if protocol.fail_above else ""
    tests = f"; tests {', '.join(protocol.tests)}" if protocol.tests else ""
    planned = (
        f"Planned in {protocol.file} ({protocol.sha256[:12]}, {protocol.created}): "
        f"{', '.join(protocol.measures)}{limits}{tests}. All other results were not planned."
    )
    if not protocol.deviations:
        return [planned, "The audit went as planned."]
    return [planned, f"Not as planned: {'; '.join(protocol.deviations)}."]


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    # A JSON string is valid TOML except for DEL; TOML writes infinity as inf.
    return json.dumps(value).replace("\x7f", "\\u007f") if isinstance(value, str) else str(value)
