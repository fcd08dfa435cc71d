"""What a reader of a reliability run must know besides the means."""

from __future__ import annotations

from clinometer.reliability.scoring.record_schema import ReliabilityRecord, SurenessRecord
from clinometer.reliability.standing import standing


def reading_notes(record: ReliabilityRecord) -> list[str]:
    """How far models agree, and everything that was counted."""
    lines = [standing(record).why]
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
    lines += sureness_notes(record.sureness)
    known = {"statements", "versions", "flag_"}
    odd = {k: n for k, n in record.counts.overall.items() if n and k not in known}
    shown = [f"{k.replace('_', ' ')} {n}" for k, n in odd.items()]
    for model, counts in record.counts.by_model.items():
        shown += [f"{model}: {k.replace('_', ' ')} {n}" for k, n in counts.items() if n]
    if shown:
        lines.append("Counted: " + ", ".join(shown) + ".")
    return lines


def sureness_notes(found: SurenessRecord | None) -> list[str]:
    """Whether single statements can be told apart, and how many versions it takes."""
    if found is None:
        return []
    lines = []
    if found.split_half is not None and found.rank_interval is not None and found.ranked > 2:
        lines.append(
            f"Other versions would rank these statements alike to rho = {found.split_half:.2f}; "
            f"the median statement's rank is known to within {found.rank_interval:.0f} of "
            f"{found.ranked} places."
        )
    width, between = found.interval_width, found.spread
    if width is not None and between is not None and found.ranked > 2 and width > 2 * between:
        lines.append(
            f"Most statements cannot be told apart: the median interval is {width:.3f} wide, the "
            f"scores have a standard deviation of {between:.3f}."
        )
    if found.precision is not None:
        many = found.versions_needed
        lines.append(
            f"± {found.precision:g} takes {many:.0f} versions of the median statement."
            if many is not None
            else f"± {found.precision:g} takes more than 5,000 versions of most statements."
        )
    return lines
