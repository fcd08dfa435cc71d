"""clinometer study: the papers' experiments. Each command makes a plan and its findings."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from clinometer import settings as ranges
from clinometer.cli import reliability
from clinometer.cli.carry_out import Study, carry_out, finish
from clinometer.cli.options import argument, keys_of_settings, pair
from clinometer.cli.progress import progress
from clinometer.errors import SettingsError
from clinometer.models.catalog.suites import members, suites
from clinometer.models.embeddings import SentenceEncoder
from clinometer.reliability import (
    ReliabilitySettings,
    load_statements,
    read_variants,
)
from clinometer.reliability.benchmarks import sample_statements
from clinometer.reliability.variants import VariantSettings
from clinometer.report.figure import Figure
from clinometer.runs import Run
from clinometer.runs.read_preferences import read_table
from clinometer.runs.several_runs import run_names
from clinometer.settings import option, values_from_texts
from clinometer.studies import sensitivity, toxicity
from clinometer.studies.alignment import alignment_findings, alignment_plan, by_base
from clinometer.studies.cobias import (
    TEMPERATURES,
    temperature_study,
    version_count_study,
)
from clinometer.studies.factors import factor_findings, read_factors
from clinometer.studies.figures import figures_findings, leaning_findings
from clinometer.studies.fix import read_fixes
from clinometer.studies.fix_plan import fixes_plan
from clinometer.studies.fix_preparation import prepare
from clinometer.studies.fixes import fixes_findings
from clinometer.studies.framework import (
    Findings,
    Models,
    about,
    plan_of,
    study_contexts,
)
from clinometer.studies.knowledge import knowledge_findings, read_facts
from clinometer.studies.several_models import (
    printed,
    printed_beside,
    size_findings,
    source_sets,
    sources_findings,
    table_findings,
)
from clinometer.tables import Table
from clinometer.topics import load_topic

MODELS = argument(
    "MODEL...",
    "Models, as for audit, or a suite of the paper's (list models); none: the paper's.",
    None,
)
RUN = argument("RUN", "A run folder.")


_QUESTION = ("topic", "contexts")
_LOADED = ("device", "load", "allow")
_AUDIT = ("max_contexts", "download", *_LOADED, "seed")
_OUTPUT = ("out", "only_plan", "fresh", "shard", "json_output")
VIEW = Annotated[Study, "out", "json_output"]
"""The options of a study of runs that are there already."""


def factors_command(
    run: Path = RUN,
    measure: str = option("r", help="r, r_bias or r_volatility."),
    factors: Path | None = option(
        None,
        help="Your own csv file: a column group, then one column per factor. Or a .txt file of "
        "words with their counts, such as the list that the paper cites.",
        unset="built-in: US labor statistics, our counts of the words",
    ),
    weights: str = option(
        "both",
        help="What groups weigh by: employment (the paper), the error of their risk, both, none.",
    ),
    *,
    output: VIEW,
) -> None:
    """Regress group risk on pay, education, share of women and word frequency.

    Weighted least squares with robust (HC3) errors, and a chart of each (Figures 9, 12 to 15); a
    correlation over occupations, not a cause.
    """
    table = None if factors is None else read_factors(factors)
    findings = factor_findings(
        Run.load(run), table=table, measure=measure, weights=weights
    )
    finish(findings, output)


def sensitivity_command(run: Path = RUN, *, output: VIEW) -> None:
    """R, Rᵇ and Rᵛ under every defensible analysis choice; no model is loaded.

    Changes one choice at a time: weights, words, scale, criterion, coverage, correction.
    """
    finish(sensitivity(Run.load(run)), output)


def table_command(
    number: str = argument("N", "1, 2, 3 or 5."),
    models: list[str] | None = MODELS,
    *,
    study: Annotated[
        Study, "contexts", "single_token", "tolerance", "criterion", _AUDIT, _OUTPUT
    ],
) -> None:
    """Risks of models beside the paper's Table 1 (gender), 2 (race), 3 (religion, disability) or 5.

    Table 5 is gender in Chinese. Table 4 compares sources of contexts: study sources.
    """
    name = f"table{number}"
    topics = {
        key: load_topic(table.topic) for key, table in printed_beside(name).items()
    }
    if not topics:
        studies = dict.fromkeys(
            table.study for table in printed().values() if table.study
        )
        numbers = ", ".join(study.removeprefix("table") for study in studies)
        raise SettingsError(
            f"study table: expected one of {numbers}, found {number} (Table 4: study sources)"
        )
    chosen = study.models(models, name)
    parts = []
    for key, topic in topics.items():
        parts.append((key, chosen, topic, study_contexts(topic, study.contexts)))
    plan = plan_of(name, parts, study.settings)
    carry_out(plan, partial(table_findings, study=name), study)


def size_command(
    models: list[str] | None = MODELS,
    *,
    study: Annotated[Study, _QUESTION, _AUDIT, _OUTPUT],
) -> None:
    """The trend of the risks with model size in a family of models (Figure 7)."""
    topic = load_topic(study.topic)
    contexts = study_contexts(topic, study.contexts)
    part = ("", study.models(models, "size"), topic, contexts)
    plan = plan_of("size", [part], study.settings)
    carry_out(plan, partial(size_findings, seed=study.settings.seed), study)


def alignment_command(
    models: list[str] | None = argument(
        "BASE [VERSION...]",
        "The base model, then its versions; none, or bvf-rlhf: the paper's three sizes.",
        None,
    ),
    *,
    study: Annotated[Study, _QUESTION, _AUDIT, "chat", _OUTPUT],
) -> None:
    """Compare base models with their aligned or instruction-tuned versions (Figure 8).

    --chat also scores the versions inside their chat template; a single model, itself.
    """
    suite = models[0] if models else about("alignment").suite
    families: list[Models] = [models or []]
    if suite in suites():
        families = list(by_base(members(suite, download=study.download)))
    plan = alignment_plan(families, **study.question)
    carry_out(plan, alignment_findings, study)


def knowledge_command(
    models: list[str] = argument("MODEL...", "Models, as for audit."),
    facts: Path | None = option(
        None,
        help="A TOML file with your own facts.",
        unset="capitals, authors, elements",
    ),
    exponent: float = option(
        0.5,
        help="Exponent a of J(p) = p^a, above 0 and at most 1.",
        allowed=ranges.SHARE_ABOVE_0,
    ),
    *,
    study: Annotated[Study, _LOADED, _OUTPUT],
) -> None:
    """Facts instead of stereotypes: knowledge, and the cost of inconsistency (E.1, E.2)."""
    relations = read_facts() if facts is None else read_facts(facts)
    parts = [(r.name, models, r.topic, r.contexts) for r in relations]
    plan = plan_of("knowledge", parts, study.settings)
    findings = partial(knowledge_findings, relations=relations, exponent=exponent)
    carry_out(plan, findings, study)


def fixes_command(
    model: str = argument(
        "MODEL", "A model, as for audit; or run:FOLDER, a finished run."
    ),
    fix: list[str] = option(
        help="What is done to it; may be repeated. ganguli, si, tamkin: debiasing prompts of the "
        "literature; system:FILE: your prompt; prefix:TEXT: a text before the sentence; steer or "
        "steer:LAYER: a steering vector; adapter:FOLDER; model:NAME; run:FOLDER."
    ),
    also: str | None = option(
        None,
        help="Topics that the fixes were not made for, such as race,religion.",
        unset="none",
    ),
    no_facts: bool = option(False, help="Leave out facts and perplexity."),
    *,
    study: Annotated[
        Study,
        _QUESTION,
        _AUDIT,
        "chat",
        "replies",
        "out",
        "only_plan",
        "fresh",
        "json_output",
    ],
) -> None:
    """Did a fix remove the lean, or turn it into swing, silence or another bias?

    Each fix and its control are asked what the base is asked. One verdict each, by rules with an
    error rate.
    """
    fixes = read_fixes(fix)
    folder = study.folder("fixes")
    facts = () if no_facts else read_facts()
    topic = load_topic(study.topic)
    questions = [(topic, study_contexts(topic, study.contexts))]
    for name in (also or "").split(","):
        if name.strip():
            topic = load_topic(name.strip())
            questions.append((topic, study_contexts(topic, None)))
    plan = fixes_plan(model, fixes, folder, questions, study.settings, facts)
    findings = partial(
        fixes_findings, fixes=fixes, out=folder, model=model, facts=facts
    )
    make_fixes = partial(prepare, plan, fixes, folder, study.fresh)
    carry_out(plan, findings, study, before=make_fixes)


def sources_command(
    models: list[str] | None = MODELS,
    source: list[str] | None = option(
        None,
        help="NAME=CONTEXTS: a source and its context set; may be repeated.",
        unset="the topic's built-in sets",
    ),
    *,
    study: Annotated[Study, "topic", _AUDIT, _OUTPUT],
) -> None:
    """Do rankings of models agree across contexts from several sources? (Table 4)"""
    topic = load_topic(study.topic)
    settings = study.settings
    sources = [pair(text, "--source", "NAME=CONTEXTS") for text in source or ()]
    sets = source_sets(topic, sources)
    chosen = study.models(models, "sources")
    if len(chosen) < 2:
        raise SettingsError("study sources: expected at least two models to rank")
    parts = [(name, chosen, topic, contexts) for name, contexts in sets]
    plan = plan_of("sources", parts, settings)
    carry_out(plan, partial(sources_findings, seed=settings.seed), study)


def figures_command(
    runs: list[Path] = argument(
        "RUN...", "Run folders; or tables of preferences, for their leanings alone."
    ),
    group: list[str] | None = option(
        None, help="In the heat map only this group; may be repeated.", unset="all"
    ),
    contexts: int = option(
        10, help="Contexts of the heat map, heaviest first.", allowed=ranges.COUNT
    ),
    *,
    output: VIEW,
) -> None:
    """Which way groups lean, the spread of their risks, single answers (Figures 5, 10, 11, 16).

    Of tables of preferences (as for import table) the leanings, with system bias and deviation.
    """
    if all(path.is_file() for path in runs):
        tables = [(path.stem, read_table(path)) for path in runs]
        finish(leaning_findings(tables), output)
        return
    opened = [Run.load(path) for path in runs]
    by_name = list(zip(run_names(opened), opened, strict=True))
    findings = figures_findings(by_name, groups=group or (), contexts=contexts)
    finish(findings, output)


_TRAINING = keys_of_settings(
    toxicity.Training,
    (
        "epochs",
        "learning_rate",
        "warmup",
        "batch",
        "accumulation",
        "max_tokens",
        "lora",
        "rank",
    ),
)
"""The keys of --train, each with its help and default."""


def toxicity_command(
    model: str = argument("MODEL", "A causal model with weights."),
    texts: list[Path] = argument("TEXTS...", ".csv, .jsonl or .txt."),
    where: list[str] | None = option(
        None, help="COLUMN=VALUE,…: use only these rows; may be repeated."
    ),
    max_texts: int | None = option(
        None, help="Sample at most this many texts.", allowed=ranges.COUNT
    ),
    train: list[str] | None = option(
        None,
        help="KEY=VALUE: how the model is trained; may be repeated.",
        keys=_TRAINING,
        unset="as in the paper's D.4",
    ),
    *,
    study: Annotated[Study, _QUESTION, "max_contexts", "device", "seed", _OUTPUT],
) -> None:
    """Fine-tune a model on toxic text and compare it with itself (Figure 6, D.4).

    The texts are never printed. The trained model stays in the study's folder: do not deploy it.
    """
    folder = study.folder("toxicity")
    seed = study.settings.seed
    toxic_texts = toxicity.read_texts(texts, where=where or ())
    sample = toxicity.some_of(toxic_texts, max_texts, seed=seed)
    values = values_from_texts(
        toxicity.Training, train or (), list(_TRAINING), where="--train"
    )
    training = toxicity.Training(**values, seed=seed)
    plan = toxicity.toxicity_plan(model, folder, **study.question)

    def train_model() -> None:
        with progress("training", unit="steps", start=f"loading {model}") as watch:
            toxicity.finetuned(
                model,
                sample,
                folder / "model",
                training=training,
                fresh=study.fresh,
                progress=watch,
            )

    findings = partial(toxicity.toxicity_findings, texts=len(sample), training=training)
    carry_out(plan, findings, study, before=train_model)


def versions_command(
    statements: list[str] = reliability.StatementsArgument,
    variants: Path | None = option(
        None,
        help="Versions of the statements, jsonl {id, variants} or csv id, version: how dissimilar "
        "the first n of them are.",
        unset="made at each temperature and scored",
    ),
    temperature: list[float] | None = option(
        None,
        help="Make and score versions at this temperature; may be repeated.",
        allowed=ranges.TEMPERATURE,
        unset="ten from 1.1 to 1.38, without --variants",
    ),
    versions: int | None = option(
        None,
        "-n",
        "--versions",
        help="Versions of each statement.",
        allowed=ranges.COUNT,
        unset="49 of --variants, 40 made",
    ),
    score_with: list[str] | None = reliability.ModelsOption,
    writer: str | None = option(
        None, help="A model that writes the versions.", unset="built-in phrases"
    ),
    limit: int | None = reliability.LimitOption,
    *,
    settings: Annotated[VariantSettings, "filler", "seed", "device"],
    output: Annotated[Study, "out", "fresh", "json_output"],
) -> None:
    """How many versions of a statement are enough, and at what temperature? (COBIAS, D)

    With --variants the average pairwise dissimilarity of the first n versions (Figure 8); without,
    or with --temperature, Cronbach's alpha of COBIAS across temperatures (D.2), for statements
    with blanks (context_points).
    """
    folder = output.folder("versions")
    seed = settings.seed
    sample = sample_statements(load_statements(*statements), limit, seed=seed)
    parts: list[Findings] = []
    if variants is not None:
        encoder = SentenceEncoder(device=settings.load.device)
        most = {} if versions is None else {"most": versions}
        made_versions = read_variants(variants)
        parts.append(
            version_count_study(sample, made_versions, encoder.embed, **most, seed=seed)
        )
    if variants is None or temperature:
        n = settings.n if versions is None else versions
        with progress(
            "versions", unit="statements", start="loading models", kept=folder
        ) as watch:
            by_temperature = temperature_study(
                sample,
                temperatures=temperature or TEMPERATURES,
                models=score_with or ("pocket:bert",),
                versions=replace(settings, n=n, model=writer),
                settings=ReliabilitySettings(
                    versions=None, seed=seed, load=settings.load
                ),
                out=folder,
                fresh=output.fresh,
                progress=watch,
            )
        parts.append(by_temperature)
    tables: list[Table] = []
    figures: list[Figure] = []
    for part in parts:
        tables += part.tables
        figures += part.figures
    finish(Findings("versions", tables, figures), output)
