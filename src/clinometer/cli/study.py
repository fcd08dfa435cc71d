"""clinometer study: the papers' experiments, checks of a run, and what the commands share."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clinometer import settings as ranges
from clinometer.cli.help import JSON, opt
from clinometer.cli.options import DEVICE, SEED, PaperModels, grouped, topic_of
from clinometer.cli.printing import TerminalTable, console, print_json, say
from clinometer.cli.progress import Kept, Watch, kept_cells, progress
from clinometer.cli.reliability import (
    FormatOption,
    LimitOption,
    ModelsOption,
    StatementsArgument,
    VariantsOption,
    read_statements,
)
from clinometer.display.numbers import NARROW_HEADINGS, SYMBOLS, between, duration, risk
from clinometer.display.text import visible
from clinometer.errors import SettingsError
from clinometer.models import LoadOptions
from clinometer.models.catalog.suites import ZooEntry
from clinometer.reliability import ReliabilitySettings, read_variants
from clinometer.reliability.variants import VariantSettings
from clinometer.runs import AuditSettings, Run
from clinometer.settings import option
from clinometer.studies.toxicity import Training

if TYPE_CHECKING:
    from clinometer.display.table import Table
    from clinometer.studies.framework import Findings, Plan, PlannedRun, Results

MODELS = Annotated[
    list[str] | None, typer.Argument(metavar="MODEL...", help="Models, as for audit.")
]
RUNS = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")]
RUN = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


@dataclass(frozen=True, kw_only=True)
class Study:
    """What a study asks and how, where it is stored, whether existing results are reused, and how
    they are shown."""

    topic: str = option("gender", help="A built-in topic or a .toml file.")
    groups: str | None = option(
        None, help="Only these groups of the topic, separated by commas.", unset="all"
    )
    contexts: str | None = option(
        None, help="A built-in context set or a .csv or .txt file.", unset="the topic's own"
    )
    settings: AuditSettings = field(default_factory=AuditSettings)
    paper: PaperModels = field(default_factory=PaperModels)
    out: Path | None = option(
        None, "--out", "-o", help="Folder of the study.", unset="studies/NAME"
    )
    only_plan: bool = option(
        False, "--plan", help="Print what the study would score and how long it takes, and exit."
    )
    fresh: bool = option(False, help="Start over instead of reusing scores in the folder.")
    no_page: bool = option(False, help="Do not write report.html.")
    json_output: bool = option(False, "--json", help="Print one JSON object instead of a table.")

    def folder(self, study: str) -> Path:
        return self.out or Path("studies") / study

    def models(self, named: list[str] | None) -> list[str | ZooEntry]:
        """Those that were named, then those of the suite."""
        return [*(named or ()), *self.paper.entries]

    @property
    def question(self) -> dict[str, Any]:
        """What a plan is made of."""
        topic = topic_of(self.topic, self.groups)
        return {"topic": topic, "contexts": self.contexts, "settings": self.settings}


#: Options that most studies have.
_LARGE = (*("suite", "download", "device", "load", "allow"),)
_CHAT = ("chat",)
_AUDIT = ("max_contexts", "single_token", "criterion", *_LARGE, "seed")
_OUTPUT = ("out", "only_plan", "fresh", "no_page", "json_output")
STUDY = Annotated[Study, "topic", "groups", "contexts", _AUDIT, _OUTPUT]
#: Of runs that are there already.
VIEW = Annotated[Study, "out", "no_page", "json_output"]

#: Tables up to this many rows are shown in the terminal; all are written as csv files.
_SHOWN = 24


def carry_out(
    plan: Plan,
    findings: Callable[[Results], Findings],
    output: Study,
    *,
    before: Callable[[], None] | None = None,
) -> None:
    """Print the cost, score, write, print: the same for every study that scores models.

    `before` makes what is needed first, such as a trained model.
    """
    from clinometer.studies.framework import audit_all

    folder = output.folder(plan.study)
    if output.only_plan and output.json_output:
        print_json(plan.to_dict(folder))
    elif not output.json_output:
        stream = sys.stdout if output.only_plan else sys.stderr
        stream.write(visible(plan_text(plan.to_dict(folder))))
    if output.only_plan:
        return
    if before is not None:
        before()
    with ExitStack() as bars:

        def watch(planned: PlannedRun) -> Watch:
            bars.close()
            place = folder / "runs" / planned.folder
            return bars.enter_context(progress(planned.label, kept=kept_cells(place)))

        results, failed = audit_all(plan, folder, watch=watch, fresh=output.fresh)
    not_scored = [(planned.label, str(error)) for planned, error in failed]
    try:
        finish(replace(findings(results), not_scored=not_scored), folder, output)
    finally:  # also where what is left is too little for the study
        for label, why in not_scored:
            say(f"{label}: not scored: {why}")
    if failed:
        raise typer.Exit(max(error.exit_status for _, error in failed))


def finish(findings: Findings, folder: Path, output: Study) -> None:
    """Write the findings and print them."""
    missing = findings.write(folder, page=not output.no_page)
    if missing:
        say(f"no charts and no page: {missing}")
    if output.json_output:
        print_json(findings.to_dict())
        return
    for table in findings.tables:
        show_table(table)
    for line in findings.sentences:
        console().print(line, soft_wrap=True)
    drawn = "Tables and charts" if output.no_page else "Tables, charts and page"
    written = "Tables" if missing else drawn
    console().print(f"{written}: {folder}", soft_wrap=True)


def plan_text(plan: dict[str, Any]) -> str:
    """The total, then one line per audit."""

    def time(part: dict[str, Any]) -> str:
        seconds = part["seconds"]
        return "unknown" if seconds is None else f"about {duration(seconds)}"

    lines = [
        f"study {plan['study']}: {plan['prompts']:,} prompts to score, {time(plan)} (rough: from "
        "parameters and this machine's speed)"
    ]
    lines += [
        f"  {a['label']}: {a['prompts']:,} prompts ({a['topic']}, {a['contexts']}), "
        + (a["absent"] or ("done" if a["done"] else time(a)))
        for a in plan["audits"]
    ]
    lines += [f"  {part['what']}: {time(part)}" for part in plan["further"]]
    return "\n".join(lines) + "\n"


#: The best and the worst of a column, as the papers' tables mark them.
_MARKS = {"worst": "bold", "best": "underline italic"}


def show_table(table: Table) -> None:
    """Print a study's table; for a long one, only the name of its file."""
    if len(table.frame) > _SHOWN:
        line = f"{table.title}: {len(table.frame)} rows in tables/{table.key}.csv"
        console().print(line, soft_wrap=True)
        return
    shown = TerminalTable(table.title)
    for c in table.combined():
        add = shown.add_text if c.is_text else shown.add_numbers
        add(c.heading)
    for row in table.rows():
        texts = (c.text + (f"\n{c.interval}" if c.interval else "") for c in row)
        shown.add_row(*texts, styles=[_MARKS.get(c.mark, "") for c in row])
    shown.print(console())
    if table.note:
        console().print(table.note, soft_wrap=True)


@grouped
def factors_command(
    run: RUN,
    measure: Annotated[str, opt("r, r_bias or r_volatility.")] = "r",
    factors: Annotated[
        Path | None,
        opt(
            "Your own csv file: a column group, then one column per factor.",
            unset="built-in: US labor statistics, our counts of the words",
        ),
    ] = None,
    unweighted: Annotated[
        bool, opt("Do not weight the groups by employment.", "--unweighted")
    ] = False,
    paper_weights: Annotated[
        bool,
        typer.Option(
            "--paper-weights", help="Weight by employment alone, ignoring the error of each risk."
        ),
    ] = False,
    *,
    output: VIEW,
) -> None:
    """Regress group risk on pay, education, share of women and word frequency.

    Weighted least squares with robust (HC3) errors, and a chart of each (Figures 9, 12 to 15); a
    correlation over occupations, not a cause.
    """
    from clinometer.studies.factors import factor_findings, read_factors

    found = factor_findings(
        Run.load(run),
        table=None if factors is None else read_factors(factors),
        measure=measure,
        weighted=not unweighted,
        errors=not paper_weights,
    )
    finish(found, output.folder("factors"), output)


def sensitivity_command(
    run: RUN,
    seed: SEED = 0,
    json_output: JSON = False,
) -> None:
    """R, Rᵇ and Rᵛ under every defensible analysis choice; no model is loaded.

    Changes one choice at a time: weights, words, scale, criterion, coverage, correction.
    """
    from clinometer.studies import sensitivity

    found = sensitivity(Run.load(run), seed=seed)
    if json_output:
        print_json(found.to_dict())
        return
    shown = TerminalTable(f"{found.model}: the same answers under other choices")
    shown.add_text("choice").add_numbers(*NARROW_HEADINGS)
    for row in found.rows:
        cells = [risk(v) for v in (row.R, row.R_bias, row.R_volatility)]
        shown.add_row(f"{row.choice}: {row.option}", *cells)
    shown.print(console())
    spans = [f"{SYMBOLS[n]} {low:.3f} to {high:.3f}" for n, (low, high) in found.span().items()]
    console().print(f"Range on this scale: {', '.join(spans)}", soft_wrap=True)
    for row in found.rows:
        if row.note:
            console().print(f"{row.choice}, {row.option}: {row.note}", soft_wrap=True)


def _table_command(name: str, about: str) -> Callable[..., None]:
    """The three tables are one command with three names."""

    @grouped
    def command(
        models: MODELS = None, *, study: Annotated[Study, "contexts", _AUDIT, _CHAT, _OUTPUT]
    ) -> None:
        from clinometer.studies.risk_tables import table_findings, table_plan

        asked = study.models(models)
        plan = table_plan(name, asked, contexts=study.contexts, settings=study.settings)
        carry_out(plan, partial(table_findings, name), study)

    command.__doc__ = about
    return command


table1_command = _table_command(
    "table1", "Gender risks of models beside the paper's Table 1 (--suite bvf-gender: its models)."
)
table2_command = _table_command(
    "table2", "Race risks of models beside the paper's Table 2 (--suite bvf-race: its models)."
)
table3_command = _table_command(
    "table3",
    "Religion and disability risks of models beside the paper's Table 3 (--suite bvf-religion).",
)


@grouped
def size_command(
    models: MODELS = None,
    family: Annotated[
        list[str] | None,
        opt("NAME=MODEL,MODEL,…: another family with its own trend; may be repeated."),
    ] = None,
    *,
    study: STUDY,
) -> None:
    """Trend of bias and volatility with model size (Figure 7).

    The models given are one family, with those of --suite bvf-size; --family adds others.
    """
    from clinometer.studies.size import size_findings, size_plan

    families = [("", study.models(models)), *(_family(text) for text in family or ())]
    plan = size_plan(families, **study.question)
    carry_out(plan, partial(size_findings, seed=study.settings.seed), study)


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE; `form` is what an error says was expected."""
    name, _, value = (part.strip() for part in text.partition("="))
    if not name or not value:
        raise SettingsError(f"{option}: expected {form}; found {text!r}")
    return name, value


def _family(text: str) -> tuple[str, list[str | ZooEntry]]:
    form = "NAME=MODEL,MODEL,…"
    name, models = _pair(text, "--family", form)
    members: list[str | ZooEntry] = [m.strip() for m in models.split(",") if m.strip()]
    if len(members) < 2:
        raise SettingsError(f"--family: expected {form}; found {text!r}")
    return name, members


@grouped
def alignment_command(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="BASE [VERSION...]", help="The base model, then its versions."),
    ] = None,
    family: Annotated[
        list[str] | None,
        opt("NAME=BASE,VERSION,…: another base and its versions; may be repeated."),
    ] = None,
    *,
    study: Annotated[Study, "topic", "groups", "contexts", _AUDIT, _CHAT, _OUTPUT],
) -> None:
    """Compare base models with their aligned or instruction-tuned versions (Figure 8).

    --chat also scores the versions inside their chat template; a single model, itself. --suite
    bvf-rlhf: the paper's three sizes.
    """
    from clinometer.studies.alignment import alignment_findings, alignment_plan, by_base

    families: list[list[str | ZooEntry]] = [[*models]] if models else []
    families += [[*_family(text)[1]] for text in family or ()]
    families += [[*members] for members in by_base(study.paper.entries)]
    carry_out(alignment_plan(families, **study.question), alignment_findings, study)


@grouped
def knowledge_command(
    models: MODELS = None,
    facts: Annotated[
        Path | None, opt("A TOML file with your own facts.", unset="capitals, authors, elements")
    ] = None,
    exponent: Annotated[
        float, opt("Exponent a of J(p) = p^a, above 0 and at most 1.", allowed=ranges.SHARE_ABOVE_0)
    ] = 0.5,
    *,
    study: Annotated[Study, _LARGE, "seed", _OUTPUT],
) -> None:
    """Facts instead of stereotypes: knowledge, and the cost of inconsistency (E.1, E.2)."""
    from clinometer.studies.knowledge import (
        builtin_facts,
        knowledge_findings,
        knowledge_plan,
        read_facts,
    )

    relations = builtin_facts() if facts is None else read_facts(facts)
    seed = study.settings.seed
    carry_out(
        knowledge_plan(study.models(models), relations, settings=study.settings),
        partial(knowledge_findings, relations=relations, exponent=exponent, seed=seed),
        study,
    )


@grouped
def sources_command(
    models: MODELS = None,
    source: Annotated[
        list[str] | None,
        opt(
            "NAME=CONTEXTS: a source and its context set; may be repeated.",
            unset="the topic's built-in sets",
        ),
    ] = None,
    *,
    study: Annotated[Study, "topic", "groups", _AUDIT, _OUTPUT],
) -> None:
    """Do rankings of models agree across contexts from several sources? (Table 4, bvf-sources)"""
    from clinometer.studies.sources import source_sets, sources_findings, sources_plan

    topic, settings = topic_of(study.topic, study.groups), study.settings
    named = [_pair(text, "--source", "NAME=CONTEXTS") for text in source or ()]
    sets = source_sets(topic, named)
    plan = sources_plan(study.models(models), sets, topic=topic, settings=settings)
    carry_out(plan, partial(sources_findings, seed=settings.seed), study)


@grouped
def languages_command(
    models: MODELS = None,
    topic: Annotated[str, opt("A built-in topic or a .toml file.")] = "gender-zh",
    *,
    study: Annotated[Study, "groups", "contexts", _AUDIT, _CHAT, _OUTPUT],
) -> None:
    """Risks in another language, beside the paper's Table 5 (--suite bvf-chinese)."""
    from clinometer.studies.risk_tables import languages_plan, table_findings

    plan = languages_plan(study.models(models), **replace(study, topic=topic).question)
    carry_out(plan, partial(table_findings, "languages"), study)


@grouped
def reaudit_command(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A table of replies, as for import replies.")
    ],
    mapping: Annotated[
        str, opt("Which fields are what: a ready mapping or a .toml file.")
    ] = "hiring_bias",
    *,
    output: VIEW,
) -> None:
    """A published audit read again: its own figures, then lean, swing and dice, and half splits."""
    from clinometer.bridges.mapping import load_mapping
    from clinometer.studies.reaudit import reaudit

    folder = output.folder("reaudit")
    found = reaudit(table, load_mapping(mapping), AuditSettings(), out=folder)
    finish(found, folder, output)


@grouped
def leaning_command(runs: RUNS, *, output: VIEW) -> None:
    """Which way each group leans in each model, and which lean alike in all (Figure 5)."""
    from clinometer.studies.views import leaning_findings

    finish(leaning_findings(_named(runs)), output.folder("leaning"), output)


@grouped
def distribution_command(runs: RUNS, *, output: VIEW) -> None:
    """Distribution of bias and volatility risk over the groups (Figures 10 and 16)."""
    from clinometer.studies.views import distribution_findings

    finish(distribution_findings(_named(runs)), output.folder("distribution"), output)


@grouped
def heatmap_command(
    runs: RUNS,
    group: Annotated[list[str] | None, opt("Only this group; may be repeated.")] = None,
    context: Annotated[
        list[str] | None, opt("Only this context, by its template; may be repeated.")
    ] = None,
    contexts: Annotated[int, opt("Number of contexts, heaviest first.", allowed=ranges.COUNT)] = 10,
    *,
    output: VIEW,
) -> None:
    """Heat map of preferences by group and context (Figure 11)."""
    from clinometer.studies.views import heatmap_findings

    found = heatmap_findings(_named(runs), groups=group or (), contexts=context or contexts)
    finish(found, output.folder("heatmap"), output)


def _named(paths: list[Path]) -> list[tuple[str, Run]]:
    """Runs by the name of their model; by model and folder if two share a name."""
    runs = [Run.load(path) for path in paths]
    names = [run.model for run in runs]
    return [
        (run.model if names.count(run.model) == 1 else f"{run.model} ({path.name})", run)
        for path, run in zip(paths, runs, strict=True)
    ]


@grouped
def toxicity_command(
    model: Annotated[str, typer.Argument(help="A causal model with weights.")],
    texts: Annotated[list[Path], typer.Argument(metavar="TEXTS...", help=".csv, .jsonl or .txt.")],
    column: Annotated[str | None, opt("The column that contains the texts.")] = None,
    where: Annotated[
        list[str] | None, opt("COLUMN=VALUE,…: use only these rows; may be repeated.")
    ] = None,
    max_texts: Annotated[
        int | None, opt("Sample at most this many texts.", allowed=ranges.COUNT)
    ] = None,
    *,
    training: Training,
    study: Annotated[
        Study, "topic", "groups", "contexts", "max_contexts", "device", "seed", _OUTPUT
    ],
) -> None:
    """Fine-tune a model on toxic text and compare it with itself (Figure 6, D.4).

    The texts are never printed. The trained model stays in the study's folder: do not deploy it.
    """
    from clinometer.studies.toxicity import (
        finetuned,
        read_texts,
        some_of,
        toxicity_findings,
        toxicity_plan,
    )

    folder, seed = study.folder("toxicity"), study.settings.seed
    chosen = some_of(read_texts(texts, column=column, where=where or ()), max_texts, seed=seed)
    training = replace(training, seed=seed)
    plan = toxicity_plan(model, folder, chosen, **study.question, training=training)

    def train() -> None:
        if study.fresh:
            shutil.rmtree(folder / "model", ignore_errors=True)
        with progress("training", unit="steps", start=f"loading {model}") as watch:
            finetuned(model, chosen, folder / "model", training=training, progress=watch)

    findings = partial(toxicity_findings, texts=len(chosen), training=training)
    carry_out(plan, findings, study, before=train)


@grouped
def vision_command(
    images: Annotated[Path, typer.Argument(help="A folder with GROUP/SCENE.png.")],
    model: Annotated[
        list[str], opt("A CLIP-type model: folder or hub id; may be repeated.", "--model")
    ],
    label: Annotated[
        list[str], opt("CATEGORY=TEXT, such as 'male=a photo of a man'; may be repeated.")
    ],
    *,
    study: Annotated[Study, "device", "seed", _OUTPUT],
) -> None:
    """Which text a CLIP-type model prefers for groups in different scenes (E.3)."""
    from clinometer.models.catalog.spec import folder_name
    from clinometer.studies.vision import ask_images, find_images, vision_findings

    folder = study.folder("vision")
    found = find_images(images)
    texts = dict(_pair(text, "--label", "CATEGORY=TEXT") for text in label)
    if study.only_plan:
        if study.json_output:
            print_json({"study": "vision", "images": len(found.files), "models": model})
        else:
            line = f"study vision: {len(found.files):,} images to score with {len(model)} models"
            console().print(line, soft_wrap=True)
        return
    named = []
    for name in model:
        place = folder / "runs" / folder_name(name)
        with progress(name, unit="images", kept=Kept(place)) as watch:
            run = ask_images(
                name,
                found,
                texts,
                place,
                settings=study.settings,
                fresh=study.fresh,
                progress=watch,
            )
        named.append((name, run))
    finish(vision_findings(named), folder, study)


def versions_command(
    sources: StatementsArgument,
    variants: VariantsOption,
    most: Annotated[int, opt("Maximum number of versions.", allowed=ranges.VERSIONS)] = 49,
    format: FormatOption = None,
    limit: LimitOption = None,
    seed: SEED = 0,
    encoder: Annotated[
        str, opt("A sentence-transformers model: name, folder or hub id.")
    ] = "all-MiniLM-L6-v2",
    device: DEVICE = LoadOptions.device,
    json_output: JSON = False,
) -> None:
    """Average pairwise dissimilarity of versions by their number (COBIAS, Figure 8)."""
    from clinometer.models.texts.embeddings import SentenceEncoder
    from clinometer.studies.cobias import version_count_study

    statements = read_statements(sources, format=format, limit=limit, seed=seed)
    embed = SentenceEncoder(encoder, device=device).embed
    found = version_count_study(statements, read_variants(variants), embed, most=most, seed=seed)
    if json_output:
        print_json(found.to_dict())
        return
    table = TerminalTable(f"{found.statements} statements with {most} versions or more")
    table.add_numbers("n", "dissimilarity", "interval")
    for n, value in zip(found.n, found.dissimilarity, strict=True):
        if n in (2, 3, most) or n % 5 == 0:
            interval = "" if value.low is None else f"{value.low:.4f}–{value.high:.4f}"
            table.add_row(str(n), f"{value.value:.4f}", interval)
    table.print(console())
    change = found.late_change
    interval = "" if change.low is None else f" ({change.low:+.4f} to {change.high:+.4f})"
    console().print(f"second half less first half: {change.value:+.4f}{interval}")
    if found.left_out:
        console().print(f"{found.left_out} statements have fewer versions")


@grouped
def temperature_command(
    sources: StatementsArgument,
    temperature: Annotated[
        list[float] | None,
        opt(
            "A temperature; may be repeated.",
            allowed=ranges.TEMPERATURE,
            unset="1.1, 1.2, 1.3, 1.4",
        ),
    ] = None,
    out: Annotated[
        Path | None, opt("Folder for versions and scores; written as it goes, and resumed.")
    ] = None,
    score_with: ModelsOption = None,
    writer: Annotated[
        str | None, opt("A model that writes the versions.", unset="the filler alone")
    ] = None,
    format: FormatOption = None,
    limit: LimitOption = None,
    *,
    settings: Annotated[VariantSettings, "n", "filler", "seed", "device"],
    fresh: Annotated[bool, opt("Start over instead of resuming.", "--fresh")] = False,
    json_output: JSON = False,
) -> None:
    """Cronbach's alpha of COBIAS across sampling temperatures (COBIAS, D.2).

    Statements need blanks (context_points).
    """
    from clinometer.studies.cobias import TEMPERATURES, temperature_study

    seed, load = settings.seed, settings.load
    statements = read_statements(sources, format=format, limit=limit, seed=seed)
    with progress("versions", unit="statements", start="loading models", kept=Kept(out)) as watch:
        found = temperature_study(
            statements,
            temperatures=temperature or TEMPERATURES,
            models=score_with or ("pocket:bert",),
            versions=replace(settings, model=writer),
            settings=ReliabilitySettings(versions=None, seed=seed, load=load),
            out=out,
            fresh=fresh,
            progress=watch,
        )
    if json_output:
        print_json(found.to_dict())
        return
    table = TerminalTable(f"{found.statements} statements, {settings.n} versions each")
    table.add_numbers("temperature", "mean COBIAS", "interval")
    for t, value in zip(found.temperatures, found.cobias, strict=True):
        interval = between(value.low, value.high)
        table.add_row(f"{t:g}", f"{value.value:.3f}", interval)
    table.print(console())
    alpha = found.alpha
    console().print(
        f"Cronbach's alpha {alpha.value:.3f} (95 % interval {alpha.low:.3f} to {alpha.high:.3f})",
        markup=False,
    )
