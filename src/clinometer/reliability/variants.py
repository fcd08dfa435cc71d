"""Versions of statements with context: a model's valid answers, then short built-in phrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from clinometer.errors import SettingsError, TableError
from clinometer.models import LoadOptions, open_model
from clinometer.models.open import open_writer
from clinometer.models.protocol import Turn, Writer
from clinometer.models.sampled import seed_for
from clinometer.reliability.acceptance import (
    CHANGED,
    ORIGINAL,
    REPEATED,
    accept_version,
)
from clinometer.reliability.blanks import MadeRows
from clinometer.reliability.filler import PhraseFiller
from clinometer.reliability.statement import Blanks, Refused, Statement
from clinometer.settings import COUNT, SEED, TEMPERATURE, check_settings, option
from clinometer.storage.lines import Lines
from clinometer.storage.resumable import Progress
from clinometer.storage.rows import need_columns, read_rows

PHRASES = "phrases"
"""The filler of built-in phrases."""

CHOOSER = "pocket:gpt2-l"
"""The model that chooses among the built-in phrases."""

NO_FILLER = "none"

MODEL = "model"
"""The origin of a version that the writing model gave."""

FILLER = "filler"
"""The origin of a version that the filler gave."""

BATCH = 10
"""Answers requested at once: enough to keep a machine busy, few enough to stop early."""

ROUNDS = 2
"""A model is asked for at most this many times n answers."""


@dataclass(frozen=True, kw_only=True)
class VariantSettings:
    """How versions are made, by a writing `model` if there is one."""

    n: int = option(
        40, "-n", "--versions", help="Versions of each statement.", allowed=COUNT
    )
    model: str | None = None
    filler: str = option(
        PHRASES,
        help="Fills the blanks that the writing model leaves open: phrases (built-in ones, chosen "
        f"by {CHOOSER}), phrases:MODEL, or none.",
    )
    as_in_paper: bool = False
    temperature: float = option(
        1.1, help="Sampling temperature of the versions.", allowed=TEMPERATURE
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
            raise SettingsError(
                "filler: expected one without a writing model, found none"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings that affect the versions."""
        return asdict(self) | {"load": self.load.dtype}


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
        _, _, chooser = self.settings.filler.partition(":")
        return PhraseFiller(open_model(chooser or CHOOSER, load=self.settings.load))


def make_variants(
    statements: Sequence[Statement],
    *,
    settings: VariantSettings | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    makers: Makers | None = None,
) -> MadeRows:
    """Make versions of every statement that has blanks: rows of its id, versions, origins and
    answers.

    With `out` (a .jsonl file that `read_variants` reads) rows are written as they are made, and the
    same call resumes; those whose blanks have changed since are made again.
    """
    settings = settings or VariantSettings()
    if not statements:
        raise TableError("statements: expected at least one, found none")
    if not any(statement.blanks for statement in statements):
        raise TableError(
            "statements: expected context_points with blanks (___), found none; "
            "'clinometer reliability audit --until points' proposes them"
        )
    makers = makers or Makers(settings)
    with Lines(out, settings.to_dict()).resumed(fresh=fresh) as lines:
        stale = []
        for statement in statements:
            row = lines.rows.get(statement.id)
            if row is not None and row["points"] != statement.points:
                stale.append(statement.id)
        lines.forget(stale)
        new_rows = (
            _VersionsOfStatement(statement, settings, makers).row()
            for statement in statements
            if statement.id not in lines.rows
        )
        ids = [statement.id for statement in statements]
        rows = lines.take(new_rows, ids, progress)
        counts = _counts(rows, settings)
        lines.finish(counts)
    return MadeRows(rows, counts)


class _VersionsOfStatement:
    """The versions of one statement while they are being made."""

    def __init__(
        self, statement: Statement, settings: VariantSettings, makers: Makers
    ) -> None:
        self.statement = statement
        self.settings = settings
        self.makers = makers
        self.versions: list[str] = []
        self.origins: list[str] = []
        self.answers: dict[str, Counter[str]] = {MODEL: Counter(), FILLER: Counter()}

    def row(self) -> dict[str, Any]:
        """Make the versions, and return them as they are written."""
        blanks = self.statement.blanks
        if blanks:
            self._ask(blanks)
            self._fill(blanks)
        return {
            "id": self.statement.id,
            "points": self.statement.points,
            "variants": self.versions,
            "origins": self.origins,
            "answers": _by_name(self.answers),
        }

    @property
    def _missing(self) -> int:
        return self.settings.n - len(self.versions)

    def _ask(self, blanks: Blanks) -> None:
        """Take the valid answers of the writing model, if there is one."""
        writer = self.makers.writer
        if writer is None:
            return
        request = f"Fill in the blanks with information. Do not modify anything else. {blanks}"
        turns: list[Turn] = [("user", request)]  # Figure 7 of the paper
        length = 32 + 3 * len(self.statement.text.split())
        limit = ROUNDS * self.settings.n
        asked = 0
        while self._missing > 0 and asked < limit:
            n = min(BATCH, self._missing, limit - asked)
            answers = writer.write(
                turns,
                n=n,
                temperature=self.settings.temperature,
                seed=seed_for(self.settings.seed, self.statement.text, "ask", asked),
                length=length,
            )
            for answer in answers:
                self._take(blanks, answer, MODEL)
            asked += n

    def _fill(self, blanks: Blanks) -> None:
        """Take versions with built-in phrases until there are enough, or nothing new comes."""
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
        """Take a version if it is valid and new; count the outcome either way."""
        try:
            version = self._accepted(blanks, text)
        except Refused as error:
            self.answers[origin][str(error)] += 1
            return
        self.answers[origin]["accepted"] += 1
        self.versions.append(version)
        self.origins.append(origin)

    def _accepted(self, blanks: Blanks, text: str) -> str:
        """Return the version that a text is; raise Refused if it is not a valid new one."""
        as_in_paper = self.settings.as_in_paper
        version = accept_version(blanks, text, as_in_paper=as_in_paper)
        spans = self.statement.target_spans
        if spans() and not spans(version):
            # The target was not known when the blanks were placed.
            raise Refused(CHANGED)
        if version in self.versions and not as_in_paper:
            raise Refused(REPEATED)
        return version


def _counts(
    rows: Sequence[dict[str, Any]], settings: VariantSettings
) -> dict[str, Any]:
    """Return how many versions there are, and how each answer did."""
    origins = Counter[str]()
    answers: dict[str, Counter[str]] = {MODEL: Counter(), FILLER: Counter()}
    n_short = 0
    for row in rows:
        origins.update(row["origins"])
        n_short += len(row["variants"]) < settings.n
        for origin, outcomes in row["answers"].items():
            answers[origin].update(outcomes)
    acceptance = {}
    for origin, outcomes in answers.items():
        total = outcomes.total()
        acceptance[origin] = outcomes["accepted"] / total if total else None
    return {
        "statements": len(rows),
        "versions": origins.total(),
        "versions_by_model": origins[MODEL],
        "versions_by_filler": origins[FILLER],
        "statements_short_of_versions": n_short,
        "originals": answers[MODEL][ORIGINAL] + answers[FILLER][ORIGINAL],
        "repeated": answers[MODEL][REPEATED] + answers[FILLER][REPEATED],
        "acceptance": acceptance,
        "answers": _by_name(answers),
    }


def _by_name(answers: Mapping[str, Counter[str]]) -> dict[str, dict[str, int]]:
    """Return the outcomes of answers by origin, in the order of their names."""
    return {origin: dict(sorted(n.items())) for origin, n in answers.items()}


def read_variants(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Read versions by statement id.

    jsonl: {"id": …, "variants": [ … ]}. csv, tsv, parquet: columns id and version, one row each.
    White space around a version is stripped: generators leave newlines.
    """
    file = Path(path).expanduser()
    rows = list(read_rows(file))
    need_columns(file, rows, ("id",))
    names = ("variants", "version", "variant", "text")
    column = next((name for name in names if name in rows[0]), None)
    if column is None:
        raise TableError(
            f"{file}: expected a column 'version' or 'variants', found {', '.join(rows[0])}"
        )
    versions: dict[str, list[str]] = {}
    for number, row in enumerate(rows, start=1):
        value = row.get(column)
        of_statement = versions.setdefault(str(row["id"]), [])
        for text in value if isinstance(value, list) else [value]:
            if text is not None and not isinstance(text, str):
                raise TableError(
                    f"{file}: row {number}: expected text in {column!r}, found {value!r}"
                )
            of_statement.append((text or "").strip())
    return {key: tuple(texts) for key, texts in versions.items()}
