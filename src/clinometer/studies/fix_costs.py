"""What a fix cost besides: how well facts are known, and how surprising neutral texts are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.errors import ClinometerError
from clinometer.models import open_model
from clinometer.models.open import loaded_once
from clinometer.report.export import write_files
from clinometer.runs import Run
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.means import interval_of_means
from clinometer.storage.untrusted import read_json
from clinometer.studies.fix import BASE
from clinometer.studies.fix_plan import FACTS, TOPIC
from clinometer.studies.framework import PlannedRun, Results, data
from clinometer.studies.knowledge import Relation, score_facts

TEXTS = "texts"
"""The kind of the neutral texts, beside the kinds of facts."""


@dataclass(frozen=True)
class Items:
    """What models have of each item, by the label of the model and the kind of the items."""

    values: Mapping[tuple[str, str], FloatArray]

    def change(
        self, label: str, kinds: Sequence[str], scale: Callable[[float], float]
    ) -> Estimate | None:
        """Return the mean change from the base, of items that both have; all weigh the same.

        `scale` makes of it, and of the ends of its interval, the numbers that are shown. None where
        there are no such items.
        """
        changes = [
            self.values[label, kind] - self.values[BASE, kind]
            for kind in kinds
            if (BASE, kind) in self.values and (label, kind) in self.values
        ]
        if not changes:
            return None
        column = np.hstack(changes)[:, None]
        weights = np.full(column.shape, 1 / len(column))
        interval = interval_of_means(column, weights)
        value = scale(float(interval.mean[0]))
        low = scale(float(interval.low[0]))
        high = scale(float(interval.high[0]))
        return Estimate(value, low, high, 0.95, "mean over items")


def read_items(
    results: Results,
    runs: Mapping[tuple[str, str], Run],
    facts: Sequence[Relation],
    prompts: Mapping[str, str],
    out: Path,
) -> Items:
    """Return the knowledge of every fact and the surprise of every text; none without facts."""
    relations = {FACTS + fact.name: fact for fact in facts}
    values: dict[tuple[str, str], FloatArray] = {}
    for (label, role), run in runs.items():
        if role in relations:
            scores = score_facts(run.preferences, relations[role])
            values[label, role] = scores["knowledge"].to_numpy()
    if facts:
        values |= _surprises(results, prompts, out)
    return Items(values)


def _surprises(
    results: Results, prompts: Mapping[str, str], out: Path
) -> dict[tuple[str, str], FloatArray]:
    """Return minus the log-probability per token of each neutral text, of every model.

    The prompt of a fix stands before the text and is not scored. The numbers are kept in the
    study's folder, each as long as its audit.
    """
    file = out / "perplexity.json"
    stored: dict[str, Any] = read_json(file) if file.is_file() else {}
    with loaded_once():
        for planned, run in results:
            label = planned.label
            audit = run.record.created
            is_current = stored.get(label, [""])[0] == audit
            if planned.role != TOPIC or is_current:
                continue
            stored.pop(label, None)
            # A model that cannot score texts has no perplexity.
            with suppress(ClinometerError):
                log_probs = _log_probs_of_texts(planned, prompts.get(label))
                stored[label] = audit, log_probs
                write_files({file: json.dumps(stored).encode()})
    return {
        (label, TEXTS): -np.array(log_probs) for label, (_, log_probs) in stored.items()
    }


def _log_probs_of_texts(planned: PlannedRun, prompt: str | None) -> list[float]:
    """Return the log-probability per token of each neutral text, after a prompt if there is one."""
    from clinometer.models.likelihood import score_texts  # loads torch
    from clinometer.models.whole_texts import MarkedText, TextOptions

    before = "" if prompt is None else f"{prompt} "
    unscored = ((0, len(before)),) if before else ()
    texts = [
        MarkedText(before + text, unscored)
        for text in data("fixes")["neutral"]["texts"]
    ]
    load = replace(planned.settings.load, sampled=None, chat=False)
    scorer = open_model(planned.model, load=load, words=planned.settings.words)
    scores = score_texts(scorer, texts, TextOptions())
    log_probs: list[float] = (scores.log_prob / scores.tokens).tolist()
    return log_probs
