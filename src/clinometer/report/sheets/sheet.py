"""The maps of the sheets: clauses of a framework, and what of a run bears on each."""

from __future__ import annotations

import tomllib
from importlib import resources

from pydantic import BaseModel, ConfigDict, Field, model_validator

from clinometer.errors import SettingsError, closest
from clinometer.report.sheets.fields import FIELDS

NAMES = ("nist-ai-rmf", "eu-ai-act", "iso-42001", "nyc-ll144")


class _MapPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Clause(_MapPart):
    """One clause, by its number.

    quote     its words, verbatim; "" where they may not be reprinted, and then a title
    title     "" beside a quote; neither is given where no copy was found to compare them with
    compared  the copy that quote or title were compared with
    fields    what of a run bears on it: keys of `FIELDS`
    can       "This run can show ..."
    cannot    "It cannot show ..."
    missing   what no run contains and the clause asks for
    """

    number: str
    quote: str = ""
    title: str = ""
    compared: str = ""
    fields: tuple[str, ...] = Field(min_length=1)
    can: str
    cannot: str
    missing: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _checked(self) -> Clause:
        if self.quote and self.title:
            raise SettingsError(f"{self.number}: expected either a quote or a title, found both")
        if bool(self.quote or self.title) != bool(self.compared):
            raise SettingsError(
                f"{self.number}: expected a quote or a title with the copy that it was compared "
                "with, or neither"
            )
        if unknown := set(self.fields) - set(FIELDS):
            raise SettingsError(
                f"{self.number}: expected fields of a run, found {', '.join(sorted(unknown))}"
            )
        return self


class SheetMap(_MapPart):
    """A framework as of a date.

    version        of the map; it rises with every change
    date           of the source
    compared       when quotes and titles were compared with copies of it
    impact_ratios  whether the source names impact ratios
    """

    name: str
    version: int
    title: str
    source: str
    date: str
    compared: str
    note: str
    impact_ratios: bool = False
    clauses: tuple[Clause, ...]


def load_sheet(name: str) -> SheetMap:
    """The map of this name."""
    if name not in NAMES:
        raise SettingsError(
            f"--sheet: expected one of {', '.join(NAMES)}; found {name!r}{closest(name, NAMES)}"
        )
    file = resources.files("clinometer.report.sheets") / "maps" / f"{name}.toml"
    return SheetMap.model_validate(tomllib.loads(file.read_text("utf-8")))
