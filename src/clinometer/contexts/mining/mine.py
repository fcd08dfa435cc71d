"""One mining run from corpus to context set."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from clinometer.contexts.context_set import ContextSet, context_ids
from clinometer.contexts.mining.executors import run
from clinometer.contexts.mining.corpora import Source, find_sources
from clinometer.contexts.mining.languages import Language, open_languages
from clinometer.contexts.mining.read import Sampled, read_source
from clinometer.contexts.mining.settings import DEFAULT_LINKS, MIN_CONFIDENCE, MineSettings
from clinometer.contexts.mining.tally import Found, Tally, merged
from clinometer.contexts.mining.work_folder import SourceCounts, WorkFolder
from clinometer.contexts.sidecar import ArticlesRecord, SetMetadata
from clinometer.errors import ContextError, InputError
from clinometer.storage.atomic import replacing
from clinometer.storage.resumable import store_as_they_come

#: Called with the stage, what is done, and the total where it is known.
StageProgress = Callable[[str, int, int | None], None]
#: Texts -> one number each.
Perplexity = Callable[[Sequence[str]], Sequence[float]]


def mine(
    corpus: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    settings: MineSettings,
    *,
    name: str | None = None,
    executor: str = "local",
    processes: int = 1,
    allow_open_ray: bool = False,
    explain: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    perplexity: Perplexity | None = None,
    max_perplexity: float | None = None,
    progress: StageProgress | None = None,
) -> ContextSet:
    """Mine contexts from a corpus and write them to `out`, with a sidecar .json; those of
    `settings.also` beside it. Returns the set of the first topic.

    An interrupted run resumes: nothing is parsed twice, and the result is the same byte for byte.
    `explain` names a .jsonl file that gives for every sentence why it was kept or dropped. With
    `perplexity` (texts -> one number each) and `max_perplexity`, templates that a language model
    finds too unlikely are dropped.
    """
    path = Path(out)
    sources = find_sources([os.fspath(place) for place in corpus])
    languages = open_languages(settings)
    if not path.parent.is_dir():
        raise ContextError(f"{path}: the folder {path.parent} does not exist; make it first")
    if not path.name.endswith((".csv", ".csv.gz")):
        raise ContextError(f"{path}: expected a file that ends in .csv or .csv.gz")
    name = name or path.name.split(".csv")[0]
    run = _MiningRun(sources, settings, languages, WorkFolder(path), progress or _ignored)
    once = any(source.is_stdin for source in sources)  # standard input cannot be read again
    with run.work.opened(run.identity(explain is not None), fresh=fresh or once):
        run.parse(
            explain=explain is not None,
            executor=executor,
            processes=processes,
            allow_open_ray=allow_open_ray,
        )
        if explain is not None:
            run.write_explanations(Path(explain))
        sets = run.contexts(name, perplexity, max_perplexity)
        for place, contexts in zip(out_files(path, settings), sets, strict=True):
            contexts.save(place)
        run.work.clear()
    return sets[0]


def out_files(path: Path, settings: MineSettings) -> list[Path]:
    """Where the set of each topic is written: wiki.csv, wiki-religion.csv, …"""
    stem, ending, rest = path.name.partition(".csv")
    return [path.with_name(f"{name}{ending}{rest}") for name in _names(stem, settings)]


def _names(first: str, settings: MineSettings) -> list[str]:
    """The name of each topic's set, beside wiki or wiki-race: wiki-religion, …"""
    stem = first.removesuffix(f"-{settings.topic.name}")
    return [first, *(f"{stem}-{topic.name}" for topic in settings.also)]


def _ignored(stage: str, done: int, total: int | None) -> None:
    """Progress that is not shown."""


@dataclass
class _MiningRun:
    """One mining run in its open work folder: parse, explain, count."""

    sources: list[Source]
    settings: MineSettings
    languages: list[Language]
    work: WorkFolder
    progress: StageProgress
    counts: SourceCounts = field(init=False)
    sampled: Sampled = field(init=False)
    pieces: int = field(init=False)

    def identity(self, explain: bool) -> dict[str, Any]:
        """What makes it another run."""
        return {
            **self.settings.describe(),
            "sources": [source.identity for source in self.sources],
            "explain": explain,
        }

    def parse(self, *, explain: bool, **where: Any) -> None:
        """Read the sources and parse the pieces that an earlier attempt has not, with the
        executor that `where` describes."""
        work = self.work
        try:
            self.counts = _read_all(
                self.sources, self.settings, self.languages[0], work, self.progress
            )
            self.sampled = Sampled(work, len(self.sources), self.settings.sample)
            self.pieces = sum(1 for _ in self.sampled.pieces())
            left = (
                (n, piece) for n, piece in enumerate(self.sampled.pieces()) if not work.has_part(n)
            )
            parsed = run(left, self.settings, self.languages, explain=explain, **where)
            store_as_they_come(
                parsed,
                work.write_parts,
                done=sum(work.has_part(n) for n in range(self.pieces)),
                total=self.pieces,
                progress=partial(self.progress, "parsing"),
            )
        except InputError:
            if not work.has_parts():  # a failure at the start leaves nothing behind
                work.clear()
            raise

    def write_explanations(self, path: Path) -> None:
        """Write why every sentence was kept or dropped."""
        with (
            replacing(path, error=ContextError) as beside,
            beside.open("w", encoding="utf-8") as f,
        ):
            f.writelines(self.work.explained(self.pieces))

    def contexts(
        self, name: str, perplexity: Perplexity | None, max_perplexity: float | None
    ) -> list[ContextSet]:
        """The sets of the parsed pieces, one per topic; an error, and no work folder, if one would
        be empty."""
        each = zip(_names(name, self.settings), self.settings.each_topic(), strict=True)
        return [
            self._of_topic(at, settings, its_name, perplexity, max_perplexity)
            for at, (its_name, settings) in enumerate(each)
        ]

    def _of_topic(
        self,
        at: int,
        settings: MineSettings,
        name: str,
        perplexity: Perplexity | None,
        max_perplexity: float | None,
    ) -> ContextSet:
        total = Tally()
        for tally in self.work.tallies(self.pieces, at):
            total.add(tally)
        language = self.languages[at]
        found = merged(total, language.merge_key)
        likely = _likely(found, perplexity, max_perplexity)
        kept = {t: each for t, each in likely.items() if each.count >= settings.min_count}
        if not kept:
            self.work.clear()
            raise _nothing(self.counts, self.sampled, total, settings)
        described: dict[str, Any] = language.describe()
        metadata = SetMetadata(
            corpus=", ".join(source.name for source in self.sources),
            source=settings.source or "not said",
            topic=settings.topic.name,
            language=settings.topic.language,
            command=command(self.sources, settings),
            **described,
            articles=ArticlesRecord(read=self.counts.articles, mined=self.sampled.articles),
            damage=self.counts.damage,
            sentences_parsed=self.sampled.sentences,
            occurrences=sum(each.count for each in kept.values()),
            dropped=dict(sorted(total.rules.items(), key=lambda r: (-r[1], r[0]))),
            near_duplicates_merged=len(total.templates) - len(found),
            below_min_count=len(likely) - len(kept),
            too_unlikely=len(found) - len(likely),
            **_confidence(settings, total, kept),
        )
        return ContextSet(
            name,
            list(kept),
            [float(each.count) for each in kept.values()],
            {"articles": [str(each.articles) for each in kept.values()]},
            metadata,
        )


def _confidence(settings: MineSettings, total: Tally, kept: dict[str, Found]) -> dict[str, Any]:
    """What the sidecar says about confidence, if links have one."""
    if not total.confidences:
        return {}
    ids = context_ids(tuple(kept))
    means = {id: each.confidence for id, each in zip(ids, kept.values(), strict=True)}
    return {
        "min_confidence": settings.min_confidence,
        "confidence": {id: mean for id, mean in means.items() if mean is not None},
        "confidences": dict(sorted(total.confidences.items())),
    }


def _read_all(
    sources: list[Source],
    settings: MineSettings,
    language: Language,
    work: WorkFolder,
    tell: StageProgress,
) -> SourceCounts:
    articles = characters = 0
    damage: Counter[str] = Counter()
    for number, source in enumerate(sources):
        before = articles
        counts = read_source(
            number,
            source,
            language,
            settings,
            work,
            lambda n, before=before: tell("reading", before + n, None),  # type: ignore[misc]
        )
        articles += counts.articles
        characters += counts.characters
        damage.update(counts.damage)
    if not articles:
        lost = ", ".join(f"{n} × {what}" for what, n in damage.items())
        where = ", ".join(source.name for source in sources[:3])
        raise ContextError(
            f"{where}: expected at least one article, found "
            + (f"none; skipped: {lost}" if lost else "an empty file")
        )
    return SourceCounts(
        articles=articles, characters=characters, damage=dict(sorted(damage.items()))
    )


def _nothing(
    counts: SourceCounts, sampled: Sampled, total: Tally, settings: MineSettings
) -> ContextError:
    rules = ", ".join(f"{n} × {rule}" for rule, n in total.rules.most_common(3))
    return ContextError(
        f"topic {settings.topic.name!r}: no context found in {counts.articles} articles "
        f"({sampled.sentences} sentences parsed{'; dropped: ' + rules if rules else ''}); "
        "nothing was written"
    )


def command(sources: Sequence[Source], settings: MineSettings) -> str:
    """The command that repeats this run, without local folders."""
    words = ["clinometer mine", *(source.name for source in sources)]
    words.append(f"--topic {settings.topic.name}")
    words.append(f"--sample {settings.sample or 'all'} --seed {settings.seed}")
    if settings.links != DEFAULT_LINKS:
        words.append(f"--links {','.join(settings.links)}")
    if settings.strategy != "auto":
        words.append(f"--strategy {settings.strategy}")
    if settings.about != "own":
        words.append(f"--about {settings.about}")
    if settings.parser:
        words.append(f"--parser {settings.parser}")
    if settings.resolver != "rules":
        words.append(f"--resolver {settings.resolver}")
    if settings.min_confidence != MIN_CONFIDENCE:
        words.append(f"--min-confidence {settings.min_confidence:g}")
    if settings.field != "text":
        words.append(f"--field {settings.field}")
    if settings.min_count != 1:
        words.append(f"--min-count {settings.min_count}")
    return " ".join(words)


def _likely(
    found: dict[str, Found],
    perplexity: Perplexity | None,
    limit: float | None,
) -> dict[str, Found]:
    """Templates that a language model, if there is one, finds likely enough."""
    if perplexity is None or limit is None or not found:
        return found
    values = perplexity(list(found))
    return {t: n for (t, n), v in zip(found.items(), values, strict=True) if v <= limit}
