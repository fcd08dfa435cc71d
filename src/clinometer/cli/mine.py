"""clinometer mine: contexts from a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from clinometer import settings as ranges
from clinometer.cli.options import JSON, SHARD, argument, set_option, set_settings
from clinometer.cli.printing import print_json, print_rows, say, sentence
from clinometer.cli.progress import progress
from clinometer.contexts import ContextSet
from clinometer.contexts.mining import MineSettings, mine
from clinometer.contexts.mining.run import mine_shard
from clinometer.contexts.mining.settings import KEYS
from clinometer.contexts.mining.work_folder import WorkFolder
from clinometer.errors import SettingsError
from clinometer.settings import option
from clinometer.storage.shard import Shard


def mine_command(
    corpus: list[str] = argument(
        "CORPUS...",
        "Files (.txt, .jsonl, a Wikipedia dump .xml, also packed as .gz, .zst, .bz2, .xz; "
        ".parquet, .zip), folders of these, or a member of a zip file (FILE.zip:MEMBER).",
    ),
    out: Path = option(help="The context set to write: a .csv or .csv.gz file."),
    *,
    settings: Annotated[
        MineSettings, "topic", "sample", "seed", "about", "as_in_paper"
    ],
    values: list[str] | None = set_option(MineSettings, *KEYS),
    explain: Path | None = option(
        None,
        help="Write a .jsonl file with each sentence, its parse, and its template or why it has "
        "none.",
    ),
    processes: int = option(
        1, help="Parallel processes on this machine.", allowed=ranges.COUNT
    ),
    shard: str | None = SHARD,
    fresh: bool = option(False, help="Start over instead of resuming."),
    json_output: bool = JSON,
) -> None:
    """Mine contexts from a corpus, weighted by frequency.

    Rerun the same command to resume after an interruption.
    """
    settings = set_settings(settings, values, KEYS)
    part = None if shard is None else Shard.parse(shard)
    if part is not None and fresh:
        raise SettingsError(
            "--fresh: expected without --shard; it would remove what other shards did"
        )
    work_folder = WorkFolder(out).folder
    with progress(
        "mining", unit="articles", start="loading the parser", kept=work_folder
    ) as watch:

        def report(stage: str, done: int, total: int | None) -> None:
            unit = "articles" if total is None else "pieces"
            watch.stage(stage, unit, done, total)

        if part is not None:
            mine_shard(
                corpus,
                out,
                settings,
                part,
                processes=processes,
                explain=explain is not None,
                progress=report,
            )
            say(
                f"shard {shard} is done; the same command without --shard writes {out}",
                prefix="",
            )
            return
        contexts = mine(
            corpus,
            out,
            settings,
            processes=processes,
            explain=explain,
            fresh=fresh,
            progress=report,
        )
    if json_output:
        print_json(
            {
                "out": str(out),
                "name": contexts.name,
                "contexts": len(contexts),
                "n_eff": contexts.n_eff,
                "sha256": contexts.sha256,
                **contexts.metadata.to_dict(),
            }
        )
    else:
        _print_contexts(contexts, out)


def _print_contexts(contexts: ContextSet, out: Path) -> None:
    """Print the most frequent contexts, and what they were mined from."""
    top = contexts.top(10)
    rows = []
    for template, count in zip(top.templates, top.counts, strict=True):
        rows.append((template, f"{count:.0f}"))
    title = f"{contexts.name}: the ten most frequent of {len(contexts)} contexts"
    print_rows(title, ["template", "count"], rows)
    metadata = contexts.metadata
    articles = metadata.articles or {}
    sentence(
        f"{metadata.occurrences} occurrences in {articles.get('mined', 0)} articles "
        f"({articles.get('read', 0)} read, {metadata.sentences_parsed} sentences parsed), "
        f"{contexts.n_eff:.1f} effective contexts; written to {out}"
    )
    for damage, number in metadata.damage.items():
        say(f"skipped {number} × {damage}", prefix="")
