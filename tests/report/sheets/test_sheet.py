"""The maps: complete, dated, without promises, and quoting nothing that may not be quoted."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from clinometer.errors import SettingsError
from clinometer.report.sheets.sheet import NAMES, Clause, load_sheet


@pytest.mark.parametrize("name", NAMES)
def test_every_clause_says_what_it_can_cannot_and_lacks(name: str) -> None:
    found = load_sheet(name)
    assert found.name == name
    assert re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", found.date)
    assert found.version >= 1
    numbers = [clause.number for clause in found.clauses]
    assert len(set(numbers)) == len(numbers) >= 4
    for clause in found.clauses:
        assert clause.missing
        ours = " ".join([clause.can, clause.cannot, *clause.missing, found.note]).lower()
        assert not re.search(r"complian|complies|conform|certif|four-fifths|80 ?%", ours)


def test_only_the_law_that_names_impact_ratios_has_them() -> None:
    assert [name for name in NAMES if load_sheet(name).impact_ratios] == ["nyc-ll144"]


def test_the_text_of_the_standard_is_not_reprinted() -> None:
    assert all(clause.title and not clause.quote for clause in load_sheet("iso-42001").clauses)


def test_wrong_maps_are_refused() -> None:
    with pytest.raises(SettingsError, match="did you mean eu-ai-act"):
        load_sheet("eu-ai-acts")
    given = {"number": "1", "fields": ["risks"], "can": "a", "cannot": "b"}
    with pytest.raises(ValidationError, match="either a quote or a title"):
        Clause.model_validate(given)
    with pytest.raises(ValidationError, match="expected fields of a run, found luck"):
        Clause.model_validate({**given, "title": "t", "fields": ["luck"]})
