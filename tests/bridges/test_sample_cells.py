"""Samples as cells: shares, weights of repeated contexts, missing cells, counted replies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.present import present

from clinometer.bridges.mapping import SampleMapping, SamplePlace
from clinometer.bridges.sample_cells import SampleCells
from clinometer.errors import TableError

MAPPING = SampleMapping(
    name="made",
    group="{g}",
    context="{c}",
    categories={"a": [0], "b": [1]},
    labels={"of": "{of}"},
)


def place(group: str, context: str, of: str = "one") -> SamplePlace:
    return SamplePlace(group, context, f"text of {context}", (of,))


@pytest.mark.parametrize("tiny", [0.0, -1200.0])
def test_log_probabilities_become_shares_and_coverage(tiny: float) -> None:
    cells = SampleCells(MAPPING)
    cells.add(place("x", "c"), {"a": tiny + np.log(0.3), "b": tiny + np.log(0.1)})
    p = cells.preferences()
    np.testing.assert_allclose(p.values[0, 0], [0.75, 0.25])
    np.testing.assert_allclose(present(p.coverage), [[0.4 if tiny == 0 else 0]])
    assert (p.groups, p.templates, p.labels) == (
        ("x",),
        ("text of c",),
        {"of": ("one",)},
    )


def test_a_repeated_sample_is_averaged_and_weighs_twice() -> None:
    cells = SampleCells(MAPPING)
    for context, share in (("c", 0.2), ("c", 0.4), ("d", 0.9)):
        cells.add(place("x", context), {"a": np.log(share), "b": np.log(1 - share)})
    p = cells.preferences()
    np.testing.assert_allclose(p.values[0, :, 0], [0.3, 0.9])
    np.testing.assert_allclose(p.context_weights, [2 / 3, 1 / 3])


def test_a_group_may_lack_contexts_but_not_repeat_them_alone() -> None:
    cells = SampleCells(MAPPING)
    for group, context in (("x", "c"), ("y", "d")):
        cells.add(place(group, context), {"a": -1.0, "b": -2.0})
    p = cells.preferences()
    np.testing.assert_array_equal(p.observed, [[True, False], [False, True]])
    cells.add(place("x", "d"), {"a": -1.0, "b": -2.0})
    cells.add(place("x", "d"), {"a": -1.0, "b": -2.0})
    with pytest.raises(TableError, match="more samples of one group"):
        cells.preferences()


def test_a_sample_without_a_category_is_a_missing_cell_and_counted() -> None:
    cells = SampleCells(MAPPING)
    cells.add(place("x", "c"), {"a": -1.0, "b": -2.0})
    cells.add(place("x", "d"), {"a": -1.0})
    assert not cells.preferences().observed[0, 1]
    assert cells.left_out == {"samples without an answer of every category": 1}


def test_answers_of_one_category_are_added_up() -> None:
    cells = SampleCells(MAPPING)
    for category, share in (("a", 0.1), ("a", 0.2), ("b", 0.1)):
        cells.add_answer(place("x", "c"), category, float(np.log(share)))
    np.testing.assert_allclose(cells.preferences().values[0, 0], [0.75, 0.25])


def test_replies_are_counted_and_too_few_are_a_missing_cell() -> None:
    cells = SampleCells(MAPPING)
    for category in ("a", "a", "b", None):
        cells.add_reply(place("x", "c"), category)
    for category in ("a", None):
        cells.add_reply(place("x", "d"), category)
    p = cells.preferences()
    np.testing.assert_allclose(p.values[0, 0], [2 / 3, 1 / 3])
    np.testing.assert_array_equal(present(p.answers), [[3, 1]])
    np.testing.assert_array_equal(present(p.coverage), [[0.75, 0.5]])
    assert not p.observed[0, 1]


def test_labels_must_agree_within_a_context_and_no_samples_are_an_error() -> None:
    cells = SampleCells(MAPPING)
    with pytest.raises(TableError, match="found none"):
        cells.preferences()
    cells.add(place("x", "c"), {"a": -1.0, "b": -2.0})
    with pytest.raises(TableError, match="two labels"):
        cells.add(place("y", "c", of="two"), {"a": -1.0, "b": -2.0})
