"""What a comparison of models returns: differences, ranks, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.display.notebook import frame
from clinometer.display.numbers import counted, p_relation, show
from clinometer.display.results import comparison_html
from clinometer.display.text import Plain
from clinometer.statistics.arrays import ROUNDING, FloatArray

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame


@dataclass(frozen=True, repr=False)
class Difference(Plain):
    """Model a minus model b in one risk. Positive: a has the higher risk."""

    a: str
    """Name of the first model."""

    b: str
    """Name of the second model."""

    measure: str
    """ "R", "R_bias", "R_volatility", or "r", .. for a group."""

    group: str | None
    """Name of the group; None for all groups together."""

    value: float | None
    """Difference of the values shown, the middles of two brackets; None when the group was not
    observed."""

    low: float | None
    """Lower end of the interval; None when too few contexts carry most of the weight."""

    high: float | None
    """Upper end of the interval; None together with `low`."""

    p: float | None
    """Two-sided p-value of no difference, by swapping the models in each context."""

    p_corrected: float | None
    """p after Holm's correction over the groups and measures of this pair; for all groups together,
    corrected for the pairs of models, as the interval is."""

    def __repr__(self) -> str:
        of = "" if self.group is None else f" of {self.group!r}"
        return f"{self.a!r} − {self.b!r}: {self.measure}{of} {self.shown}, p {p_relation(self.p)}"

    def clear_sign(self, level: float) -> int:
        """Return 1 or -1 where a is clearly higher or lower than b, else 0.

        By the interval, or by p_corrected for a difference without spread, which has none.
        """
        if self.low is not None and self.high is not None:
            return int(self.low > 0) - int(self.high < 0)
        if self.p_corrected is None or self.p_corrected > 1 - level:
            return 0
        return int(np.sign(self.value or 0.0))

    @property
    def shown(self) -> str:
        """Return the difference and its interval: +0.087 (+0.053 to +0.119)."""
        value = show(self.value, "signed")
        return f"{value} ({self.interval})" if self.interval else value

    @property
    def interval(self) -> str:
        """Return the ends as text, or nothing."""
        if self.low is None or self.high is None:
            return ""
        return f"{show(self.low, 'signed')} to {show(self.high, 'signed')}"


@dataclass(frozen=True, repr=False)
class Rank(Plain):
    """Where a model stands in one risk: rank 1 is the lowest."""

    model: str
    """Name of the model."""

    measure: str
    """Name of the risk."""

    value: float
    """The risk, as shown."""

    rank: int
    """Rank of that value; tied models share the lower rank."""

    low: int | None = None
    """The lowest rank that the tests of `compare` leave open."""

    high: int | None = None
    """The highest rank that the tests of `compare` leave open."""

    def __repr__(self) -> str:
        return f"{self.model!r}: {self.measure} {self.value:.3f}, rank {self.rank}"


def ranks_from_tests(
    values: Mapping[str, FloatArray],
    overall: Sequence[Difference],
    models: tuple[str, ...],
    level: float,
) -> list[Rank]:
    """Return ranks by value, and the range of ranks that the tests of the pairs leave open.

    Args:
        values: [M] of each measure, one value per model.
        overall: the differences of all groups together.
        models: names of the M models.
        level: of the differences.
    """
    ranks = []
    for measure, risks in values.items():
        is_higher = risks[:, None] > risks[None] + ROUNDING
        order = 1 + is_higher.sum(axis=1)
        clearly_below = dict.fromkeys(models, 0)
        clearly_above = dict.fromkeys(models, 0)
        for difference in overall:
            sign = difference.clear_sign(level) if difference.measure == measure else 0
            if sign == 0:
                continue
            higher = difference.a if sign > 0 else difference.b
            lower = difference.b if sign > 0 else difference.a
            clearly_below[higher] += 1
            clearly_above[lower] += 1
        for i, model in enumerate(models):
            rank = Rank(
                model,
                measure,
                value=float(risks[i]),
                rank=int(order[i]),
                low=1 + clearly_below[model],
                high=len(models) - clearly_above[model],
            )
            ranks.append(rank)
    return ranks


@dataclass(frozen=True)
class ContextCount(Plain):
    """How many contexts a model was asked in, and how many even ones they are worth."""

    contexts: int
    n_eff: float


@dataclass(frozen=True, repr=False)
class Comparison(Plain):
    """What `compare` returns."""

    models: tuple[str, ...]
    """Names of the models."""

    groups: tuple[str, ...]
    """Names of the groups."""

    overall: tuple[Difference, ...]
    """Differences of R, R_bias, R_volatility of each pair of models."""

    by_group: tuple[Difference, ...]
    """Differences of r, r_bias, r_volatility of each pair, measure and group."""

    ranks: tuple[Rank, ...]
    """Ranks of each model in each measure."""

    n_contexts: int
    """Number of contexts."""

    n_eff: float
    """Effective number of resampling units."""

    n_clusters: int | None
    """Clusters that were resampled; None if contexts were."""

    missing_cells: int
    """Cells left out because some model was not observed there."""

    level: float
    """Level of the intervals."""

    seed: int
    """Seed of the splits."""

    own_contexts: tuple[ContextCount, ...] = ()
    """Of each model, where each was asked in its own contexts; empty where they share them.
    n_contexts is then the sum, n_eff the smallest."""

    def __repr__(self) -> str:
        if len(self.models) == 2:
            first, second = self.models
            differences = ", ".join(f"{d.measure} {d.shown}" for d in self.overall)
            return f"Comparison({first!r} − {second!r}: {differences})"
        names = ", ".join(map(repr, self.models))
        size = f"{counted(len(self.groups), 'group')}, {counted(self.n_contexts, 'context')}"
        return f"Comparison({names}; {size})"

    def table(self) -> list[dict[str, Any]]:
        """Return one plain row per difference, the overall ones first."""
        return [difference.to_dict() for difference in (*self.overall, *self.by_group)]

    def to_pandas(self) -> DataFrame:
        """Return one row per difference, the overall ones first; group is None for those."""
        return frame(self.table())

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the overall differences."""
        return comparison_html(self.to_dict())
