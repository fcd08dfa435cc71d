"""Which blank matters: the context variance that each context-addition point causes on its own.

The fills of each blank are extracted from the versions, and the statement is scored with only that
blank filled. cv_b is its context variance, and its share is cv_b over the sum of all blanks. The
interaction is the context variance of all blanks together less that sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer.errors import TableError
from clinometer.reliability.scoring import ReliabilitySettings, score_reliability
from clinometer.reliability.statement import Statement, VariantSet
from clinometer.storage.resumable import Progress

if TYPE_CHECKING:
    import pandas as pd


def blank_contributions(
    statements: Sequence[Statement],
    variants: VariantSet | Mapping[str, Sequence[str]],
    *,
    models: Sequence[str] = ("pocket:bert",),
    settings: ReliabilitySettings | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    renew: bool = False,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Score every statement with one blank filled at a time, and with all of them.

    Returns one row per blank, the most influential first, and counts of what could not be used.
    Columns: id, blank (from 0), before (the text before it), fills (distinct), cv (of this blank
    alone), share (of the sum), cobias_low and cobias_high (the interval of this blank's COBIAS),
    cv_all (all blanks filled), interaction (cv_all less the sum), stability_low and stability_high
    (the interval of the statement's stability).
    """
    import pandas as pd

    variants = VariantSet.read(variants)
    settings = settings or ReliabilitySettings()
    texts: list[Statement] = []
    versions: dict[str, tuple[str, ...]] = {}
    rows: list[dict[str, Any]] = []
    counts = dict.fromkeys(("statements_without_points", "statements_without_blanks"), 0)
    counts |= {"versions": 0, "versions_that_changed_more_than_blanks": 0}
    for statement in statements:
        blanks = statement.blanks
        if not blanks:
            counts[f"statements_without_{'points' if blanks is None else 'blanks'}"] += 1
            continue
        own = variants.of(statement)[: settings.versions]
        by_version = [f for v in own if (f := blanks.fills_of(v)) is not None]
        counts["versions"] += len(own)
        counts["versions_that_changed_more_than_blanks"] += len(own) - len(by_version)
        if not by_version:
            continue
        for b in (*range(len(blanks)), "all"):
            key = f"{statement.id}#{b}"
            texts.append(Statement(id=key, text=blanks.plain, targets=statement.targets))
            versions[key] = tuple(
                blanks.fill([t if b in ("all", i) else "" for i, t in enumerate(f)])
                for f in by_version
            )
        rows += [
            {
                "id": statement.id,
                "blank": b,
                "before": blanks.plain[:place].strip(),
                "fills": len({f[b] for f in by_version} - {""}),
            }
            for b, place in enumerate(blanks.positions)
        ]
    if not texts:
        raise TableError(
            "blanks: expected statements with blanks (context_points) and versions that fill only "
            "them, found none; 'clinometer reliability audit --until points' proposes blanks"
        )
    run = score_reliability(
        texts,
        VariantSet(versions),
        models=models,
        out=out,
        settings=settings,
        fresh=fresh,
        renew=renew,
        progress=progress,
    )
    scored = run.statements.set_index("id")[["cv", "cobias_low", "cobias_high"]]
    table = pd.DataFrame(rows)
    alone = scored.loc[[f"{row['id']}#{row['blank']}" for row in rows]].reset_index(drop=True)
    whole = scored.loc[[f"{row['id']}#all" for row in rows]].reset_index(drop=True)
    total = alone["cv"].groupby(table["id"]).transform(lambda cv: cv.sum(skipna=False))
    table = table.assign(
        cv=alone["cv"],
        share=alone["cv"] / total.where(total > 0),
        cobias_low=alone["cobias_low"],
        cobias_high=alone["cobias_high"],
        cv_all=whole["cv"],
        interaction=whole["cv"] - total,
        stability_low=1.0 - whole["cobias_high"],
        stability_high=1.0 - whole["cobias_low"],
    )
    return table.sort_values("cv", ascending=False, ignore_index=True), counts
