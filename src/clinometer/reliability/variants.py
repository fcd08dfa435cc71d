"""Versions of statements with context: a model's valid answers, then built-in phrases.

A version is accepted if the statement's words survive in order and every addition is at a blank.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from clinometer.errors import SettingsError, TableError
from clinometer.models import LoadOptions, open_model
from clinometer.models.open import open_writer
from clinometer.models.protocol import Turn, Writer
from clinometer.models.sampled import seed_for
from clinometer.reliability.phrases import PhraseFiller
from clinometer.reliability.statement import Blanks, Refused, Statement
from clinometer.settings import COUNT, SEED, TEMPERATURE, check_settings, option
from clinometer.storage.resumable import Lines, Progress
from clinometer.storage.rows import need_columns, read_rows

#: The built-in phrases, and the model that chooses among them.
PHRASES, CHOOSER = "phrases", "pocket:gpt2-l"
NO_FILLER = "none"
#: Origins of versions.
MODEL, FILLER = "model", "filler"
#: Answers requested per batch: enough to keep a machine busy, few enough to stop early.
_TOGETHER = 10
#: A model is asked for at most this many times n answers.
ROUNDS = 2


@dataclass(frozen=True, kw_only=True)
class VariantSettings:
    """How versions are made, by a writing `model` if there is one."""

    n: int = option(40, "-n", "--versions", help="Versions of each statement.", allowed=COUNT)
    model: str | None = None
    filler: str = option(
        PHRASES,
        help="Fills the blanks that the writing model leaves open: phrases (built-in ones, chosen "
        f"by {CHOOSER}), phrases:MODEL, or none.",
    )
    as_in_paper: bool = False
    temperature: float = option(
        1.1, help="Sampling temperature of the versions.", allowed=TEMPERATURE, advanced=True
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    load: LoadOptions = field(default_factory=LoadOptions)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.filler.partition(":")[0] not in (PHRASES, NO_FILLER):
            raise SettingsError(
                f"filler: expected {PHRASES}, {PHRASES}:MODEL or {NO_FILLER}, found {self.filler!r}"
            )
        if self.model is None and self.filler == NO_FILLER:
            raise SettingsError("filler: expected one without a writing model, found none")

    def to_dict(self) -> dict[str, Any]:
        """The settings that affect the versions."""
        return asdict(self) | {"load": self.load.dtype}


@dataclass(frozen=True)
class MadeVariants:
    """Rows as written (id, variants, origins, answers), versions by id, and counts."""

    rows: list[dict[str, Any]]
    counts: dict[str, Any]

    @property
    def variants(self) -> dict[str, tuple[str, ...]]:
        return {row["id"]: tuple(row["variants"]) for row in self.rows}


class Makers:
    """The writing model and the filler, each opened when it is first needed."""

    def __init__(self, settings: VariantSettings) -> None:
        self.settings = settings

    @cached_property
    def writer(self) -> Writer | None:
        model = self.settings.model
        return None if model is None else open_writer(model, load=self.settings.load)

    @cached_property
    def filler(self) -> PhraseFiller:
        chooser = self.settings.filler.partition(":")[2]
        return PhraseFiller(open_model(chooser or CHOOSER, load=self.settings.load))


def make_variants(
    statements: Sequence[Statement],
    *,
    settings: VariantSettings | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    makers: Makers | None = None,
) -> MadeVariants:
    """Make versions of every statement that has blanks. With `out` (a .jsonl file that `score`
    reads) rows are written as they are made, and the same call resumes; those whose blanks have
    changed since are made again."""
    settings = settings or VariantSettings()
    if not statements:
        raise TableError("statements: expected at least one, found none")
    if not any(s.blanks for s in statements):
        raise TableError(
            "statements: expected context_points with blanks (___), found none; "
            "'clinometer reliability audit --until points' proposes them"
        )
    makers = makers or Makers(settings)
    with Lines(out, settings.to_dict()).resumed(fresh=fresh) as lines:
        by_id = {s.id: s for s in statements if s.id in lines.rows}
        lines.forget(i for i, s in by_id.items() if lines.rows[i]["points"] != s.points)
        new = (_Row(s, settings, makers).made() for s in statements if s.id not in lines.rows)
        rows = lines.take(new, [s.id for s in statements], progress)
        counts = _counts(rows, settings)
        lines.finish(counts)
    return MadeVariants(rows, counts)


class _Row:
    """The versions of one statement while they are being made."""

    def __init__(self, statement: Statement, settings: VariantSettings, makers: Makers) -> None:
        self.statement, self.settings, self.makers = statement, settings, makers
        self.versions: list[str] = []
        self.origins: list[str] = []
        self.answers: dict[str, Counter[str]] = {MODEL: Counter(), FILLER: Counter()}

    def made(self) -> dict[str, Any]:
        blanks = self.statement.blanks
        if blanks:
            self._ask(blanks)
            self._fill(blanks)
        return {
            "id": self.statement.id,
            "points": self.statement.points,
            "variants": self.versions,
            "origins": self.origins,
            "answers": {who: dict(sorted(n.items())) for who, n in self.answers.items()},
        }

    @property
    def _missing(self) -> int:
        return self.settings.n - len(self.versions)

    def _ask(self, blanks: Blanks) -> None:
        writer = self.makers.writer
        request = f"Fill in the blanks with information. Do not modify anything else. {blanks}"
        turns: list[Turn] = [("user", request)]  # Figure 7 of the paper
        length = 32 + 3 * len(self.statement.text.split())
        limit = ROUNDS * self.settings.n
        done = 0
        while writer is not None and self._missing > 0 and done < limit:
            n = min(_TOGETHER, self._missing, limit - done)
            seed = seed_for(self.settings.seed, self.statement.text, "ask", done)
            answers = writer.write(
                turns, n=n, temperature=self.settings.temperature, seed=seed, length=length
            )
            for answer in answers:
                self._take(blanks, answer, MODEL)
            done += n

    def _fill(self, blanks: Blanks) -> None:
        for attempt in range(ROUNDS + 1):
            if self._missing < 1 or self.settings.filler == NO_FILLER:
                return
            samples = self.makers.filler.fill(
                blanks,
                n=self._missing,
                temperature=self.settings.temperature,
                seed=seed_for(self.settings.seed, self.statement.text, "fill", attempt),
            )
            for fills in samples:
                self._take(blanks, blanks.fill(fills), FILLER)

    def _take(self, blanks: Blanks, text: str, origin: str) -> None:
        """Keep a version if it is valid and new; count the outcome either way."""
        try:
            made = accept_version(blanks, text, as_in_paper=self.settings.as_in_paper)
            if self.statement.target_spans() and not self.statement.target_spans(made):
                raise Refused(CHANGED)  # the target was not known when the blanks were placed
            if made in self.versions and not self.settings.as_in_paper:
                raise Refused(REPEATED)
        except Refused as error:
            self.answers[origin][error.reason] += 1
            return
        self.answers[origin]["accepted"] += 1
        self.versions.append(made)
        self.origins.append(origin)


def _counts(rows: Sequence[dict[str, Any]], settings: VariantSettings) -> dict[str, Any]:
    origins = Counter(origin for row in rows for origin in row["origins"])
    answers = {who: Counter[str]() for who in (MODEL, FILLER)}
    for row in rows:
        for who, counted in row["answers"].items():
            answers[who].update(counted)
    return {
        "statements": len(rows),
        "versions": origins.total(),
        "versions_by_model": origins[MODEL],
        "versions_by_filler": origins[FILLER],
        "statements_short_of_versions": sum(len(r["variants"]) < settings.n for r in rows),
        "originals": sum(n[ORIGINAL] for n in answers.values()),
        "repeated": sum(n[REPEATED] for n in answers.values()),
        "acceptance": {
            who: n["accepted"] / n.total() if n.total() else None for who, n in answers.items()
        },
        "answers": {who: dict(sorted(n.items())) for who, n in answers.items()},
    }


def read_variants(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Versions by statement id.

    jsonl: {"id": …, "variants": [ … ]}. csv, tsv, parquet: columns id and version, one row each.
    White space around a version is stripped: generators leave newlines.
    """
    file = Path(path).expanduser()
    rows = list(read_rows(file))
    need_columns(file, rows, ("id",))
    column = next((c for c in ("variants", "version", "variant", "text") if c in rows[0]), None)
    if column is None:
        raise TableError(
            f"{file}: expected a column 'version' or 'variants', found {', '.join(rows[0])}"
        )
    versions: dict[str, list[str]] = {}
    for number, row in enumerate(rows, start=1):
        value = row.get(column)
        texts = value if isinstance(value, list) else [value]
        if not all(v is None or isinstance(v, str) for v in texts):
            raise TableError(f"{file}: row {number}: expected text in {column!r}, found {value!r}")
        versions.setdefault(str(row["id"]), []).extend((v or "").strip() for v in texts)
    return {key: tuple(texts) for key, texts in versions.items()}


#: Reasons to reject a version.
CHANGED, BAD_FILL, LONG_FILL = "text_changed", "fill_is_no_phrase", "fill_too_long"
ORIGINAL, REPEATED = "original", "repeated"

#: Most words in one blank.
LONGEST_FILL = 15

#: Letters, digits and the punctuation of phrases; the end of a sentence, a bracket or another blank
#: means that the model wrote more than a fill.
_PHRASE = re.compile(r",? ?[\w$€£#&][\w\s$€£%&'’,/#-]*[\w%'’,]|[\w$€£#&]")


def accept_version(blanks: Blanks, version: str, *, as_in_paper: bool = False) -> str:
    """The statement with the version's fills; raises Refused. `as_in_paper` keeps fills of any kind
    and length, and the statement itself.

    The text returned is built from the statement and the fills, so the statement's own text never
    changes.

    >>> b = Blanks.parse("The ___ nurse is tired ___.")
    >>> accept_version(b, "the young nurse is tired , again.")
    'The young nurse is tired, again.'
    """
    fills = blanks.fills_of(version)
    if fills is None:
        raise Refused(CHANGED)
    made = re.sub(r"\s+,", ",", blanks.fill(fills))
    if _spaced(made) != _spaced(version):  # "Therapist" is not "The ___" filled
        raise Refused(CHANGED)
    if as_in_paper:
        return made
    for fill in filter(None, fills):
        if not _PHRASE.fullmatch(fill) or "_" in fill:
            raise Refused(BAD_FILL)
        if len(fill.split()) > LONGEST_FILL:
            raise Refused(LONG_FILL)
    if not any(fills):
        raise Refused(ORIGINAL)
    return made


def _spaced(text: str) -> str:
    """Normalised white space: one space between words, none before punctuation."""
    return re.sub(r"\s+([.,;:!?…])", r"\1", " ".join(text.split())).casefold()
