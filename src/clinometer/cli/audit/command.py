"""clinometer audit: ask models and measure their risks."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from clinometer.cli.audit.options import (
    CONTEXTS,
    MODELS,
    OUT,
    SUITE,
    TOPIC,
    Again,
    AuditOptions,
    Workers,
)
from clinometer.cli.audit.output import as_json, print_runs, where_next
from clinometer.cli.audit.settings import audit_settings
from clinometer.cli.parameters import FAIL_ABOVE, GROUPS, JSON, grouped, parse_limits, topic_of
from clinometer.cli.printing import exceeded, print_json
from clinometer.cli.progress import kept_cells, progress
from clinometer.errors import ClinometerError, SettingsError
from clinometer.models.catalog.spec import folder_name

#: Where runs are kept unless --out says otherwise; what `clinometer view` shows.
RUNS = Path("runs")


@grouped
def audit_command(
    models: MODELS = None,
    suite: SUITE = None,
    topic: TOPIC = "gender",
    contexts: CONTEXTS = None,
    out: OUT = None,
    groups: GROUPS = None,
    *,
    options: AuditOptions,
    again: Again,
    workers: Workers,
    fail_above: FAIL_ABOVE = None,
    json_output: JSON = False,
) -> None:
    """Ask models about every group in every context, and measure.

    An interrupted audit continues with the same command; a finished one is not asked again.
    """
    from clinometer.execution.ray_pool import Need

    limits = parse_limits(fail_above)
    settings = audit_settings(options)
    asked = topic_of(topic, groups)
    asked_models = [*(models or []), *_at_hand(suite)]
    if len(set(asked_models)) != len(asked_models):
        raise SettingsError("models: expected each model once, found one twice")
    if not asked_models:
        raise SettingsError("models: expected at least one that is at hand; see clinometer models")
    runs, failed = _audit_all(
        asked_models,
        out,
        topic=asked,
        contexts=contexts,
        settings=settings,
        chat=options.manner.chat,
        fresh=again.fresh,
        replay=again.replay,
        cache=not again.no_cache,
        executor=workers.executor,
        need=Need(cpus=workers.worker_cpus, gpus=workers.worker_gpus, workers=workers.workers),
    )
    if json_output:
        print_json(as_json(runs, failed))
    elif runs:
        print_runs(runs, asked)
    for _, error in failed:
        sys.stderr.write("clinometer: " + " ".join(str(error).split()) + "\n")
    if runs:
        stream = sys.stderr if json_output else sys.stdout
        stream.write(where_next([run.path for run in runs]) + "\n")
    above = [line for run in runs for line in exceeded(run.model, run.report, limits)]
    for line in above:
        sys.stderr.write(f"clinometer: {line}\n")
    if failed:
        raise typer.Exit(max(error.exit_status for _, error in failed))
    if above:
        raise typer.Exit(1)


def _at_hand(suite_name: str | None) -> list[str]:
    """The models of a suite that can be opened here; the others are named on stderr."""
    if suite_name is None:
        return []
    from clinometer.models.catalog.suites import at_hand, suite

    found = []
    for entry in suite(suite_name):
        if at_hand(entry):
            found.append(entry.id)
        else:
            access = ", gated: ask its owner for access" if entry.gated else ""
            code = ", needs --trust-remote-code" if entry.remote_code else ""
            sys.stderr.write(f"not at hand: {entry.name} ({entry.id}{access}{code})\n")
    return found


def _audit_all(
    models: list[str],
    out: Path | None,
    *,
    settings: Any,
    chat: bool,
    **how: Any,
) -> tuple[list[Any], list[tuple[str, ClinometerError]]]:
    """Every model in turn, asked as `how` says (the arguments of `audit`), with --chat raw and in
    its template. One that fails does not stop the others; alone, its error is the end."""
    from clinometer.runs import audit
    from clinometer.runs.default_folder import default_folder

    runs: list[Any] = []
    failed: list[tuple[str, ClinometerError]] = []
    in_chat = replace(settings, load=replace(settings.load, chat=True))
    ways = [("", settings), ("-chat", in_chat)] if chat else [("", settings)]
    asked = [(model, suffix, way) for model in models for suffix, way in ways]
    for model, suffix, asked_as in asked:
        try:
            if out is None:
                folder = default_folder(RUNS, model, how["topic"], how["contexts"], asked_as)
            else:
                folder = out if len(asked) == 1 else out / (folder_name(model) + suffix)
            with progress(model + suffix, kept=kept_cells(folder)) as watch:
                run = audit(model, out=folder, settings=asked_as, progress=watch, **how)
        except ClinometerError as error:
            if len(asked) == 1:
                raise
            failed.append((model, error))
        else:
            runs.append(run)
    return runs, failed
