"""What a reader of a reliability run must know besides the means."""

from __future__ import annotations

from clinometer.reliability.scoring.record_schema import ReliabilityRecord


def reading_notes(record: ReliabilityRecord) -> list[str]:
    """How far models agree, and everything that was counted."""
    lines = []
    for pair in record.agreement:
        if pair.rho is not None:
            lines.append(
                f"{pair.a} and {pair.b} rank the statements alike to rho = "
                f"{pair.rho.value:.2f}: read a rank as that of these models."
            )
    if len(record.models) == 1:
        lines.append(
            "One scoring model: another may rank these statements in another order (--model twice "
            "shows how far)."
        )
    known = {"statements", "versions", "flag_"}
    odd = {k: n for k, n in record.counts.overall.items() if n and k not in known}
    shown = [f"{k.replace('_', ' ')} {n}" for k, n in odd.items()]
    for model, counts in record.counts.by_model.items():
        shown += [f"{model}: {k.replace('_', ' ')} {n}" for k, n in counts.items() if n]
    if shown:
        lines.append("Counted: " + ", ".join(shown) + ".")
    return lines
