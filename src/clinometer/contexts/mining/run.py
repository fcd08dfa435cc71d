"""One mining run from corpus to context set.

The articles of every source are counted first; then it is known which of them are the sample, and
the sample is cut into pieces. Each piece (read, parsed, counted) depends on nothing else, so that
processes and machines can share them in any way; their counts become one context set per topic.
The work folder keeps what is finished: the same command resumes after a kill.
"""

from __future__ import annotations

import hashlib
import heapq
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, islice, tee
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

from clinometer.contexts.context_set import ArticlesRecord, ContextSet, SetMetadata
from clinometer.contexts.mining.corpora import (
    Source,
    articles,
    find_sources,
    raw_articles,
)
from clinometer.contexts.mining.languages import Language, open_language
from clinometer.contexts.mining.languages.shared import Decision
from clinometer.contexts.mining.settings import KEYS, MineSettings
from clinometer.contexts.mining.work_folder import (
    Part,
    SourceCounts,
    WorkFolder,
)
from clinometer.errors import ContextError, InputError
from clinometer.settings import WHOLE, Shard
from clinometer.storage.atomic import output_file

#: Called with the stage, what is done, and the total if it is known.
StageProgress = Callable[[str, int, int | None], None]

PIECE = 100  # articles per piece: the most work that a kill can lose
FEWEST = 10  # pieces of a small corpus, so that its progress is seen
BATCH = 400  # sentences that are parsed together
#: Seconds between two looks at how far the processes are.
_LOOK_S = 0.5
#: Articles that are counted between two reports of it.
_TELL = 1000


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
    run = _opened(corpus, path, settings, explain=explain is not None)
    work = run.work
    with work.opened(run.identity(work.shards), fresh=fresh):
        work.check_no_shard_runs()
        try:
            run.do(WHOLE, processes, progress or (lambda *_: None))
        except InputError:
            if not work.done():  # a failure at the start leaves nothing behind
                work.clear()
            raise
        if explain is not None:
            with (
                output_file(Path(explain), error=ContextError) as beside,
                beside.open("w", encoding="utf-8") as file,
            ):
                file.writelines(work.explained(run.pieces))
        contexts = run.context_set(path.name.partition(".csv")[0])
        contexts.save(path)
        work.clear()
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
    run = _opened(corpus, Path(out), settings, explain=explain)
    with run.work.joined(run.identity(shard.of), shard):
        run.do(shard, processes, progress or (lambda *_: None))


def _opened(
    corpus: Sequence[str | os.PathLike[str]], path: Path, settings: MineSettings, *, explain: bool
) -> _MiningRun:
    sources = tuple(find_sources([os.fspath(place) for place in corpus]))
    open_language(settings)  # refuses what cannot be mined
    if not path.parent.is_dir():
        raise ContextError(f"{path}: the folder {path.parent} does not exist; make it first")
    if not path.name.endswith((".csv", ".csv.gz")):
        raise ContextError(f"{path}: expected a file that ends in .csv or .csv.gz")
    return _MiningRun(sources, settings, WorkFolder(path), explain)


@dataclass(frozen=True)
class _MiningRun:
    """What each process of a run is given; it loads a parser of its own."""

    sources: tuple[Source, ...]
    settings: MineSettings
    work: WorkFolder
    explain: bool

    def identity(self, shards: int) -> dict[str, Any]:
        """All that decides what the pieces hold, and who does them."""
        sources = [source.identity for source in self.sources]
        about = self.settings.describe()
        return about | {"sources": sources, "explain": self.explain, "shards": shards}

    def do(self, shard: Shard, processes: int, progress: StageProgress) -> None:
        """Do those pieces of a shard that were not done before."""
        self._count(shard, progress)
        pieces = shard.part(range(self.pieces))

        def tell() -> set[int]:
            done = self.work.done().intersection(pieces)
            progress("parsing", len(done), len(pieces))
            return done

        done = tell()
        todo = [piece for piece in pieces if piece not in done]
        if processes == 1 or len(todo) < 2:
            for _ in self.store(todo):
                tell()
        else:
            _in_processes(self, [todo[p::processes] for p in range(processes)], tell)

    def _count(self, shard: Shard, progress: StageProgress) -> None:
        """Count the articles of the sources that nobody has counted; shards begin with different
        ones."""
        read, first = 0, shard.index * len(self.sources) // shard.of
        for number in (*range(first, len(self.sources)), *range(first)):
            if (counts := self.work.counts(number)) is None:
                counts = _counted(self.sources[number], self.settings.field, read, progress)
                self.work.write_counts(number, counts)
            read += counts.articles
        if not read:
            damage = (f"{n} × {what}" for each in self._counts for what, n in each.damage.items())
            skipped = ", ".join(damage)
            where = ", ".join(source.name for source in self.sources[:3])
            raise ContextError(
                f"{where}: expected at least one article, found "
                + (f"none; skipped: {skipped}" if skipped else "an empty file")
            )

    @cached_property
    def _counts(self) -> list[SourceCounts]:
        each = map(self.work.counts, range(len(self.sources)))
        return [counts for counts in each if counts is not None]

    @cached_property
    def _sample(self) -> list[Sequence[int]]:
        return sampled([counts.articles for counts in self._counts], self.settings)

    @property
    def _piece(self) -> int:
        """Articles in a piece."""
        return min(PIECE, max(1, -(-sum(map(len, self._sample)) // FEWEST)))

    @property
    def pieces(self) -> int:
        """How many pieces there are."""
        return -(-sum(map(len, self._sample)) // self._piece)

    def store(self, pieces: Sequence[int]) -> Iterator[int]:
        """Read, parse, count and store these pieces; gives the number of each when it is stored."""
        language = open_language(self.settings)
        for piece, rows in groupby(self._texts({*pieces}), key=lambda row: row[0] // self._piece):
            self.work.write_part(piece, *self._mined(rows, language))
            yield piece

    def _texts(self, pieces: set[int]) -> Iterator[tuple[int, str]]:
        """The articles of these pieces, each with its index in the sample."""
        before = accumulate(map(len, self._sample), initial=0)
        for source, numbers, first in zip(self.sources, self._sample, before, strict=False):
            in_pieces = (
                (at, number)
                for at, number in enumerate(numbers, start=first)
                if at // self._piece in pieces
            )
            rows, wanted = tee(in_pieces)
            field, damage = self.settings.field, Counter[str]()
            texts = articles(source, field=field, damage=damage, numbers=(n for _, n in wanted))
            yield from ((at, text) for (at, _), text in zip(rows, texts, strict=False))

    def _mined(
        self, rows: Iterable[tuple[int, str]], language: Language
    ) -> tuple[Part, list[Decision]]:
        """Parse the candidate sentences of articles, and count the decisions on them."""
        part, explained = Part(), list[Decision]()

        def candidates() -> Iterator[tuple[int, str]]:
            for at, text in rows:
                sentences = language.find(text)
                part.articles += bool(sentences) or self.settings.sample is not None
                part.sentences += len(sentences)
                yield from ((at, sentence) for sentence in sentences)

        waiting = candidates()
        while batch := list(islice(waiting, BATCH)):
            decided = language.decide([sentence for _, sentence in batch])
            for (at, _), decisions in zip(batch, decided, strict=True):
                part.tally.take(decisions, at)
                explained += decisions if self.explain else ()
        return part, explained

    def context_set(self, name: str) -> ContextSet:
        """The set; an error, and no work folder, if it would be empty."""
        settings, language, total = self.settings, open_language(self.settings), Part()
        for part in self.work.parts(self.pieces):
            total.add(part)
        tally = total.tally
        read = sum(counts.articles for counts in self._counts)
        templates = tally.merged(language.merge_key)
        frequent = {t: each for t, each in templates.items() if each.count >= settings.min_count}
        if not frequent:
            self.work.clear()
            rules = ", ".join(f"{n} × {rule}" for rule, n in tally.rules.most_common(3))
            raise ContextError(
                f"topic {settings.topic.name!r}: no context found in {read} articles "
                f"({total.sentences} sentences parsed"
                f"{'; dropped: ' + rules if rules else ''}); nothing was written: give more text, "
                "or lower --min-count"
            )
        damage = sum((Counter(counts.damage) for counts in self._counts), Counter[str]())
        described: dict[str, Any] = language.describe()
        sure: dict[str, Any] = {}
        if tally.confidences:
            sure["min_confidence"] = settings.least_confidence
            sure["confidences"] = dict(sorted(tally.confidences.items()))
        metadata = SetMetadata(
            corpus=", ".join(source.name for source in self.sources),
            source=settings.source or "not said",
            topic=settings.topic.name,
            language=settings.topic.language,
            command=command(self.sources, settings),
            **described,
            articles=ArticlesRecord(read=read, mined=total.articles),
            damage=dict(sorted(damage.items())),
            sentences_parsed=total.sentences,
            occurrences=sum(each.count for each in frequent.values()),
            dropped=dict(sorted(tally.rules.items(), key=lambda r: (-r[1], r[0]))),
            near_duplicates_merged=len(tally.templates) - len(templates),
            below_min_count=len(templates) - len(frequent),
            **sure,
        )
        return ContextSet(
            name,
            list(frequent),
            [float(each.count) for each in frequent.values()],
            {"articles": [str(each.articles) for each in frequent.values()]},
            metadata,
        )


def _counted(source: Source, field: str, before: int, progress: StageProgress) -> SourceCounts:
    """What a source contains; `before` articles of others were counted already."""
    damage, read = Counter[str](), 0
    for read, _ in enumerate(raw_articles(source, field=field, damage=damage), start=1):
        if read % _TELL == 0:
            progress("reading", before + read, None)
    progress("reading", before + read, None)
    return SourceCounts(articles=read, damage=dict(damage))


def _in_processes(
    run: _MiningRun, shares: Sequence[Sequence[int]], look: Callable[[], object]
) -> None:
    """Each share in a process of its own; if one fails, the others are ended."""
    others = {*active_children()}
    with ProcessPoolExecutor(len(shares), mp_context=get_context("spawn")) as pool:
        working = {pool.submit(_store_all, run, share) for share in shares}
        try:
            while working:
                ended, working = wait(working, timeout=_LOOK_S, return_when=FIRST_EXCEPTION)
                for future in ended:
                    future.result()
                look()
        except BaseException as exc:
            for child in {*active_children()} - others:
                child.terminate()
            if isinstance(exc, BrokenProcessPool):
                raise ContextError(
                    "mining: a worker process died; rerun the same command to resume"
                ) from exc
            raise


def _store_all(run: _MiningRun, pieces: Sequence[int]) -> None:
    for _ in run.store(pieces):
        pass


def command(sources: Sequence[Source], settings: MineSettings) -> str:
    """The command that repeats this run, without local folders."""
    words = ["clinometer mine", *(source.name for source in sources)]
    words.append(f"--topic {settings.topic.name}")
    words += ["--as-in-paper"] if settings.as_in_paper else []
    words.append(f"--sample {settings.sample or 'all'} --seed {settings.seed}")
    default = MineSettings(topic=settings.topic)
    for option in ("strategy", "about", "parser", "min_confidence", "field", "min_count"):
        value = getattr(settings, option)
        if value != getattr(default, option):
            text = f"{value:g}" if isinstance(value, float) else value
            words.append(f"--set {option}={text}" if option in KEYS else f"--{option} {text}")
    return " ".join(words)


def priority(seed: int, source: int, number: int) -> int:
    """The random number of an article, 0 to 2**64 - 1; those with the smallest are the sample.

    >>> priority(0, 0, 1) == priority(0, 0, 1), priority(0, 0, 1) == priority(1, 0, 1)
    (True, False)
    """
    key = f"{seed}:{source}:{number}".encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")


def sampled(counts: Sequence[int], settings: MineSettings) -> list[Sequence[int]]:
    """The articles to mine: of each source the numbers, from 1 and increasing.

    They follow from the numbers of articles and the seed, so that every process finds the same.
    """
    if settings.sample is None or settings.sample >= sum(counts):
        return [range(1, count + 1) for count in counts]
    smallest = heapq.nsmallest(
        settings.sample,
        (
            (priority(settings.seed, source, number), source, number)
            for source, count in enumerate(counts)
            for number in range(1, count + 1)
        ),
    )
    numbers: list[list[int]] = [[] for _ in counts]
    for _, source, number in smallest:
        numbers[source].append(number)
    return [sorted(each) for each in numbers]
