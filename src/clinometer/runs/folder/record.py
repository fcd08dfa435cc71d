"""run.json of an audit: its schema, the record of a new run, and what makes it another run.

Fields without a default are in every run.json from the start. The others are added when they are
known, or only for some models; a key is in the file if and only if it was set.
"""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer

from clinometer.contexts import ContextSet
from clinometer.contexts.metadata import DrawRecord
from clinometer.display.numbers import money
from clinometer.display.text import to_plain
from clinometer.errors import RunError
from clinometer.measure.components import Components
from clinometer.measure.criterion import Criterion
from clinometer.measure.factors import FactorShares
from clinometer.measure.placebo import Placebo
from clinometer.measure.risks import RISKS
from clinometer.models import LoadOptions, ModelInfo, WordReport
from clinometer.models.prices import Price
from clinometer.runs.cost import Cost
from clinometer.runs.settings import AuditSettings
from clinometer.statistics.estimate import Estimate
from clinometer.storage.record import (
    SCHEMA_VERSION,
    FolderRecord,
    ModelRecord,
    RecordPart,
)
from clinometer.topics import Topic, builtin_topics, load_topic

UNMEASURABLE = "unmeasurable"
"""The status of a run whose answers are hardly ever categories: all is scored, nothing measured."""


class TopicRecord(RecordPart):
    """The topic: the number of its groups, and all of its words."""

    name: str
    title: str = ""
    language: str = ""
    sha256: str

    groups: int
    """How many groups it has."""

    attributes: dict[str, list[str]]
    """The words of each category."""

    reference: list[float] | Literal["group-mean"] | None = None
    readout: dict[str, Any] | None = None
    favourable: str = ""
    shared: Literal["split", "drop"] = "split"
    left_out: list[str] = Field(default_factory=list)

    people: dict[str, list[str]] = Field(default_factory=dict)
    """What the list of groups says about each: gender, ethnicity, and whether it is shown as a name
    or described."""


class ContextsRecord(RecordPart):
    """The contexts that were scored."""

    name: str
    sha256: str
    n: int
    n_eff: float
    noun: str = ""
    drawn: DrawRecord | None = None
    labels: list[str] = Field(default_factory=list)


class WordsRecord(RecordPart):
    """How the model tokenises the words, and what happened to those it cannot score."""

    words: list[str]
    tokens: dict[str, list[str]]
    unwritable: list[str]
    same_tokens: dict[str, str]
    restricted: list[str]
    prefixes: dict[str, list[str]] = Field(default_factory=dict)
    shared: dict[str, list[str]]
    counts: dict[str, int] = Field(default_factory=dict)


class ProtocolRecord(RecordPart):
    """The protocol of an audit, and where the audit deviated from it."""

    file: str
    sha256: str
    created: str
    measures: list[str]
    fail_above: list[str]
    fail_on: str
    tests: list[str]
    deviations: list[str]

    planned: dict[str, Any] = Field(default_factory=dict)
    """What was planned, in full."""

    done: dict[str, Any] = Field(default_factory=dict)
    """What was done, in full."""

    digest: str = ""
    """The digest of all the rest."""


class CacheRecord(RecordPart):
    """What the cache of the machine had for a run."""

    looked_up: int = 0
    """Cells that were looked up."""

    found: int = 0
    """Cells that were there."""


class CostRecord(RecordPart):
    """What a run was planned to cost at most, and what its tokens have cost so far."""

    replies: int
    tokens_read: int
    tokens_written: int

    price: list[float] | None = None
    """Of a million tokens read and written; None: not known."""

    source: str = ""
    """Where the price is from."""

    planned: float | None = None
    paid: float | None = None

    @property
    def paid_sentence(self) -> str:
        """The end of a line about usage."""
        return "" if self.paid is None else f", {money(self.paid)} ({self.source})"

    def after(self, usage: Mapping[str, int]) -> CostRecord:
        """Return the record with what these tokens cost."""
        if self.price is None:
            return self
        price = Price(self.price[0], self.price[-1], self.source)
        tokens_read = usage.get("tokens_read", 0)
        tokens_written = usage.get("tokens_written", 0)
        return self.model_copy(update={"paid": price.of(tokens_read, tokens_written)})


class SummaryRecord(RecordPart):
    """The three risks with their intervals, and by their names the others that were measured."""

    R: Estimate
    R_bias: Estimate
    R_volatility: Estimate
    __pydantic_extra__: dict[str, Estimate | None] = Field(init=False)

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Return the risks that were measured by their names, in the order of `RISKS`."""
        estimates = {name: getattr(self, name, None) for name in RISKS}
        return {name: e for name, e in estimates.items() if e is not None}


class FloorRecord(RecordPart):
    """What shuffled words give: means over the shuffles, with the middle 95 % of them.

    p, p_between: the share of shuffles whose R (R_between) is at least as high as measured. Other
    means over contexts that are compared stand beside them by their names, with p_NAME.
    """

    __pydantic_extra__: dict[str, Estimate | float | None] = Field(init=False)

    shuffles: int
    R: Estimate
    R_bias: Estimate
    R_volatility: Estimate
    R_between: Estimate | None = None
    p: float
    p_between: float | None = None


class ImportRecord(RecordPart):
    """Where an imported run comes from."""

    tool: str
    """The program that asked the model."""

    version: str = ""

    task: str = ""
    """What the program asked."""

    file: str
    """The name of the file that was read."""

    sha256: str

    mapping: str = ""
    """The name of the mapping file that says what its fields mean."""

    mapping_sha256: str = ""

    samples: int
    """Samples that were read."""

    left_out: dict[str, int] = Field(default_factory=dict)
    """Samples that were not read, by why."""


class CalibrationRecord(RecordPart):
    """A judge's categories against people's labels, and the risks that follow from people's."""

    labels: int

    left_out: int
    """Labelled replies that people or judge put into no category."""

    categories: list[str]

    counts: list[list[float]]
    """Replies by people's category (rows) and the judge's (columns)."""

    agreement: float
    kappa: float | None = None

    groups_alike: float | None = None
    """The p-value of equal errors in all groups; None where that is unknown."""

    summary: SummaryRecord


class BoundsRecord(RecordPart):
    """Where preferences are only bounded: (low, high) of the risks."""

    R: list[float]
    R_bias: list[float]
    R_volatility: list[float]

    widest_cell: float
    """How far apart the bounds of a preference are at most."""

    mean_cell: float
    """How far apart they are on average."""


class OtherRecord(RecordPart):
    """The share of replies, or of probability, that is no category."""

    share: float

    most: float
    """The share in the group with most of it."""

    most_group: str

    bounds: dict[str, list[float]] | None = None
    """(low, high) of R, R_bias and R_volatility if it were any category; where it is large."""


class RunRecord(FolderRecord):
    """The content of an audit's run.json."""

    model: ModelRecord
    topic: TopicRecord
    contexts: ContextsRecord

    scoring: dict[str, Any]
    """The settings whose values identify a run."""

    settings: Annotated[AuditSettings, PlainSerializer(AuditSettings.to_dict)]
    versions: dict[str, str] = Field(default_factory=dict)
    git_revision: str | None = None

    chunk_size: int = 1
    """Cells scored together; like `words`, absent for reference models."""

    words: WordsRecord | None = None
    protocol: ProtocolRecord | None = None
    cache: CacheRecord = CacheRecord()

    usage: dict[str, Annotated[int, Field(ge=0, lt=1 << 63)]] = Field(
        default_factory=dict
    )
    """Of a server: requests, retries, tokens."""

    cost: CostRecord | None = None
    """Of a server: what was planned, and what was paid."""

    preference_bound: float = 0.0
    """How far a preference may be off for words that were not expanded."""

    risk_bound: float | None = None
    """How far R and R_bias may be off for them."""

    replies: dict[str, int] = Field(default_factory=dict)
    """Of a sampled model: counts of its answers."""

    imported: ImportRecord | None = None
    """Of a run that another tool asked: where it comes from."""

    summary: SummaryRecord | None = None
    other: OtherRecord | None = None
    criterion: dict[str, Any] = Field(default_factory=dict)
    floor: FloorRecord | None = None
    factors: FactorShares | None = None

    components: Components | None = None
    """Of counted replies: lean, swing and dice."""

    placebo: Placebo | None = None
    """Irrelevant edits, where some were asked."""

    plug_in: dict[str, float] = Field(default_factory=dict)
    """The three risks as the equations of the paper have them.

    Their bias risk is too high in few contexts, and with replies all of them.
    """

    unmeasurable: str = ""
    bounds: BoundsRecord | None = None
    calibration: CalibrationRecord | None = None
    n_eff: float | None = None
    counts: dict[str, int] = Field(default_factory=dict)

    @classmethod
    def begun(cls, model: ModelInfo | ModelRecord, **content: Any) -> RunRecord:
        """Return the record of a run that is begun now, by this program."""
        if isinstance(model, ModelInfo):
            model = ModelRecord(**model.to_dict())
        return cls(
            schema_version=SCHEMA_VERSION,
            status="running",
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            model=model,
            versions=versions(),
            git_revision=git_revision(),
            **content,
        )

    @property
    def chosen_criterion(self) -> Criterion:
        """What R measures: as set, or what fits the topic."""
        readout = self.topic.readout or {}
        return self.settings.criterion_for(
            self.topic.reference,
            tuple(self.topic.attributes),
            scale=readout.get("scale"),
        )

    @property
    def identity(self) -> dict[str, Any]:
        """What makes an audit a different one, see `ResolvedAudit.identity`."""
        return {
            "model": self.model.id,
            "topic": self.topic.sha256,
            "contexts": self.contexts.sha256,
            **self.scoring,
        }

    @property
    def scored_words(self) -> WordsRecord:
        """The words, of a run that must have some."""
        if self.words is None:
            raise RunError(f"{self.model.id}: the run has no stored scores of words")
        return self.words


_PACKAGES = (
    "clinometer",
    "clinometer-pocket",
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
)
"""Packages that can affect a number."""


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of packages that can affect a number; missing packages are left out.

    Read once in a process: it takes longer than measuring a small run.
    """
    installed = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            installed[package] = metadata.version(package)
    return installed


@lru_cache(maxsize=1)
def git_revision() -> str | None:
    """Return the commit of the working copy that this code runs from; None for an installed
    package."""
    source = Path(__file__).resolve().parent
    if not any((folder / ".git").exists() for folder in source.parents):
        return None
    try:
        git = subprocess.run(
            ["git", "-C", str(source), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return git.stdout.strip() or None


def new_record(
    model: ModelInfo | ModelRecord,
    topic: Topic,
    contexts: ContextSet,
    settings: AuditSettings,
) -> RunRecord:
    """Return the record of a new run: everything known before the first answer."""
    return RunRecord.begun(
        model,
        topic=_topic_record(topic),
        contexts=ContextsRecord(
            name=contexts.name,
            sha256=contexts.sha256,
            n=len(contexts),
            n_eff=contexts.n_eff,
            drawn=contexts.metadata.drawn,  # for a sample also the set it was taken from
            labels=list(contexts.extra),
        ),
        scoring=settings.scoring(),
        settings=settings,
    )


def _topic_record(topic: Topic) -> TopicRecord:
    shares = topic.reference
    reference = list(shares) if isinstance(shares, tuple) else shares
    columns = dict.fromkeys(name for group in topic.groups for name in group.parts)
    return TopicRecord(
        **topic.readout.tables(),  # of words nothing: the key is left out
        name=topic.name,
        title=topic.title,
        language=topic.language,
        sha256=topic.sha256,
        groups=len(topic),
        attributes={name: list(words) for name, words in topic.attributes.items()},
        reference=reference,
        shared=topic.shared,
        left_out=list(topic.left_out),
        people={
            column: [group.parts.get(column, "") for group in topic.groups]
            for column in columns
        },
    )


def word_record(report: WordReport, topic: Topic) -> WordsRecord:
    """Return how the model tokenises the words, and what happened to those it cannot score."""
    return WordsRecord(
        words=list(topic.words),
        **to_plain(report),
        shared={word: list(names) for word, names in topic.shared_words.items()},
        counts={**report.counts(), "words_shared": len(topic.shared_words)},
    )


def cost_record(cost: Cost) -> CostRecord:
    """Return the plan's cost, for run.json."""
    price = cost.price
    return CostRecord(
        replies=cost.replies,
        tokens_read=cost.read,
        tokens_written=cost.written,
        planned=cost.money,
        price=[price.read, price.written] if price else None,
        source=price.source if price else "",
    )


def begun_load(
    load: LoadOptions, record: RunRecord, usage: Mapping[str, int]
) -> LoadOptions:
    """Return how the model of a run that is resumed is opened.

    In the same precision, with what was learnt about its server, and counting what was paid
    (`usage`).
    """
    begun: dict[str, Any] = {"usage": dict(usage)}
    if record.model.request:
        begun["request"] = record.model.request
    return replace(load.resumed(record.model.dtype), begun=begun)


def added(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Return the sum of two usage counts.

    >>> added({"requests": 2}, {"requests": 3, "retried": 1})
    {'requests': 5, 'retried': 1}
    """
    return {name: before.get(name, 0) + now.get(name, 0) for name in {**before, **now}}


def find_topic(record: RunRecord) -> Topic | None:
    """Return the built-in topic of a run, if it has not changed."""
    return _builtin_topic(record.topic.name, record.topic.sha256)


@lru_cache(maxsize=16)
def _builtin_topic(name: str, sha256: str) -> Topic | None:
    """Return a built-in topic; cached, since a page needs it for every sentence."""
    # Only a built-in name: an untrusted run.json must not make us open a path.
    if name not in builtin_topics():
        return None
    topic = load_topic(name)
    return topic if topic.sha256 == sha256 else None
