"""First stage: read every article once and spool its candidate sentences.

No parser runs here. Memory holds one article, and one number per sampled article.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator

from clinometer.contexts.mining.article_sample import Smallest, priority
from clinometer.contexts.mining.corpora import Source, articles
from clinometer.contexts.mining.languages import Language
from clinometer.contexts.mining.settings import MineSettings
from clinometer.contexts.mining.work_folder import SourceCounts, WorkFolder
from clinometer.errors import ContextError

PIECE = 400  # sentences per piece: the most work that a kill can lose
FEWEST = 10  # pieces of a small corpus, so that its progress is seen


def read_source(
    number: int,
    source: Source,
    language: Language,
    settings: MineSettings,
    work: WorkFolder,
    progress: Callable[[int], None],
) -> SourceCounts:
    """Spool the candidate sentences of a source, once; returns its counts."""
    known = work.read_counts(number)
    if known is not None:
        return known
    damage: Counter[str] = Counter()
    smallest = Smallest(settings.sample) if settings.sample else None
    read = characters = 0
    with work.spooling(number) as spool:
        for read, text in enumerate(articles(source, field=settings.field, damage=damage), start=1):
            characters += len(text)
            drawn = priority(settings.seed, number, read)
            if smallest is None or smallest.add(drawn):
                found = language.find(text)
                if found or smallest:
                    row = [read, drawn, len(text), found]
                    spool.write(json.dumps(row, ensure_ascii=False) + "\n")
            progress(read)
    counts = SourceCounts(
        articles=read,
        characters=characters,
        damage=dict(damage),
        spooled=work.spool(number).stat().st_size,
    )
    work.write_counts(number, counts)
    return counts


class Sampled:
    """The sampled articles among all spooled ones."""

    def __init__(self, work: WorkFolder, sources: int, sample: int | None) -> None:
        self._work = work
        self._sources = sources
        self._limit = None
        if sample is not None:
            smallest = Smallest(sample)
            for _, drawn, _, _ in self._rows():
                smallest.add(drawn)
            self._limit = smallest.limit
        self._size = PIECE
        self.articles = self.sentences = self.characters = 0
        for _ in self.pieces():
            if self.sentences >= PIECE * FEWEST:  # no small corpus: no need to count on
                break
        self._size = min(PIECE, max(1, -(-self.sentences // FEWEST)))

    def pieces(self) -> Iterator[list[tuple[int, str]]]:
        """Pieces of at most PIECE candidate sentences in corpus order, each with the index of its
        article in the sample; counts them while iterating."""
        piece: list[tuple[int, str]] = []
        self.articles = self.sentences = self.characters = 0
        for _, drawn, size, found in self._rows():
            if self._limit is not None and drawn > self._limit:
                continue
            self.articles += 1
            self.characters += size
            for sentence in found:
                self.sentences += 1
                piece.append((self.articles, sentence))
                if len(piece) == self._size:
                    yield piece
                    piece = []
        if piece:
            yield piece

    def _rows(self) -> Iterator[tuple[int, int, int, list[str]]]:
        for number in range(self._sources):
            with self._work.spool(number).open(encoding="utf-8") as spool:
                for line in spool:
                    try:
                        read, drawn, size, found = json.loads(line)
                    except (ValueError, TypeError, RecursionError) as exc:
                        raise ContextError(
                            f"{self._work.spool(number)}: damaged; start over with --fresh"
                        ) from exc
                    yield read, drawn, size, found
