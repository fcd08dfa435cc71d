"""The groups on which models of one topic differ most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from clinometer.display.numbers import percent
from clinometer.display.text import brief
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.charts.look import model_colours
from clinometer.report.charts.marks import distinct
from clinometer.report.charts.spread import spread_chart
from clinometer.report.figure import Figure
from clinometer.report.figures.groups import reference_share
from clinometer.runs.names import context_noun

_SPREAD_GROUPS = 12
"""Groups on which models differ most, below the chart of their risks on the same screen."""


def spread_figure(
    models: Sequence[CellStatistics], names: Sequence[str]
) -> Figure | None:
    """Return the groups on which models of one topic differ most: one numbered dot per model; None
    where models have other groups or categories, or no group in common."""
    first = models[0].run
    groups = first.risks.groups
    categories = first.preferences.categories
    for cells in models:
        run = cells.run
        if run.risks.groups != groups or run.preferences.categories != categories:
            return None
    y = _category(models)
    shares = np.stack([cells.share[:, y] for cells in models])
    measured = np.asarray(~np.isnan(shares).any(axis=0))
    ranges = np.where(measured, np.ptp(np.nan_to_num(shares), axis=0), -1)
    widest = np.argsort(-ranges, kind="stable")[:_SPREAD_GROUPS].tolist()
    drawn = [x for x in widest if measured[x]]
    if not drawn:
        return None
    drawn.sort(key=lambda x: float(shares[:, x].mean()))
    category = categories[y]
    share_of = first.outcome.category_noun(category)
    inks = model_colours(len(names))
    dots = []
    for x in drawn:
        for k, ink in enumerate(inks):
            share = shares[k, x]
            about = (
                f"{brief(groups[x], 40)}, model {k + 1}: {percent(share)} {share_of}"
            )
            dots.append((groups[x], k + 1, ink, share, about))
    table = pd.DataFrame(dots, columns=["group", "number", "ink", "share", "about"])
    key = ", ".join(
        f"{number}:\N{NO-BREAK SPACE}{name}"
        for number, name in enumerate(distinct(names, 40), start=1)
    )
    texts = "; ".join(
        f"{groups[x]} differs by {100 * ranges[x]:.0f} points" for x in drawn
    )
    shares_by_model = {
        f"{name}: share of {category}": shares[k] for k, name in enumerate(names)
    }
    reference = reference_share(models[0], y)
    return Figure(
        key="spread",
        title="Where the models differ most",
        caption=f"Share of {share_of}, averaged over {context_noun(first)}s. {key}.",
        alt=f"One dot per model and group, share of {share_of}. {texts}.",
        draw=lambda width: spread_chart(
            table, category=category, reference=reference, width=width
        ),
        table=pd.DataFrame({"group": groups, **shares_by_model}),
    )


def _category(models: Sequence[CellStatistics]) -> int:
    """Return the category whose shares are shown: of two the one at the far end, of more the one
    that most groups lean to clearly in the model with the largest R."""
    outcome = models[0].run.outcome
    if len(models[0].run.preferences.categories) == 2:
        return outcome.far_end
    riskiest = max(models, key=lambda cells: cells.run.risks.R.value)
    sides = Counter(riskiest.side[riskiest.clear].tolist())
    return sides.most_common(1)[0][0] if sides else 0
