"""The paper's printed figures, and why ours may differ."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from clinometer.errors import SettingsError

#: Why our figures differ from the printed ones, even for the same model.
DIFFERENCES = (
    "Words: the released code drops words of several tokens, and looks words up without the "
    "leading space; here every word counts, by the chain rule. `--single-token` drops them here "
    "too.",
    "Position: the released code reads the last position of right-padded batches, which for the "
    "shorter prompts of a batch is padding; here the slot is read.",
    "Contexts: the paper uses thousands of mined contexts; it prints ten of them, which are "
    "paper-gender and paper-race.",
    "Criterion: the equations use the positive part of s; the released code uses absolute values "
    "in one place and the mean of positive parts in another. They differ for more than two "
    "categories (race, religion, disability).",
    "Scale: with K categories J reaches K - 1; the tables put the stereotyped model at 1 for K = 5 "
    "as well, so risks are divided by that maximum here.",
)


@dataclass(frozen=True)
class Printed:
    """One row of a table: R, R^b and R^v as printed."""

    table: str
    model: str
    R: float
    R_bias: float
    R_volatility: float

    @property
    def adds_up(self) -> bool:
        """Whether R = R^b + R^v within the rounding of four digits."""
        return abs(self.R - self.R_bias - self.R_volatility) <= 1.51e-4


def tables() -> tuple[str, ...]:
    """The names of the printed tables.

    >>> tables()[:2]
    ('table1', 'table2')
    """
    return tuple(_all())


def printed(table: str) -> tuple[Printed, ...]:
    """The rows of a table, in its order.

    >>> printed("table1")[0].model, printed("table1")[0].R
    ('T5', 0.8703)
    """
    found = _all().get(table)
    if found is None:
        raise SettingsError(f"published: expected one of {', '.join(tables())}; found {table!r}")
    return tuple(Printed(table, model, *values) for model, values in found["models"].items())


@cache
def _all() -> dict[str, dict[str, dict[str, list[float]]]]:
    text = (files("clinometer.studies") / "data" / "published.toml").read_text("utf-8")
    return tomllib.loads(text)
