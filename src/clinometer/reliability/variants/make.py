"""From statements with blanks to context-added versions: a model's valid answers, then a filler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from clinometer.errors import SettingsError, TableError
from clinometer.models import LoadOptions, Scorer, open_model
from clinometer.models.catalog.open import open_writer
from clinometer.models.generation.local import CausalWriter
from clinometer.models.generation.writer import Writer, seed_for
from clinometer.ranges import COUNT, SEED, TEMPERATURE
from clinometer.reliability.blank_notation import Blanks
from clinometer.reliability.dissimilarity import Embed, version_dissimilarity
from clinometer.reliability.statement import Statement, VariantSet
from clinometer.reliability.variants.accepted import (
    CHANGED,
    ORIGINAL,
    REPEATED,
    VariantRefused,
    accept_version,
)
from clinometer.reliability.variants.diversity import word_diversity
from clinometer.reliability.variants.files import CHOOSER, DEFAULT_FILLER, PHRASES, maker
from clinometer.reliability.variants.filling import Filler, Fills
from clinometer.reliability.variants.prompts import variants_prompt
from clinometer.settings import check_settings, option
from clinometer.storage.jsonl import Lines
from clinometer.storage.resumable import Progress

if TYPE_CHECKING:
    from clinometer.models.local.causal import CausalScorer
    from clinometer.models.local.masked import MaskedScorer

#: Origins of versions.
MODEL, FILLER = "model", "filler"
#: Answers requested per batch: enough to keep a machine busy, few enough to stop early.
_TOGETHER = 10


@dataclass(frozen=True, kw_only=True)
class VariantSettings:
    """How versions are made; the paper's temperatures are 1.1 to 1.4."""

    n: int = option(40, "-n", "--versions", help="Versions of each statement.", allowed=COUNT)
    model: str | None = option(
        None, help="A model that writes versions.", unset="the filler writes them all"
    )
    filler: str | None = option(
        None,
        help="Fills the blanks that the writing model leaves open: phrases (built-in ones, chosen "
        f"by {CHOOSER}), phrases:MODEL, or a masked or causal model.",
        unset=f"the writing model if it is local, else {DEFAULT_FILLER}",
    )
    temperature: float = option(1.1, help="Sampling temperature.", allowed=TEMPERATURE)
    rounds: int = option(
        2, help="Query a model for at most this many times n answers.", allowed=COUNT
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    load: LoadOptions = field(default_factory=LoadOptions)

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def maker(self) -> str:
        """What writes the versions, in words."""
        return maker(self.model, self.filler)

    def to_dict(self) -> dict[str, Any]:
        """The settings that affect the versions."""
        return asdict(self) | {"load": self.load.dtype}


@dataclass(frozen=True)
class MadeVariants:
    """Rows as written (id, variants, origins, answers), versions by id, counts, and, if meanings
    were compared, how different the versions are."""

    rows: list[dict[str, Any]]
    counts: dict[str, Any]
    made_by: str = ""

    @property
    def variants(self) -> VariantSet:
        return VariantSet({row["id"]: tuple(row["variants"]) for row in self.rows}, self.made_by)


class Makers:
    """The writing model and the filler, each opened when it is first needed."""

    def __init__(self, settings: VariantSettings) -> None:
        self.settings = settings
        self._filler: Filler | None = None
        self._writer: Writer | None = None

    @property
    def writer(self) -> Writer | None:
        if self._writer is None and self.settings.model is not None:
            self._writer = open_writer(self.settings.model, load=self.settings.load)
        return self._writer

    @property
    def filler(self) -> Filler:
        if self._filler is None:
            writer = self.writer
            if self.settings.filler is None and isinstance(writer, CausalWriter):
                self._filler = open_filler(writer.scorer)
            else:
                self._filler = self._open(self.settings.filler or DEFAULT_FILLER)
        return self._filler

    def _open(self, name: str) -> Filler:
        kind, _, chooser = name.partition(":")
        if kind != PHRASES:
            return open_filler(open_model(name, load=self.settings.load))
        from clinometer.reliability.variants.phrases import PhraseFiller

        return PhraseFiller(open_model(chooser or CHOOSER, load=self.settings.load))


def open_filler(scorer: Scorer) -> Filler:
    """The filler for the model's architecture."""
    if scorer.info.kind == "masked":
        from clinometer.reliability.variants.masked import MaskedFiller

        return MaskedFiller(cast("MaskedScorer", scorer))
    if scorer.info.kind == "causal":
        from clinometer.reliability.variants.causal import CausalFiller

        return CausalFiller(cast("CausalScorer", scorer))
    raise SettingsError(
        f"model {scorer.info.name!r}: expected a masked or causal one to fill blanks, found "
        f"{scorer.info.kind}"
    )


def make_variants(
    statements: Sequence[Statement],
    *,
    settings: VariantSettings | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    embed: Embed | None = None,
    progress: Progress | None = None,
    makers: Makers | None = None,
) -> MadeVariants:
    """Make versions of every statement that has blanks. With `out` (a .jsonl file that `score`
    reads) rows are written as they are made, and the same call resumes; those whose blanks have
    changed since are made again. `embed` compares meanings.
    """
    settings = settings or VariantSettings()
    if not statements:
        raise TableError("statements: expected at least one, found none")
    if not any(s.blanks for s in statements):
        raise TableError(
            "statements: expected context_points with blanks (___), found none; "
            "'clinometer reliability points' proposes them"
        )
    makers = makers or Makers(settings)
    with Lines(out, settings.to_dict()).resumed(fresh=fresh) as lines:
        lines.forget(s.id for s in statements if _is_stale(s, lines.rows.get(s.id)))
        new = (_Row(s, settings, makers).made() for s in statements if s.id not in lines.rows)
        rows = lines.take(new, [s.id for s in statements], progress)
        counts = _counts(rows, settings) | _meaning(statements, rows, embed)
        lines.finish(counts)
    return MadeVariants(rows, counts, settings.maker)


class _Row:
    """The versions of one statement while they are being made."""

    def __init__(self, statement: Statement, settings: VariantSettings, makers: Makers) -> None:
        self.statement, self.settings, self.makers = statement, settings, makers
        self.versions: dict[str, Fills] = {}
        self.origins: list[str] = []
        self.answers: dict[str, Counter[str]] = {MODEL: Counter(), FILLER: Counter()}

    def made(self) -> dict[str, Any]:
        blanks = self.statement.blanks
        if blanks is not None and len(blanks):
            if self.settings.model is not None:
                self._ask(blanks)
            self._fill(blanks)
        diversity = word_diversity(list(self.versions.values()))
        return {
            "id": self.statement.id,
            "points": self.statement.points,
            "variants": list(self.versions),
            "origins": self.origins,
            "answers": {who: dict(sorted(n.items())) for who, n in self.answers.items()},
            "near_copies": diversity.near_copies,
            "distinct": diversity.distinct,
        }

    @property
    def _missing(self) -> int:
        return self.settings.n - len(self.versions)

    def _ask(self, blanks: Blanks) -> None:
        writer = self.makers.writer
        turns = variants_prompt(str(blanks))
        length = 32 + 3 * len(self.statement.text.split())
        limit = self.settings.rounds * self.settings.n
        asked = 0
        while writer is not None and self._missing > 0 and asked < limit:
            n = min(_TOGETHER, self._missing, limit - asked)
            seed = seed_for(self.settings.seed, self.statement.text, "ask", asked)
            answers = writer.write(
                turns, n=n, temperature=self.settings.temperature, seed=seed, length=length
            )
            for answer in answers:
                self._take(blanks, answer, MODEL)
            asked += n

    def _fill(self, blanks: Blanks) -> None:
        for attempt in range(self.settings.rounds + 1):
            if self._missing < 1:
                return
            found = self.makers.filler.fill(
                blanks,
                n=self._missing,
                temperature=self.settings.temperature,
                seed=seed_for(self.settings.seed, self.statement.text, "fill", attempt),
            )
            for fills in found:
                self._take(blanks, blanks.fill(fills), FILLER)

    def _take(self, blanks: Blanks, text: str, origin: str) -> None:
        """Keep a version if it is valid and new; count the outcome either way."""
        try:
            made, fills = accept_version(blanks, text)
            if not self._keeps_targets(made):
                raise VariantRefused(CHANGED)
            if made in self.versions:
                raise VariantRefused(REPEATED)
        except VariantRefused as error:
            self.answers[origin][error.reason] += 1
            return
        self.answers[origin]["accepted"] += 1
        self.versions[made] = fills
        self.origins.append(origin)

    def _keeps_targets(self, version: str) -> bool:
        """Blanks are never inside a target term that was known when they were placed."""
        statement = self.statement
        return not statement.target_spans() or bool(statement.target_spans(version))


def _is_stale(statement: Statement, row: dict[str, Any] | None) -> bool:
    """Whether versions were made for other blanks. Files of 0.1 do not say for which."""
    return row is not None and row.get("points", statement.points) != statement.points


def _counts(rows: Sequence[dict[str, Any]], settings: VariantSettings) -> dict[str, Any]:
    origins = Counter(origin for row in rows for origin in row["origins"])
    answers = {who: Counter[str]() for who in (MODEL, FILLER)}
    for row in rows:
        for who, counted in row["answers"].items():
            answers[who].update(counted)
    distinct = [row["distinct"] for row in rows if row["distinct"] is not None]
    return {
        "statements": len(rows),
        "versions": origins.total(),
        "versions_by_model": origins[MODEL],
        "versions_by_filler": origins[FILLER],
        "statements_short_of_versions": sum(len(r["variants"]) < settings.n for r in rows),
        "near_copies": sum(row["near_copies"] for row in rows),
        "originals": sum(n[ORIGINAL] for n in answers.values()),
        "repeated": sum(n[REPEATED] for n in answers.values()),
        "acceptance": {
            who: n["accepted"] / n.total() if n.total() else None for who, n in answers.items()
        },
        "answers": {who: dict(sorted(n.items())) for who, n in answers.items()},
        "distinct_words": sum(distinct) / len(distinct) if distinct else None,
    }


def _meaning(
    statements: Sequence[Statement], rows: Sequence[dict[str, Any]], embed: Embed | None
) -> dict[str, Any]:
    """Mean dissimilarity among versions and to their statement; None if not requested."""
    import numpy as np

    if embed is None:
        return {"dissimilarity": None}
    found = version_dissimilarity(
        [s.text for s in statements], [row["variants"] for row in rows], embed
    )
    means = {}
    for name in ("pairwise", "to_statement"):
        values = getattr(found, name)
        good = values[np.isfinite(values)]
        means[name] = float(good.mean()) if len(good) else None
    return {"dissimilarity": means}
