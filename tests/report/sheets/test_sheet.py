"""The maps: complete, dated, without promises, and quoting nothing that may not be quoted."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from clinometer.errors import SettingsError
from clinometer.report.sheets import NAMES, Clause, load_sheet


@pytest.mark.parametrize("name", NAMES)
def test_every_clause_says_what_it_can_cannot_and_lacks(name: str) -> None:
    found = load_sheet(name)
    assert found.name == name
    assert re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", found.date)
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", found.compared)
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


def test_texts_without_a_copy_to_compare_them_with_are_left_out() -> None:
    bare = [
        (name, clause.number)
        for name in NAMES
        for clause in load_sheet(name).clauses
        if not clause.compared
    ]
    assert bare == [("nyc-ll144", "Administrative Code § 20-870, “bias audit”")]


def test_wrong_maps_are_refused() -> None:
    with pytest.raises(SettingsError, match="did you mean eu-ai-act"):
        load_sheet("eu-ai-acts")
    given = {"number": "1", "fields": ["risks"], "can": "a", "cannot": "b"}
    both = {**given, "title": "t", "quote": "q", "compared": "c"}
    with pytest.raises(ValidationError, match="either a quote or a title, found both"):
        Clause.model_validate(both)
    for alone in ({"quote": "from memory"}, {"compared": "a copy"}):
        with pytest.raises(ValidationError, match="the copy that it was compared with"):
            Clause.model_validate({**given, **alone})
    with pytest.raises(ValidationError, match="expected fields of a run, found luck"):
        Clause.model_validate({**given, "fields": ["luck"]})
