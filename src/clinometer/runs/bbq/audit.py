"""Ask a model BBQ's questions: the log-probability of every option, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from clinometer.errors import SettingsError
from clinometer.models import ModelSpec, open_model
from clinometer.models.protocol import Scorer
from clinometer.runs.bbq.result import BbqReplies, bbq_run
from clinometer.runs.run import Run
from clinometer.runs.settings import AuditSettings
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.jsonl import Lines, Row
from clinometer.storage.resumable import Progress
from clinometer.topics import Prompt
from clinometer.topics.bbq.formats import FORMATS, BbqFormat
from clinometer.topics.bbq.items import BbqItem, digest

TOGETHER = 32
"""Prompts scored at a time: what a kill may cost."""


def bbq_audit(
    model: str,
    items: Sequence[BbqItem],
    *,
    name: str,
    formats: Sequence[str] = tuple(FORMATS),
    out: Path | None = None,
    settings: AuditSettings | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Score the options of every item in every prompt format, and measure what they say.

    The probabilities of an item's options are their shares of the sum over the three; the option
    with the largest is the answer for BBQ's own scores. With `out`, scores are stored in
    options.jsonl there as they come, and the same call resumes.
    """
    settings = settings or AuditSettings()
    chosen = chosen_formats(formats)
    asked = [(form, item) for form in chosen for item in items]
    load = settings.load
    identity = {"model": model, "items": digest(items), "dtype": load.dtype, "chat": load.chat}
    if load.chat:
        raise SettingsError("chat: expected a model without its chat template for bbq:FILE")
    with Lines(None if out is None else _file(out), identity).resumed(fresh=fresh) as lines:
        scorer = open_model(
            ModelSpec.parse(model), load=load, words=replace(settings.words, tolerance=0.0)
        )
        try:
            left = [(f, i) for f, i in asked if _id(f, i) not in lines.rows]
            rows = lines.take(_scored(scorer, left), [_id(f, i) for f, i in asked], progress)
        finally:
            scorer.close()
    found = {row["id"]: np.array(row["log_probs"]) for row in rows}
    p = {form.name: _shares([found[_id(form, item)] for item in items]) for form in chosen}
    return bbq_run(scorer.info, BbqReplies(tuple(items), p), settings, name=name, out=out)


def chosen_formats(names: Sequence[str]) -> list[BbqFormat]:
    """Formats by name."""
    for name in names:
        if name not in FORMATS:
            raise SettingsError(
                f"contexts: expected prompt formats of BBQ ({', '.join(FORMATS)}), found {name!r}"
            )
    return [FORMATS[name] for name in dict.fromkeys(names)]


def _file(out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    return out / "options.jsonl"


def _id(form: BbqFormat, item: BbqItem) -> str:
    return f"{item.id} {form.name}"


def _scored(scorer: Scorer, asked: Sequence[tuple[BbqFormat, BbqItem]]) -> Iterator[Row]:
    """One row per prompt. Prompts with the same options are scored together."""
    alike: dict[tuple[str, ...], list[tuple[BbqFormat, BbqItem]]] = {}
    for form, item in asked:
        alike.setdefault(form.answers(item), []).append((form, item))
    for answers, members in alike.items():
        for start in range(0, len(members), TOGETHER):
            some = members[start : start + TOGETHER]
            prompts = [Prompt(form.text(item), "", space=True) for form, item in some]
            scores = scorer.score(prompts, answers).log_probs
            for (form, item), row in zip(some, scores.tolist(), strict=True):
                yield {"id": _id(form, item), "log_probs": row}


def _shares(log_probs: Sequence[FloatArray]) -> FloatArray:
    logs = np.stack(log_probs)
    return np.asarray(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))
