"""The judgements of a task as a table without names."""

from __future__ import annotations

import pandas as pd

from clinometer.reliability.ratings import HIGH
from clinometer.web.annotation.questions import SKIP
from clinometer.web.annotation.store import Store


def export_table(store: Store, *, long: bool = False) -> pd.DataFrame:
    """Return all judgements as a table.

    Wide: id, the text, annotator_1, …; a skipped item is an empty cell.

    Long: id, the text, annotator, value, comment; what was skipped has the value "skip". A separate
    column says what a high rating means.
    """
    question = store.task.question
    items = pd.DataFrame(
        [(item.id, item.text) for item in store.task.items],
        columns=["id", question.column],
    )
    rows = [
        (
            judgement.place,
            f"annotator_{judgement.annotator}",
            judgement.value,
            judgement.comment,
        )
        for judgement in store.judgements()
    ]
    columns = ["place", "annotator", "value", "comment"]
    judgements = pd.DataFrame(rows, columns=columns).set_index("place")
    if long:
        table = items.join(judgements, how="inner")
    else:
        values = judgements[judgements["value"] != SKIP]
        wide = values.pivot(columns="annotator", values="value")
        annotators = [f"annotator_{person.number}" for person in store.annotators()]
        wide = wide.reindex(columns=annotators).astype(object)
        table = items.join(wide).fillna("")
    return table.assign(**{HIGH: question.high}) if question.high else table
