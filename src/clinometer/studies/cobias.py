"""The COBIAS paper's appendix D: the temperature of the generator, and the number of versions.

Temperature (D.2): versions of the same statements are made at several temperatures and scored;
alpha near 1 says that the statements keep their scores at every temperature (the paper: 0.955; the
scores that its authors published at ten temperatures, 1.1 to 1.38, give 0.956). Number (Figure 8):
average pairwise dissimilarity of the first n versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import fdtri

from clinometer.errors import SettingsError
from clinometer.measure import Estimate
from clinometer.reliability import ReliabilitySettings, Statement, score_reliability
from clinometer.reliability.dissimilarity import Embed, growing_pairwise
from clinometer.reliability.score import mean_estimate
from clinometer.reliability.statement import Versions
from clinometer.reliability.variants import Makers, VariantSettings, make_variants
from clinometer.report import Table
from clinometer.report.charts.cobias import growing_dissimilarity_chart
from clinometer.report.figure import chart
from clinometer.settings import VERSIONS
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import with_ends
from clinometer.storage.resumable import Progress, part_of
from clinometer.studies.framework import Findings

TEMPERATURES = (1.1, 1.13, 1.17, 1.2, 1.23, 1.26, 1.29, 1.32, 1.35, 1.38)
"""Those whose scores the authors published."""


def temperature_study(
    statements: Sequence[Statement],
    *,
    temperatures: Sequence[float] = TEMPERATURES,
    models: Sequence[str] = ("pocket:bert",),
    versions: VariantSettings | None = None,
    settings: ReliabilitySettings | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Findings:
    """Make and score versions at each temperature.

    With `out` (a folder) both are stored, and the same call resumes.
    """
    if len(set(temperatures)) < 2 or len(set(temperatures)) != len(temperatures):
        raise SettingsError(
            f"temperatures: expected at least two different ones, found {temperatures}"
        )
    versions = versions or VariantSettings()
    settings = settings or ReliabilitySettings()
    folder = None if out is None else Path(out)
    # The temperature is an argument of each sample: one model serves all.
    makers = Makers(versions)
    columns = []
    for number, temperature in enumerate(temperatures):
        versions_file = None
        scores_folder = None
        if folder is not None:
            versions_file = folder / f"versions-{temperature:g}.jsonl"
            scores_folder = folder / f"scores-{temperature:g}"
        variants = make_variants(
            statements,
            settings=replace(versions, temperature=temperature),
            out=versions_file,
            fresh=fresh,
            makers=makers,
            progress=part_of(progress, number, len(temperatures)),
        )
        run = score_reliability(
            statements,
            {row["id"]: row["variants"] for row in variants.rows},
            models=models,
            settings=settings,
            out=scores_folder,
            fresh=fresh,
        )
        columns.append(run.statements["cobias"].to_numpy(dtype=np.float64))
    scores = np.stack(columns, axis=1)
    return _temperature_findings(scores, temperatures, versions)


def _temperature_findings(
    scores: FloatArray, temperatures: Sequence[float], versions: VariantSettings
) -> Findings:
    """Return the mean score by temperature, and alpha, of scores [statements, temperatures]."""
    is_complete = np.isfinite(scores).all(axis=1)
    complete = scores[is_complete]
    if len(complete) < 2:
        raise SettingsError(
            "temperature: expected at least 2 statements with scores, found fewer"
        )
    rows = []
    for temperature, column in zip(temperatures, complete.T, strict=True):
        mean = mean_estimate(column, seed=versions.seed)
        rows.append({"temperature": temperature, **with_ends("cobias", mean)})
    alpha = {
        **with_ends("alpha", cronbach_alpha(complete)),
        "statements": len(complete),
        "left_out": len(scores) - len(complete),
    }
    title = f"COBIAS by temperature, {versions.n} versions each"
    return Findings(
        "versions",
        [
            Table("versions-temperature", title, pd.DataFrame(rows)),
            Table(
                "versions-alpha",
                "Cronbach's alpha over the temperatures",
                pd.DataFrame([alpha]),
            ),
        ],
    )


def version_count_study(
    statements: Sequence[Statement],
    variants: Versions,
    embed: Embed,
    *,
    most: int = 49,
    seed: int = 0,
) -> Findings:
    """Measure the versions in their order: the first two, the first three, up to `most`.

    Only statements with the most versions are used, so that every n is measured on the same ones.
    """
    VERSIONS.check("most", most)
    chosen = [s for s in statements if len(variants.get(s.id, ())) >= most]
    if not chosen:
        longest = max((len(variants.get(s.id, ())) for s in statements), default=0)
        raise SettingsError(
            f"versions: expected statements with at least {most}, found at most {longest}; "
            "use a smaller -n"
        )
    texts: list[str] = []
    for statement in chosen:
        texts += variants[statement.id][:most]
    vectors_by_statement = np.split(embed(texts), len(chosen))
    curves = np.stack([growing_pairwise(vectors) for vectors in vectors_by_statement])
    rows = []
    for n, column in enumerate(curves.T, start=2):
        mean = mean_estimate(column, seed=seed)
        rows.append({"n": n, **with_ends("dissimilarity", mean)})
    curve = pd.DataFrame(rows)
    title = "Dissimilarity of the first n versions"
    figure = chart(
        "versions-number",
        title,
        f"Mean over {len(chosen):,} of {len(statements):,} statements. Band: its interval.",
        curve,
        "{n:.0f} versions: {dissimilarity:.3f}",
        growing_dissimilarity_chart,
    )
    return Findings("versions", [Table("versions-number", title, curve)], [figure])


def cronbach_alpha(scores: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Return alpha of n things scored in k ways [n, k], with Feldt's (1965) interval.

    alpha = k/(k-1) * (1 - sum of the k variances / variance of the sums). 1: the ways agree but for
    a shift; 0: they have nothing in common; below 0: they contradict each other. The interval takes
    (1 - true alpha)/(1 - alpha) as F with n-1 and (n-1)(k-1) degrees of freedom, which holds for
    normal scores. Rows with a missing score must be left out by the caller.

    >>> round(cronbach_alpha([[1, 2], [2, 3], [4, 5], [5, 6.5]]).value, 4)
    0.9958
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2 or x.shape[0] < 2 or x.shape[1] < 2:
        raise SettingsError(
            f"scores: expected at least 2 things scored in at least 2 ways, found shape {x.shape}"
        )
    if not np.isfinite(x).all():
        raise SettingsError("scores: expected finite numbers, found a missing one")
    n, k = x.shape
    variance_of_sums = float(x.sum(axis=1).var(ddof=1))
    if not variance_of_sums > 0:
        raise SettingsError(
            "scores: expected things that differ, found the same sum for all"
        )
    sum_of_variances = float(x.var(axis=0, ddof=1).sum())
    alpha = k / (k - 1) * (1.0 - sum_of_variances / variance_of_sums)
    tail = (1.0 - level) / 2.0
    quantiles = fdtri(n - 1, (n - 1) * (k - 1), [tail, 1.0 - tail])
    low = 1.0 - (1.0 - alpha) * float(quantiles[1])
    high = 1.0 - (1.0 - alpha) * float(quantiles[0])
    return Estimate(alpha, low, high, level, "Feldt")
