"""The work folder next to the output: what a killed run left, and what its next start resumes.

contexts.csv.mining/
  settings.json             what is mined; a folder with other settings is refused
  sources/00000.json        how many articles a source has, and what is damaged in it
  parts/000000.json         what a piece holds, written whole or not at all
  shard-0.lock              held by the process that does this shard
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from clinometer.contexts.mining.languages.shared import Decision
from clinometer.errors import ContextError
from clinometer.settings import Shard
from clinometer.storage.atomic import only_writer, replacing
from clinometer.storage.resumable import Identity, RecordPart, Resumable
from clinometer.storage.untrusted import MOST_TEXT, read_bytes, read_json


@dataclass
class Tally:
    """Counts that add up to the same, however the work is divided and ordered.

    templates    occurrences of each template
    rules        what each rule dropped
    articles     the articles that each template was seen in, by their index in the sample
    confidences  occurrences by confidence, in hundredths; only of links that have one
    """

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
                articles = self.articles.setdefault(template, [])
                if article not in articles[-1:]:  # sentences come article by article
                    articles.append(article)
                if decision.confidence is not None:
                    self.confidences[f"{round(100 * decision.confidence) / 100:.2f}"] += 1

    def add(self, other: Tally) -> None:
        """Add the counts of another piece; an article in both is one article."""
        self.templates.update(other.templates)
        self.rules.update(other.rules)
        self.confidences.update(other.confidences)
        for template, articles in other.articles.items():
            self.articles.setdefault(template, []).extend(articles)

    def merged(self, key: Callable[[str], str]) -> dict[str, TemplateCount]:
        """Near-duplicates counted as one, under their most frequent form; most frequent first.

        >>> tally = Tally(Counter({"took a job": 1, "took the job": 2, "left": 1}))
        >>> merged = tally.merged(lambda t: t.split()[0])
        >>> {template: each.count for template, each in merged.items()}
        {'took the job': 3, 'left': 1}
        """
        forms: dict[str, list[tuple[int, str]]] = {}
        for template, count in self.templates.items():
            forms.setdefault(key(template), []).append((-count, template))
        rows = []
        for same in forms.values():
            templates = [template for _, template in same]
            count = -sum(n for n, _ in same)
            articles = {article for t in templates for article in self.articles.get(t, ())}
            rows.append((min(same)[1], TemplateCount(count, len(articles))))
        return dict(sorted(rows, key=lambda row: (-row[1].count, row[0])))


@dataclass(frozen=True)
class TemplateCount:
    """A template with its near-duplicates: occurrences and articles."""

    count: int
    articles: int


@dataclass
class Part:
    """What a piece holds: articles with candidate sentences (in a sample, all), the sentences that
    were parsed, and their tally."""

    articles: int = 0
    sentences: int = 0
    tally: Tally = field(default_factory=Tally)

    def add(self, other: Part) -> None:
        """Add another piece."""
        self.articles += other.articles
        self.sentences += other.sentences
        self.tally.add(other.tally)


PART = TypeAdapter(Part)


class SourceCounts(RecordPart):
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
        _write(self._settings_file, json.dumps(identity, sort_keys=True, ensure_ascii=False))

    def clear(self) -> None:
        self._settings_file.unlink(missing_ok=True)  # files left by a kill have no owner
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- shards ---

    @property
    def shards(self) -> int:
        """How many shards the work was begun with; 1 without any."""
        return int((self.earlier() or {}).get("shards", 1))

    @contextmanager
    def joined(self, identity: Identity, shard: Shard) -> Iterator[None]:
        """Begin or resume beside the other shards; of one shard there is one process."""
        if self.earlier() is None:
            self._begin(identity)
        self.resume(identity, self.earlier())  # also if two began at once, with other settings
        with only_writer(self.path, self.folder / f"shard-{shard.index}.lock", error=ContextError):
            yield

    def check_no_shard_runs(self) -> None:
        """Refuse to go on while a shard does; the locks of those that were killed are free."""
        for lock in self.folder.glob("shard-*.lock"):
            with only_writer(self.path, lock, error=ContextError):
                pass

    # --- what is done ---

    def counts(self, source: int) -> SourceCounts | None:
        """The counts of a source, or None if nobody has counted it."""
        file = self._counts_file(source)
        if not file.exists():
            return None
        return SourceCounts.from_json(file.read_bytes(), file, error=ContextError)

    def write_counts(self, source: int, counts: SourceCounts) -> None:
        """Record what a source contains."""
        _write(self._counts_file(source), json.dumps(counts.to_dict()))

    def done(self) -> set[int]:
        """The pieces that were done."""
        return {int(file.stem) for file in (self.folder / "parts").glob("[0-9]*.json")}

    def write_part(self, number: int, part: Part, decisions: Iterable[Decision]) -> None:
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
        _write(self._part(number), PART.dump_json(part).decode())

    def parts(self, pieces: int) -> Iterator[Part]:
        """What the pieces hold, in order."""
        for number in range(pieces):
            try:
                yield PART.validate_json(read_bytes(self._part(number)))
            except (OSError, ValueError) as exc:
                raise _damaged(self._part(number)) from exc

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


def _damaged(path: Path) -> ContextError:
    return ContextError(f"{path}: damaged; start over with --fresh")
