"""Every risk that is measured, in one list: what it is called, and how it is computed.

Reports, records, gates, comparisons, the command line, protocols and pages read this list. To add a
risk, write the function that gives its value in each context, an entry of `RISKS` and a test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clinometer.measure.context_cells import ContextCells, risk_between, shared_risk
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import FloatArray


@dataclass(frozen=True)
class GroupRisk:
    """A risk of one group (Eq. 3, 5, 6), whose mean over the groups is a risk of all of them."""

    name: str
    """The field of a report and the column of a table."""

    symbol: str
    """In formulas and where space is tight."""

    heading: str
    """Over the column of a table."""

    axis: str
    """On the axis of a chart."""


@dataclass(frozen=True, kw_only=True)
class Risk:
    """A risk of a model: a number that is 0 for a model without it, on the scale of R."""

    name: str
    """The key in JSON and on the command line."""

    symbol: str = ""
    """In formulas and where space is tight."""

    title: str = ""
    """In charts, where nothing else says what R is."""

    heading: str
    """Over the column of a table."""

    narrow_heading: str = ""
    """The heading in a terminal of 80 columns."""

    full_name: str = ""
    """In words, where nothing else says what R is."""

    in_sentences: str
    """In sentences about R."""

    label: str
    """In words, beside its number."""

    meaning: str = ""
    """What a page says of the number, with the noun of a context in braces; "": it has none."""

    of_groups: GroupRisk | None = None
    """The risk of a group that it is the mean of: it is a part of the decomposition
    (`decompose`, `estimate_risks`). None: it is a mean over contexts, by `by_context`."""

    by_context: Callable[[ContextCells], FloatArray] | None = None
    """Gives its value in each context [C]."""

    compared: bool = False
    """Whether models are compared by it, and with what shuffled words give."""

    at_most: str = ""
    """The risk that it cannot exceed; "": any."""

    needs_groups: bool = False
    """Whether there must be two groups that meet in a context."""

    needs_probabilities: bool = False
    """Whether preferences must be known: the noise of counted replies would look like it."""

    needs_reference: bool = False
    """Whether the reference must be another than the mean of the groups."""

    def is_measured(self, grid: PreferenceGrid, *, sampled: bool) -> bool:
        """Return whether preferences say what it is; `sampled`: they are counted replies."""
        if not self.is_known(sampled=sampled, relative=grid.relative):
            return False
        return not self.needs_groups or groups_meet(grid)

    def is_known(self, *, sampled: bool, relative: bool) -> bool:
        """Return whether it is known where replies are sampled or the reference is the mean."""
        if sampled and self.needs_probabilities:
            return False
        return not (relative and self.needs_reference)


def groups_meet(grid: PreferenceGrid) -> bool:
    """Return whether any context has two groups to compare."""
    weighted = grid.group_weights > 0
    if np.count_nonzero(weighted) < 2:
        return False
    if grid.mask is None:
        return True
    groups_in_context = grid.mask[weighted].sum(axis=0)
    return bool((groups_in_context > 1).any())


_ALL_RISKS = (
    Risk(
        name="R",
        symbol="R",
        title="R discrimination",
        heading="R",
        narrow_heading="R",
        full_name="discrimination risk",
        in_sentences="R",
        label="R",
        meaning="Risk R: how far an average answer is from the reference.",
        of_groups=GroupRisk("r", "r", "r", "discrimination risk r"),
        compared=True,
    ),
    Risk(
        name="R_bias",
        symbol="Rᵇ",
        title="Rᵇ bias",
        heading="Rᵇ bias",
        narrow_heading="Rᵇ bias",
        full_name="bias risk",
        in_sentences="bias risk",
        label="steady lean",
        meaning="Bias risk: what remains when {context}s are averaged.",
        of_groups=GroupRisk("r_bias", "rᵇ", "rᵇ bias", "bias risk rᵇ"),
        compared=True,
    ),
    Risk(
        name="R_volatility",
        symbol="Rᵛ",
        title="Rᵛ volatility",
        heading="Rᵛ volatility",
        narrow_heading="Rᵛ volatil.",
        full_name="volatility risk",
        in_sentences="volatility risk",
        label="swing",
        meaning="Volatility risk: what changes with the {context}.",
        of_groups=GroupRisk(
            "r_volatility", "rᵛ", "rᵛ volatility", "volatility risk rᵛ"
        ),
        compared=True,
    ),
    Risk(
        name="R_shared",
        heading="same for all",
        in_sentences="risk that all groups share",
        label="same for all",
        by_context=shared_risk,
        at_most="R",
        needs_groups=True,
        needs_probabilities=True,
        needs_reference=True,
    ),
    Risk(
        name="R_between",
        heading="between groups",
        in_sentences="risk between groups",
        label="between groups",
        meaning="How far groups differ from each other in the same {context}.",
        by_context=risk_between,
        compared=True,
        needs_groups=True,
        needs_probabilities=True,
        needs_reference=True,
    ),
)

RISKS = {risk.name: risk for risk in _ALL_RISKS}
"""Every risk by its name, in the order in which they are shown."""

GROUP_RISKS = {
    risk.of_groups.name: risk.of_groups
    for risk in _ALL_RISKS
    if risk.of_groups is not None
}
"""The risks of one group by their names."""

MEASURES = tuple(risk.name for risk in _ALL_RISKS if risk.of_groups is not None)
"""The parts of the decomposition: R = R_bias + R_volatility."""

COMPARED = tuple(risk.name for risk in _ALL_RISKS if risk.compared)
"""The risks that models can be compared by."""

CONTEXT_RISKS = tuple(risk for risk in _ALL_RISKS if risk.by_context is not None)
"""The risks that are means over contexts."""

SYMBOLS = {name: risk.symbol for name, risk in (RISKS | GROUP_RISKS).items()}
"""The symbol of each risk of all groups, or of one."""

HEADINGS = {name: risk.heading for name, risk in (RISKS | GROUP_RISKS).items()}
"""The heading of each risk of all groups, or of one."""
