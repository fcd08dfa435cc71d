"""clinometer study NAME: the papers' tables and figures, one command each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from clinometer import ranges
from clinometer.cli.option import opt
from clinometer.cli.parameters import GROUPS, grouped, topic_of
from clinometer.cli.study.frame import carry_out
from clinometer.cli.study.options import (
    CONTEXTS,
    MODELS,
    SETTINGS,
    TOPIC,
    StudyOutput,
)
from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings


def _table_command(study: str, about: str) -> Callable[..., None]:
    """The three tables are one command with three names."""

    @grouped
    def command(
        models: MODELS,
        contexts: CONTEXTS = None,
        *,
        settings: SETTINGS,
        output: StudyOutput,
    ) -> None:
        from clinometer.studies.between_models.risk_tables import table_findings, table_plan

        carry_out(
            table_plan(study, models, contexts=contexts, settings=settings),
            lambda asked: table_findings(study, asked),
            output=output,
        )

    command.__doc__ = about
    return command


table1_command = _table_command(
    "table1", "Gender risks of models with ranks, next to the paper's Table 1."
)
table2_command = _table_command(
    "table2", "Race risks of models with ranks, next to the paper's Table 2."
)
table3_command = _table_command(
    "table3", "Religion and disability risks of models with ranks, next to the paper's Table 3."
)


@grouped
def size_command(
    models: MODELS,
    family: Annotated[
        list[str] | None,
        opt("NAME=MODEL,MODEL,…: another family with its own trend; may be repeated."),
    ] = None,
    topic: TOPIC = "gender",
    groups: GROUPS = None,
    contexts: CONTEXTS = None,
    *,
    settings: SETTINGS,
    output: StudyOutput,
) -> None:
    """Trend of bias and volatility with model size (Figure 7).

    The models given are one family; --family adds others.
    """
    from clinometer.studies.between_models.size import size_findings, size_plan

    families = [("", models)] + [_family(text) for text in family or ()]
    carry_out(
        size_plan(
            families,
            topic=topic_of(topic, groups),
            contexts=contexts,
            settings=settings,
        ),
        lambda asked: size_findings(asked, seed=settings.seed),
        output=output,
    )


def _family(text: str) -> tuple[str, list[str]]:
    name, equals, models = text.partition("=")
    found = [m.strip() for m in models.split(",") if m.strip()]
    if not equals or not name.strip() or len(found) < 2:
        raise SettingsError(f"--family: expected NAME=MODEL,MODEL,…; found {text!r}")
    return name.strip(), found


@grouped
def alignment_command(
    models: Annotated[
        list[str],
        typer.Argument(metavar="BASE [VERSION...]", help="The base model, then its versions."),
    ],
    chat: Annotated[
        bool,
        opt(
            "Also score the versions inside their chat template; a single model, itself.", "--chat"
        ),
    ] = False,
    topic: TOPIC = "gender",
    groups: GROUPS = None,
    contexts: CONTEXTS = None,
    *,
    settings: SETTINGS,
    output: StudyOutput,
) -> None:
    """Compare a base model with its aligned or instruction-tuned versions (Figure 8)."""
    from clinometer.studies.between_models.alignment import alignment_findings, alignment_plan

    carry_out(
        alignment_plan(
            models,
            topic=topic_of(topic, groups),
            contexts=contexts,
            settings=settings,
            chat=chat,
        ),
        alignment_findings,
        output=output,
    )


@grouped
def knowledge_command(
    models: MODELS,
    facts: Annotated[
        Path | None, opt("A TOML file with your own facts.", unset="capitals, authors, elements")
    ] = None,
    exponent: Annotated[
        float, opt("Exponent a of J(p) = p^a, above 0 and at most 1.", allowed=ranges.SHARE_ABOVE_0)
    ] = 0.5,
    *,
    settings: Annotated[AuditSettings, "device", "seed"],
    output: StudyOutput,
) -> None:
    """Facts instead of stereotypes: knowledge, and the cost of inconsistency (E.1, E.2)."""
    from clinometer.studies.extensions.facts import builtin_facts, read_facts
    from clinometer.studies.extensions.knowledge import knowledge_findings, knowledge_plan

    relations = builtin_facts() if facts is None else read_facts(facts)
    carry_out(
        knowledge_plan(models, relations, settings=settings),
        lambda asked: knowledge_findings(asked, relations, exponent=exponent, seed=settings.seed),
        output=output,
    )


@grouped
def sources_command(
    models: MODELS,
    source: Annotated[
        list[str] | None,
        opt(
            "NAME=CONTEXTS: a source and its context set; may be repeated.",
            unset="the topic's built-in sets",
        ),
    ] = None,
    topic: TOPIC = "gender",
    groups: GROUPS = None,
    *,
    settings: SETTINGS,
    output: StudyOutput,
) -> None:
    """Do rankings of models agree across contexts from several sources? (Table 4)"""
    from clinometer.studies.between_models.sources import (
        source_sets,
        sources_findings,
        sources_plan,
    )

    asked_topic = topic_of(topic, groups)
    carry_out(
        sources_plan(
            models,
            source_sets(asked_topic, [_source(text) for text in source or ()]),
            topic=asked_topic,
            settings=settings,
        ),
        lambda asked: sources_findings(asked, seed=settings.seed),
        output=output,
    )


@grouped
def corpora_command(
    models: MODELS,
    source: Annotated[
        list[str] | None,
        opt(
            "NAME=CONTEXTS: a source and its context set; may be repeated. The first is split "
            "into halves, and the others are compared with it.",
            unset="the topic's built-in sets, Wikipedia first",
        ),
    ] = None,
    topic: TOPIC = "gender",
    groups: GROUPS = None,
    *,
    settings: SETTINGS,
    output: StudyOutput,
) -> None:
    """Does the corpus matter? One model over halves of a corpus and over several sources."""
    from clinometer.studies.between_models.corpora import corpora_findings, corpora_plan
    from clinometer.studies.between_models.sources import source_sets

    asked_topic = topic_of(topic, groups)
    carry_out(
        corpora_plan(
            models,
            source_sets(asked_topic, [_source(text) for text in source or ()]),
            topic=asked_topic,
            settings=settings,
        ),
        lambda asked: corpora_findings(asked, seed=settings.seed),
        output=output,
    )


def _source(text: str) -> tuple[str, str]:
    name, equals, where = text.partition("=")
    if not equals or not name.strip() or not where.strip():
        raise SettingsError(f"--source: expected NAME=CONTEXTS; found {text!r}")
    return name.strip(), where.strip()


@grouped
def languages_command(
    models: MODELS,
    topic: TOPIC = "gender-zh",
    groups: GROUPS = None,
    contexts: CONTEXTS = None,
    *,
    settings: SETTINGS,
    output: StudyOutput,
) -> None:
    """Risks in another language, next to the paper's Table 5; any language with a topic file."""
    from clinometer.studies.between_models.risk_tables import languages_plan, table_findings

    carry_out(
        languages_plan(models, topic=topic_of(topic, groups), contexts=contexts, settings=settings),
        lambda asked: table_findings("languages", asked),
        output=output,
    )
