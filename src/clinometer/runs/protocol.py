"""A protocol: what an audit will score, measure and decide, fixed before the first answer."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from clinometer.contexts import ContextSet
from clinometer.errors import SettingsError, first_problem
from clinometer.measure.risks import RISKS
from clinometer.models import ModelSource, ModelSpec, revision_of
from clinometer.models.catalog.pretrained import cached
from clinometer.models.catalog.spec import asked_name, on_this_machine
from clinometer.runs.folder.record import ProtocolRecord
from clinometer.runs.resolve import ResolvedAudit, resolve
from clinometer.runs.settings import AuditSettings
from clinometer.settings import named_values, option_settings, with_settings
from clinometer.storage.atomic import replacing
from clinometer.storage.untrusted import (
    MOST_RECORD,
    Allowed,
    parse_toml,
    read_bytes,
    read_text,
)
from clinometer.topics import Topic, choose_groups, load_topic
from clinometer.topics.toml_text import toml_tables, toml_value

_OF_THE_MACHINE = {
    "device",
    "device_map",
    "batch_tokens",
    "allow",
    "concurrency",
    "timeout",
    "patience",
    "max_requests",
    "max_tokens",
    "price",
    "budget",
}
"""Settings of an audit that change no number, or only its rounding."""

PLANNED = tuple(
    name for name in option_settings(AuditSettings) if name not in _OF_THE_MACHINE
)
"""Settings of an audit that a protocol fixes: all others."""

_COPIED = ("created", "measures", "fail_above", "fail_on", "tests")
"""Fields of a plan that its record states beside the whole plan."""

LATE = "the protocol was given after the first answer"
"""The deviation of a plan made too late to be one."""


class Protocol(BaseModel):
    """The content of a protocol file. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    created: str
    models: list[str]
    topic: str

    topic_sha256: str
    """Of the topic with its choice of groups."""

    groups: str | None = None
    contexts: str | None = None

    contexts_sha256: str
    """Of the whole set of contexts."""

    labels_sha256: str
    """Of the labels of the contexts, which define clusters."""

    measures: list[str] = list(RISKS)
    """What will be read, in the order of importance."""

    fail_above: list[str] = []
    """Thresholds, as `audit` takes them."""

    fail_on: str = "low"

    tests: list[str] = []
    """Further planned comparisons, in words or as commands."""

    notes: str = ""

    settings: dict[str, bool | int | float | str] = {}
    """The settings of the audit that are not None (`PLANNED`)."""

    revisions: dict[str, str] = {}
    """The revisions of the models that were there to be looked at, by name."""

    @classmethod
    def new(
        cls,
        models: list[str],
        topic: tuple[str, Topic],
        contexts: tuple[str | None, ContextSet],
        settings: AuditSettings,
        **more: Any,
    ) -> Protocol:
        """Return a protocol with the current time; topic and contexts as typed and as read."""
        topic_name, loaded_topic = topic
        contexts_name, context_set = contexts
        return cls(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            models=models,
            topic=topic_name,
            topic_sha256=loaded_topic.sha256,
            contexts=contexts_name,
            contexts_sha256=context_set.sha256,
            labels_sha256=_labels_sha256(context_set),
            settings={
                name: value
                for name, value in _planned(settings).items()
                if value is not None
            },
            revisions=_revisions(models, settings),
            **more,
        )

    def write(self, path: Path) -> None:
        """Write it as TOML; refuses an existing file, since a plan is made once."""
        if path.exists():
            raise SettingsError(
                f"{path}: exists; a protocol is written once, choose another name"
            )
        lines = [
            "# What is planned, before the first answer: clinometer audit --protocol FILE"
        ]
        content = _as_json(self.model_dump())
        tables = {name: content.pop(name) for name in ("settings", "revisions")}
        for name, value in content.items():
            if value is not None:
                lines.append(f"{name} = {toml_value(value)}")
        lines += toml_tables(tables)
        with replacing(path, error=SettingsError) as temporary:
            temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def named_models(self, allowed: Allowed) -> list[str]:
        """Return the planned models, for a user who names none.

        A file can have no function run, and no address asked that the user does not know.
        """
        for name in self.models:
            if name.startswith("app:"):
                raise SettingsError(
                    "--protocol: the file names a function to run, which no file can; give the "
                    "application on the command line too"
                )
            on_hub = ModelSpec.parse(name).place is ModelSource.HUB
            local = on_this_machine(name) or (on_hub and cached(name))
            allowed.check_model(name, here=local, where="--protocol: models")
        return self.models

    def load_topic(self) -> Topic:
        """Return the planned topic, with the planned groups."""
        topic = load_topic(self.topic)
        return topic if self.groups is None else choose_groups(topic, self.groups)

    def check(self) -> None:
        """Refuse settings that no audit has, or that are not for a plan to fix."""
        for name in self.settings:
            if name not in PLANNED:
                raise SettingsError(
                    f"settings: expected some of {', '.join(PLANNED)}; found {name}"
                )
        with_settings(AuditSettings(), self.settings)

    def deviations(self, model: str, audit: ResolvedAudit, revision: str) -> list[str]:
        """Return how an audit of a model with this revision deviates from the plan; [] if not at
        all."""
        return [
            *self._model_deviations(model, audit, revision),
            *self._content_deviations(audit),
            *self._setting_deviations(audit),
        ]

    def _model_deviations(
        self, model: str, audit: ResolvedAudit, revision: str
    ) -> list[str]:
        names = {asked_name(name, audit.settings.load): name for name in self.models}
        name = names.get(model, model)
        if name not in self.models:
            return [f"model {model} was not planned"]
        if self.revisions.get(name, revision) != revision:
            return [f"model {model} has other weights than when it was planned"]
        return []

    def _content_deviations(self, audit: ResolvedAudit) -> list[str]:
        lines = []
        if audit.topic.sha256 != self.topic_sha256:
            lines.append("another topic, or other groups, than planned")
        if audit.source.sha256 != self.contexts_sha256:
            lines.append("other contexts than planned")
        elif _labels_sha256(audit.source) != self.labels_sha256:
            lines.append("other labels of the contexts than planned")
        return lines

    def _setting_deviations(self, audit: ResolvedAudit) -> list[str]:
        planned = self._resolved_settings(audit)
        done = _planned(audit.settings)
        if planned["chat"] and not audit.topic.readout.asks:
            done["chat"] = True  # sentences are asked both ways
        sampled = audit.settings.load.sampled
        if sampled is not None and sampled.automatic and planned["replies"] is None:
            # The audit chose them: nothing else was planned.
            for name in ("replies", "temperature", "reply_tokens", "effort"):
                planned[name] = done[name]
        lines = []
        for name in PLANNED:
            if planned[name] != done[name]:
                title = name.replace("_", " ")
                lines.append(f"{title} {done[name]}, planned {planned[name]}")
        return lines

    def _resolved_settings(self, audit: ResolvedAudit) -> dict[str, Any]:
        """Return what the plan alone comes to: for questions the audit may choose the clusters
        itself."""
        try:
            resolved = resolve(self.settings, audit.topic, audit.source)
            return _planned(resolved.settings)
        except SettingsError:
            # It does not fit these contexts, which are not the planned ones.
            return _planned(with_settings(AuditSettings(), self.settings))


@dataclass(frozen=True)
class ProtocolFile:
    """A protocol and the file that it was read from."""

    protocol: Protocol
    name: str

    sha256: str
    """Of the bytes of the file, as sha256sum prints it."""

    @classmethod
    def read(cls, path: str | Path) -> ProtocolFile:
        """Read a protocol; what is wrong with the file is one line."""
        path = Path(path)
        text = read_text(
            path,
            shown=str(path),
            kind="protocol",
            error=SettingsError,
            most=MOST_RECORD,
        )
        try:
            protocol = Protocol.model_validate(parse_toml(text))
            protocol.check()
        except ValidationError as error:
            raise SettingsError(f"{path}: {first_problem(error)}") from error
        except SettingsError as error:
            raise SettingsError(f"{path}: {error}") from error
        except ValueError as error:
            raise SettingsError(f"{path}: expected TOML: {error}") from error
        digest = hashlib.sha256(read_bytes(path, most=MOST_RECORD))
        return cls(protocol, path.name, digest.hexdigest())

    def record(
        self, before: ProtocolRecord | None, *, late: str | None
    ) -> ProtocolRecord:
        """Return the protocol for run.json.

        A plan given `late`, after the first answer, deviates, and one given after another does not
        replace it.
        """
        if before is not None:
            if before.sha256 == self.sha256:
                return before
            deviation = (
                f"another protocol, {self.name} ({self.sha256[:12]}), was given after "
                "the first"
            )
            return before.model_copy(
                update={"deviations": [*before.deviations, deviation]}
            )
        planned = _as_json(self.protocol.model_dump())
        return ProtocolRecord(
            file=self.name,
            sha256=self.sha256,
            **{name: planned[name] for name in _COPIED},
            deviations=[late] if late else [],
            planned=planned,
        )


def planned_settings(protocol: ProtocolRecord) -> dict[str, Any]:
    """Return the settings of the plan that a run was begun with."""
    return Protocol.model_validate(protocol.planned).settings


def followed(
    protocol: ProtocolRecord | None, model: str, audit: ResolvedAudit, revision: str
) -> ProtocolRecord | None:
    """Return the protocol of a run with what was done, in full.

    Every difference is a deviation, and one of an earlier measurement of the same answers stays:
    they were looked at in that way too.
    """
    if protocol is None:
        return None
    plan = Protocol.model_validate(protocol.planned)
    deviations = [*protocol.deviations, *plan.deviations(model, audit, revision)]
    done = {
        "model": model,
        "revision": revision,
        "topic_sha256": audit.topic.sha256,
        "contexts_sha256": audit.source.sha256,
        "labels_sha256": _labels_sha256(audit.source),
        "settings": _as_json(_planned(audit.settings)),
    }
    without_repeats = list(dict.fromkeys(deviations))
    record = protocol.model_copy(update={"deviations": without_repeats, "done": done})
    return record.model_copy(update={"digest": _digest(record)})


def protocol_sentences(protocol: ProtocolRecord | None) -> list[str]:
    """Return what was planned and what was not; without a protocol, that there is none."""
    if protocol is None:
        return [
            "No protocol was given: nothing here was fixed before the first answer."
        ]
    content = ", ".join(protocol.measures)
    if protocol.fail_above:
        content += f"; limits {', '.join(protocol.fail_above)}"
    if protocol.tests:
        content += f"; tests {', '.join(protocol.tests)}"
    planned = (
        f"Planned in {protocol.file} ({protocol.sha256[:12]}, {protocol.created}): "
        f"{content}. All other results were not planned."
    )
    if protocol.digest != _digest(protocol):
        outcome = "Its record was changed after the run: what it says proves nothing."
    elif not protocol.deviations:
        outcome = "The audit went as planned."
    else:
        outcome = f"Not as planned: {'; '.join(protocol.deviations)}."
    return [planned, outcome]


def _revisions(models: list[str], settings: AuditSettings) -> dict[str, str]:
    """Return the revisions of the models that can be looked at."""
    revisions = {}
    for name in models:
        revision = revision_of(ModelSpec.parse(name), settings.load)
        if revision is not None:
            revisions[name] = revision
    return revisions


def _planned(settings: AuditSettings) -> dict[str, Any]:
    """Return every planned setting by name, None where it is not set."""
    return dict.fromkeys(PLANNED) | named_values(settings, PLANNED)


def _labels_sha256(contexts: ContextSet) -> str:
    """Return the digest of the labels, by template: the order of the rows changes nothing."""
    names = sorted(contexts.extra)
    rows = []
    for i, template in enumerate(contexts.templates):
        rows.append([template, *(contexts.extra[name][i] for name in names)])
    return hashlib.sha256(json.dumps([names, sorted(rows)]).encode()).hexdigest()


def _digest(protocol: ProtocolRecord) -> str:
    content = protocol.model_dump(exclude={"digest"})
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _as_json(values: dict[str, Any]) -> dict[str, Any]:
    """Return values as JSON can hold them: infinity is a text."""
    return {name: _json_value(value) for name, value in values.items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return _as_json(value)
    return "inf" if value == math.inf else value
