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
    variants = VariantSet.read(variants)
    settings = settings or ReliabilitySettings()
    texts: list[Statement] = []
    versions: dict[str, tuple[str, ...]] = {}
    fills: dict[str, int] = {}
    counts = dict.fromkeys(("statements_without_points", "statements_without_blanks"), 0)
    counts |= {"versions": 0, "versions_that_changed_more_than_blanks": 0}
    for statement in statements:
        blanks = statement.blanks
        if blanks is None or not len(blanks):
            counts[f"statements_without_{'points' if blanks is None else 'blanks'}"] += 1
            continue
        own = variants.of(statement)[: settings.versions]
        by_version = [f for v in own if (f := blanks.fills_of(v)) is not None]
        counts["versions"] += len(own)
        counts["versions_that_changed_more_than_blanks"] += len(own) - len(by_version)
        if not by_version:
            continue
        for b in (*range(len(blanks)), None):
            key = _key(statement.id, b)
            texts.append(Statement(id=key, text=blanks.plain, targets=statement.targets))
            versions[key] = tuple(
                blanks.fill([t if b is None or i == b else "" for i, t in enumerate(f)])
                for f in by_version
            )
            if b is not None:
                fills[key] = len({f[b] for f in by_version} - {""})
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
    scored = run.statements.set_index("id")
    return _table(statements, scored, fills), counts


def _table(
    statements: Sequence[Statement], scored: pd.DataFrame, fills: Mapping[str, int]
) -> pd.DataFrame:
    import pandas as pd

    cv = scored["cv"]

    rows: list[dict[str, Any]] = []
    for statement in statements:
        blanks = statement.blanks
        whole = _key(statement.id, None)
        if blanks is None or whole not in cv:
            continue
        alone = [float(cv[_key(statement.id, b)]) for b in range(len(blanks))]
        total, together = sum(alone), float(cv[whole])
        for b, value in enumerate(alone):
            rows.append(
                {
                    "id": statement.id,
                    "blank": b,
                    "before": blanks.plain[: blanks.positions[b]].strip(),
                    "fills": fills[_key(statement.id, b)],
                    "cv": value,
                    "share": value / total if total > 0 else None,
                    "cobias_low": float(scored["cobias_low"][_key(statement.id, b)]),
                    "cobias_high": float(scored["cobias_high"][_key(statement.id, b)]),
                    "cv_all": together,
                    "interaction": together - total,
                    "stability_low": 1.0 - float(scored["cobias_high"][whole]),
                    "stability_high": 1.0 - float(scored["cobias_low"][whole]),
                }
            )
    return pd.DataFrame(rows).sort_values("cv", ascending=False, ignore_index=True)


def _key(statement: str, blank: int | None) -> str:
    return f"{statement}#{'all' if blank is None else blank}"
