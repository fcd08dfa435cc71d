"""Score statements and their versions with models, store as it goes, and measure the result.

The texts of a run are every statement and version once. Each model gives a tau (Eq. 2) for each
text; from these come context variance, COBIAS and stability of every statement.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from clinometer.errors import RunError, SettingsError, TableError
from clinometer.models import LoadOptions, open_model
from clinometer.models.whole_texts import MarkedText, TextOptions, TextScores
from clinometer.reliability.run import (
    CountsRecord,
    LengthRecord,
    ReliabilityFolder,
    ReliabilityRecord,
    ReliabilityRun,
    Scored,
    SurenessRecord,
)
from clinometer.reliability.score import (
    Embed,
    SamplingDistribution,
    cobias,
    context_variance,
    length_adjusted,
    mean_estimate,
    nearby,
    rank_agreement,
    rank_correlation,
    stability,
    version_dissimilarity,
)
from clinometer.reliability.statement import Statement, Versions, count_words
from clinometer.settings import (
    COUNT,
    LEVEL,
    SEED,
    SHARE,
    check_settings,
    option,
    with_settings,
)
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.storage.parquet_parts import digest_of
from clinometer.storage.record import SCHEMA_VERSION, ModelRecord
from clinometer.storage.resumable import (
    FLUSH_S,
    Progress,
    differences,
    part_of,
    store_as_they_come,
)

#: The models of the COBIAS paper.
LARGE = (
    "google-bert/bert-large-uncased",
    "FacebookAI/roberta-large",
    "albert/albert-xxlarge-v2",
)
NORMALISATIONS = ("word", "token", "text")
#: equation (2): context words given visible target terms, a word's pieces hidden together;
#: figure 5: target terms always masked, one token at a time, log-likelihoods summed;
#: paper: the authors' code when the paper was written (February 2024): special tokens, targets
#: visible, one token at a time, without the first and last token of the context, per token;
#: released: their code of June 2024, which scores every token, lower-cased, without special tokens,
#: one token at a time, per token.
READINGS: dict[str, tuple[TextOptions, str]] = {
    "equation": (TextOptions(), "word"),
    "figure": (TextOptions(masking="original", targets="masked"), "text"),
    "paper": (TextOptions(masking="original", edges=False), "token"),
    "released": (
        TextOptions(
            masking="original", targets="scored", special_tokens=False, lower=True
        ),
        "token",
    ),
}


def scoring_models(names: Sequence[str]) -> list[str]:
    """Return each model once; `paper` stands for the large models of the paper.

    >>> scoring_models(["pocket:bert", "pocket:bert"])
    ['pocket:bert']
    """
    models: list[str] = []
    for name in names:
        models.extend(LARGE if name == "paper" else [name])
    return list(dict.fromkeys(models))


@dataclass(frozen=True, kw_only=True)
class ReliabilitySettings:
    """How reliability is scored."""

    reading: str = option(
        "equation",
        help="Reading of the paper's Eq. 2: equation, figure, paper or released.",
        choices=tuple(READINGS),
    )
    normalise: str | None = option(
        None,
        help="Divide log-probabilities by words, by tokens, or by nothing (text).",
        choices=NORMALISATIONS,
        unset="the reading's",
    )
    versions: int | None = option(
        40, help="Use at most this many versions of each statement.", allowed=COUNT
    )
    dissimilarity: str | None = option(
        None,
        help="Also measure how far context moves the meaning (Eq. 1), by a sentence-transformers "
        "model such as all-MiniLM-L6-v2.",
        unset="not measured",
    )
    max_dissimilarity: float | None = option(
        None,
        help="With dissimilarity: leave out versions that are farther than this from their "
        "statement.",
        allowed=SHARE,
        unset="no limit",
    )
    level: float = option(
        0.95, help="Confidence level of the intervals, between 0 and 1.", allowed=LEVEL
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    load: LoadOptions = field(default_factory=LoadOptions)

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def text_options(self) -> TextOptions:
        """The options for scoring texts."""
        return READINGS[self.reading][0]

    @property
    def per(self) -> str:
        """What tau is divided by: one of `NORMALISATIONS`."""
        return self.normalise or READINGS[self.reading][1]

    def to_dict(self) -> dict[str, Any]:
        """All settings, passed and defaulted, and the values derived from them."""
        options = asdict(self.text_options) | {"per": self.per}
        return asdict(self) | {"asked": options}

    def scoring(self) -> dict[str, Any]:
        """Those that change a model's scores: other values make another run."""
        return asdict(self.text_options) | {
            "load.kind": self.load.kind,
            "load.dtype": self.load.dtype,
            "load.revision": self.load.revision,
        }


def score_reliability(
    statements: Sequence[Statement | str],
    variants: Versions,
    *,
    models: Sequence[str] = ("pocket:bert",),
    out: str | Path | None = None,
    settings: ReliabilitySettings | None = None,
    fresh: bool = False,
    renew: bool = False,
    progress: Progress | None = None,
    embed: Embed | None = None,
    **options: Any,
) -> ReliabilityRun:
    """Score how much context changes each statement for the models, and their mean.

    `variants` contains context-added versions by statement id; a statement given as a plain string
    is its own id. With `out` the run is written there as it progresses, and the same call resumes
    an interrupted run; a finished one is measured again without loading a model. Statements and
    versions that have changed since are scored, and nothing else. A run of other scoring, or that
    shares no text, is refused, or with `renew` replaced.

    `embed`, or the model that the setting `dissimilarity` names, adds columns that say how far the
    versions move the meaning (Eq. 1): `dissimilarity_pairwise` among them, and
    `dissimilarity_to_statement`. Versions farther from their statement than `max_dissimilarity`
    are left out and counted.

    Settings are given by name (`level=0.9`, `device="cpu"`): every field of
    `ReliabilitySettings` and of the `load` in it, on top of `settings` if that is given.
    """
    settings = with_settings(settings or ReliabilitySettings(), options)
    names = list(models)
    if not names or len(set(names)) != len(names):
        raise SettingsError(
            f"models: expected one or several, each once; found {names}"
        )
    versions: Versions = {
        key: tuple(v.strip() for v in some) for key, some in variants.items()
    }
    too_far = 0
    given = [
        s if isinstance(s, Statement) else Statement(id=s, text=s) for s in statements
    ]
    if embed is None and settings.dissimilarity is not None:
        from clinometer.models.embeddings import SentenceEncoder  # loads torch

        embed = SentenceEncoder(
            settings.dissimilarity, device=settings.load.device
        ).embed
    if settings.max_dissimilarity is not None:
        if embed is None:
            raise SettingsError(
                "max_dissimilarity: expected what measures it (dissimilarity)"
            )
        versions, too_far = nearby(
            given, versions, embed, limit=settings.max_dissimilarity
        )
    texts = TextsToScore.of(given, versions, settings)
    record = ReliabilityRecord(
        schema_version=SCHEMA_VERSION,
        kind=ReliabilityFolder.kind,
        status="running",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        models=[],
        texts=texts.digest(),
        scoring=settings.scoring(),
        settings=settings.to_dict(),
    )
    folder = None if out is None else ReliabilityFolder(Path(out))
    with ExitStack() as stack:
        if folder:
            earlier = folder.earlier() if renew else None
            other = earlier is not None and bool(differences(earlier, record.identity))
            stack.enter_context(folder.opened(record.identity, fresh=fresh or other))
            if folder.exists():
                record = folder.read_record()
                if record.texts != texts.digest() and not renew:
                    _require_shared_texts(folder, record, texts)
                record.texts = texts.digest()
        answers = [
            model_taus(
                model,
                texts,
                settings,
                record,
                folder=folder,
                progress=part_of(progress, number, len(names)),
            )
            for number, model in enumerate(names)
        ]
        record.models = [answer.model for answer in answers]
        record.settings = settings.to_dict()
        tables = _measure(record, texts, answers, settings, embed, too_far)
        if folder:
            folder.write_finished(record, tables)
    return ReliabilityRun(record, tables, None if folder is None else folder.path)


def _require_shared_texts(
    folder: ReliabilityFolder, record: ReliabilityRecord, texts: TextsToScore
) -> None:
    """Refuse a folder in which nothing of these texts was scored: it is another benchmark's."""
    names = [model.id for model in record.models]
    known = {
        key for name in names for keys, _ in folder.read_scores(name) for key in keys
    }
    if known and known.isdisjoint(texts.keys):
        raise RunError(
            f"{folder.path}: has the scores of another set of statements; choose another --out, or "
            "--fresh to start over"
        )


#: The number of the statement itself among its versions.
ORIGINAL = -1

EMPTY, CHANGED = "empty", "target_changed"

#: One text: the statement that it belongs to, by number; its number among the versions (-1: the
#: statement itself); its context words; `left_out`, why it is not scored or not counted, "" if it
#: is; and whether it is a version that equals the statement.
_TEXT = ("statement", "version", "text", "targets", "words", "left_out", "identical")


@dataclass(frozen=True, eq=False)
class TextsToScore:
    """All texts of a run, statement by statement: a row each, with the columns of `_TEXT`."""

    statements: tuple[Statement, ...]
    table: pd.DataFrame

    @classmethod
    def of(
        cls,
        statements: Sequence[Statement],
        variants: Versions,
        settings: ReliabilitySettings,
    ) -> TextsToScore:
        """Refuses sets in which an id occurs twice.

        A term missing from the statement is not a target of its versions either: all their words
        are context, like all words of the statement.
        """
        id, times = (
            Counter(s.id for s in statements).most_common(1)[0]
            if statements
            else ("", 0)
        )
        if times > 1:
            raise TableError(
                f"statements: expected every id once, found {id!r} {times} times"
            )
        if not statements:
            raise TableError("statements: expected at least one, found none")
        rows = []
        for i, statement in enumerate(statements):
            has_targets = bool(statement.targets) and statement.has_its_targets
            versions = variants.get(statement.id, ())[: settings.versions]
            for number, text in enumerate([statement.text, *versions], ORIGINAL):
                spans = statement.target_spans(text) if has_targets else ()
                changed = CHANGED if has_targets and not spans else ""
                if settings.text_options.targets == "scored":
                    spans = ()  # every word counts; texts that differ in nothing else are the same
                words, identical = (
                    count_words(text, spans),
                    text == statement.text and number >= 0,
                )
                left_out = changed if text.strip() else EMPTY
                rows.append((i, number, text, spans, words, left_out, identical))
        return cls(tuple(statements), pd.DataFrame(rows, columns=list(_TEXT)))

    @cached_property
    def originals(self) -> pd.DataFrame:
        """The texts that are the statements themselves, in their order."""
        return self.table[self.table["version"] == ORIGINAL]

    @cached_property
    def versions(self) -> pd.DataFrame:
        """The texts that are versions."""
        return self.table[self.table["version"] != ORIGINAL]

    @property
    def counted(self) -> pd.DataFrame:
        """The versions that count."""
        return self.versions[self.versions["left_out"] == ""]

    @property
    def marked(self) -> list[MarkedText]:
        """As models are asked."""
        pairs = zip(self.table["text"], self.table["targets"], strict=True)
        return [MarkedText(text, targets) for text, targets in pairs]

    def counts(self) -> dict[str, int]:
        """Counts of all texts and of every irregularity."""
        statements, versions = self.statements, self.versions
        why = Counter(versions["left_out"])
        return {
            "statements": len(statements),
            "statements_without_versions": len(statements)
            - versions["statement"].nunique(),
            "statements_without_target": sum(not s.targets for s in statements),
            "statements_target_not_in_sentence": sum(
                not s.has_its_targets for s in statements
            ),
            "statements_empty": sum(not s.text.strip() for s in statements),
            "statements_without_points": sum(s.points is None for s in statements),
            "statements_without_blanks": sum(
                s.blanks is not None and not len(s.blanks) for s in statements
            ),
            "versions": len(versions),
            "versions_empty": why[EMPTY],
            "versions_target_changed": why[CHANGED],
            "versions_identical_to_statement": int(versions["identical"].sum()),
            "versions_repeated": int(
                versions.duplicated(["statement", "text", "targets"]).sum()
            ),
        }

    @cached_property
    def keys(self) -> list[str]:
        """What the score of each text is known by."""
        return [
            digest_of(json.dumps([m.text, m.targets]).encode()) for m in self.marked
        ]

    def digest(self) -> str:
        """What a run's scores depend on besides model and options: its texts in order."""
        texts = self.table[["text", "targets", "left_out"]].to_numpy().tolist()
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


#: Texts pooled at a time, by device.
_POOL = {"cpu": 256, "cuda": 10_240}

NOT_SCORED = "not_scored"
#: Of a text that is not asked about: log-probability, tokens, unknown ones, and why.
_NONE = (np.nan, 0, 0, NOT_SCORED)


@dataclass
class ModelTaus:
    """Scores of one model: a TextScores with a row for every text of the run."""

    name: str
    model: ModelRecord
    scores: TextScores

    def taus(self, texts: TextsToScore, *, per: str) -> FloatArray:
        """tau of every text [T]; NaN where there is no score, or nothing to divide by."""
        by = {"word": texts.table["words"], "token": self.scores.tokens}
        units = np.asarray(by.get(per, 1.0), dtype=np.float64)
        return np.asarray(
            np.abs(self.scores.log_prob) / np.where(units > 0, units, np.nan)
        )

    def counts(self) -> dict[str, int]:
        """Texts without a score by reason, and tokens unknown to the model."""
        reasons = Counter(
            sorted(p for p in self.scores.problem if p and p != NOT_SCORED)
        )
        return {
            "texts_too_long": 0,
            "texts_nothing_to_score": 0,
            **{f"texts_{reason}": n for reason, n in reasons.items()},
            "texts_with_unknown_tokens": int((self.scores.unknown > 0).sum()),
        }


def model_taus(
    model: str,
    texts: TextsToScore,
    settings: ReliabilitySettings,
    record: ReliabilityRecord,
    *,
    folder: ReliabilityFolder | None,
    progress: Progress | None,
) -> ModelTaus:
    """Scores of one model, from the folder where available.

    A model that has to be opened is added to `record`, which is stored before scoring starts.
    """
    held: dict[str, tuple[Any, ...]] = {}

    def keep(keys: Iterable[str], scores: TextScores) -> None:
        rows = zip(
            scores.log_prob, scores.tokens, scores.unknown, scores.problem, strict=True
        )
        held.update(zip(keys, rows, strict=True))

    for found, known_scores in folder.read_scores(model) if folder else ():
        keep(found, known_scores)
    keys, marked = texts.keys, texts.marked
    counted = (texts.table["left_out"] == "").to_numpy()
    missing = np.flatnonzero(
        [bool(n) and keys[i] not in held for i, n in enumerate(counted)]
    )
    known = record.model(model)
    if len(missing) or known is None:
        scorer = open_model(
            model, load=settings.load.resumed(known.dtype if known else "auto")
        )
        from clinometer.models.likelihood import score_chunks  # loads torch

        opened = ModelRecord(**scorer.info.to_dict())
        if known is not None:
            known.check_same(opened)
        record.keep_model(opened)
        if folder:
            folder.write_record(record, status="running")
        known = opened
        size = _POOL.get(scorer.info.device.split(":")[0], _POOL["cpu"])
        pools = np.split(missing, range(size, len(missing), size))

        def scored() -> Iterator[Scored]:
            chunks = score_chunks(
                scorer,
                ([marked[i] for i in pool] for pool in pools),
                settings.text_options,
            )
            for rows, scores in zip(pools, chunks, strict=True):
                keep((keys[i] for i in rows), scores)
                yield rows, scores

        store_as_they_come(
            scored(),
            partial(folder.write_scores, scorer.info.name, keys)
            if folder
            else lambda _: None,
            done=int(counted.sum()) - len(missing),
            total=int(counted.sum()),
            progress=progress,
            size=lambda rows_scores: len(rows_scores[0]),
            every_s=FLUSH_S,
        )
    rows = [held[k] if n else _NONE for k, n in zip(keys, counted, strict=True)]
    log_prob, tokens, unknown, problem = zip(*rows, strict=True)
    numbers = np.array(log_prob), np.array(tokens), np.array(unknown)
    return ModelTaus(model, known, TextScores(*numbers, problem))


def _measure(
    record: ReliabilityRecord,
    texts: TextsToScore,
    answers: Sequence[ModelTaus],
    settings: ReliabilitySettings,
    embed: Embed | None,
    too_far: int,
) -> dict[str, pa.Table]:
    """Write the results into the record; the tables of the run."""
    names, statements = [answer.name for answer in answers], texts.statements
    taus = np.stack([answer.taus(texts, per=settings.per) for answer in answers])
    own, counted = taus[:, texts.originals.index.to_numpy()], texts.counted
    versions = np.full(
        (*own.shape, 1 + texts.table["version"].max()), np.nan
    )  # [M, S, N]
    statement, version = counted[["statement", "version"]].to_numpy().T
    versions[:, statement, version] = taus[:, counted.index.to_numpy()]
    by_model = {"tau": own, "cv": context_variance(own, versions)}
    by_model["cobias"] = cobias(by_model["cv"])
    columns, record.sureness = _statement_columns(texts, own, versions, settings)
    columns["flag"] = _flags(texts, answers, columns["tau"], columns["scored"])
    if embed is not None:
        used = counted.groupby("statement")["text"].agg(list)
        some = [used.get(i, []) for i in range(len(statements))]
        far = version_dissimilarity([s.text for s in statements], some, embed)
        columns["dissimilarity_pairwise"], columns["dissimilarity_to_statement"] = far
    adjusted = length_adjusted(columns["cobias"], columns["words"])
    columns["cobias_length_adjusted"] = adjusted
    columns["rank_length_adjusted"] = pd.Series(adjusted).rank(ascending=False)
    options = {name: getattr(settings, name) for name in ("level", "seed")}
    record.summary = {
        name: mean_estimate(columns[name], **options)
        if np.isfinite(columns["cobias"]).any()
        else None
        for name in ("cobias", "stability", "cv")
    }
    rho = rank_correlation(columns["cobias"], columns["words"], **options)
    record.length = LengthRecord(rho=rho)
    record.agreement = rank_agreement(
        dict(zip(names, by_model["cobias"], strict=True)), **options
    )
    counts: dict[str, Any] = {
        **texts.counts(),
        "versions_too_dissimilar": too_far,
        **{f"flag_{k}": n for k, n in Counter(columns["flag"]).items()},
        "by_model": {answer.name: answer.counts() for answer in answers},
    }
    record.counts = CountsRecord(**counts)
    n_versions = Counter(texts.versions["statement"])
    ids = [s.id for s in statements]
    return {
        "statements": pa.table(
            {
                "id": ids,
                "source": [s.source for s in statements],
                "category": pa.array([s.category for s in statements], pa.string()),
                "text": [s.text for s in statements],
                "target": ["; ".join(s.targets) for s in statements],
                "versions": [n_versions[i] for i in range(len(ids))],
                **{k: pa.array(v, from_pandas=True) for k, v in columns.items()},
            }
        ),
        "models": pa.table(
            {
                "id": ids * len(names),
                "model": [name for name in names for _ in ids],
                **{
                    k: pa.array(v.reshape(-1), from_pandas=True)
                    for k, v in by_model.items()
                },
            }
        ),
        "versions": _version_table(texts, names, taus),
    }


def _statement_columns(
    texts: TextsToScore,
    own: FloatArray,
    by_model: FloatArray,
    settings: ReliabilitySettings,
) -> tuple[dict[str, Any], SurenessRecord]:
    """One value per statement and column, with tau the mean over models; and how sure these
    scores are."""
    tau, versions = own.mean(axis=0), by_model.mean(axis=0)
    cv = context_variance(tau, versions)
    distribution = SamplingDistribution.of(own, by_model)
    low, high = distribution.intervals(level=settings.level)
    rank, first, last = distribution.ranks(level=settings.level, seed=settings.seed)
    columns = {
        "words": texts.originals["words"].to_numpy(),
        "scored": np.isfinite(versions).sum(axis=1),
        "tau": tau,
        "cv": cv,
        "cobias": cobias(cv),
        "stability": stability(cv),
        "exponential": -np.expm1(-cv),  # what the authors tried before COBIAS (4.2)
        "cobias_low": cobias(low),
        "cobias_high": cobias(high),
        "rank": rank,
        "rank_low": first,
        "rank_high": last,
    }
    usable = distribution.usable
    return columns, SurenessRecord(
        interval_width=_median(columns["cobias_high"] - columns["cobias_low"]),
        spread=float(np.std(columns["cobias"][usable])) if usable.any() else None,
        rank_interval=_median(last - first),
        ranked=int(np.isfinite(rank).sum()),
    )


def _median(values: FloatArray) -> float | None:
    """Median of the values that are not missing; None if there are none."""
    present = values[~np.isnan(values)]
    return float(np.median(present)) if len(present) else None


def _flags(
    texts: TextsToScore, answers: Sequence[ModelTaus], tau: FloatArray, scored: IntArray
) -> list[str]:
    """Why a statement has no score, what is unusual about one that has, or "" """

    def flag(i: int, text: int) -> str:
        problems = [p for answer in answers if (p := answer.scores.problem[text])]
        if texts.table["left_out"][text]:
            return str(texts.table["left_out"][text])
        if problems:
            return problems[0]
        if not np.isfinite(tau[i]) or tau[i] == 0:
            return "nothing_to_score"
        if not scored[i]:
            return "no_versions"
        return "" if texts.statements[i].has_its_targets else "target_not_in_sentence"

    return [flag(i, text) for i, text in enumerate(texts.originals.index)]


def _version_table(
    texts: TextsToScore, names: Sequence[str], taus: FloatArray
) -> pa.Table:
    rows = texts.versions.assign(
        id=[texts.statements[i].id for i in texts.versions["statement"]]
    )
    kinds = {
        "id": pa.string(),
        "version": pa.int64(),
        "text": pa.string(),
        "words": pa.int64(),
    }
    kinds |= {"left_out": pa.string(), "identical": pa.bool_()}
    index, by_name = rows.index.to_numpy(), {"tau": taus.mean(axis=0)}
    by_name |= {f"tau {name}": tau for name, tau in zip(names, taus, strict=True)}
    return pa.table(
        {
            **{name: pa.array(rows[name], kind) for name, kind in kinds.items()},
            **{
                name: pa.array(tau[index], from_pandas=True)
                for name, tau in by_name.items()
            },
        }
    )
