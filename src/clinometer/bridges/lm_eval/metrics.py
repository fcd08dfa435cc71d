"""Metrics of the harness, recomputed from the log-likelihoods that were imported.

If they agree with what the harness reports, the same samples were read in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import fsum

from clinometer.bridges.lm_eval.samples import HarnessSample
from clinometer.errors import SettingsError
from clinometer.runs.folder.record_schema import MetricRecord


def first_likelier(sample: HarnessSample) -> float:
    """1 where the first of two answers is the likelier one."""
    first, second = sample.log_probs
    return float(first > second)


def log_ratio(sample: HarnessSample) -> float:
    """How far the log-likelihoods of two answers lie apart."""
    first, second = sample.log_probs
    return abs(first - second)


def accuracy(sample: HarnessSample) -> float:
    """1 where the likeliest answer is the right one."""
    best = max(range(len(sample.log_probs)), key=sample.log_probs.__getitem__)
    return float(str(best) == sample.target)


#: What a mapping may say of a metric; each is a mean over the samples.
FORMULAS: dict[str, Callable[[HarnessSample], float]] = {
    "first likelier": first_likelier,
    "log ratio": log_ratio,
    "accuracy": accuracy,
}


class MetricTally:
    """The metrics that a mapping names, as samples are read one by one."""

    def __init__(self, wanted: Mapping[str, str]) -> None:
        for name, formula in wanted.items():
            if formula not in FORMULAS:
                raise SettingsError(
                    f"metrics.{name}: expected one of {', '.join(FORMULAS)}; found {formula!r}"
                )
        self._wanted = dict(wanted)
        self._values: dict[str, list[float]] = {name: [] for name in wanted}

    def add(self, sample: HarnessSample) -> None:
        for name, formula in self._wanted.items():
            try:
                self._values[name].append(FORMULAS[formula](sample))
            except ValueError:
                raise SettingsError(
                    f"{sample.where}: metrics.{name}: {formula!r} needs two answers, found "
                    f"{len(sample.answers)}; leave the metric out of the mapping"
                ) from None

    def compared(self, reported: Mapping[str, float]) -> dict[str, MetricRecord]:
        """The metrics beside what the harness reports."""
        return {
            name: MetricRecord(reported=reported.get(name), recomputed=fsum(values) / len(values))
            for name, values in self._values.items()
            if values
        }
