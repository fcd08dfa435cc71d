"""clinometer reliability pairs: a model's benchmark score when unreliable statements count less."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from clinometer import ranges
from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import DEVICE, SEED
from clinometer.cli.printing import console, print_json
from clinometer.cli.reliability.common import (
    FormatOption,
    StatementsArgument,
    read_statements,
    write_frame,
)
from clinometer.cli.table import TerminalTable
from clinometer.models import LoadOptions


def pairs_command(
    sources: StatementsArgument,
    run: Annotated[Path, opt("Run folder of clinometer reliability score on the same statements.")],
    model: Annotated[str, opt("The model to score.")] = "pocket:bert",
    metric: Annotated[
        str, opt("Score the shared words (CrowS-Pairs) or the differing words (StereoSet).")
    ] = "shared",
    leave_out: Annotated[
        list[float] | None,
        opt(
            "Leave out this share of the least stable pairs; may be repeated.",
            allowed=ranges.PART,
            unset="0.25 and 0.5",
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        opt("Write one row per pair with its stability as a weight: a .csv or .parquet file."),
    ] = None,
    format: FormatOption = None,
    device: DEVICE = LoadOptions.device,
    seed: SEED = 0,
    json_output: JSON = False,
) -> None:
    """The share of pairs in which a model prefers the stereotype, with and without unreliable ones.

    50 % means no preference. Statements that the run has not scored are left out.
    """
    import numpy as np
    import pandas as pd

    from clinometer.models import open_model
    from clinometer.reliability import ReliabilityRun
    from clinometer.reliability.pair_scores import pair_scores, stereotype_preferred

    frame = ReliabilityRun.load(run).statements
    stability = dict(zip(frame["id"], frame["stability"], strict=True))
    statements = [
        s
        for s in read_statements(sources, format=format, limit=None, seed=0)
        if np.isfinite(stability.get(s.id, np.nan))
    ]
    scorer = open_model(model, load=LoadOptions(device=device))
    preferred = stereotype_preferred(scorer, statements, metric=metric)
    found = pair_scores(
        preferred,
        np.array([stability[s.id] for s in statements]),
        leave_out=leave_out or (0.25, 0.5),
        seed=seed,
    )
    if weights is not None:
        rows = [
            {
                "id": s.id,
                "sentence": s.text,
                "other": s.other,
                "weight": stability[s.id],
                "prefers_stereotype": None if np.isnan(p) else p,
            }
            for s, p in zip(statements, preferred.tolist(), strict=True)
        ]
        write_frame(pd.DataFrame(rows), weights)
    if json_output:
        print_json(
            {"model": model, "metric": metric, "summary": [score.to_dict() for score in found]}
        )
        return
    table = TerminalTable(
        f"{model}: percentage of pairs in which the stereotype is preferred ({metric} words)"
    )
    table.add_text("").add_numbers("pairs", "score", "interval", "change", "at random")
    for score in found:
        chance = score.by_chance
        change = "" if score.change is None else f"{score.change.value:+.1f}"
        if score.change is not None:
            change += f" ({score.change.low:+.1f} to {score.change.high:+.1f})"
        table.add_row(
            score.treatment,
            str(score.pairs),
            f"{score.score.value:.1f}",
            f"{score.score.low:.1f}–{score.score.high:.1f}",
            change,
            "" if chance is None else f"{chance.low:+.1f} to {chance.high:+.1f}",
        )
    table.print(console())
