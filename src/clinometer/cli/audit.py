"""clinometer audit: score models in every context, and measure their risks."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer.cli import options
from clinometer.cli.printing import say
from clinometer.cli.progress import progress
from clinometer.cli.show_runs import show_runs
from clinometer.display.numbers import money
from clinometer.errors import ClinometerError, SettingsError, Unmeasurable
from clinometer.models import ModelSpec
from clinometer.models.prices import is_paid
from clinometer.models.providers import HOSTED_NAMES
from clinometer.runs import AuditSettings, Run, audit
from clinometer.runs.audit import default_folder
from clinometer.runs.cost import Cost
from clinometer.runs.planning import remaining_cost
from clinometer.runs.protocol import Protocol, ProtocolFile
from clinometer.runs.resolve import resolve
from clinometer.settings import option
from clinometer.storage.shard import Shard
from clinometer.storage.untrusted import Allowed, folder_name
from clinometer.topics import Topic

RUNS = Path("runs")
"""Where runs are stored without --out, and what `clinometer view` shows."""


def audit_command(
    context: typer.Context,
    models: list[str] | None = options.argument(
        "MODEL...",
        "smollm2, pocket:NAME, reference:unbiased|stereotyped|random, a folder, a .gguf file, a "
        f"Hugging Face id, {HOSTED_NAMES}, "
        "openai:URL#MODEL, or an application: app:package.module:function, http:FILE.toml.",
        None,
    ),
    topic: str = options.TOPIC,
    contexts: str | None = options.CONTEXTS,
    groups: str | None = option(
        None,
        help="Only these groups of the topic, separated by commas; or a list of people: "
        "people-age, -disability, -religion, -nationality or -orientation.",
        panel="Question",
        unset="all",
    ),
    *,
    given: Annotated[options.Given, AuditSettings],
    out: Path | None = option(
        None,
        "--out",
        "-o",
        help="Run folder; with several models, one subfolder per model.",
        unset="runs/MODEL-TOPIC-CONTEXTS",
    ),
    yes: bool = option(
        False,
        "--yes",
        "-y",
        help="Pay for a hosted model without asking.",
        panel="Servers",
    ),
    json_output: bool = options.JSON,
    protocol: Path | None = option(
        None,
        help="Follow a file of clinometer plan --protocol; the run says what was not as planned.",
        panel="Statistics",
    ),
    fresh: bool = option(
        False, help="Start over instead of resuming the run.", panel="Output"
    ),
    no_cache: bool = option(
        False,
        help="Score every cell, even those cached on this machine.",
        panel="Output",
        advanced=True,
    ),
    shard: str | None = options.SHARD,
) -> None:
    """Score every group in every context with models, and measure their risks.

    Rerun the same command to resume an interrupted audit; a finished one is not scored again.
    """
    plan = None if protocol is None else ProtocolFile.read(protocol).protocol
    if plan is not None:
        models = models or plan.named_models(Allowed.parse(given.get("allow", ())))
        if "topic" not in options.typed_names(context):
            topic = plan.topic
        if groups is None and topic == plan.topic:
            groups = plan.groups
        contexts = contexts or plan.contexts
    check_models(models or [])
    request = AuditRequest(options.topic_of(topic, groups), contexts, given, plan)
    audits = _audits(models or [], request, out=out, shard=shard)
    costs = []
    for planned_audit in audits:
        cost = _cost(planned_audit, request, fresh=fresh)
        if cost is not None:
            costs.append((planned_audit.model, cost))
    confirm_cost(costs, yes=yes)
    runs: list[Run] = []
    failed: list[tuple[str, ClinometerError]] = []
    for planned_audit in audits:  # one that fails does not stop the others
        model = planned_audit.model
        try:
            folder = planned_audit.folder
            with progress(model + planned_audit.suffix, kept=folder) as watch:
                run = audit(
                    model,
                    topic=request.topic,
                    contexts=contexts,
                    out=folder,
                    fresh=fresh,
                    cache=not no_cache,
                    protocol=protocol,
                    progress=watch,
                    **planned_audit.settings,
                )
            runs.append(run)
        except ClinometerError as error:
            # The error of a single model is the command's, unless its answers cannot be measured,
            # which the output reports.
            if len(audits) == 1 and not isinstance(error, Unmeasurable):
                raise
            failed.append((model, error))
    show_runs(runs, failed, json_output=json_output)
    if failed:
        raise typer.Exit(max(error.exit_status for _, error in failed))


def check_models(models: Sequence[str]) -> None:
    """Refuse no model, and a model that was given twice."""
    if len(set(models)) != len(models):
        raise SettingsError("models: expected each model once, found one twice")
    if not models:
        raise SettingsError("models: expected at least one; see clinometer list models")


@dataclass(frozen=True)
class AuditRequest:
    """What all models are asked."""

    topic: Topic
    contexts: str | None
    given: Mapping[str, Any]
    """Settings that were typed."""

    plan: Protocol | None

    @property
    def planned(self) -> dict[str, Any] | None:
        """Return the settings of the protocol; None without one."""
        return None if self.plan is None else self.plan.settings

    @property
    def variants(self) -> dict[str, dict[str, Any]]:
        """Return the settings of each audit of a model, by what its folder is called after.

        With --chat a model is also scored outside its chat template, unless it is asked questions.
        """
        planned_chat = (self.planned or {}).get("chat")
        if self.given.get("chat", planned_chat) and not self.topic.readout.asks:
            return {
                "": {**self.given, "chat": False},
                "-chat": {**self.given, "chat": True},
            }
        return {"": dict(self.given)}


@dataclass(frozen=True)
class PlannedAudit:
    """One audit of a model, and where its run is stored."""

    model: str
    suffix: str
    settings: dict[str, Any]
    folder: Path


def _audits(
    models: Sequence[str], request: AuditRequest, *, out: Path | None, shard: str | None
) -> list[PlannedAudit]:
    """Return the audits of the models, or of those of a shard."""
    share = models if shard is None else Shard.parse(shard).part(models)
    variants = request.variants
    is_single = len(models) == 1 and len(variants) == 1
    audits = []
    for model in share:
        for suffix, settings in variants.items():
            if out is None:
                folder = default_folder(
                    RUNS,
                    model,
                    request.topic,
                    request.contexts,
                    planned=request.planned,
                    **settings,
                )
            elif is_single:
                folder = out
            else:
                folder = out / (folder_name(model) + suffix)
            audits.append(PlannedAudit(model, suffix, settings, folder))
    return audits


def _cost(planned: PlannedAudit, request: AuditRequest, *, fresh: bool) -> Cost | None:
    """Return what is left to pay for an audit; None where nothing is sampled from a server."""
    try:
        resolved = resolve(
            planned.settings,
            request.topic,
            request.contexts,
            model=planned.model,
            planned=request.planned,
        )
    except ClinometerError:
        return None  # the audit says why
    folder = None if fresh else planned.folder
    return remaining_cost(resolved, planned.model, folder)


def confirm_cost(costs: Sequence[tuple[str, Cost]], *, yes: bool) -> None:
    """Say what each audit will cost, and ask before anything is paid.

    On a terminal the answer decides; elsewhere --yes must have been given. What runs on this
    machine, or costs nothing, is not asked about.
    """
    paid = []
    for model, cost in costs:
        if cost.replies and (cost.money or is_paid(ModelSpec.parse(model).target)):
            say(f"{model}: {cost.sentence()}", prefix="")
            paid.append(cost)
    if not paid or yes:
        return
    amounts = [cost.money for cost in paid if cost.money is not None]
    total = "an unknown amount"
    if len(amounts) == len(paid):
        total = f"up to {money(sum(amounts))}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise SettingsError(
            f"--yes: expected before {total} is paid where there is no terminal to ask on; add it, "
            "and --budget for a limit"
        )
    if not typer.confirm(f"Pay {total}?", err=True):
        raise typer.Abort
