"""Texts in csv files that a spreadsheet shows and does not run."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

#: How a cell begins that a spreadsheet takes for a formula.
_FORMULA = re.compile("'*[=+\\-@\t\r]")


def no_formula(value: object) -> object:
    """A text that a spreadsheet would run as a formula gets a quote before it.

    >>> no_formula("=1+1"), no_formula("-1.5"), no_formula("")
    ("'=1+1", '-1.5', '')
    """
    if isinstance(value, str) and _FORMULA.match(value) and not is_number(value):
        return "'" + value
    return value


def csv_text(frame: pd.DataFrame) -> str:
    """A table as csv, with nothing in its cells or its head that a spreadsheet would run.

    >>> import pandas as pd
    >>> csv_text(pd.DataFrame({"=1+1": ["@SUM(A1)", "-1.5"]}))
    "'=1+1\\n'@SUM(A1)\\n-1.5\\n"
    """
    guarded = frame.map(no_formula)
    return str(guarded.set_axis(list(map(no_formula, frame)), axis=1).to_csv(index=False))


def without_quote(text: str) -> str:
    """What `no_formula` was given.

    >>> without_quote("'=1+1"), without_quote("'tis"), without_quote("''=")
    ('=1+1', "'tis", "'=")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
