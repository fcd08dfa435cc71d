"""clinometer audit: score models and measure their risks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer.cli.audit_output import as_json, print_runs, where_next
from clinometer.cli.help import JSON, opt
from clinometer.cli.options import CONTEXTS, SHARD, Given, grouped, topic_of, typed_names
from clinometer.cli.printing import print_json, say
from clinometer.cli.progress import progress
from clinometer.display.numbers import money
from clinometer.display.text import visible
from clinometer.errors import ClinometerError, SettingsError, Unmeasurable
from clinometer.models import ModelSpec
from clinometer.models.providers import is_paid
from clinometer.runs import AuditSettings, Run, RunFolder, audit
from clinometer.runs.audit import default_folder
from clinometer.runs.folder.recover import progress as stored
from clinometer.runs.placebo import FOLDER as PLACEBO
from clinometer.runs.protocol import ProtocolFile
from clinometer.runs.settings import Cost, resolve
from clinometer.shards import Shard
from clinometer.storage.untrusted import Allowed, folder_name

#: Where runs are stored without --out, and what `clinometer view` shows.
RUNS = Path("runs")


@grouped
def audit_command(
    context: typer.Context,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help="smollm2, pocket:NAME, reference:unbiased|stereotyped|random, a folder, a .gguf "
            "file, a Hugging Face id, openai/NAME, anthropic/NAME, azure/NAME, mistral/NAME, "
            "gemini/NAME, openai:URL#MODEL, or an application: "
            "app:package.module:function, http:FILE.toml.",
        ),
    ] = None,
    topic: Annotated[str, opt("A built-in topic or a .toml file.")] = "gender",
    contexts: CONTEXTS = None,
    groups: Annotated[
        str | None,
        opt(
            "Only these groups of the topic, separated by commas; or a list of people: people-age, "
            "-disability, -religion, -nationality or -orientation.",
            panel="Question",
            unset="all",
        ),
    ] = None,
    *,
    given: Annotated[Given, AuditSettings],
    out: Annotated[
        Path | None,
        opt(
            "Run folder; with several models, one subfolder per model.",
            "--out",
            "-o",
            unset="runs/MODEL-TOPIC-CONTEXTS",
        ),
    ] = None,
    yes: Annotated[
        bool,
        opt("Pay for a hosted model without asking.", "--yes", "-y", panel="Servers"),
    ] = False,
    json_output: JSON = False,
    protocol: Annotated[
        Path | None,
        opt(
            "Follow a file of clinometer plan --protocol; the run says what was not as planned.",
            panel="Statistics",
        ),
    ] = None,
    fresh: Annotated[
        bool, opt("Start over instead of resuming the run.", "--fresh", panel="Output")
    ] = False,
    no_cache: Annotated[
        bool,
        opt(
            "Score every cell, even those cached on this machine.",
            "--no-cache",
            panel="Output",
            advanced=True,
        ),
    ] = False,
    shard: SHARD = None,
) -> None:
    """Score every group in every context with models, and measure their risks.

    Rerun the same command to resume an interrupted audit; a finished one is not scored again.
    """
    typed = typed_names(context)
    plan = None if protocol is None else ProtocolFile.read(protocol).protocol
    if plan is not None:
        models = models or plan.named_models(Allowed.parse(given.get("allow", ())))
        topic = topic if "topic" in typed else plan.topic
        groups = groups if groups is not None or topic != plan.topic else plan.groups
        contexts = contexts or plan.contexts
    asked_models = models or []
    if len(set(asked_models)) != len(asked_models):
        raise SettingsError("models: expected each model once, found one twice")
    if not asked_models:
        raise SettingsError("models: expected at least one; see clinometer list models")
    alone = len(asked_models) == 1
    asked_models = [*Shard.parse(shard).part(asked_models)] if shard else asked_models
    chosen_topic = topic_of(topic, groups)
    ways: list[tuple[str, dict[str, Any]]] = [("", given)]
    planned_chat = plan is not None and bool(plan.settings.get("chat"))
    if given.get("chat", planned_chat) and chosen_topic.readout is None:
        ways = [("", {**given, "chat": False}), ("-chat", {**given, "chat": True})]

    def folder_of(model: str, suffix: str, way: dict[str, Any]) -> Path:
        if out is None:
            planned = None if plan is None else plan.settings
            return default_folder(RUNS, model, chosen_topic, contexts, planned=planned, **way)
        return out if alone and len(ways) == 1 else out / (folder_name(model) + suffix)

    runs: list[Run] = []
    failed: list[tuple[str, ClinometerError]] = []
    audits = [(model, suffix, way) for model in asked_models for suffix, way in ways]
    costs = []
    for model, suffix, way in audits:
        try:
            resolved = resolve(
                way,
                chosen_topic,
                contexts,
                model=model,
                planned=None if plan is None else plan.settings,
            )
        except ClinometerError:
            continue  # the audit below says why
        cost = resolved.cost(model)
        if cost is not None:
            place = folder_of(model, suffix, way)
            done = 0 if fresh else sum(map(stored_cells, (place, place / PLACEBO)))
            costs.append((model, cost.part(1 - done / max(cost.cells, 1))))
    confirm_cost(costs, yes=yes)
    for model, suffix, way in audits:  # one that fails does not stop the others
        try:
            folder = folder_of(model, suffix, way)
            with progress(model + suffix, kept=folder) as watch:
                runs.append(
                    audit(
                        model,
                        topic=chosen_topic,
                        contexts=contexts,
                        out=folder,
                        fresh=fresh,
                        cache=not no_cache,
                        protocol=protocol,
                        progress=watch,
                        **way,
                    )
                )
        except ClinometerError as error:
            # The error of a single model is the command's, unless its answers cannot be measured,
            # which the output reports.
            if len(audits) == 1 and not isinstance(error, Unmeasurable):
                raise
            failed.append((model, error))
    if json_output:
        print_json(as_json(runs, failed))
    elif runs:
        print_runs(runs)
    for _, reason in failed:
        say(reason)
    if runs:
        stream = sys.stderr if json_output else sys.stdout
        stream.write(visible(where_next([run.path for run in runs if run.path])) + "\n")
    if failed:
        raise typer.Exit(max(error.exit_status for _, error in failed))


def confirm_cost(costs: Sequence[tuple[str, Cost]], *, yes: bool) -> None:
    """Say what each audit will cost, and ask before anything is paid.

    On a terminal the answer decides; elsewhere --yes must have been given. What runs on this
    machine, or costs nothing, is not asked about.
    """
    paid = [
        (model, cost)
        for model, cost in costs
        if cost.replies and (cost.money or is_paid(ModelSpec.parse(model).target))
    ]
    for model, cost in paid:
        say(f"{model}: {cost.sentence()}", prefix="")
    if not paid or yes:
        return
    amounts = [cost.money for _, cost in paid if cost.money is not None]
    total = f"up to {money(sum(amounts))}" if len(amounts) == len(paid) else "an unknown amount"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise SettingsError(
            f"--yes: expected before {total} is paid where there is no terminal to ask on; add it, "
            "and --budget for a limit"
        )
    if not typer.confirm(f"Pay {total}?", err=True):
        raise typer.Abort


def stored_cells(place: Path) -> int:
    """How many cells of an audit are scored in its folder; 0 where there is none."""
    folder = RunFolder(place)
    try:
        return stored(folder, folder.read_record())[0]
    except ClinometerError:
        return 0
