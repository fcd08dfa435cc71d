"""From the models' answers to the scores of statements: one value per statement and column."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri

from clinometer.errors import TableError
from clinometer.models import Scorer, open_model
from clinometer.models.texts.types import MarkedText, TextScores
from clinometer.reliability.scoring.folder import (
    ReliabilityFolder,
    ReliabilityRecord,
    Scored,
    SurenessRecord,
)
from clinometer.reliability.scoring.score import cobias, context_variance, stability
from clinometer.reliability.scoring.settings import ReliabilitySettings
from clinometer.reliability.statement import Statement, VariantSet, count_words
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import central_interval
from clinometer.statistics.rank import spearman
from clinometer.storage.record import ModelRecord
from clinometer.storage.resumable import FLUSH_S, Progress, store_as_they_come

# --- How sure is the score of one statement: its interval, its rank, the versions it would take

#: Versions that the run counts for beside a statement's own.
_PRIOR_VERSIONS = 60.0
#: c² of normal changes, for a statement that is scored alone.
_NORMAL = 2.0
_LEAST_STATEMENTS = 5
#: Normal statements that a run counts beside its own: few say little about the law of all.
_PRIOR_STATEMENTS = 5.0
#: The ratio of half means is matched at this quantile, over this many random halvings.
_MATCHED, _HALVINGS = 0.9, 4
#: Shapes of a half's mean that are considered.
_SHAPES = np.geomspace(0.02, 2000.0, 500)
#: Halves still miss some of a heavy tail: c² above normal grows by this much for each unit.
_TAIL = 0.15
#: c² is estimated: so much wider per version. All four were chosen so that the simulations in
#: benchmarks/statement_intervals.py cover 95 %.
_WIDER = 0.5
#: Numbers of versions that `versions_needed` considers.
_SIZES = np.unique(np.geomspace(2, 5000, 200).astype(np.int64))
_HALVES = 25


@dataclass(frozen=True)
class VarianceLaw:
    """The sampling law of every context variance.

    mean [S]       the context variances
    ratio [S]      c² of the squares, drawn towards the run's
    n [S]          scored versions
    models         variance of log cv from one set of models to another; 0 if not known
    """

    mean: FloatArray
    ratio: FloatArray
    n: NDArray[np.int64]
    models: float = 0.0

    @property
    def known(self) -> NDArray[np.bool_]:
        """[S] statements with at least two versions that are scored, and not all unchanged."""
        return np.asarray((self.n >= 2) & np.isfinite(self.mean) & (self.mean > 0))

    def shape(self, n: FloatArray | NDArray[np.int64] | None = None) -> FloatArray:
        """[S] shape of the gamma law with n versions; widened for having estimated c²."""
        many = np.maximum(self.n if n is None else n, 1)
        return np.asarray(many / (self.ratio * (1.0 + _WIDER / many)))


def spread(
    tau: FloatArray,
    versions: FloatArray,
    *,
    own: FloatArray | None = None,
    by_model: FloatArray | None = None,
) -> VarianceLaw:
    """The sampling law, from the versions, and from the models' own taus if there are several."""
    tau, versions = np.asarray(tau, dtype=np.float64), np.asarray(versions, dtype=np.float64)
    squares = 100.0 * (versions - tau[:, None]) ** 2 / np.where(tau > 0, tau, np.nan)[:, None]
    there = np.isfinite(squares)
    n = there.sum(axis=1)
    mean = _over(there, squares, n)
    rest = np.where(there, squares - mean[:, None], 0.0)
    variance = (rest**2).sum(axis=1) / np.maximum(n - 1, 1)
    usable = (n >= 2) & (mean > 0)
    ratio = np.divide(variance, mean**2, out=np.zeros_like(mean), where=usable)
    shared = _shared(squares[usable])
    if usable.sum() >= _LEAST_STATEMENTS:
        ratio = ratio * shared / max(float(ratio[usable].mean()), 1e-12)
    ratio = (_PRIOR_VERSIONS * shared + (n - 1) * ratio) / (_PRIOR_VERSIONS + np.maximum(n - 1, 0))
    models = 0.0 if own is None or by_model is None else model_spread(own, by_model)
    return VarianceLaw(mean, ratio, n, models)


def _over(there: NDArray[np.bool_], values: FloatArray, n: NDArray[np.int64]) -> FloatArray:
    sums = np.where(there, values, 0.0).sum(axis=1)
    return np.asarray(np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0))


def _shared(squares: FloatArray) -> float:
    """c² over the run, from how far the means of two random halves of a statement's squares differ:
    if they have gamma laws of shape k, their ratio has an F law with (2k, 2k) degrees of freedom.
    """
    from scipy.stats import f

    if len(squares) < _LEAST_STATEMENTS:
        return _NORMAL
    n = np.isfinite(squares).sum(axis=1)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(_HALVINGS):
        key = np.where(np.isfinite(squares), rng.random(squares.shape), 2.0)
        place = np.argsort(np.argsort(key, axis=1), axis=1)
        half = (n // 2)[:, None]
        sums = [
            np.where(part, squares, 0.0).sum(axis=1)
            for part in (place < half, (place >= half) & (place < 2 * half))
        ]
        with np.errstate(divide="ignore"):  # a half that changes nothing is infinitely far
            found.append(np.abs(np.log(sums[0]) - np.log(sums[1])))
    far = float(np.quantile(np.concatenate(found), _MATCHED, method="lower"))
    farthest = np.log(f.ppf(0.5 + _MATCHED / 2, 2 * _SHAPES, 2 * _SHAPES))
    shape = float(np.interp(-far, -farthest, _SHAPES))
    ratio = float(np.mean(n // 2)) / shape
    ratio *= 1.0 + _TAIL * max(ratio - _NORMAL, 0.0)
    return (len(n) * ratio + _PRIOR_STATEMENTS * _NORMAL) / (len(n) + _PRIOR_STATEMENTS)


def model_spread(own: FloatArray, by_model: FloatArray) -> float:
    """Variance of log cv over sets of as many models: a jackknife over models, without what a model
    changes in all statements alike, averaged over the statements.

    0 with one model, which cannot show it.
    """
    n_models = len(own)
    if n_models < 2:
        return 0.0
    left = []
    for m in range(n_models):
        rest = [k for k in range(n_models) if k != m]
        left.append(context_variance(own[rest].mean(axis=0), by_model[rest].mean(axis=0)))
    values = np.stack(left)
    good = (np.isfinite(values) & (values > 0)).all(axis=0)
    if good.sum() < _LEAST_STATEMENTS:
        return 0.0
    logs = np.log(values[:, good])
    logs = logs - logs.mean(axis=1, keepdims=True)
    logs = logs - logs.mean(axis=0)
    free = good.sum() / (good.sum() - 1)
    return float((n_models - 1) / n_models * (logs**2).sum(axis=0).mean() * free)


def variance_intervals(law: VarianceLaw, *, level: float) -> tuple[FloatArray, FloatArray]:
    """Intervals of the context variances [S]: over further versions of each statement and, where
    there were several, further models.

    COBIAS and stability are monotone in it, so their intervals are these ends transformed. NaN for
    statements with fewer than two scored versions; a width of 0 where no version changes anything.
    """
    low, high = _ends(law, law.shape(), level)
    unchanged = (law.n >= 2) & (law.mean == 0)
    return np.where(unchanged, 0.0, low), np.where(unchanged, 0.0, high)


def _ends(law: VarianceLaw, shape: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    known, mean = law.known, np.where(law.known, law.mean, 1.0)
    far = float(ndtri(0.5 + level / 2)) * np.sqrt(law.models)
    below = np.log(gammaincinv(shape, 0.5 + level / 2) / shape)
    above = np.log(np.maximum(gammaincinv(shape, 0.5 - level / 2) / shape, 1e-300))
    low = mean * np.exp(-np.hypot(np.maximum(below, 0.0), far))
    high = mean * np.exp(np.hypot(np.minimum(above, 0.0), far))
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def versions_needed(law: VarianceLaw, *, precision: float, level: float) -> FloatArray:
    """[S] versions for an interval of COBIAS no wider than ± `precision`, as far as versions are
    what makes it wide; infinite if more than 5,000 would not do, NaN where nothing is known."""
    alone = VarianceLaw(law.mean, law.ratio, law.n)
    found = np.where(law.known, np.inf, np.nan)
    for n in _SIZES[::-1]:
        low, high = _ends(alone, alone.shape(np.full(len(law.n), n)), level)
        narrow = (cobias(high) - cobias(low)) / 2 <= precision
        found = np.where(narrow, float(n), found)
    return found


def rank_intervals(
    law: VarianceLaw, *, level: float, draws: int = 1000, seed: int = 0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rank of each statement [S] (1: context changes it most), and the interval of the rank.

    Context variances are drawn from what their intervals say, statement by statement.
    """
    known = np.flatnonzero(law.known)
    found = np.full((3, len(law.mean)), np.nan)
    if not len(known):
        return found[0], found[1], found[2]
    rng = np.random.default_rng(seed)
    mean, shape = law.mean[known], law.shape()[known]
    scale = np.maximum(rng.gamma(shape, size=(draws, len(known))), 1e-300) / shape
    noise = rng.normal(scale=np.sqrt(law.models), size=(draws, len(known)))
    drawn = np.log(mean) - np.log(scale) + noise
    ranks = _ranks(-drawn)
    found[0, known] = _ranks(-np.log(mean))
    found[1:, known] = central_interval(ranks, level)
    return found[0], found[1], found[2]


def _ranks(values: FloatArray) -> FloatArray:
    from scipy.stats import rankdata  # loads slowly

    return np.asarray(rankdata(values, axis=-1))


def split_half(tau: FloatArray, versions: FloatArray, *, seed: int = 0) -> float | None:
    """How well the ranking would be found again with other versions: Spearman's rho between halves
    of the versions, stepped up to all of them (Spearman-Brown), on average over random halves.

    1: the same ranking; 0: chance. None with fewer than three statements of four versions each.
    """
    rng = np.random.default_rng(seed)
    there = np.isfinite(versions)
    good = (there.sum(axis=1) >= 4) & np.isfinite(tau) & (tau > 0)
    if good.sum() < 3:
        return None
    own, some = tau[good], versions[good]
    found = []
    for _ in range(_HALVES):
        # Scored versions in random order, the missing ones last.
        key = np.where(np.isfinite(some), rng.random(some.shape), 2.0)
        mixed = np.take_along_axis(some, np.argsort(key, axis=1), axis=1)
        column = np.arange(mixed.shape[1])
        halves = [
            context_variance(own, np.where(column % 2 == side, mixed, np.nan)) for side in (0, 1)
        ]
        rho = spearman(halves[0], halves[1], replicates=0)
        if rho is not None:
            found.append(rho.rho.value)
    if not found:
        return None
    half = float(np.mean(found))
    return 2 * half / (1 + half) if half > -1 else -1.0


# --- The texts to score: every statement and version once, with what is unusual about it ---------


#: The index of the statement itself among its versions.
ORIGINAL = -1

EMPTY, CHANGED, REPEATED = "empty", "target_changed", "repeated"


@dataclass(frozen=True)
class AskedText:
    """One text: the statement (version -1) or a version of it.

    left_out says why it is not scored or not counted, "" if it is; `identical` marks a version that
    equals the statement.
    """

    statement: int
    version: int
    marked: MarkedText
    words: int
    left_out: str = ""
    identical: bool = False

    @property
    def is_asked(self) -> bool:
        return not self.left_out


@dataclass(frozen=True)
class TextsToScore:
    """All texts of a run, statement by statement, and what is unusual about the statements."""

    statements: tuple[Statement, ...]
    texts: tuple[AskedText, ...]
    target_missing: NDArray[np.bool_]

    @property
    def n_versions(self) -> int:
        """The largest number of versions of a statement."""
        return 1 + max((t.version for t in self.texts), default=ORIGINAL)

    def counts(self) -> dict[str, int]:
        """Counts of all texts and of every irregularity."""
        versions = [t for t in self.texts if t.version != ORIGINAL]
        why = Counter(t.left_out for t in versions)
        with_versions = {t.statement for t in versions}
        return {
            "statements": len(self.statements),
            "statements_without_versions": len(self.statements) - len(with_versions),
            "statements_without_target": sum(not s.targets for s in self.statements),
            "statements_target_not_in_sentence": int(self.target_missing.sum()),
            "statements_empty": sum(not s.text.strip() for s in self.statements),
            "statements_without_points": sum(s.points is None for s in self.statements),
            "statements_without_blanks": sum(
                s.blanks is not None and not len(s.blanks) for s in self.statements
            ),
            "versions": len(versions),
            "versions_empty": why[EMPTY],
            "versions_target_changed": why[CHANGED],
            "versions_repeated_and_left_out": why[REPEATED],
            "versions_identical_to_statement": sum(t.identical for t in versions),
            "versions_repeated": len(versions) - len({(t.statement, t.marked) for t in versions}),
        }


def ask(
    statements: Sequence[Statement], variants: VariantSet, settings: ReliabilitySettings
) -> TextsToScore:
    """Collect the texts; refuses sets in which an id occurs twice."""
    twice = [i for i, n in Counter(s.id for s in statements).items() if n > 1]
    if twice:
        raise TableError(f"statements: expected every id once, found {twice[0]!r} several times")
    if not statements:
        raise TableError("statements: expected at least one, found none")
    texts: list[AskedText] = []
    missing = np.zeros(len(statements), dtype=np.bool_)
    for i, statement in enumerate(statements):
        missing[i] = not statement.has_its_targets
        texts.append(_text(statement, i, ORIGINAL, statement.text, settings))
        seen: set[str] = set()
        for v, version in enumerate(variants.of(statement)[: settings.versions]):
            asked = _text(statement, i, v, version, settings)
            if settings.duplicates == "once" and version in seen and asked.is_asked:
                asked = replace(asked, left_out=REPEATED)
            seen.add(version)
            texts.append(asked)
    return TextsToScore(tuple(statements), tuple(texts), missing)


def _text(
    statement: Statement, index: int, version: int, text: str, settings: ReliabilitySettings
) -> AskedText:
    """A term missing from the statement is not a target of its versions either: all their words
    are context, like all words of the statement."""
    has_targets = bool(statement.targets) and statement.has_its_targets
    spans = statement.target_spans(text) if has_targets else ()
    left_out = ""
    if not text.strip():
        left_out = EMPTY
    elif has_targets and not spans and not settings.keep_changed:
        left_out = CHANGED
    if settings.text_options.targets == "scored":
        spans = ()  # every word counts, and texts that differ in nothing else are the same
    return AskedText(
        statement=index,
        version=version,
        marked=MarkedText(text, spans),
        words=count_words(text, spans),
        left_out=left_out,
        identical=version != ORIGINAL and text == statement.text,
    )


# --- tau (Eq. 2) of every text under every model: score what is missing, store every score -------


#: Texts pooled at a time, by device.
_POOL = {"cpu": 256, "cuda": 10_240}

NOT_ASKED = "not_asked"

#: The fields of TextScores, as they are filled.
Columns = dict[str, Any]


@dataclass
class ModelTaus:
    """Scores of one model: a TextScores with a row for every text of the run."""

    name: str
    model: ModelRecord
    scores: TextScores

    def taus(self, asked: TextsToScore, *, per_word: bool) -> NDArray[np.float64]:
        """tau of every text [T]; NaN where there is no score, or no word to divide by."""
        words = np.array([t.words for t in asked.texts], dtype=np.float64)
        per = words if per_word else self.scores.tokens.astype(np.float64)
        return np.asarray(np.abs(self.scores.log_prob) / np.where(per > 0, per, np.nan))

    def counts(self) -> dict[str, int]:
        """Texts without a score by reason, and tokens unknown to the model."""
        reasons = [p for p in self.scores.problem if p and p != NOT_ASKED]
        found = {f"texts_{p}": reasons.count(p) for p in sorted(set(reasons))}
        return {
            "texts_too_long": 0,
            "texts_nothing_to_score": 0,
            **found,
            "texts_with_unknown_tokens": int((self.scores.unknown > 0).sum()),
        }


def fingerprint(asked: TextsToScore) -> str:
    """What a run's scores depend on besides model and options: its texts in order."""
    texts = [[t.marked.text, t.marked.targets, t.left_out] for t in asked.texts]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def model_taus(
    model: str,
    asked: TextsToScore,
    settings: ReliabilitySettings,
    record: ReliabilityRecord,
    *,
    folder: ReliabilityFolder | None,
    progress: Progress | None,
) -> ModelTaus:
    """Scores of one model, from the folder where available.

    A model that has to be opened is added to `record`, which is stored before scoring starts.
    """
    found = _blank(len(asked.texts))
    if folder:
        for rows, scores in folder.read_scores(model):
            _put(found, rows, scores)
    missing = np.array(
        [i for i, t in enumerate(asked.texts) if t.is_asked and found["problem"][i] == NOT_ASKED],
        dtype=np.int64,
    )
    known = record.model(model)
    if len(missing) or known is None:
        scorer = open_model(model, load=settings.load.resumed(known.dtype if known else "auto"))
        opened = ModelRecord(**scorer.info.to_dict())
        if known is not None:
            known.check_same(opened)
        record.keep_model(opened)
        if folder:
            folder.write_record(record, status="running")
        _score(scorer, asked, missing, settings, found, folder=folder, progress=progress)
        known = opened
    scores = TextScores(**{**found, "problem": tuple(found["problem"])})
    return ModelTaus(model, known, scores)


def _score(
    scorer: Scorer,
    asked: TextsToScore,
    missing: NDArray[np.int64],
    settings: ReliabilitySettings,
    found: Columns,
    *,
    folder: ReliabilityFolder | None,
    progress: Progress | None,
) -> None:
    from clinometer.models.texts.likelihood import score_chunks

    size = _POOL.get(scorer.info.device.split(":")[0], _POOL["cpu"])
    pools = np.split(missing, range(size, len(missing), size))
    texts = ([asked.texts[i].marked for i in pool] for pool in pools)
    total = sum(t.is_asked for t in asked.texts)

    def store(scored: list[Scored]) -> None:
        if folder:
            folder.write_scores(scorer.info.name, scored)

    def scored() -> Iterator[Scored]:
        for rows, scores in zip(
            pools, score_chunks(scorer, texts, settings.text_options), strict=True
        ):
            _put(found, rows, scores)
            yield rows, scores

    store_as_they_come(
        scored(),
        store,
        done=total - len(missing),
        total=total,
        progress=progress,
        size=lambda rows_scores: len(rows_scores[0]),
        every_s=FLUSH_S,
    )


def _blank(n: int) -> Columns:
    return {
        "log_prob": np.full(n, np.nan),
        "tokens": np.zeros(n, dtype=np.int64),
        "unknown": np.zeros(n, dtype=np.int64),
        "problem": np.full(n, NOT_ASKED, dtype=object),
    }


def _put(found: Columns, rows: NDArray[np.int64], scores: TextScores) -> None:
    for name, column in found.items():
        column[rows] = getattr(scores, name)


# --- From the models' answers to the scores of statements: one value per statement and column ----


def _by_statement(asked: TextsToScore, taus: FloatArray) -> tuple[FloatArray, FloatArray]:
    """tau of statements [M, S] and of versions [M, S, N]."""
    n_models, n = len(taus), len(asked.statements)
    own = np.full((n_models, n), np.nan)
    versions = np.full((n_models, n, asked.n_versions), np.nan)
    for i, text in enumerate(asked.texts):
        if text.version == ORIGINAL:
            own[:, text.statement] = taus[:, i]
        elif text.is_asked:
            versions[:, text.statement, text.version] = taus[:, i]
    return own, versions


def measure_statements(
    asked: TextsToScore,
    found: Sequence[ModelTaus],
    taus: FloatArray,
    settings: ReliabilitySettings,
) -> tuple[dict[str, Any], dict[str, FloatArray], SurenessRecord]:
    """Columns of the statements, with tau the mean over models; each model's own [M, S]; and how
    sure the statements' scores are. taus [M, T] are those of all texts."""
    own, versions = _by_statement(asked, taus)
    by_model = {"tau": own, "cv": context_variance(own, versions)}
    by_model["cobias"] = cobias(by_model["cv"])
    tau, mean = own.mean(axis=0), versions.mean(axis=0)
    cv = context_variance(tau, mean)
    law = spread(tau, mean, own=own, by_model=versions)
    low = high = first = last = np.full(len(tau), np.nan)
    rank, *_ = rank_intervals(law, level=settings.level, draws=1)
    if settings.replicates:
        low, high = variance_intervals(law, level=settings.level)
        rank, first, last = rank_intervals(
            law, level=settings.level, draws=settings.replicates, seed=settings.seed
        )
    own_text = {t.statement: i for i, t in enumerate(asked.texts) if t.version == ORIGINAL}
    scored = np.isfinite(mean).sum(axis=1)
    columns = {
        "words": np.array([asked.texts[own_text[i]].words for i in range(len(tau))]),
        "scored": scored,
        "tau": tau,
        "cv": cv,
        "cobias": cobias(cv),
        "stability": stability(cv),
        "cobias_low": cobias(low),
        "cobias_high": cobias(high),
        "rank": rank,
        "rank_low": first,
        "rank_high": last,
        "flag": [
            _flag(asked, found, own_text[i], tau=tau[i], scored=int(scored[i]))
            for i in range(len(tau))
        ],
    }
    if settings.precision is not None:
        needed = versions_needed(law, precision=settings.precision, level=settings.level)
        columns["versions_needed"] = np.where(np.isfinite(needed), needed, np.nan)
    return columns, by_model, _sureness(law, tau, mean, columns, settings)


def _sureness(
    law: VarianceLaw,
    tau: FloatArray,
    versions: FloatArray,
    columns: dict[str, Any],
    settings: ReliabilitySettings,
) -> SurenessRecord:
    """How far the scores of single statements can be trusted, in a few numbers."""
    widths = columns["cobias_high"] - columns["cobias_low"]
    places = columns["rank_high"] - columns["rank_low"]
    needed = columns.get("versions_needed")
    ranked = int(np.isfinite(columns["rank"]).sum())
    return SurenessRecord(
        split_half=split_half(tau, versions, seed=settings.seed),
        interval_width=_median(widths),
        spread=float(np.std(columns["cobias"][law.known])) if law.known.any() else None,
        rank_interval=_median(places),
        ranked=ranked,
        models_log_sd=float(np.sqrt(law.models)) if law.models else None,
        precision=settings.precision,
        versions_needed=None if needed is None else _median(needed, lost=np.inf),
    )


def _median(values: FloatArray, *, lost: float = np.nan) -> float | None:
    """Median of the finite values; of all, where a missing one stands for `lost`."""
    there = values[np.isfinite(values)] if np.isnan(lost) else np.nan_to_num(values, nan=lost)
    found = float(np.median(there)) if len(there) else np.nan
    return found if np.isfinite(found) else None


def _flag(
    asked: TextsToScore, found: Sequence[ModelTaus], text: int, *, tau: float, scored: int
) -> str:
    """Why a statement has no score, what is odd about one that has, or "" """
    if asked.texts[text].left_out:
        return asked.texts[text].left_out
    problems = [p for m in found if (p := m.scores.problem[text])]
    if problems:
        return problems[0]
    if not np.isfinite(tau) or tau == 0:
        return "nothing_to_score"
    if not scored:
        return "no_versions"
    return "target_not_in_sentence" if asked.target_missing[asked.texts[text].statement] else ""
