"""One mining run from corpus to context set.

The articles of every source are counted first; then it is known which of them are the sample, and
the sample is cut into pieces. Each piece (read, parsed, counted) depends on nothing else, so that
processes and machines can share them in any way; their counts become one context set per topic.
The work folder next to the output keeps what is finished: the same command resumes after a kill.

contexts.csv.mining/
  settings.json             what is mined; a folder with other settings is refused
  sources/00000.json        how many articles a source has, and what is damaged in it
  parts/000000.json         what a piece holds, written whole or not at all
  shard-0.lock              held by the process that does this shard
"""

from __future__ import annotations

import hashlib
import heapq
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property, partial
from itertools import accumulate, groupby, islice, tee
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from clinometer.contexts.context_set import ContextSet, SetMetadata
from clinometer.contexts.mining.corpora import (
    Source,
    articles,
    find_sources,
    raw_articles,
)
from clinometer.contexts.mining.languages import Decision, Language, open_language
from clinometer.errors import ContextError, InputError, SettingsError
from clinometer.settings import COUNT, SEED, SHARE, check_settings, option
from clinometer.storage.atomic import only_writer, output_file, replacing
from clinometer.storage.resumable import Identity, Resumable
from clinometer.storage.shard import WHOLE, Shard
from clinometer.storage.untrusted import MOST_TEXT, read_bytes, read_json
from clinometer.topics import Topic, load_topic

Stored = TypeVar("Stored")
#: Called with the stage, what is done, and the total if it is known.
StageProgress = Callable[[str, int, int | None], None]

PIECE = 100  # articles per piece: the most work that a kill can lose
FEWEST = 10  # pieces of a small corpus, so that its progress is seen
BATCH = 400  # sentences that are parsed together
#: Seconds between two looks at how far the processes are.
_LOOK_S = 0.5
#: Articles that are counted between two reports of it.
_TELL = 1000

ABOUT = ("own", "any")
#: Articles in the paper's sample.
SAMPLE = 10_000
#: Out of fold, 0.95 of the links in GAP are right at this (0.91 or more with 90 % confidence);
#: see docs/mining.md.
MIN_CONFIDENCE = 0.87


_templates = partial(option, panel="Templates", advanced=True)
_corpus = partial(option, panel="Corpus", advanced=True)


def parse_sample(text: str) -> int | None:
    """Parse the number of articles to sample: a number, or all."""
    if text == "all":
        return None
    try:
        return int(text)
    except ValueError:
        raise SettingsError(
            f"sample: expected a number or all, found {text!r}"
        ) from None


#: Settings that the command takes as --set KEY=VALUE.
KEYS = ("parser", "min_confidence", "field", "min_count", "source")


@dataclass(frozen=True, kw_only=True)
class MineSettings:
    """Everything that affects the result; the distribution of the work does not."""

    topic: Topic = option(
        MISSING,
        help="A built-in topic or a .toml file.",
        typed="gender",
        parse=load_topic,
    )
    sample: int | None = option(
        SAMPLE,
        help="Articles to sample at random from the corpus, or all.",
        allowed=COUNT,
        typed=str(SAMPLE),
        parse=parse_sample,
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    about: str = _templates(
        "own",
        help="For predicates (The [X], who …, is [Y]): of whom. own: people of the topic (race, "
        "religion, disability), if the language knows words for them; any: any person.",
        choices=ABOUT,
    )
    as_in_paper: bool = option(
        False,
        help="Mine as the BVF paper says: [Y] may also be or modify the subject (the female "
        "engineer explained), predicates have any length, every link counts; for race and the like "
        "the subjects are occupations.",
    )
    parser: str | None = _templates(
        None, help="An installed spaCy pipeline.", unset="the small one of the language"
    )
    min_confidence: float = _templates(
        MIN_CONFIDENCE,
        help="Drop links of [Y] to [X] that are right with a lower probability than this.",
        allowed=SHARE,
    )
    field: str = _corpus(
        "text", help="Field or column that contains the text.", advanced=False
    )
    min_count: int = _templates(
        1, help="Drop templates that occur less often.", allowed=COUNT
    )
    source: str = _corpus(
        "", help="Describe where the corpus comes from; kept in the sidecar."
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.as_in_paper and self.topic.language != "en":
            raise SettingsError(
                "as_in_paper: expected a topic in English, as the paper's are"
            )

    @property
    def least_confidence(self) -> float:
        """The paper takes every link."""
        return 0.0 if self.as_in_paper else self.min_confidence

    def describe(self) -> dict[str, Any]:
        """The settings as the work folder records them."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return values | {
            "topic": self.topic.name,
            "topic_sha256": self.topic.sha256,
            "language": self.topic.language,
        }


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
    corpus: Sequence[str | os.PathLike[str]],
    path: Path,
    settings: MineSettings,
    *,
    explain: bool,
) -> _MiningRun:
    sources = tuple(find_sources([os.fspath(place) for place in corpus]))
    open_language(settings)  # refuses what cannot be mined
    if not path.parent.is_dir():
        raise ContextError(
            f"{path}: the folder {path.parent} does not exist; make it first"
        )
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
            self.store(todo, tell)
        else:
            _in_processes(self, [todo[p::processes] for p in range(processes)], tell)

    def _count(self, shard: Shard, progress: StageProgress) -> None:
        """Count the articles of the sources that nobody has counted; shards begin with different
        ones."""
        read, first = 0, shard.index * len(self.sources) // shard.of
        for number in (*range(first, len(self.sources)), *range(first)):
            if (counts := self.work.counts(number)) is None:
                counts = _counted(
                    self.sources[number], self.settings.field, read, progress
                )
                self.work.write_counts(number, counts)
            read += counts.articles
        if not read:
            damage = (
                f"{n} × {what}"
                for each in self._counts
                for what, n in each.damage.items()
            )
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

    def store(
        self, pieces: Sequence[int], stored: Callable[[], object] = lambda: None
    ) -> None:
        """Read, parse, count and store these pieces; `stored` is called after each."""
        language = open_language(self.settings)
        for piece, rows in groupby(
            self._texts({*pieces}), key=lambda row: row[0] // self._piece
        ):
            self.work.write_part(piece, *self._mined(rows, language))
            stored()

    def _texts(self, pieces: set[int]) -> Iterator[tuple[int, str]]:
        """The articles of these pieces, each with its index in the sample."""
        before = accumulate(map(len, self._sample), initial=0)
        for source, numbers, first in zip(
            self.sources, self._sample, before, strict=False
        ):
            in_pieces = (
                (at, number)
                for at, number in enumerate(numbers, start=first)
                if at // self._piece in pieces
            )
            rows, wanted = tee(in_pieces)
            field, damage = self.settings.field, Counter[str]()
            texts = articles(
                source, field=field, damage=damage, numbers=(n for _, n in wanted)
            )
            yield from ((at, text) for (at, _), text in zip(rows, texts, strict=False))

    def _mined(
        self, rows: Iterable[tuple[int, str]], language: Language
    ) -> tuple[Part, list[Decision]]:
        """Parse the candidate sentences of articles, and count the decisions on them."""
        part, explained = Part(), list[Decision]()

        def candidates() -> Iterator[tuple[int, Any]]:
            for at, text in rows:
                sentences = language.find(text)
                part.read += bool(sentences) or self.settings.sample is not None
                part.sentences += len(sentences)
                yield from ((at, sentence) for sentence in sentences)

        waiting = candidates()
        while batch := list(islice(waiting, BATCH)):
            decided = language.decide([sentence for _, sentence in batch])
            for (at, _), decisions in zip(batch, decided, strict=True):
                part.take(decisions, at)
                explained += decisions if self.explain else ()
        return part, explained

    def context_set(self, name: str) -> ContextSet:
        """The set; an error, and no work folder, if it would be empty."""
        settings, language, total = self.settings, open_language(self.settings), Part()
        for part in self.work.parts(self.pieces):
            total.add(part)
        read = sum(counts.articles for counts in self._counts)
        templates = total.merged(language.merge_key)
        frequent = {
            t: row for t, row in templates.items() if row[0] >= settings.min_count
        }
        if not frequent:
            self.work.clear()
            rules = ", ".join(f"{n} × {rule}" for rule, n in total.rules.most_common(3))
            raise ContextError(
                f"topic {settings.topic.name!r}: no context found in {read} articles "
                f"({total.sentences} sentences parsed"
                f"{'; dropped: ' + rules if rules else ''}); nothing was written: give more text, "
                "or lower --min-count"
            )
        damage = sum(
            (Counter(counts.damage) for counts in self._counts), Counter[str]()
        )
        described: dict[str, Any] = language.describe()
        sure: dict[str, Any] = {}
        if total.confidences:
            sure["min_confidence"] = settings.least_confidence
            sure["confidences"] = dict(sorted(total.confidences.items()))
        metadata = SetMetadata(
            corpus=", ".join(source.name for source in self.sources),
            source=settings.source or "not said",
            topic=settings.topic.name,
            language=settings.topic.language,
            command=command(self.sources, settings),
            **described,
            articles={"read": read, "mined": total.read},
            damage=dict(sorted(damage.items())),
            sentences_parsed=total.sentences,
            occurrences=sum(count for count, _ in frequent.values()),
            dropped=dict(sorted(total.rules.items(), key=lambda r: (-r[1], r[0]))),
            near_duplicates_merged=len(total.templates) - len(templates),
            below_min_count=len(templates) - len(frequent),
            **sure,
        )
        return ContextSet(
            name,
            list(frequent),
            [float(count) for count, _ in frequent.values()],
            {"articles": [str(seen_in) for _, seen_in in frequent.values()]},
            metadata,
        )


def _counted(
    source: Source, field: str, before: int, progress: StageProgress
) -> SourceCounts:
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
        working = {pool.submit(run.store, share) for share in shares}
        try:
            while working:
                ended, working = wait(
                    working, timeout=_LOOK_S, return_when=FIRST_EXCEPTION
                )
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


def command(sources: Sequence[Source], settings: MineSettings) -> str:
    """The command that repeats this run, without local folders."""
    words = ["clinometer mine", *(source.name for source in sources)]
    words.append(f"--topic {settings.topic.name}")
    words += ["--as-in-paper"] if settings.as_in_paper else []
    words.append(f"--sample {settings.sample or 'all'} --seed {settings.seed}")
    default = MineSettings(topic=settings.topic)
    for name in ("about", "parser", "min_confidence", "field", "min_count"):
        value = getattr(settings, name)
        if value != getattr(default, name):
            text = f"{value:g}" if isinstance(value, float) else value
            words.append(f"--set {name}={text}" if name in KEYS else f"--{name} {text}")
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


# --- What is kept until the end -------------------------------------------------------------------


@dataclass
class Part:
    """What a piece holds: counts that add up to the same, however the work is divided and ordered.

    read         articles with candidate sentences; in a sample, all
    sentences    that were parsed
    templates    occurrences of each template
    rules        what each rule dropped
    articles     the articles that each template was seen in, by their index in the sample
    confidences  occurrences by confidence, in hundredths; only of links that have one
    """

    read: int = 0
    sentences: int = 0
    templates: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    articles: dict[str, list[int]] = field(default_factory=dict)
    confidences: Counter[str] = field(default_factory=Counter)

    def take(self, decisions: Iterable[Decision], article: int = 0) -> None:
        """Count the decisions on one sentence; a template counts once per sentence."""
        templates = set()
        for decision in decisions:
            template = decision.template
            if template is None:
                self.rules[decision.rule] += 1
            elif template not in templates:
                templates.add(template)
                self.templates[template] += 1
                seen_in = self.articles.setdefault(template, [])
                if article not in seen_in[-1:]:  # sentences come article by article
                    seen_in.append(article)
                if decision.confidence is not None:
                    self.confidences[
                        f"{round(100 * decision.confidence) / 100:.2f}"
                    ] += 1

    def add(self, other: Part) -> None:
        """Add another piece; an article in both is one article."""
        self.read += other.read
        self.sentences += other.sentences
        self.templates.update(other.templates)
        self.rules.update(other.rules)
        self.confidences.update(other.confidences)
        for template, seen_in in other.articles.items():
            self.articles.setdefault(template, []).extend(seen_in)

    def merged(self, key: Callable[[str], str]) -> dict[str, tuple[int, int]]:
        """How often each template occurs, and in how many articles. Near-duplicates are one, under
        their most frequent form; most frequent first.

        >>> part = Part(templates=Counter({"took a job": 1, "took the job": 2, "left": 1}))
        >>> part.merged(lambda t: t.split()[0])
        {'took the job': (3, 0), 'left': (1, 0)}
        """
        forms: dict[str, list[tuple[int, str]]] = {}
        for template, count in self.templates.items():
            forms.setdefault(key(template), []).append((-count, template))
        rows = []
        for same in forms.values():
            seen_in = {article for _, t in same for article in self.articles.get(t, ())}
            rows.append((min(same)[1], (-sum(n for n, _ in same), len(seen_in))))
        return dict(sorted(rows, key=lambda row: (-row[1][0], row[0])))


@dataclass
class SourceCounts:
    """What a source contains."""

    articles: int
    damage: dict[str, int]


class WorkFolder(Resumable):
    """Reads and writes the folder, independently of what is mined."""

    error = ContextError

    def __init__(self, out: Path) -> None:
        self.path = out
        self.folder = out.with_name(out.name + ".mining")
        self.lock_file = out.with_name(out.name + ".mining.lock")
        self._settings_file = self.folder / "settings.json"

    def earlier(self) -> Identity | None:
        try:
            return dict(read_json(self._settings_file, most=MOST_TEXT))
        except FileNotFoundError:
            return None
        except (OSError, TypeError, ValueError) as exc:
            raise _damaged(self._settings_file) from exc

    def begin(self, identity: Identity) -> None:
        self.clear()
        self._begin(identity)

    def _begin(self, identity: Identity) -> None:
        for folder in ("sources", "parts"):
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
        _write(
            self._settings_file,
            json.dumps(identity, sort_keys=True, ensure_ascii=False),
        )

    def clear(self) -> None:
        self._settings_file.unlink(
            missing_ok=True
        )  # files left by a kill have no owner
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def shards(self) -> int:
        """How many shards the work was begun with; 1 without any."""
        return int((self.earlier() or {}).get("shards", 1))

    @contextmanager
    def joined(self, identity: Identity, shard: Shard) -> Iterator[None]:
        """Begin or resume beside the other shards; of one shard there is one process."""
        if self.earlier() is None:
            self._begin(identity)
        self.resume(
            identity, self.earlier()
        )  # also if two began at once, with other settings
        with only_writer(
            self.path, self.folder / f"shard-{shard.index}.lock", error=ContextError
        ):
            yield

    def check_no_shard_runs(self) -> None:
        """Refuse to go on while a shard does; the locks of those that were killed are free."""
        for lock in self.folder.glob("shard-*.lock"):
            with only_writer(self.path, lock, error=ContextError):
                pass

    def counts(self, source: int) -> SourceCounts | None:
        """The counts of a source, or None if nobody has counted it."""
        file = self._counts_file(source)
        return _read(file, SourceCounts) if file.exists() else None

    def write_counts(self, source: int, counts: SourceCounts) -> None:
        """Record what a source contains."""
        _write(
            self._counts_file(source),
            TypeAdapter(SourceCounts).dump_json(counts).decode(),
        )

    def done(self) -> set[int]:
        """The pieces that were done."""
        return {int(file.stem) for file in (self.folder / "parts").glob("[0-9]*.json")}

    def write_part(
        self, number: int, part: Part, decisions: Iterable[Decision]
    ) -> None:
        """Write what a piece holds and, on request, its decisions as lines of --explain."""
        rows = (
            {
                "sentence": d.sentence,
                "template": d.template,
                "dropped": d.rule or None,
                "parse": d.evidence,
                "confidence": d.confidence and round(d.confidence, 3),
            }
            for d in decisions
        )
        if lines := "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows):
            _write(self._part(number).with_suffix(".explain"), lines)
        _write(self._part(number), TypeAdapter(Part).dump_json(part).decode())

    def parts(self, pieces: int) -> Iterator[Part]:
        """What the pieces hold, in order."""
        return (_read(self._part(number), Part) for number in range(pieces))

    def explained(self, pieces: int) -> Iterator[str]:
        """The lines of --explain, in order."""
        for number in range(pieces):
            path = self._part(number).with_suffix(".explain")
            if path.exists():
                with path.open(encoding="utf-8") as file:
                    yield from file

    def _counts_file(self, source: int) -> Path:
        return self.folder / "sources" / f"{source:05}.json"

    def _part(self, number: int) -> Path:
        return self.folder / "parts" / f"{number:06}.json"


def _write(path: Path, text: str) -> None:
    with replacing(path, error=ContextError) as beside:
        beside.write_text(text, encoding="utf-8")


def _read(path: Path, kind: type[Stored]) -> Stored:
    try:
        return TypeAdapter(kind).validate_json(read_bytes(path))
    except (OSError, ValueError) as exc:
        raise _damaged(path) from exc


def _damaged(path: Path) -> ContextError:
    return ContextError(f"{path}: damaged; start over with --fresh")
