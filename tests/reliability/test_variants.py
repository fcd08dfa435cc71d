"""Versions: made by real models, none invalid, resumable, everything counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.present import present

from clinometer.errors import RunError, SettingsError, TableError
from clinometer.reliability import Statement, read_variants
from clinometer.reliability.phrases import PhraseFiller
from clinometer.reliability.statement import Blanks, Refused
from clinometer.reliability.variants import (
    MadeVariants,
    Makers,
    VariantSettings,
    accept_version,
    make_variants,
)

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


class Scripted:
    """A writer whose answers are the same in every round."""

    def __init__(self, *answers: str) -> None:
        self.answers = answers

    def write(self, turns: Any, *, n: int = 1, **_: Any) -> list[str]:
        self.request = turns[-1][1]
        return [self.answers[i % len(self.answers)] for i in range(n)]


@pytest.fixture(scope="module")
def filler() -> Any:
    from clinometer.models import open_model

    return PhraseFiller(open_model("pocket:gpt2-s"))


def made(settings: VariantSettings, filler: Any, writer: Any = None, **more: Any) -> MadeVariants:
    makers = Makers(settings)
    makers.filler, makers.writer = filler, writer
    return make_variants(more.pop("of", STATEMENTS), settings=settings, makers=makers, **more)


def test_variants_are_valid_and_distinct(filler: Any) -> None:
    found = made(VariantSettings(n=12), filler)
    for statement, row in zip(STATEMENTS, found.rows, strict=True):
        blanks = present(statement.blanks)
        assert all(accept_version(blanks, version) == version for version in row["variants"])
        assert len(set(row["variants"])) == len(row["variants"]) == len(row["origins"])
    assert [len(r["variants"]) for r in found.rows] == [12, 0, 0]  # nothing suits "Jamal runs ___."
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
    assert writer.request.startswith("Fill in the blanks with information. Do not modify")
    assert row["origins"] == ["model", "filler", "filler", "filler"]
    answers = {"accepted": 1, "original": 2, "repeated": 3, "text_changed": 2}
    assert row["answers"]["model"] == answers
    alone = VariantSettings(n=4, model="scripted", filler="none")
    assert made(alone, None, writer, of=STATEMENTS[:1]).rows[0]["origins"] == ["model"]


def test_a_killed_run_resumes_to_the_same_variants(filler: Any, tmp_path: Path) -> None:
    settings, other = (VariantSettings(n=5, seed=seed) for seed in (3, 4))
    out = tmp_path / "variants.jsonl"
    made(settings, filler, out=out)
    whole = out.read_text(encoding="utf-8")
    out.write_text(whole.splitlines()[0] + '\n{"id"', encoding="utf-8")
    made(settings, filler, out=out)
    assert out.read_text(encoding="utf-8") == whole
    with pytest.raises(RunError, match="other settings: seed"):
        made(other, filler, out=out)
    kept = json.loads(whole.splitlines()[0])["variants"]
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
    assert row["answers"]["model"] == {"fill_too_long": 4, "text_changed": 2}


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


BLANKS = Blanks.parse("The ___ women at the ___ office are arrogant ___.")


@pytest.mark.parametrize(
    ("version", "kept"),
    [
        ("The young women at the law office are arrogant today.", None),
        ("The women at the 5th-floor office are arrogant.", None),
        ("the women at the office  are arrogant , they say.",
         "The women at the office are arrogant, they say."),
    ],
)  # fmt: skip
def test_valid_fillings_are_kept(version: str, kept: str | None) -> None:
    assert accept_version(BLANKS, version) == (kept or version)


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("The women at the office are arrogant.", "original"),
        ("The women in the office are arrogant today.", "text_changed"),
        ("The women at the office are very arrogant.", "text_changed"),
        ("The men at the office are arrogant today.", "text_changed"),
        ("Theyoung women at the office are arrogant.", "text_changed"),
        ("The women at the office are arrogant today", "text_changed"),
        ("The women at the office are arrogant. Note: I filled it.", "fill_is_no_phrase"),
        ("The ___ women at the office are arrogant today.", "fill_is_no_phrase"),
        ("The [young] women at the office are arrogant.", "fill_is_no_phrase"),
        ("The women at the office are arrogant " + "so " * 16 + "much.", "fill_too_long"),
        ("", "text_changed"),
    ],
)
def test_rejected_fillings_name_the_reason(version: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        accept_version(BLANKS, version)
    assert refused.value.reason == reason


@given(st.lists(st.sampled_from(["", "young", "on the second floor"]), min_size=3, max_size=3))
def test_every_filling_can_be_recovered(fills: list[str]) -> None:
    text = BLANKS.fill(fills)
    if any(fills):
        assert accept_version(BLANKS, text) == text
    else:
        with pytest.raises(Refused, match="original"):
            accept_version(BLANKS, text)
