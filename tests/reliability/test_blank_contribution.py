"""Which blank matters: fills are read from versions, and each blank is scored alone."""

from __future__ import annotations

import numpy as np
import pytest

import clinometer as cm
from clinometer.errors import TableError
from clinometer.reliability import Blanks, ReliabilitySettings, Statement
from clinometer.reliability.blank_contribution import blank_contributions


@pytest.mark.parametrize(
    ("points", "version", "fills"),
    [
        ("The ___ nurse is tired ___.", "The young nurse is tired of work.", ("young", "of work")),
        ("The ___ nurse is tired ___.", "the nurse is tired.", ("", "")),
        ("The ___ nurse is tired ___.", "The nurse is not tired.", None),
        ("___ Women talk ___", "Some Women talk", ("Some", "")),
        ("No blank.", "No blank.", ()),
        ("No blank.", "No blank at all.", None),
    ],
)
def test_fillings_are_split_by_blank(
    points: str, version: str, fills: tuple[str, ...] | None
) -> None:
    assert Blanks.parse(points).fills_of(version) == fills


def test_each_blank_is_scored_alone() -> None:
    statement = Statement(
        "1", "The nurse was late.", ("nurse",), points="The ___ nurse was late ___."
    )
    versions = {
        "1": [
            "The purple nurse was late.",
            "The elected nurse was late.",
            "The purple nurse was late today.",
            "A nurse came.",
        ]
    }
    others = [
        Statement("2", "No points.", ()),
        Statement("3", "No blanks.", (), points="No blanks."),
    ]
    settings = ReliabilitySettings()
    blanks, counts = blank_contributions([statement, *others], versions, settings=settings)
    assert counts == {
        "statements_without_points": 1,
        "statements_without_blanks": 1,
        "versions": 4,
        "versions_that_changed_more_than_blanks": 1,
    }
    table = blanks.set_index("blank")
    alone = cm.score_reliability(
        [statement],
        {
            "1": [
                "The purple nurse was late.",
                "The elected nurse was late.",
                "The purple nurse was late.",
            ]
        },
        settings=settings,
    )
    # Other batches: see test_tau_and_score_by_hand.
    assert table["cv"][0] == pytest.approx(alone.statements["cv"][0], rel=5e-5)
    assert table["cv"][0] > table["cv"][1]  # "today" says little
    assert table["share"].sum() == pytest.approx(1)
    assert table["fills"].to_dict() == {0: 2, 1: 1}
    assert np.allclose(table["interaction"], table["cv_all"] - table["cv"].sum())
    with pytest.raises(TableError, match="found none"):
        blank_contributions(others, versions, settings=settings)
