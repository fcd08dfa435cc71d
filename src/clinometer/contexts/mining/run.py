"""One mining run from corpus to context set.

Every article is read once and its candidate sentences are spooled; then those of a random sample
of articles are parsed in pieces; then the counts of all pieces become one context set per topic.
The work folder keeps what is finished, so that the same command resumes after a kill.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from clinometer.contexts.context_set import ArticlesRecord, ContextSet, SetMetadata, context_ids
from clinometer.contexts.mining.corpora import Source, articles, find_sources
from clinometer.contexts.mining.languages import Language, decide_each, open_languages
from clinometer.contexts.mining.languages.shared import Decision
from clinometer.contexts.mining.settings import KEYS, MineSettings
from clinometer.contexts.mining.work_folder import SourceCounts, Tally, TemplateCount, WorkFolder
from clinometer.errors import ContextError, InputError
from clinometer.storage.atomic import output_file
from clinometer.storage.resumable import store_as_they_come

#: Called with the stage, what is done, and the total if it is known.
StageProgress = Callable[[str, int, int | None], None]
#: Texts -> one number each.
Perplexity = Callable[[Sequence[str]], Sequence[float]]
#: Number, and the sentences, each with the index of its article.
Piece = tuple[int, list[tuple[int, str]]]
#: Number, the tally of each topic, and the decisions for the first topic.
ParsedPiece = tuple[int, list[Tally], list[Decision]]

PIECE = 400  # sentences per piece: the most work that a kill can lose
FEWEST = 10  # pieces of a small corpus, so that its progress is seen


def mine(
    corpus: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    settings: MineSettings,
    *,
    name: str | None = None,
    processes: int = 1,
    explain: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    perplexity: Perplexity | None = None,
    max_perplexity: float | None = None,
    progress: StageProgress | None = None,
) -> ContextSet:
    """Mine contexts from a corpus and write them to `out`, with a sidecar .json; those of
    `settings.also` next to it. Returns the set of the first topic.

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
    run = _MiningRun(sources, settings, languages, WorkFolder(path), progress or (lambda *_: None))
    identity = {
        **settings.describe(),
        "sources": [source.identity for source in sources],
        "explain": explain is not None,
    }
    once = any(source.is_stdin for source in sources)  # standard input cannot be read again
    with run.work.opened(identity, fresh=fresh or once):
        run.parse(explain=explain is not None, processes=processes)
        if explain is not None:
            with (
                output_file(Path(explain), error=ContextError) as beside,
                beside.open("w", encoding="utf-8") as file,
            ):
                file.writelines(run.work.explained(run.pieces))
        names = _names(name or path.name.split(".csv")[0], settings)
        sets = [
            run.context_set(number, its_name, perplexity, max_perplexity)
            for number, its_name in enumerate(names)
        ]
        for place, contexts in zip(out_files(path, settings), sets, strict=True):
            contexts.save(place)
        run.work.clear()
    return sets[0]


def out_files(path: Path, settings: MineSettings) -> list[Path]:
    """Where the set of each topic is written: wiki.csv, wiki-religion.csv, …"""
    stem, ending, rest = path.name.partition(".csv")
    return [path.with_name(f"{name}{ending}{rest}") for name in _names(stem, settings)]


def _names(first: str, settings: MineSettings) -> list[str]:
    """The name of each topic's set: after wiki or wiki-race follows wiki-religion, …"""
    stem = first.removesuffix(f"-{settings.topic.name}")
    return [first, *(f"{stem}-{topic.name}" for topic in settings.also)]


@dataclass
class _MiningRun:
    """One mining run in its open work folder: read, parse, count."""

    sources: list[Source]
    settings: MineSettings
    languages: list[Language]
    work: WorkFolder
    progress: StageProgress
    counts: SourceCounts = field(init=False)
    sample: _Sample = field(init=False)
    pieces: int = field(init=False)

    def parse(self, *, explain: bool, processes: int) -> None:
        """Read the sources, and parse the pieces that an earlier attempt did not finish."""
        work = self.work
        try:
            self.counts = self._read()
            self.sample = _Sample(work, len(self.sources), self.settings.sample)
            self.pieces = sum(1 for _ in self.sample.pieces())
            todo = (p for p in enumerate(self.sample.pieces()) if not work.has_part(p[0]))
            if processes > 1:
                parsed = _in_processes(todo, partial(_work, self.settings, explain), processes)
            else:
                parsed = map(partial(decide_piece, self.languages, explain), todo)
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

    def _read(self) -> SourceCounts:
        """Spool the candidate sentences of all sources; their counts together."""
        read, damage = 0, Counter[str]()
        for number, source in enumerate(self.sources):
            counts = self.work.read_counts(number) or self._spool(number, source, read)
            read += counts.articles
            damage.update(counts.damage)
        if not read:
            skipped = ", ".join(f"{n} × {what}" for what, n in damage.items())
            where = ", ".join(source.name for source in self.sources[:3])
            raise ContextError(
                f"{where}: expected at least one article, found "
                + (f"none; skipped: {skipped}" if skipped else "an empty file")
            )
        return SourceCounts(articles=read, damage=dict(sorted(damage.items())))

    def _spool(self, number: int, source: Source, before: int) -> SourceCounts:
        """Write the candidate sentences of a source; `before` articles were read already."""
        damage: Counter[str] = Counter()
        settings, language = self.settings, self.languages[0]
        smallest = Smallest(settings.sample) if settings.sample else None
        read = 0
        with self.work.spooling(number) as spool:
            texts = articles(source, field=settings.field, damage=damage)
            for read, text in enumerate(texts, start=1):
                random = priority(settings.seed, number, read)
                if smallest is None or smallest.add(random):
                    sentences = language.find(text)
                    if sentences or smallest:
                        spool.write(json.dumps([random, sentences], ensure_ascii=False) + "\n")
                self.progress("reading", before + read, None)
        spooled = self.work.spool(number).stat().st_size
        counts = SourceCounts(articles=read, damage=dict(damage), spooled=spooled)
        self.work.write_counts(number, counts)
        return counts

    def context_set(
        self, number: int, name: str, perplexity: Perplexity | None, max_perplexity: float | None
    ) -> ContextSet:
        """The set of a topic; an error, and no work folder, if it would be empty."""
        settings, language = self.settings.each_topic()[number], self.languages[number]
        total = Tally()
        for tally in self.work.tallies(self.pieces, number):
            total.add(tally)
        templates = total.merged(language.merge_key)
        likely = templates
        if perplexity is not None and max_perplexity is not None and templates:
            values = zip(templates.items(), perplexity(list(templates)), strict=True)
            likely = {t: count for (t, count), value in values if value <= max_perplexity}
        frequent = {t: each for t, each in likely.items() if each.count >= settings.min_count}
        if not frequent:
            self.work.clear()
            rules = ", ".join(f"{n} × {rule}" for rule, n in total.rules.most_common(3))
            raise ContextError(
                f"topic {settings.topic.name!r}: no context found in {self.counts.articles} "
                f"articles ({self.sample.sentences} sentences parsed"
                f"{'; dropped: ' + rules if rules else ''}); nothing was written: give more text, "
                "or lower --min-count"
            )
        described: dict[str, Any] = language.describe()
        metadata = SetMetadata(
            corpus=", ".join(source.name for source in self.sources),
            source=settings.source or "not said",
            topic=settings.topic.name,
            language=settings.topic.language,
            command=command(self.sources, settings),
            **described,
            articles=ArticlesRecord(read=self.counts.articles, mined=self.sample.articles),
            damage=self.counts.damage,
            sentences_parsed=self.sample.sentences,
            occurrences=sum(each.count for each in frequent.values()),
            dropped=dict(sorted(total.rules.items(), key=lambda r: (-r[1], r[0]))),
            near_duplicates_merged=len(total.templates) - len(templates),
            below_min_count=len(likely) - len(frequent),
            too_unlikely=len(templates) - len(likely),
            **_confidence(settings, total, frequent),
        )
        return ContextSet(
            name,
            list(frequent),
            [float(each.count) for each in frequent.values()],
            {"articles": [str(each.articles) for each in frequent.values()]},
            metadata,
        )


def _confidence(
    settings: MineSettings, total: Tally, templates: dict[str, TemplateCount]
) -> dict[str, Any]:
    """What the sidecar says about confidence, if links have one."""
    if not total.confidences:
        return {}
    means = zip(context_ids(tuple(templates)), templates.values(), strict=True)
    return {
        "min_confidence": settings.least_confidence,
        "confidence": {id: t.confidence for id, t in means if t.confidence is not None},
        "confidences": dict(sorted(total.confidences.items())),
    }


def command(sources: Sequence[Source], settings: MineSettings) -> str:
    """The command that repeats this run, without local folders."""
    words = ["clinometer mine", *(source.name for source in sources)]
    words.append(f"--topic {settings.topic.name}")
    words += ["--as-in-paper"] if settings.as_in_paper else []
    words.append(f"--sample {settings.sample or 'all'} --seed {settings.seed}")
    default = MineSettings(topic=settings.topic)
    for option in (
        *("links", "strategy", "about", "parser", "resolver"),
        *("min_confidence", "field", "min_count"),
    ):
        value = getattr(settings, option)
        if value != getattr(default, option):
            text = ",".join(value) if isinstance(value, tuple) else value
            text = f"{text:g}" if isinstance(text, float) else text
            words.append(f"--set {option}={text}" if option in KEYS else f"--{option} {text}")
    return " ".join(words)


def priority(seed: int, source: int, number: int) -> int:
    """The random number of an article, 0 to 2**64 - 1; those with the smallest are the sample.

    >>> priority(0, 0, 1) == priority(0, 0, 1), priority(0, 0, 1) == priority(1, 0, 1)
    (True, False)
    """
    key = f"{seed}:{source}:{number}".encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")


class Smallest:
    """The n smallest numbers seen so far: a random sample of a stream of unknown length.

    >>> smallest = Smallest(2)
    >>> [smallest.add(x) for x in (5, 3, 9, 1)]
    [True, True, False, True]
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._heap: list[int] = []  # negated: the largest of the n is on top

    def add(self, number: int) -> bool:
        """Add a number; return whether it is now among the n smallest."""
        if len(self._heap) < self.n:
            heapq.heappush(self._heap, -number)
            return True
        return heapq.heappushpop(self._heap, -number) != -number


class _Sample:
    """The sampled articles among all spooled ones."""

    def __init__(self, work: WorkFolder, sources: int, size: int | None) -> None:
        self._work = work
        self._sources = sources
        self._limit = None
        if size is not None:
            smallest = heapq.nsmallest(size, (random for random, _ in self._rows()))
            self._limit = max(smallest, default=-1)
        self._size = PIECE
        self.articles = self.sentences = 0
        for _ in self.pieces():
            if self.sentences >= PIECE * FEWEST:  # not a small corpus: no need to count on
                break
        self._size = min(PIECE, max(1, -(-self.sentences // FEWEST)))

    def pieces(self) -> Iterator[list[tuple[int, str]]]:
        """Pieces of at most PIECE candidate sentences in corpus order, each with the index of its
        article in the sample; counts them while iterating."""
        piece: list[tuple[int, str]] = []
        self.articles = self.sentences = 0
        for random, sentences in self._rows():
            if self._limit is not None and random > self._limit:
                continue
            self.articles += 1
            for sentence in sentences:
                self.sentences += 1
                piece.append((self.articles, sentence))
                if len(piece) == self._size:
                    yield piece
                    piece = []
        if piece:
            yield piece

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        for number in range(self._sources):
            with self._work.spool(number).open(encoding="utf-8") as spool:
                for line in spool:
                    try:
                        random, sentences = json.loads(line)
                    except (ValueError, TypeError, RecursionError) as exc:
                        raise ContextError(
                            f"{self._work.spool(number)}: damaged; start over with --fresh"
                        ) from exc
                    yield random, sentences


def decide_piece(languages: Sequence[Language], explain: bool, piece: Piece) -> ParsedPiece:
    """Parse the sentences of a piece once and count the decisions of each topic."""
    number, sentences = piece
    tallies = [Tally() for _ in languages]
    explained: list[Decision] = []
    decided = decide_each(languages, [sentence for _, sentence in sentences])
    for (article, _), by_topic in zip(sentences, decided, strict=True):
        for tally, decisions in zip(tallies, by_topic, strict=True):
            tally.take(decisions, article)
        if explain:
            explained += by_topic[0]
    return number, tallies, explained


#: The languages of a process of `_in_processes`, whose parsers it loads once.
_languages_here = lru_cache(maxsize=1)(open_languages)


def _work(settings: MineSettings, explain: bool, piece: Piece) -> ParsedPiece:
    return decide_piece(_languages_here(settings), explain, piece)


def _in_processes(
    pieces: Iterator[Piece], decide: Callable[[Piece], ParsedPiece], processes: int
) -> Iterator[ParsedPiece]:
    waiting: set[Future[ParsedPiece]] = set()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        try:
            while True:
                for piece in islice(pieces, 2 * processes - len(waiting)):
                    waiting.add(pool.submit(decide, piece))
                if not waiting:
                    return
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        except BrokenProcessPool as exc:
            raise ContextError(
                "mining: a worker process died; rerun the same command to resume"
            ) from exc
