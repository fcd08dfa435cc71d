"""Does the temperature of the generator matter? Cronbach's alpha of COBIAS (paper, D.2).

Versions of the same statements are made at several temperatures and scored; alpha near 1 says that
the statements keep their scores at every temperature (the paper: 0.955, 1.10 to 1.40).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.errors import SettingsError
from clinometer.measure import Estimate
from clinometer.reliability import ReliabilitySettings, Statement, score_reliability
from clinometer.reliability.scoring.score import mean_estimate
from clinometer.reliability.variants import VariantSettings, make_variants
from clinometer.reliability.variants.make import Makers
from clinometer.statistics.cronbach import cronbach_alpha
from clinometer.storage.resumable import Progress, part_of

TEMPERATURES = (1.1, 1.2, 1.3, 1.4)


@dataclass(frozen=True)
class TemperatureStudy:
    """Alpha over the statements that have a score at every temperature."""

    alpha: Estimate
    temperatures: tuple[float, ...]
    cobias: tuple[Estimate, ...]
    statements: int
    left_out: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "summary": {
                "alpha": self.alpha.to_dict(),
                "statements": self.statements,
                "statements_without_a_score": self.left_out,
            },
            "temperatures": [
                {"temperature": t, "cobias": e.to_dict()}
                for t, e in zip(self.temperatures, self.cobias, strict=True)
            ],
        }


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
) -> TemperatureStudy:
    """Make and score versions at each temperature. With `out` (a folder) both are stored, and the
    same call resumes."""
    if len(set(temperatures)) < 2 or len(set(temperatures)) != len(temperatures):
        raise SettingsError(
            f"temperatures: expected at least two different ones, found {temperatures}"
        )
    versions = versions or VariantSettings()
    settings = settings or ReliabilitySettings(replicates=0)
    folder = None if out is None else Path(out)
    makers = Makers(versions)  # the temperature is an argument of each sample: one model serves all
    columns = []
    for number, temperature in enumerate(temperatures):
        made = make_variants(
            statements,
            settings=replace(versions, temperature=temperature),
            out=None if folder is None else folder / f"versions-{temperature:g}.jsonl",
            fresh=fresh,
            makers=makers,
            progress=part_of(progress, number, len(temperatures)),
        )
        run = score_reliability(
            statements,
            made.variants,
            models=models,
            settings=settings,
            out=None if folder is None else folder / f"scores-{temperature:g}",
            fresh=fresh,
        )
        columns.append(run.statements["cobias"].to_numpy(dtype=np.float64))
    scores = np.stack(columns, axis=1)
    good = np.isfinite(scores).all(axis=1)
    if good.sum() < 2:
        raise SettingsError("temperature: expected at least 2 statements with scores, found fewer")
    return TemperatureStudy(
        alpha=cronbach_alpha(scores[good]),
        temperatures=tuple(temperatures),
        cobias=tuple(
            mean_estimate(c, replicates=1000, level=0.95, seed=versions.seed)
            for c in scores[good].T
        ),
        statements=int(good.sum()),
        left_out=int((~good).sum()),
    )
