"""The settings of an audit, and how they are decided from what was given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clinometer.contexts import ContextSet, load_contexts
from clinometer.contexts.load import check_fit, default_contexts, own_contexts
from clinometer.display.numbers import money
from clinometer.errors import SettingsError
from clinometer.measure.criterion import Criterion, choose_criterion, parse_criterion
from clinometer.measure.planning import SPREAD
from clinometer.measure.stereotype import is_even
from clinometer.models import LoadOptions, ModelSource, ModelSpec, WordOptions
from clinometer.models.catalog.spec import APPLICATIONS
from clinometer.models.options import AUTOMATIC_REPLIES, DEFAULT_TOLERANCE, QUESTION
from clinometer.models.prices import Price, price_of
from clinometer.models.server.request import INSTRUCTION
from clinometer.runs.placebo import EditedQuestions
from clinometer.settings import (
    COUNT,
    LEVEL,
    SEED,
    SHARE_BELOW_1,
    check_settings,
    option,
    with_settings,
)
from clinometer.topics import Topic
from clinometer.topics.questions import WORDING

if TYPE_CHECKING:
    import pandas as pd

#: A built-in set, a source or a file; a set; sentences; a frame; None: the default of the topic.
Contexts: TypeAlias = (
    "str | os.PathLike[str] | ContextSet | Sequence[str]"
    " | pd.Series[str] | pd.DataFrame | None"
)

#: Replies of a request whose probabilities cannot be read, unless another number is asked for.
REPLIES = 5

#: The settings that `Preferences.estimate` takes, and the options of `clinometer import table`.
INFERENCE = ("criterion", "level", "clusters")

_statistics = partial(option, panel="Statistics", advanced=True)


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """How an audit is made."""

    max_contexts: int | None = option(
        None,
        help="Sample at most this many contexts by weight.",
        allowed=COUNT,
        unset="use all",
    )
    placebo: bool = option(
        False,
        "--placebo",
        help="Also ask the questions with edits that should not matter (a blank line, a weekday, "
        "the weather), for at most four groups: the floor of a decision.",
        panel="Question",
        advanced=True,
    )
    seed: int = _statistics(0, help="Random seed.", allowed=SEED)
    criterion: str | None = _statistics(
        None,
        help="What R measures: ratio (the paper's, against an even split; ratio:2 with the norm "
        "J_2), raw (the same, not scaled from 0 to 1; raw:2), released (the sum of s⁺ over 5, as "
        "in the authors' code and Table 3), share (of answers that would have to change) or points "
        "(of a rating scale).",
        unset="what fits the topic",
    )
    coverage_threshold: float = _statistics(
        1e-3,
        help="Flag cells whose words carry less probability than this.",
        allowed=SHARE_BELOW_1,
    )
    level: float = _statistics(
        0.95, help="Confidence level of the intervals, between 0 and 1.", allowed=LEVEL
    )
    clusters: str | None = _statistics(
        None,
        help="Resample whole clusters of contexts, given by a column of the context set or table, "
        "such as predicate or source.",
    )
    load: LoadOptions = field(default_factory=LoadOptions)
    words: WordOptions = field(default_factory=WordOptions)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.criterion is not None:
            parse_criterion(self.criterion)

    def to_dict(self) -> dict[str, Any]:
        """All settings, passed and defaulted, as plain values."""
        return asdict(self)

    def criterion_for(
        self, reference: object, categories: Sequence[str], *, scale: object
    ) -> Criterion:
        """The criterion of a topic: as set, or what fits its reference; on a `scale` (not None) the
        categories are numbers."""
        return choose_criterion(
            self.criterion if scale is None else self.criterion or "points",
            even=reference is None
            or (not isinstance(reference, str) and is_even(np.asarray(reference))),
            categories=categories,
        )

    def inference(self) -> dict[str, Any]:
        """Those of the intervals, as `Preferences.estimate` takes them."""
        return {"level": self.level, "clusters": self.clusters}

    def scoring(self) -> dict[str, Any]:
        """Those that change a score: other values here make another run. Everything else (device,
        batch size, criterion, threshold) may change when a run is resumed."""
        return {
            "words.tolerance": self.words.effective_tolerance,
            "words.end_of_word": False,  # an option once: runs begun before are still resumed
            "words.single_token": self.words.single_token,
            **self.load.scoring(),
        }


# --- from what was given to what will be done -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class ResolvedAudit:
    """What an audit will do.

    topic     groups and words
    source    the whole set of contexts
    contexts  those that are asked first: the whole set, or a sample of it
    settings  with every value decided; nothing changes them later
    edited    the irrelevant edits of their questions, where some are asked
    """

    topic: Topic
    source: ContextSet
    contexts: ContextSet
    settings: AuditSettings
    edited: EditedQuestions | None = None

    def identity(self, model: str) -> dict[str, Any]:
        """What makes an audit of the model of this name a different one."""
        return {
            "model": model,
            "topic": self.topic.sha256,
            "contexts": self.contexts.sha256,
            **self.settings.scoring(),
        }

    def cost(self, model: str | ModelSpec) -> Cost | None:
        """What it costs at most, irrelevant edits included; None where no replies are sampled."""
        load = self.settings.load
        cost = estimate_cost(model, self.topic, self.contexts, load)
        if cost is None or self.edited is None:
            return cost
        more = estimate_cost(model, self.edited.topic, self.edited.contexts, load)
        return cost if more is None else cost + more


def resolve(
    given: Mapping[str, Any],
    topic: Topic,
    contexts: Contexts,
    *,
    settings: AuditSettings | None = None,
    model: str | ModelSpec | None = None,
    planned: Mapping[str, Any] | None = None,
    earlier: Mapping[str, Any] | None = None,
) -> ResolvedAudit:
    """Decide what an audit will do; the only place where its settings are decided.

    Args:
        given: settings by name, as typed or passed; they override all others.
        topic: whose readout decides how questions are asked.
        contexts: a name, a file, a set, sentences or a frame; None: the default of the topic.
        settings: given as a whole, so that nothing in it is a mere default.
        model: a served one is sampled where it lists no log-probabilities, an application always,
            unless settings are given as a whole or say how it is asked.
        planned: settings of a protocol, for those that were not given.
        earlier: the identity of the run that is resumed.

    >>> from clinometer.topics import load_topic
    >>> gender = load_topic("gender")
    >>> resolve({"level": 0.9}, gender, None, planned={"level": 0.8, "seed": 7}).settings.seed
    7
    """
    base = (
        with_settings(AuditSettings(), planned or {}) if settings is None else settings
    )
    if model is not None:
        spec = model if isinstance(model, ModelSpec) else ModelSpec.parse(model)
        given = {
            **given,
            **dict(spec.settings),
        }  # what is part of a model is for it alone
        served = spec.place in (ModelSource.SERVER, *APPLICATIONS)
        asked = {"replies", "sampled", "load", "route", "tokenizer"}
        if (
            served
            and settings is None
            and base.load.sampled is None
            and not given.keys() & asked
        ):
            # Replies where there are no log-probabilities. A temperature is one of replies,
            # log-probabilities are those of temperature 1; and what is reasoned stands before a
            # reply.
            automatic = not given.keys() & {"temperature", "effort"}
            given = {"replies": AUTOMATIC_REPLIES, "automatic": automatic, **given}
    chosen = with_settings(base, given)
    source = find_contexts(topic, contexts)
    if chosen.placebo and str(getattr(model, "name", model)).startswith("reference:"):
        raise SettingsError(
            "placebo: expected a model that reads its questions, found a reference model; leave "
            "out --placebo"
        )
    if (readout := topic.readout) is not None:
        chosen = with_settings(chosen, {"chat_request": QUESTION})
        if not readout.exact and chosen.load.sampled is None:
            chosen = with_settings(chosen, {"replies": REPLIES})
        if (
            sampled := chosen.load.sampled
        ) is not None and sampled.reply_tokens is None:
            chosen = with_settings(chosen, {"reply_tokens": readout.length})
    edited = EditedQuestions.of(topic, source) if chosen.placebo else None
    if model is not None and chosen.load.server.budget is not None:
        chosen = _within_budget(chosen, model, topic, source, edited)
    selected = _select(source, chosen)
    decided: dict[str, Any] = {"clusters": resampling_clusters(chosen, topic, selected)}
    if chosen.words.tolerance is None:
        decided["tolerance"] = (earlier or {}).get("words.tolerance", DEFAULT_TOLERANCE)
    chosen = with_settings(chosen, decided)
    if edited is not None:
        edited = EditedQuestions.of(topic, selected)
    return ResolvedAudit(topic, source, selected, chosen, edited)


def find_contexts(topic: Topic, contexts: Contexts) -> ContextSet:
    """The whole set of contexts, checked against the topic; None: the default of the topic."""
    if contexts is None:
        return default_contexts(topic)
    if isinstance(contexts, str | os.PathLike):
        return load_contexts(contexts, topic=topic)
    if not isinstance(contexts, ContextSet):
        contexts = own_contexts(contexts)
    check_fit(contexts, topic)
    return contexts


def _select(source: ContextSet, settings: AuditSettings) -> ContextSet:
    """The whole set, or a sample of it. What cannot be measured is refused before any model is
    scored: the intervals come last."""
    name = settings.clusters
    if name is not None and name not in source.extra:
        columns = ", ".join(source.extra) or "none beside template and count"
        raise SettingsError(
            f"clusters: expected a column of the context set {source.name!r} ({columns}), "
            f"found {name!r}; leave out --clusters, or give contexts with that column"
        )
    if settings.max_contexts is not None:
        return source.draw(settings.max_contexts, seed=settings.seed)
    return source


def resampling_clusters(
    settings: AuditSettings, topic: Topic, contexts: ContextSet
) -> str | None:
    """The column by which contexts are resampled together.

    Questions of one wording differ only in their order or in a factor, so they are resampled
    together unless other clusters were named.
    """
    if settings.clusters is not None or topic.questions is None:
        return settings.clusters
    wordings = contexts.extra.get(WORDING)
    return WORDING if wordings and len(set(wordings)) < len(contexts) else None


# --- What it will cost ----------------------------------------------------------------------------

_COUNTS = ("cells", "replies", "read", "written")
_BYTES, _AROUND = 3.6, 8
#: Cells whose prompts are measured.
_MEASURED = 200
#: The share of a budget that is planned with: an estimate may be off.
_PLANNED = 0.9
#: Replies per cell that a budget may choose: below, intervals are too narrow (docs/inference.md);
#: above, contexts are what limits the precision.
FEWEST_REPLIES, MOST_REPLIES = 10, 40


@dataclass(frozen=True)
class Cost:
    """Requests and tokens of a plan, at most, before the first request.

    An estimate: a token is taken for 3.6 bytes of text, and every reply for as long as it may be.
    Where a server lists log-probabilities one request per cell replaces its replies, and costs
    less. Hidden tokens of models that reason first cannot be foreseen; a budget stops them in time.
    """

    cells: int
    replies: int
    read: int
    written: int
    price: Price | None

    @property
    def money(self) -> float | None:
        return None if self.price is None else self.price.of(self.read, self.written)

    def __add__(self, other: Cost) -> Cost:
        return replace(
            self, **{n: getattr(self, n) + getattr(other, n) for n in _COUNTS}
        )

    def part(self, share: float) -> Cost:
        """The cost of a share of the cells."""
        return replace(self, **{n: round(getattr(self, n) * share) for n in _COUNTS})

    def sentence(self) -> str:
        """
        >>> Cost(10, 100, 8000, 800, Price(1.0, 5.0, "--price")).sentence()
        'at most 100 replies (10 cells), about 8,000 tokens read and 800 written: 0.02 (--price)'
        """
        paid = "price not known (--price)"
        if self.price is not None and self.money is not None:
            paid = f"{money(self.money)} ({self.price.source})"
        return (
            f"at most {self.replies:,} replies ({self.cells:,} cells), about {self.read:,} tokens "
            f"read and {self.written:,} written: {paid}"
        )


def estimate_cost(
    model: str | ModelSpec, topic: Topic, contexts: ContextSet, load: LoadOptions
) -> Cost | None:
    """What an audit of a served model costs at most; None where no replies are sampled."""
    spec = model if isinstance(model, ModelSpec) else ModelSpec.parse(model)
    if load.sampled is None or spec.place is not ModelSource.SERVER:
        return None
    cells = len(topic) * len(contexts)
    # The mean over some cells, spread over the grid.
    prompts = [
        topic.render(
            contexts.templates[cell % len(contexts)],
            topic.groups[cell // len(contexts)],
        )
        for cell in range(0, cells, max(1, cells // _MEASURED))
    ]
    whole = load.chat_request == QUESTION
    texts = [p.before if whole else INSTRUCTION.format(p.before) for p in prompts]
    size = sum(len(text.encode()) for text in texts) / len(texts) / _BYTES + _AROUND
    replies = cells * load.sampled.replies
    price = price_of(spec.target, load.server.price)
    return Cost(
        cells, replies, round(replies * size), replies * load.sampled.tokens, price
    )


def _within_budget(
    chosen: AuditSettings,
    model: str | ModelSpec,
    topic: Topic,
    source: ContextSet,
    edited: EditedQuestions | None,
) -> AuditSettings:
    """The settings with the contexts and replies that are most precise for the budget; replies that
    were given are kept."""
    budget, sampled = chosen.load.server.budget, chosen.load.sampled
    one = estimate_cost(model, topic, source, chosen.load)
    if budget is None or sampled is None or one is None:
        raise SettingsError(
            "--budget: expected a model that is asked for replies, such as openai/NAME or "
            "openai:URL#MODEL; leave it out"
        )
    if one.money is None:
        raise SettingsError(
            "--budget: the price of this model is not known; add --price"
        )
    a_context = len(topic) + (
        0 if edited is None else len(edited.topic) * len(edited.edits)
    )
    a_reply = one.money / one.replies
    affordable = int(budget * _PLANNED / a_reply / a_context) if a_reply else 1 << 40
    automatic = (FEWEST_REPLIES, MOST_REPLIES)
    replies = automatic if sampled.automatic else (sampled.replies, sampled.replies)
    most = (
        len(source)
        if chosen.max_contexts is None
        else min(chosen.max_contexts, len(source))
    )
    possible = _contexts_and_replies(affordable, most, replies=replies)
    if possible is None:
        least = 2 * a_context * a_reply * replies[0]
        raise SettingsError(
            f"--budget: expected at least {money(least / _PLANNED)} for {len(topic)} groups in two "
            f"contexts, found {budget:g}; ask fewer groups (--groups)"
        )
    decided: dict[str, Any] = {"replies": possible[1]}
    if possible[0] < len(source):
        decided["max_contexts"] = possible[0]
    return with_settings(chosen, decided)


def _contexts_and_replies(
    affordable: int, contexts: int, *, replies: tuple[int, int]
) -> tuple[int, int] | None:
    """Contexts, and replies in each, that give the narrowest interval for the replies
    that can be paid per group.

    The variance of a mean is (S^2 + 1/(4 r)) / n with n contexts of r replies each: S between
    contexts (SPREAD), and at most 1/4 of a reply that is yes or no. Contexts come first; replies
    are added where all of them are asked. None if not even two contexts can be paid.

    >>> [_contexts_and_replies(n, 80, replies=(10, 40)) for n in (500, 5000)]
    [(50, 10), (80, 40)]
    """
    least, most = replies
    choices = [(min(contexts, affordable // r), r) for r in range(least, most + 1)]
    possible = [(n, r) for n, r in choices if n >= min(2, contexts)]
    if not possible:
        return None
    return min(possible, key=lambda nr: (SPREAD**2 + 1 / (4 * nr[1])) / nr[0])
