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
from clinometer.runs.settings import AuditSettings, ResolvedAudit, resolve
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
from clinometer.topics.load import toml_tables, toml_value

#: Settings of an audit that change no number, or only its rounding.
_OF_THE_MACHINE = (
    *("device", "device_map", "batch_tokens", "allow"),
    *(
        "concurrency",
        "timeout",
        "patience",
        "max_requests",
        "max_tokens",
        "price",
        "budget",
    ),
)
#: Settings of an audit that a protocol fixes: all others.
PLANNED = tuple(
    name for name in option_settings(AuditSettings) if name not in _OF_THE_MACHINE
)


#: What a record of a plan has apart, beside the whole plan.
_ALSO_APART = ("created", "measures", "fail_above", "fail_on", "tests")

#: The deviation of a plan made too late to be one.
LATE = "the protocol was given after the first answer"


class Protocol(BaseModel):
    """The content of a protocol file. Unknown keys are refused.

    topic_sha256, contexts_sha256   of the topic (with its choice of groups) and the whole set
    labels_sha256                   of the labels of the contexts, which define clusters
    revisions                       of the models that were there to be looked at, by name
    settings                        those of the audit that are not None (`PLANNED`)
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
    labels_sha256: str
    measures: list[str] = list(RISKS)
    fail_above: list[str] = []
    fail_on: str = "low"
    tests: list[str] = []
    notes: str = ""
    settings: dict[str, bool | int | float | str] = {}
    revisions: dict[str, str] = {}

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
            labels_sha256=_labels_sha256(contexts[1]),
            settings={k: v for k, v in _planned(settings).items() if v is not None},
            revisions={
                name: found
                for name in models
                if (found := revision_of(ModelSpec.parse(name), settings.load))
                is not None
            },
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
        content = _plain(self.model_dump())
        tables = {name: content.pop(name) for name in ("settings", "revisions")}
        lines += [
            f"{name} = {toml_value(v)}" for name, v in content.items() if v is not None
        ]
        lines += toml_tables(tables)
        with replacing(path, error=SettingsError) as temporary:
            temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def named_models(self, allowed: Allowed) -> list[str]:
        """The planned models, for a user who names none; a file can have no function run, and no
        address asked that the user does not know."""
        for name in self.models:
            if name.startswith("app:"):
                raise SettingsError(
                    "--protocol: the file names a function to run, which no file can; give the "
                    "application on the command line too"
                )
            hub = ModelSpec.parse(name).place is ModelSource.HUB
            here = on_this_machine(name) or (hub and cached(name))
            allowed.check_model(name, here=here, where="--protocol: models")
        return self.models

    def load_topic(self) -> Topic:
        """The planned topic, with the planned groups."""
        topic = load_topic(self.topic)
        return topic if self.groups is None else choose_groups(topic, self.groups)

    def check(self) -> None:
        """Refuse settings that no audit has, or that are not for a plan to fix."""
        if strange := [name for name in self.settings if name not in PLANNED]:
            raise SettingsError(
                f"settings: expected some of {', '.join(PLANNED)}; found {strange[0]}"
            )
        with_settings(AuditSettings(), self.settings)

    def deviations(self, model: str, audit: ResolvedAudit, revision: str) -> list[str]:
        """How an audit of a model with this revision deviates from the plan; [] if not at all."""
        lines = []
        named = {asked_name(name, audit.settings.load): name for name in self.models}
        planned_model = named.get(model, model)
        if planned_model not in self.models:
            lines.append(f"model {model} was not planned")
        elif self.revisions.get(planned_model, revision) != revision:
            lines.append(f"model {model} has other weights than when it was planned")
        if audit.topic.sha256 != self.topic_sha256:
            lines.append("another topic, or other groups, than planned")
        if audit.source.sha256 != self.contexts_sha256:
            lines.append("other contexts than planned")
        elif _labels_sha256(audit.source) != self.labels_sha256:
            lines.append("other labels of the contexts than planned")
        # What the plan alone comes to: for questions the audit may choose the clusters itself.
        try:
            planned = _planned(
                resolve(self.settings, audit.topic, audit.source).settings
            )
        except (
            SettingsError
        ):  # it does not fit these contexts, which are not the planned ones
            planned = _planned(with_settings(AuditSettings(), self.settings))
        done = _planned(audit.settings)
        if planned["chat"] and audit.topic.readout is None:
            done["chat"] = True  # sentences are asked both ways
        sampled = audit.settings.load.sampled
        if sampled is not None and sampled.automatic and planned["replies"] is None:
            for name in ("replies", "temperature", "reply_tokens", "effort"):
                planned[name] = done[
                    name
                ]  # the audit chose them: nothing else was planned
        for name in PLANNED:
            if planned[name] != done[name]:
                lines.append(
                    f"{name.replace('_', ' ')} {done[name]}, planned {planned[name]}"
                )
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
        shown = str(path)
        text = read_text(
            path, shown=shown, kind="protocol", error=SettingsError, most=MOST_RECORD
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
        digest = hashlib.sha256(
            read_bytes(path, most=MOST_RECORD)
        )  # as sha256sum prints it
        return cls(protocol, path.name, digest.hexdigest())

    def record(
        self, before: ProtocolRecord | None, *, late: str | None
    ) -> ProtocolRecord:
        """The protocol for run.json. A plan given `late`, after the first answer, deviates, and
        one given after another does not replace it."""
        if before is not None:
            if before.sha256 == self.sha256:
                return before
            other = f"another protocol, {self.name} ({self.sha256[:12]}), was given after the first"
            return before.model_copy(update={"deviations": [*before.deviations, other]})
        planned = _plain(self.protocol.model_dump())
        return ProtocolRecord(
            file=self.name,
            sha256=self.sha256,
            **{name: planned[name] for name in _ALSO_APART},
            deviations=[late] if late else [],
            planned=planned,
        )


def planned_settings(protocol: ProtocolRecord) -> dict[str, Any]:
    """The settings that a run was begun with the plan for."""
    return Protocol.model_validate(protocol.planned).settings


def followed(
    protocol: ProtocolRecord | None, model: str, audit: ResolvedAudit, revision: str
) -> ProtocolRecord | None:
    """The protocol of a run with what was done, in full. Every difference is a deviation, and one
    of an earlier measurement of the same answers stays: they were looked at in that way too."""
    if protocol is None:
        return None
    plan = Protocol.model_validate(protocol.planned)
    found = plan.deviations(model, audit, revision)
    done = {
        "model": model,
        "revision": revision,
        "topic_sha256": audit.topic.sha256,
        "contexts_sha256": audit.source.sha256,
        "labels_sha256": _labels_sha256(audit.source),
        "settings": _plain(_planned(audit.settings)),
    }
    deviations = list(dict.fromkeys([*protocol.deviations, *found]))
    kept = protocol.model_copy(update={"deviations": deviations, "done": done})
    return kept.model_copy(update={"digest": _digest(kept)})


def protocol_sentences(protocol: ProtocolRecord | None) -> list[str]:
    """What was planned and what was not; [] without a protocol."""
    if protocol is None:
        return [
            "No protocol was given: nothing here was fixed before the first answer."
        ]
    limits = f"; limits {', '.join(protocol.fail_above)}" if protocol.fail_above else ""
    tests = f"; tests {', '.join(protocol.tests)}" if protocol.tests else ""
    planned = (
        f"Planned in {protocol.file} ({protocol.sha256[:12]}, {protocol.created}): "
        f"{', '.join(protocol.measures)}{limits}{tests}. All other results were not planned."
    )
    if protocol.digest != _digest(protocol):
        return [
            planned,
            "Its record was changed after the run: what it says proves nothing.",
        ]
    if not protocol.deviations:
        return [planned, "The audit went as planned."]
    return [planned, f"Not as planned: {'; '.join(protocol.deviations)}."]


def _planned(settings: AuditSettings) -> dict[str, Any]:
    """Every planned setting by name, None where it is not set."""
    return dict.fromkeys(PLANNED) | named_values(settings, PLANNED)


def _labels_sha256(contexts: ContextSet) -> str:
    """Of the labels, by template: the order of the rows changes nothing."""
    rows = sorted(
        [template, *(contexts.extra[name][i] for name in sorted(contexts.extra))]
        for i, template in enumerate(contexts.templates)
    )
    return hashlib.sha256(
        json.dumps([sorted(contexts.extra), rows]).encode()
    ).hexdigest()


def _digest(protocol: ProtocolRecord) -> str:
    content = protocol.model_dump(exclude={"digest"})
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """As JSON can hold it: infinity is a text."""
    return {
        k: _plain(v) if isinstance(v, dict) else "inf" if v == math.inf else v
        for k, v in values.items()
    }
