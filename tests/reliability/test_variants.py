"""Versions: made by real models, none invalid, resumable, everything counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.present import present
from tests.reliability.test_blanks import Scripted

from clinometer.errors import SettingsError, TableError
from clinometer.models import open_model
from clinometer.reliability import Statement, read_variants
from clinometer.reliability.acceptance import accept_version
from clinometer.reliability.blanks import MadeRows
from clinometer.reliability.filler import PhraseFiller
from clinometer.reliability.variants import Makers, VariantSettings, make_variants

STATEMENTS = [
    Statement(
        id="a",
        text="The women at the office are arrogant.",
        targets=("women",),
        points="The ___ women at the ___ office are arrogant ___.",
    ),
    Statement(id="b", text="Jamal runs.", points="Jamal runs ___."),
    Statement(id="c", text="No room here.", points="No room here."),
]


@pytest.fixture(scope="module")
def filler() -> Any:
    return PhraseFiller(open_model("pocket:gpt2-s"))


def made(
    settings: VariantSettings, filler: Any, writer: Any = None, **more: Any
) -> MadeRows:
    makers = Makers(settings)
    makers.filler, makers.writer = filler, writer
    return make_variants(
        more.pop("of", STATEMENTS), settings=settings, makers=makers, **more
    )


def test_variants_are_valid_and_distinct(filler: Any) -> None:
    found = made(VariantSettings(n=12), filler)
    for statement, row in zip(STATEMENTS, found.rows, strict=True):
        blanks = present(statement.blanks)
        assert all(
            accept_version(blanks, version) == version for version in row["variants"]
        )
        assert len(set(row["variants"])) == len(row["variants"]) == len(row["origins"])
    assert [len(r["variants"]) for r in found.rows] == [
        12,
        0,
        0,
    ]  # nothing suits "Jamal runs ___."
    assert found.counts["statements_short_of_versions"] == 2
    assert found.counts["versions_by_filler"] == 12


def test_model_answers_are_checked_and_completed(filler: Any) -> None:
    writer = Scripted(
        "The young women at the law office are arrogant today.",
        "The women at the office are arrogant.",
        "The men at the office are arrogant today.",
    )
    settings = VariantSettings(n=4, model="scripted")
    row = made(settings, filler, writer, of=STATEMENTS[:1]).rows[0]
    assert writer.asked[0][1][1].startswith(
        "Fill in the blanks with information. Do not modify"
    )
    assert row["origins"] == ["model", "filler", "filler", "filler"]
    answers = {"accepted": 1, "original": 3, "repeated": 2, "text_changed": 2}
    assert row["answers"]["model"] == answers
    alone = VariantSettings(n=4, model="scripted", filler="none")
    assert made(alone, None, writer, of=STATEMENTS[:1]).rows[0]["origins"] == ["model"]


def test_another_seed_makes_other_variants(filler: Any, tmp_path: Path) -> None:
    settings, other = (VariantSettings(n=5, seed=seed) for seed in (3, 4))
    out = tmp_path / "variants.jsonl"
    kept = made(settings, filler, out=out).rows[0]["variants"]
    assert made(other, filler).rows[0]["variants"] != kept
    assert read_variants(out)[STATEMENTS[0].id] == tuple(kept)


def test_as_in_the_paper_repeats_and_long_fillings_are_kept() -> None:
    """Figure 7 has no check; one that changes the statement is still refused."""
    long = "The women at the office are arrogant " + "so " * 16 + "much."
    writer = Scripted(long, "The men at the office are arrogant today.")
    how: dict[str, Any] = {"n": 3, "model": "scripted", "filler": "none"}
    for settings in VariantSettings(**how, as_in_paper=True), VariantSettings(**how):
        row = made(settings, None, writer, of=STATEMENTS[:1]).rows[0]
        assert row["variants"] == ([long] * 3 if settings.as_in_paper else [])
    assert row["answers"]["model"] == {"fill_too_long": 3, "text_changed": 3}


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"filler": "none"}, "without a writing model"),
        ({"filler": "pocket:bert"}, "phrases:MODEL"),
        ({"temperature": 0}, "temperature"),
        ({"n": 0}, "n: expected"),
    ],
)
def test_wrong_input_is_named(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises(SettingsError, match=word):
        VariantSettings(**wrong)
    with pytest.raises(TableError, match="expected context_points"):
        make_variants([Statement(id="x", text="A.")])
