"""One mining run from corpus to context set.

The pieces of the corpus (`pieces.py`) are mined in any order and on any machine; their counts
become one context set. The work folder next to the output keeps what is finished: the same command
resumes after a kill.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clinometer.contexts.context_set import ContextSet
from clinometer.contexts.metadata import SetMetadata
from clinometer.contexts.mining.corpora import Source, find_sources
from clinometer.contexts.mining.languages import open_language
from clinometer.contexts.mining.parts import Part
from clinometer.contexts.mining.pieces import MiningWork, StageProgress
from clinometer.contexts.mining.settings import KEYS, MineSettings
from clinometer.contexts.mining.work_folder import WorkFolder
from clinometer.errors import ContextError, InputError
from clinometer.storage.atomic import output_file
from clinometer.storage.shard import WHOLE, Shard


def mine(
    corpus: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    settings: MineSettings,
    *,
    processes: int = 1,
    explain: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    progress: StageProgress | None = None,
) -> ContextSet:
    """Mine contexts from a corpus and write them to `out`, with a sidecar .json.

    An interrupted run resumes: nothing is parsed twice, and the result is the same byte for byte.
    What `mine_shard` did is not done again. `explain` names a .jsonl file that gives for every
    sentence why it was kept or dropped.
    """
    path = Path(out)
    work = _opened(corpus, path, settings, explain=explain is not None)
    folder = work.work
    with folder.opened(work.identity(folder.shards), fresh=fresh):
        folder.check_no_shard_runs()
        try:
            work.do(WHOLE, processes, progress or _no_progress)
        except InputError:
            if not folder.done():  # a failure at the start leaves nothing behind
                folder.clear()
            raise
        if explain is not None:
            _write_explanations(work, Path(explain))
        contexts = _context_set(work, path.name.partition(".csv")[0])
        contexts.save(path)
        folder.clear()
    return contexts


def mine_shard(
    corpus: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    settings: MineSettings,
    shard: Shard,
    *,
    processes: int = 1,
    explain: bool = False,
    progress: StageProgress | None = None,
) -> None:
    """Do one shard of the work of `mine`, on any machine that has the corpus and the folder of
    `out`. Afterwards `mine` does what no shard has done, and writes the sets."""
    work = _opened(corpus, Path(out), settings, explain=explain)
    with work.work.joined(work.identity(shard.of), shard):
        work.do(shard, processes, progress or _no_progress)


def _no_progress(stage: str, done: int, total: int | None) -> None:
    """Report nothing."""


def _opened(
    corpus: Sequence[str | os.PathLike[str]],
    path: Path,
    settings: MineSettings,
    *,
    explain: bool,
) -> MiningWork:
    """Return the work, unless the corpus, the settings or the output cannot be right."""
    sources = tuple(find_sources([os.fspath(place) for place in corpus]))
    open_language(settings)  # refuses what cannot be mined
    if not path.parent.is_dir():
        raise ContextError(
            f"{path}: the folder {path.parent} does not exist; make it first"
        )
    if not path.name.endswith((".csv", ".csv.gz")):
        raise ContextError(f"{path}: expected a file that ends in .csv or .csv.gz")
    return MiningWork(sources, settings, WorkFolder(path), explain)


def _write_explanations(work: MiningWork, path: Path) -> None:
    with (
        output_file(path, error=ContextError) as draft,
        draft.open("w", encoding="utf-8") as file,
    ):
        file.writelines(work.work.explained(work.pieces))


def _context_set(work: MiningWork, name: str) -> ContextSet:
    """Return the set; if it would be empty, that is an error, and the work folder is removed."""
    total = Part()
    for part in work.work.parts(work.pieces):
        total.add(part)
    language = open_language(work.settings)
    templates = total.merged(language.merge_key)
    least = work.settings.min_count
    frequent = [template for template in templates if template.count >= least]
    if not frequent:
        work.work.clear()
        raise _no_context(work, total)
    about_language: dict[str, Any] = language.describe()
    metadata = SetMetadata(
        **_about_corpus(work),
        **about_language,
        **_about_confidence(work.settings, total),
        articles={"read": _articles_read(work), "mined": total.read},
        sentences_parsed=total.sentences,
        occurrences=sum(template.count for template in frequent),
        dropped=_most_frequent_first(total.rules),
        near_duplicates_merged=len(total.templates) - len(templates),
        below_min_count=len(templates) - len(frequent),
    )
    return ContextSet(
        name,
        [template.text for template in frequent],
        [float(template.count) for template in frequent],
        {"articles": [str(template.articles) for template in frequent]},
        metadata,
    )


def _no_context(work: MiningWork, total: Part) -> ContextError:
    rules = [f"{number} × {rule}" for rule, number in total.rules.most_common(3)]
    dropped = f"; dropped: {', '.join(rules)}" if rules else ""
    return ContextError(
        f"topic {work.settings.topic.name!r}: no context found in {_articles_read(work)} articles "
        f"({total.sentences} sentences parsed{dropped}); nothing was written: give more text, "
        "or lower --min-count"
    )


def _articles_read(work: MiningWork) -> int:
    return sum(counts.articles for counts in work.source_counts)


def _about_corpus(work: MiningWork) -> dict[str, Any]:
    """Return what the sidecar says of the corpus and the command."""
    settings = work.settings
    damage: Counter[str] = Counter()
    for counts in work.source_counts:
        damage.update(counts.damage)
    return {
        "corpus": ", ".join(source.name for source in work.sources),
        "source": settings.source or "not said",
        "topic": settings.topic.name,
        "language": settings.topic.language,
        "command": command(work.sources, settings),
        "damage": dict(sorted(damage.items())),
    }


def _about_confidence(settings: MineSettings, total: Part) -> dict[str, Any]:
    """Return what the sidecar says of confidences, if the strategy estimates them."""
    if not total.confidences:
        return {}
    return {
        "min_confidence": settings.least_confidence,
        "confidences": dict(sorted(total.confidences.items())),
    }


def _most_frequent_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda row: (-row[1], row[0])))


def command(sources: Sequence[Source], settings: MineSettings) -> str:
    """Return the command that repeats this run, without local folders."""
    words = ["clinometer mine", *(source.name for source in sources)]
    words.append(f"--topic {settings.topic.name}")
    if settings.as_in_paper:
        words.append("--as-in-paper")
    words.append(f"--sample {settings.sample or 'all'} --seed {settings.seed}")
    default = MineSettings(topic=settings.topic)
    for name in ("about", "parser", "min_confidence", "field", "min_count"):
        value = getattr(settings, name)
        if value != getattr(default, name):
            text = f"{value:g}" if isinstance(value, float) else value
            words.append(f"--set {name}={text}" if name in KEYS else f"--{name} {text}")
    return " ".join(words)
