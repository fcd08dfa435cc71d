"""What an audit will do, decided from what was given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from clinometer.contexts import ContextSet, load_contexts
from clinometer.contexts.load import check_fit, default_contexts, own_contexts
from clinometer.errors import SettingsError
from clinometer.models import ModelSource, ModelSpec
from clinometer.models.catalog.spec import APPLICATIONS
from clinometer.models.options import AUTOMATIC_REPLIES, DEFAULT_TOLERANCE, QUESTION
from clinometer.runs.budget import within_budget
from clinometer.runs.cost import Cost, estimate_cost
from clinometer.runs.placebo import EditedQuestions
from clinometer.runs.settings import AuditSettings
from clinometer.settings import with_settings
from clinometer.topics import Topic
from clinometer.topics.questions import WORDING

if TYPE_CHECKING:
    import pandas as pd

Contexts: TypeAlias = (
    "str | os.PathLike[str] | ContextSet | Sequence[str]"
    " | pd.Series[str] | pd.DataFrame | None"
)
"""A built-in set, a source or a file; a set; sentences; a frame; None: the default of the topic."""

REPLIES = 5
"""Replies of a request whose probabilities cannot be read, unless another number is asked for."""

_HOW_IT_IS_ASKED = {"replies", "sampled", "load", "route", "tokenizer"}
"""Settings that say how a served model is asked."""


@dataclass(frozen=True, eq=False)
class ResolvedAudit:
    """What an audit will do."""

    topic: Topic

    source: ContextSet
    """The whole set of contexts."""

    contexts: ContextSet
    """Those that are asked first: the whole set, or a sample of it."""

    settings: AuditSettings
    """The settings with every value decided; nothing changes them later."""

    edited: EditedQuestions | None = None
    """The irrelevant edits of their questions, where some are asked."""

    def identity(self, model: str) -> dict[str, Any]:
        """Return what makes an audit of the model of this name a different one."""
        return {
            "model": model,
            "topic": self.topic.sha256,
            "contexts": self.contexts.sha256,
            **self.settings.scoring(),
        }

    def cost(self, model: str | ModelSpec) -> Cost | None:
        """Return what it costs at most, irrelevant edits included; None where no replies are
        sampled."""
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
    spec = ModelSpec.parse(model) if isinstance(model, str) else model
    base = settings
    if base is None:
        base = with_settings(AuditSettings(), planned or {})
    if spec is not None:
        # What is part of a model is for it alone.
        given = {**given, **dict(spec.settings)}
        if settings is None and _is_sampled(spec, base, given):
            given = {**_automatic_replies(given), **given}
    chosen = with_settings(base, given)
    source = find_contexts(topic, contexts)
    _check_placebo(chosen, spec)
    chosen = _with_readout(chosen, topic)
    edited = EditedQuestions.of(topic, source) if chosen.placebo else None
    if spec is not None and chosen.load.server.budget is not None:
        chosen = within_budget(chosen, spec, topic, source, edited)
    selected = _selected(source, chosen)
    chosen = with_settings(chosen, _last_decisions(chosen, topic, selected, earlier))
    if edited is not None:
        edited = EditedQuestions.of(topic, selected)
    return ResolvedAudit(topic, source, selected, chosen, edited)


def _is_sampled(spec: ModelSpec, base: AuditSettings, given: Mapping[str, Any]) -> bool:
    """Whether a model is asked for replies though nobody said how it is asked."""
    if spec.place not in (ModelSource.SERVER, *APPLICATIONS):
        return False
    return base.load.sampled is None and not given.keys() & _HOW_IT_IS_ASKED


def _automatic_replies(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of replies where there are no log-probabilities.

    A temperature is one of replies, log-probabilities are those of temperature 1; and what is
    reasoned stands before a reply.
    """
    automatic = not given.keys() & {"temperature", "effort"}
    return {"replies": AUTOMATIC_REPLIES, "automatic": automatic}


def _check_placebo(settings: AuditSettings, spec: ModelSpec | None) -> None:
    if spec is None or spec.place is not ModelSource.REFERENCE:
        return
    if settings.placebo:
        raise SettingsError(
            "placebo: expected a model that reads its questions, found a reference model; leave "
            "out --placebo"
        )


def _with_readout(settings: AuditSettings, topic: Topic) -> AuditSettings:
    """Return the settings under which the readout of a topic of questions can read answers."""
    readout = topic.readout
    if not readout.asks:
        return settings
    settings = with_settings(settings, {"chat_request": QUESTION})
    if not readout.exact and settings.load.sampled is None:
        settings = with_settings(settings, {"replies": REPLIES})
    sampled = settings.load.sampled
    if sampled is not None and sampled.reply_tokens is None:
        settings = with_settings(settings, {"reply_tokens": readout.length})
    return settings


def _last_decisions(
    settings: AuditSettings,
    topic: Topic,
    contexts: ContextSet,
    earlier: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the clusters, and the tolerance that a run was begun with or else the default."""
    decided: dict[str, Any] = {
        "clusters": resampling_clusters(settings, topic, contexts)
    }
    if settings.words.tolerance is None:
        decided["tolerance"] = DEFAULT_TOLERANCE
        if earlier is not None:
            decided["tolerance"] = earlier.get("words.tolerance", DEFAULT_TOLERANCE)
    return decided


def find_contexts(topic: Topic, contexts: Contexts) -> ContextSet:
    """Return the whole set of contexts, checked against the topic; None: the default of the
    topic."""
    if contexts is None:
        return default_contexts(topic)
    if isinstance(contexts, str | os.PathLike):
        return load_contexts(contexts, topic=topic)
    if not isinstance(contexts, ContextSet):
        contexts = own_contexts(contexts)
    check_fit(contexts, topic)
    return contexts


def _selected(source: ContextSet, settings: AuditSettings) -> ContextSet:
    """Return the whole set, or a sample of it.

    What cannot be measured is refused before any model is scored: the intervals come last.
    """
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
    """Return the column by which contexts are resampled together.

    Questions of one wording differ only in their order or in a factor, so they are resampled
    together unless other clusters were named.
    """
    if settings.clusters is not None or topic.questions is None:
        return settings.clusters
    wordings = contexts.extra.get(WORDING)
    repeated = wordings and len(set(wordings)) < len(contexts)
    return WORDING if repeated else None
