"""The work of a mining run, cut into pieces that depend on nothing else.

The articles of every source are counted first; then it is known which of them are the sample, and
the sample is cut into pieces. Each piece is read, parsed and counted by itself, so that processes
and machines can share them in any way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

from clinometer.contexts.mining.corpora import Source, articles, raw_articles
from clinometer.contexts.mining.corpora.sources import digest_of_sample
from clinometer.contexts.mining.languages import Decision, Language, open_language
from clinometer.contexts.mining.parts import Part, SourceCounts
from clinometer.contexts.mining.sampling import sampled
from clinometer.contexts.mining.settings import MineSettings
from clinometer.contexts.mining.work_folder import WorkFolder
from clinometer.errors import ContextError
from clinometer.storage.shard import Shard

StageProgress = Callable[[str, int, int | None], None]
"""Called with the stage, what is done, and the total if it is known."""

PIECE = 100
"""Articles per piece: the most work that a kill can lose."""

FEWEST = 10
"""Pieces of a small corpus, so that its progress can be watched."""

BATCH = 400
"""Sentences that are parsed together."""

_LOOK_S = 0.5
"""Seconds between two looks at how far the processes are."""

_ARTICLES_BETWEEN_REPORTS = 1000
"""Articles that are counted between two reports of it."""


@dataclass(frozen=True)
class MiningWork:
    """The work as each process is given it; each loads a parser of its own."""

    sources: tuple[Source, ...]
    settings: MineSettings
    work: WorkFolder
    explain: bool

    def identity(self, shards: int) -> dict[str, Any]:
        """Return all that decides what the pieces hold, and who does them."""
        # A zip file is read once for all of its members.
        digests = {
            source.place: digest_of_sample(Path(source.place))
            for source in self.sources
        }
        return self.settings.describe() | {
            "sources": [
                [*source.identity, digests[source.place]] for source in self.sources
            ],
            "explain": self.explain,
            "shards": shards,
        }

    def do(self, shard: Shard, processes: int, progress: StageProgress) -> None:
        """Do those pieces of a shard that are not done yet."""
        self._count_articles(shard, progress)
        pieces = shard.part(range(self.pieces))
        done = self.work.done().intersection(pieces)
        remaining = [piece for piece in pieces if piece not in done]

        def report() -> None:
            done = self.work.done().intersection(pieces)
            progress("parsing", len(done), len(pieces))

        report()
        if processes == 1 or len(remaining) < 2:
            self.store(remaining, report)
        else:
            shares = [remaining[first::processes] for first in range(processes)]
            _in_processes(self, shares, report)

    def _count_articles(self, shard: Shard, progress: StageProgress) -> None:
        """Count the articles of the sources that nobody has counted.

        Shards begin with different sources.
        """
        read = 0
        first = shard.index * len(self.sources) // shard.of
        for number in (*range(first, len(self.sources)), *range(first)):
            counts = self.work.counts(number)
            if counts is None:
                source = self.sources[number]
                counts = _count_source(source, self.settings.field, read, progress)
                self.work.write_counts(number, counts)
            read += counts.articles
        if read == 0:
            raise self._no_article()

    def _no_article(self) -> ContextError:
        damage = [
            f"{number} × {reason}"
            for counts in self.source_counts
            for reason, number in counts.damage.items()
        ]
        contents = f"none; skipped: {', '.join(damage)}" if damage else "an empty file"
        names = ", ".join(source.name for source in self.sources[:3])
        return ContextError(f"{names}: expected at least one article, found {contents}")

    @cached_property
    def source_counts(self) -> list[SourceCounts]:
        """Return the counts of the sources, once they are counted."""
        counts = [self.work.counts(number) for number in range(len(self.sources))]
        return [source for source in counts if source is not None]

    @cached_property
    def _sample(self) -> list[Sequence[int]]:
        """Return the numbers of the articles in the sample, for each source."""
        counts = [counts.articles for counts in self.source_counts]
        return sampled(counts, self.settings)

    @property
    def _sample_size(self) -> int:
        return sum(len(numbers) for numbers in self._sample)

    @property
    def _articles_per_piece(self) -> int:
        return min(PIECE, max(1, _ceil_divide(self._sample_size, FEWEST)))

    @property
    def pieces(self) -> int:
        """Return how many pieces there are."""
        return _ceil_divide(self._sample_size, self._articles_per_piece)

    def store(
        self, pieces: Sequence[int], on_stored: Callable[[], None] = lambda: None
    ) -> None:
        """Read, parse, count and store these pieces; `on_stored` is called after each."""
        language = open_language(self.settings)
        size = self._articles_per_piece
        texts = self._texts(set(pieces), size)
        for piece, texts_of_piece in groupby(texts, key=lambda row: row[0] // size):
            part, decisions = self._mine(texts_of_piece, language)
            self.work.write_part(piece, part, decisions)
            on_stored()

    def _texts(self, pieces: set[int], size: int) -> Iterator[tuple[int, str]]:
        """Yield the articles of these pieces, each with its index in the sample."""
        first = 0
        for source, numbers in zip(self.sources, self._sample, strict=True):
            indices = range(first, first + len(numbers))
            texts = articles(
                source,
                field=self.settings.field,
                damage=Counter(),
                numbers=(
                    number
                    for index, number in zip(indices, numbers, strict=True)
                    if index // size in pieces
                ),
            )
            indices_in_pieces = (i for i in indices if i // size in pieces)
            yield from zip(indices_in_pieces, texts, strict=False)
            first += len(numbers)

    def _mine(
        self, texts: Iterable[tuple[int, str]], language: Language
    ) -> tuple[Part, list[Decision]]:
        """Parse the candidate sentences of articles, and count the decisions on them.

        The decisions themselves are returned if they are to be explained.
        """
        part = Part()
        explained: list[Decision] = []
        candidates = self._candidates(texts, language, part)
        while batch := list(islice(candidates, BATCH)):
            decided = language.decide([sentence for _, sentence in batch])
            for (index, _), decisions in zip(batch, decided, strict=True):
                part.count(decisions, index)
                if self.explain:
                    explained += decisions
        return part, explained

    def _candidates(
        self, texts: Iterable[tuple[int, str]], language: Language, part: Part
    ) -> Iterator[tuple[int, Any]]:
        """Yield the candidate sentences, each with the index of its article, and count both."""
        for index, text in texts:
            sentences = language.find(text)
            if sentences or self.settings.sample is not None:
                part.read += 1
            part.sentences += len(sentences)
            for sentence in sentences:
                yield index, sentence


def _ceil_divide(number: int, divisor: int) -> int:
    """Return the quotient, rounded up.

    >>> _ceil_divide(10, 5), _ceil_divide(11, 5)
    (2, 3)
    """
    return -(-number // divisor)


def _count_source(
    source: Source, field: str, read_before: int, progress: StageProgress
) -> SourceCounts:
    """Return what a source contains; `read_before` articles of others are counted already."""
    damage: Counter[str] = Counter()
    read = 0
    for _ in raw_articles(source, field=field, damage=damage):
        read += 1
        if read % _ARTICLES_BETWEEN_REPORTS == 0:
            progress("reading", read_before + read, None)
    progress("reading", read_before + read, None)
    return SourceCounts(articles=read, damage=dict(damage))


def _in_processes(
    work: MiningWork, shares: Sequence[Sequence[int]], on_look: Callable[[], None]
) -> None:
    """Do each share in a process of its own; if one fails, the others are ended."""
    earlier_children = set(active_children())
    with ProcessPoolExecutor(len(shares), mp_context=get_context("spawn")) as pool:
        running = {pool.submit(work.store, share) for share in shares}
        try:
            while running:
                ended, running = wait(
                    running, timeout=_LOOK_S, return_when=FIRST_EXCEPTION
                )
                for future in ended:
                    future.result()
                on_look()
        except BaseException as exc:
            for child in set(active_children()) - earlier_children:
                child.terminate()
            if isinstance(exc, BrokenProcessPool):
                raise ContextError(
                    "mining: a worker process died; rerun the same command to resume"
                ) from exc
            raise
