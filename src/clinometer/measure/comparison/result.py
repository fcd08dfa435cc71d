"""What a comparison of models returns: differences and ranks, as frozen types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clinometer.display.notebook import dataset, frame, titled_html
from clinometer.display.numbers import MISSING, counted, p_relation, p_value, show

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame, Dataset

#: Over the cells of a difference.
DIFFERENCE_HEADINGS = ("first minus second", "risk", "difference", "interval", "p (Holm)")


@dataclass(frozen=True, repr=False)
class Difference:
    """Model a minus model b in one risk. Positive: a has the higher risk.

    Attributes:
        a, b: names of the models.
        measure: "R", "R_bias", "R_volatility", or "r", .. for a group.
        group: its name; None for all groups together.
        value: plug-in difference; None when the group was not observed.
        corrected: the difference after correction for few contexts; the interval is around it.
        low, high: the interval; None when too few contexts carry most of the weight.
        p: two-sided p-value of no difference, by swapping the models in each context.
        p_holm: the same after Holm's correction over the groups and measures of this pair, or, for
            all groups together, over the pairs of models and the measures.
    """

    a: str
    b: str
    measure: str
    group: str | None
    value: float | None
    corrected: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None

    def __repr__(self) -> str:
        of = "" if self.group is None else f" of {self.group!r}"
        return f"{self.a!r} − {self.b!r}: {self.measure}{of} {self.shown}, p {p_relation(self.p)}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return titled_html("Difference", DIFFERENCE_HEADINGS, [self.cells()])

    @property
    def shown(self) -> str:
        """The difference and its interval: +0.087 (+0.053 to +0.119)."""
        return show(self.value, "signed") + (f" ({ends})" if (ends := self._interval()) else "")

    def cells(self) -> list[str]:
        """As a row of a table under DIFFERENCE_HEADINGS."""
        measure = self.measure if self.group is None else f"{self.measure} of {self.group}"
        interval = self._interval() or MISSING
        value = show(self.value, "signed")
        return [f"{self.a} − {self.b}", measure, value, interval, p_value(self.p_holm)]

    def _interval(self) -> str:
        if self.low is None or self.high is None:
            return ""
        return f"{show(self.low, 'signed')} to {show(self.high, 'signed')}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, ready for JSON."""
        return dict(vars(self))


@dataclass(frozen=True, repr=False)
class Rank:
    """Where a model stands in one risk: rank 1 is the lowest.

    Attributes:
        model, measure: which.
        value: plug-in risk.
        rank: of the plug-in value; tied models share the lower rank.
        probability: of rank 1, 2, .. in the bootstrap; sums to one. Ties are split evenly.
    """

    model: str
    measure: str
    value: float
    rank: int
    probability: tuple[float, ...]

    def __repr__(self) -> str:
        return f"{self.model!r}: {self.measure} {self.value:.3f}, rank {self.rank}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, ready for JSON."""
        return {**vars(self), "probability": list(self.probability)}


@dataclass(frozen=True)
class ContextCount:
    """How many contexts a model was asked in, and how many even ones they are worth."""

    contexts: int
    n_eff: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """What `compare` returns.

    Attributes:
        models, groups: names.
        overall: differences of R, R_bias, R_volatility of each pair of models.
        by_group: differences of r, r_bias, r_volatility of each pair, measure and group.
        ranks: of each model in each measure.
        n_contexts, n_eff: number of contexts, and effective number of resampling units.
        n_clusters: clusters that were resampled; None if contexts were.
        missing_cells: cells left out because some model was not observed there.
        level, replicates, seed: as used.
        own_contexts: of each model, where each was asked in its own contexts; empty where they
            share them. n_contexts is then the sum, n_eff the smallest.
    """

    models: tuple[str, ...]
    groups: tuple[str, ...]
    overall: tuple[Difference, ...]
    by_group: tuple[Difference, ...]
    ranks: tuple[Rank, ...]
    n_contexts: int
    n_eff: float
    n_clusters: int | None
    missing_cells: int
    level: float
    replicates: int
    seed: int
    own_contexts: tuple[ContextCount, ...] = ()

    def __repr__(self) -> str:
        if len(self.models) == 2:
            a, b = self.models
            found = ", ".join(f"{d.measure} {d.shown}" for d in self.overall)
            return f"Comparison({a!r} − {b!r}: {found})"
        names = ", ".join(map(repr, self.models))
        size = f"{counted(len(self.groups), 'group')}, {counted(self.n_contexts, 'context')}"
        return f"Comparison({names}; {size})"

    def table(self) -> list[dict[str, Any]]:
        """One plain row per difference, the overall ones first."""
        return [d.to_dict() for d in (*self.overall, *self.by_group)]

    def to_pandas(self) -> DataFrame:
        """One row per difference, the overall ones first; group is None for those."""
        return frame(self.table())

    def to_xarray(self) -> Dataset:
        """Differences by pair, measure and group; "pair" is "a − b"."""
        pairs = list(dict.fromkeys(f"{d.a} − {d.b}" for d in self.by_group))
        measures = list(dict.fromkeys(d.measure for d in self.by_group))
        place = {(f"{d.a} − {d.b}", d.measure, d.group): d for d in self.by_group}
        dims = ("pair", "measure", "group")

        def values(field: str) -> list[list[list[float]]]:
            return [
                [[_number(getattr(place[p, m, g], field)) for g in self.groups] for m in measures]
                for p in pairs
            ]

        fields = ("value", "corrected", "low", "high", "p", "p_holm")
        return dataset(
            {field: (dims, values(field)) for field in fields},
            coords={"pair": pairs, "measure": measures, "group": self.groups},
            attrs={"n_contexts": self.n_contexts, "n_eff": self.n_eff, "level": self.level},
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the overall differences."""
        note = (
            f"{len(self.groups)} groups, {self.n_contexts:,} contexts, {self.n_eff:,.1f} "
            f"effective; {self.level:.0%} intervals, p after Holm's correction"
        )
        rows = [d.cells() for d in self.overall]
        return titled_html("Differences", DIFFERENCE_HEADINGS, rows, note)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values for JSON; None where there is no number."""
        return {
            "models": list(self.models),
            "groups": list(self.groups),
            "overall": [d.to_dict() for d in self.overall],
            "by_group": [d.to_dict() for d in self.by_group],
            "ranks": [rank.to_dict() for rank in self.ranks],
            "n_contexts": self.n_contexts,
            "n_eff": self.n_eff,
            "n_clusters": self.n_clusters,
            "missing_cells": self.missing_cells,
            "level": self.level,
            "replicates": self.replicates,
            "seed": self.seed,
            "own_contexts": [dict(vars(one)) for one in self.own_contexts],
        }


def _number(value: float | None) -> float:
    """NaN for a missing number: arrays have no None."""
    return float("nan") if value is None else value
