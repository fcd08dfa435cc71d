"""clinometer audit: score models and measure their risks; and how runs are shown: a table with
notes, or one JSON object."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer.cli import options
from clinometer.cli.printing import print_json, print_risks, say, sentence
from clinometer.cli.progress import progress
from clinometer.contexts import builtin_contexts
from clinometer.contexts.load import FEWEST, family
from clinometer.display.numbers import money
from clinometer.display.text import visible
from clinometer.errors import ClinometerError, SettingsError, Unmeasurable
from clinometer.models import ModelSpec
from clinometer.models.prices import is_paid
from clinometer.runs import AuditSettings, Run, RunFolder, audit
from clinometer.runs.answers import answered_groups
from clinometer.runs.audit import default_folder
from clinometer.runs.cost import Cost
from clinometer.runs.findings.cautions import cautions
from clinometer.runs.findings.factors import factor_notes
from clinometer.runs.findings.of_run import HEADLINES
from clinometer.runs.findings.risk import in_words
from clinometer.runs.folder.recover import progress as stored
from clinometer.runs.names import label
from clinometer.runs.placebo import FOLDER as PLACEBO
from clinometer.runs.protocol import ProtocolFile, protocol_sentences
from clinometer.runs.resolve import resolve
from clinometer.settings import option
from clinometer.storage.shard import Shard
from clinometer.storage.untrusted import Allowed, folder_name

#: Where runs are stored without --out, and what `clinometer view` shows.
RUNS = Path("runs")
#: Runs that a proposed command spells out.
MOST_NAMED = 4


def audit_command(
    context: typer.Context,
    models: list[str] | None = options.argument(
        "MODEL...",
        "smollm2, pocket:NAME, reference:unbiased|stereotyped|random, a folder, a .gguf file, a "
        "Hugging Face id, openai/NAME, anthropic/NAME, azure/NAME, mistral/NAME, gemini/NAME, "
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
    typed = options.typed_names(context)
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
    chosen_topic = options.topic_of(topic, groups)
    ways: list[tuple[str, dict[str, Any]]] = [("", given)]
    planned = None if plan is None else plan.settings
    if given.get("chat", (planned or {}).get("chat")) and chosen_topic.readout is None:
        ways = [("", {**given, "chat": False}), ("-chat", {**given, "chat": True})]

    def folder_of(model: str, suffix: str, way: dict[str, Any]) -> Path:
        if out is None:
            return default_folder(
                RUNS, model, chosen_topic, contexts, planned=planned, **way
            )
        return out if alone and len(ways) == 1 else out / (folder_name(model) + suffix)

    runs: list[Run] = []
    failed: list[tuple[str, ClinometerError]] = []
    audits = [(model, suffix, way) for model in asked_models for suffix, way in ways]
    costs = []
    for model, suffix, way in audits:
        try:
            resolved = resolve(
                way, chosen_topic, contexts, model=model, planned=planned
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
    show_runs(runs, failed, json_output=json_output)
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
    total = (
        f"up to {money(sum(amounts))}"
        if len(amounts) == len(paid)
        else "an unknown amount"
    )
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


#: Findings under the table, after the headline above it.
_MOST_FINDINGS = 3
#: Findings that are always said: what was asked for, and what was read by a judge.
_ALWAYS = (*HEADLINES, "judge", "factors", "placebo")


def show_runs(
    runs: list[Run],
    failed: Sequence[tuple[str, ClinometerError]] = (),
    *,
    json_output: bool,
) -> None:
    """The runs, what failed on stderr, and what to do next."""
    if json_output:
        print_json(as_json(runs, failed))
    elif runs:
        print_runs(runs)
    for _, reason in failed:
        say(reason)
    if runs:
        stream = sys.stderr if json_output else sys.stdout
        stream.write(visible(where_next([run.path for run in runs if run.path])) + "\n")


def print_runs(runs: list[Run]) -> None:
    """What was found, the risks of all runs in one table, and notes on each."""
    topic = runs[0].record.topic
    named = f"{topic.title or topic.name}: {topic.groups} groups"
    # Reference models have no intervals.
    known = next((run for run in runs if run.risks.R.level is not None), runs[0])
    title = (
        f"{named}, contexts {runs[0].record.contexts.name}; {in_words(known.risks.R)}"
    )
    table = [(label(run.model), run.risks) for run in runs]
    bounds = {label(run.model): run.record.bounds for run in runs if run.record.bounds}
    floors = {label(run.model): run.record.floor for run in runs}
    for run in runs:
        if run.record.model.kind != "reference":
            sentence(run.findings[0].text)
    print_risks(table, title=title, bounds=bounds, floors=floors)
    for run in runs:
        lines = notes(run)
        if len(runs) > 1 and lines:
            sentence(label(run.model), style="bold")
        for line in lines:
            sentence(line, indent="  " if len(runs) > 1 else "")


def notes(run: Run) -> list[str]:
    """What stands under the table: at most three findings after the headline, then what a reader
    of the numbers must know besides. The rest is in run.json."""
    record = run.record
    lines = []
    if record.model.kind != "reference":
        lines = _said(run)
    if record.factors is not None:
        lines += factor_notes(record.factors, clusters=record.settings.clusters)
    lines += cautions(run)
    if record.protocol is not None:
        lines += protocol_sentences(record.protocol)
    lines += _server_notes(run)
    if (source := record.imported) is not None:  # what was read of another tool
        used = f"{source.tool} {source.version}".rstrip()
        what, by = ("replies", "") if used == "replies" else ("samples", f" ({used})")
        lines.append(f"{source.samples:,} {what} of {source.task or source.file}{by}.")
        lines += [f"Left out: {n} {why}." for why, n in source.left_out.items()]
    return lines


def _said(run: Run) -> list[str]:
    """Not what groups share, which the table has, nor the size of R, unless R counts something
    else than the paper's or has no interval."""
    size = [one.text for one in run.findings if one.kind == "size"]
    said = run.risks.criterion.name == "ratio" and not run.risks.R.note
    sure = _size_note(run) or ([] if said else size)
    others = [one for one in run.findings[1:] if one.kind not in ("size", "shared")]
    others.sort(key=lambda one: one.kind not in _ALWAYS)
    always = sum(one.kind in _ALWAYS for one in others)
    return [
        one.text for one in others[: max(_MOST_FINDINGS - len(sure), always)]
    ] + sure


def _server_notes(run: Run) -> list[str]:
    """How the model was scored, if that is not obvious."""
    record = run.record
    lines = list(record.model.notes)
    if record.bounds is not None:
        lines.append(
            "Rare words are only bounded; no preference is wider than "
            f"{record.bounds.widest_cell:.3f}, on average {record.bounds.mean_cell:.3f}."
        )
    if n := record.replies:
        kinds = {
            "refusals": "were refusals",
            "other": "something else",
            "empty": "empty",
        }
        rest = [
            f"{n[key]:,} {what}"
            for name, what in kinds.items()
            if n.get(key := f"replies_{name}")
        ]
        if rest:
            listed = record.topic.readout is None
            read = (
                "began with a listed word" if listed else "were one of the categories"
            )
            words = f"{n['replies_words']:,} {read}"
            lines.append(f"Of {n['replies']:,} replies {', '.join([words, *rest])}.")
    if usage := record.usage:
        again = usage.get("retried")
        used = [f"{usage['requests']:,} requests"]
        used += [f"{again:,} of them failed and were repeated"] if again else []
        used += [f"{usage['tokens']:,} tokens"] if usage["tokens"] else []
        paid = "" if record.cost is None else record.cost.paid_sentence
        lines.append(f"{', '.join(used)}{paid}.")
    if refused := record.model.request.get("left_out"):
        lines.append(f"Refused by the server and left out: {', '.join(refused)}.")
    return lines


def _size_note(run: Run) -> list[str]:
    """Say plainly that the contexts are too few to measure with."""
    record, n_eff = run.record, run.risks.n_eff
    if n_eff >= FEWEST or record.topic.readout or record.imported:
        return []
    more = "a larger set"
    if record.contexts.n_eff >= FEWEST:
        more = "more of them (--max-contexts)"
    elif f"wikipedia-{family(record.topic.name)}" in builtin_contexts():
        more = "a larger set, such as --contexts wikipedia"
    return [
        f"{record.contexts.name}: too small to measure with: these contexts are worth {n_eff:.0f} "
        f"even ones, and {FEWEST} are needed for intervals that can be relied on; take {more}."
    ]


def where_next(folders: list[Path]) -> str:
    """The last line: where the results are, and what to do next.

    >>> print(where_next([Path("runs/a")]))
    Kept in runs/a. Next: clinometer report runs/a --out report.html, or clinometer view runs
    >>> print(where_next([Path(f"runs/{source}/{model}") for source in "ab" for model in "xyz"]))
    Kept in runs. Next: clinometer view runs
    """
    top = Path(os.path.commonpath([folder.parent for folder in folders]))
    place = shlex.quote(str(folders[0] if len(folders) == 1 else top))
    view = shlex.join(["clinometer", "view", str(top)])
    if len(folders) > MOST_NAMED:
        return f"Kept in {place}. Next: {view}"
    page = shlex.join(
        ["clinometer", "report", *map(str, folders), "--out", "report.html"]
    )
    return f"Kept in {place}. Next: {page}, or {view}"


def as_json(
    runs: list[Run], failed: Sequence[tuple[str, ClinometerError]]
) -> dict[str, Any]:
    """One object, always of the same shape: the runs and the failures."""
    return {
        "runs": [_one_json(run) for run in runs],
        "failed": [
            {"model": model, "error": str(error)}
            for model, error in failed
            if not isinstance(error, Unmeasurable)
        ],
        "unmeasurable": [
            {"model": model, "error": str(error), "other": error.other}
            for model, error in failed
            if isinstance(error, Unmeasurable)
        ],
    }


def _one_json(run: Run) -> dict[str, Any]:
    content = run.record.to_dict()
    stated = (
        *(
            "summary",
            "criterion",
            "floor",
            "factors",
            "calibration",
            "other",
            "protocol",
        ),
        *("imported", "corrected", "counts", "bounds", "replies", "usage"),
    )
    return {
        "model": run.model,
        "path": None if run.path is None else str(run.path),
        "n_contexts": run.risks.n_contexts,
        "n_eff": run.risks.n_eff,
        "findings": [one.to_dict() for one in run.findings],
        "preference_bound": run.record.preference_bound,
        "risk_bound": run.record.risk_bound,
        **{name: content[name] for name in stated if name in content},
        "groups": answered_groups(run),
        "leans": [lean.to_dict() for lean in run.leans],
    }
