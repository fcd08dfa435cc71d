"""One mining run from corpus to context set."""

from __future__ import annotations

import hashlib
import heapq
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from clinometer.contexts.context_set import ArticlesRecord, ContextSet, SetMetadata, context_ids
from clinometer.contexts.mining.corpora import Source, articles, find_sources
from clinometer.contexts.mining.languages import Language, decide_each, open_languages
from clinometer.contexts.mining.languages.shared import Decision
from clinometer.contexts.mining.settings import DEFAULT_LINKS, MIN_CONFIDENCE, MineSettings
from clinometer.contexts.mining.work_folder import Found, SourceCounts, Tally, WorkFolder, merged
from clinometer.errors import ContextError, InputError, SettingsError
from clinometer.storage.atomic import replacing
from clinometer.storage.resumable import store_as_they_come

# --- Where pieces are parsed: in this process, in several, or on a Ray cluster -------------------


#: Number, and the sentences, each with the index of its article.
Piece = tuple[int, list[tuple[int, str]]]
#: Number, the tally of each topic, and what was decided for the first topic.
Done = tuple[int, list[Tally], list[Decision]]
#: Pieces sent to a cluster at a time: the number in memory here.
_WINDOW = 256


def decide_piece(languages: Sequence[Language], explain: bool, piece: Piece) -> Done:
    """Parse the sentences of a piece once and count the decisions of each topic."""
    number, sentences = piece
    tallies = [Tally() for _ in languages]
    kept: list[Decision] = []
    decided = decide_each(languages, [sentence for _, sentence in sentences])
    for (article, _), found in zip(sentences, decided, strict=True):
        for tally, decisions in zip(tallies, found, strict=True):
            tally.take(decisions, article)
        if explain:
            kept += found[0]
    return number, tallies, kept


def run(
    pieces: Iterable[Piece],
    settings: MineSettings,
    languages: Sequence[Language],
    *,
    explain: bool,
    executor: str,
    processes: int,
    allow_open_ray: bool = False,
) -> Iterator[Done]:
    """Yield the finished pieces as they complete."""
    if executor == "ray":
        yield from _on_ray(pieces, settings, explain, allow_open=allow_open_ray)
    elif executor != "local":
        raise SettingsError(f"executor: expected local or ray, found {executor!r}")
    elif processes > 1:
        yield from _in_processes(pieces, settings, explain, processes)
    else:
        for piece in pieces:
            yield decide_piece(languages, explain, piece)


# --- processes --------------------------------------------------------------------------------

_WORK: Callable[[Piece], Done] | None = None


def _open(settings: MineSettings, explain: bool) -> Callable[[Piece], Done]:
    return partial(decide_piece, open_languages(settings), explain)


def _begin(settings: MineSettings, explain: bool) -> None:
    global _WORK  # noqa: PLW0603  (one parser per process, loaded once)
    _WORK = _open(settings, explain)


def _work(piece: Piece) -> Done:
    if _WORK is None:
        raise RuntimeError("used before it was opened")
    return _WORK(piece)


def _in_processes(
    pieces: Iterable[Piece], settings: MineSettings, explain: bool, processes: int
) -> Iterator[Done]:
    waiting: set[Future[Done]] = set()
    pieces = iter(pieces)
    with ProcessPoolExecutor(
        processes,
        mp_context=get_context("spawn"),
        initializer=_begin,
        initargs=(settings, explain),
    ) as pool:
        try:
            while True:
                for piece in islice(pieces, 2 * processes - len(waiting)):
                    waiting.add(pool.submit(_work, piece))
                if not waiting:
                    return
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool as exc:
            raise ContextError(
                "mining: a worker process died; rerun the same command to resume"
            ) from exc


# --- Ray ----------------------------------------------------------------------------------------


def _on_ray(
    pieces: Iterable[Piece], settings: MineSettings, explain: bool, *, allow_open: bool
) -> Iterator[Done]:
    from clinometer.execution.ray import Pool, WorkerResources

    pieces = iter(pieces)
    resources = WorkerResources(cpus=1, gpus=0, allow_open=allow_open)
    with Pool(partial(_open, settings, explain), resources=resources) as pool:
        while window := list(islice(pieces, _WINDOW)):
            for _, done in pool.map(window):
                yield done


# --- A random sample of N articles in one pass over a stream of unknown length -------------------


def priority(seed: int, source: int, number: int) -> int:
    """The random number of an article, 0 to 2**64 - 1.

    >>> priority(0, 0, 1) == priority(0, 0, 1), priority(0, 0, 1) == priority(1, 0, 1)
    (True, False)
    """
    key = f"{seed}:{source}:{number}".encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")


class Smallest:
    """The n smallest numbers seen so far.

    >>> smallest = Smallest(2)
    >>> [smallest.add(x) for x in (5, 3, 9, 1)], smallest.limit
    ([True, True, False, True], 3)
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._heap: list[int] = []  # negated: the largest kept number is on top

    def add(self, number: int) -> bool:
        """Add a number; return whether it is now among the n smallest."""
        if len(self._heap) < self.n:
            heapq.heappush(self._heap, -number)
            return True
        if number >= -self._heap[0]:
            return False
        heapq.heapreplace(self._heap, -number)
        return True

    @property
    def limit(self) -> int:
        """The largest number that belongs to the n smallest."""
        return -self._heap[0] if self._heap else -1


# --- First stage: read every article once and spool its candidate sentences ----------------------


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


# --- One mining run from corpus to context set ---------------------------------------------------


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
