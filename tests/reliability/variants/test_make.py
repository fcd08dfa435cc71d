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
from clinometer.reliability.statement import Blanks, Refused
from clinometer.reliability.variants import VariantSettings, accept_version, make_variants
from clinometer.reliability.variants.fillers import open_filler
from clinometer.reliability.variants.make import Makers

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

    return open_filler(open_model("pocket:bert"))


def makers(settings: VariantSettings, filler: Any, writer: Any = None) -> Makers:
    made = Makers(settings)
    made.filler, made.writer = filler, writer
    return made


def test_variants_are_valid_and_distinct(filler: Any) -> None:
    settings = VariantSettings(n=12)
    found = make_variants(STATEMENTS, settings=settings, makers=makers(settings, filler))
    for statement, row in zip(STATEMENTS, found.rows, strict=True):
        blanks = statement.blanks
        for version in row["variants"]:
            assert accept_version(present(blanks), version)[0] == version
        assert len(set(row["variants"])) == len(row["variants"]) == len(row["origins"])
    assert [len(r["variants"]) for r in found.rows] == [12, 12, 0]
    assert found.counts["statements_short_of_versions"] == 1
    assert found.counts["versions_by_filler"] == 24
    assert 0 < found.counts["distinct_words"] <= 1


def test_model_answers_are_checked_and_completed(filler: Any) -> None:
    writer = Scripted(
        "The young women at the law office are arrogant today.",
        "The women at the office are arrogant.",
        "The men at the office are arrogant today.",
    )
    settings = VariantSettings(n=4, model="scripted", rounds=1)
    row = make_variants(
        STATEMENTS[:1], settings=settings, makers=makers(settings, filler, writer)
    ).rows[0]
    assert writer.request.startswith("Fill in the blanks with information. Do not modify")
    assert row["origins"] == ["model", "filler", "filler", "filler"]
    assert row["answers"]["model"] == {
        "accepted": 1,
        "original": 1,
        "repeated": 1,
        "text_changed": 1,
    }
    alone = VariantSettings(n=4, model="scripted", rounds=1, filler="none")
    row = make_variants(STATEMENTS[:1], settings=alone, makers=makers(alone, None, writer)).rows[0]
    assert row["origins"] == ["model"]
    with pytest.raises(SettingsError, match="without a writing model"):
        make_variants(STATEMENTS, settings=VariantSettings(filler="none"))


def test_a_killed_run_resumes_to_the_same_variants(filler: Any, tmp_path: Path) -> None:
    settings = VariantSettings(n=5, seed=3)
    out = tmp_path / "variants.jsonl"
    make_variants(STATEMENTS, settings=settings, out=out, makers=makers(settings, filler))
    whole = out.read_text(encoding="utf-8")
    out.write_text(whole.splitlines()[0] + '\n{"id"', encoding="utf-8")
    make_variants(STATEMENTS, settings=settings, out=out, makers=makers(settings, filler))
    assert out.read_text(encoding="utf-8") == whole
    other = VariantSettings(n=5, seed=4)
    with pytest.raises(RunError, match="other settings: seed"):
        make_variants(STATEMENTS, settings=other, out=out, makers=makers(other, filler))
    differs = make_variants(STATEMENTS, settings=other, makers=makers(other, filler))
    assert differs.rows[0]["variants"] != json.loads(whole.splitlines()[0])["variants"]
    assert read_variants(out).of(STATEMENTS[0]) == tuple(
        json.loads(whole.splitlines()[0])["variants"]
    )


def test_a_causal_model_fills_both_sides(smollm2: Any) -> None:
    settings = VariantSettings(n=4, model="smollm2")
    found = make_variants(
        STATEMENTS[:1],
        settings=settings,
        makers=makers(settings, open_filler(smollm2), Scripted("x")),
    )
    blanks = STATEMENTS[0].blanks
    assert found.rows[0]["variants"]
    for version in found.rows[0]["variants"]:
        assert accept_version(present(blanks), version)[0] == version


def test_variants_can_be_filtered_by_meaning() -> None:
    from clinometer.models.texts.embeddings import SentenceEncoder

    settings = VariantSettings(n=3)
    found = make_variants(STATEMENTS[:1], settings=settings, embed=SentenceEncoder().embed)
    means = found.counts["dissimilarity"]
    assert 0 < means["pairwise"] < 1
    assert 0 < means["to_statement"] < 1


def test_wrong_input_is_named() -> None:
    with pytest.raises(TableError, match="expected context_points"):
        make_variants([Statement(id="x", text="A.")])
    with pytest.raises(SettingsError, match="temperature"):
        VariantSettings(temperature=0)
    with pytest.raises(SettingsError, match="n: expected"):
        VariantSettings(n=0)


BLANKS = Blanks.parse("The ___ women at the ___ office are arrogant ___.")


@pytest.mark.parametrize(
    ("version", "kept"),
    [
        (
            "The young women at the law office are arrogant today.",
            "The young women at the law office are arrogant today.",
        ),
        ("the women at the office  are arrogant , they say.",
         "The women at the office are arrogant, they say."),
        ("The women at the 5th-floor office are arrogant.",
         "The women at the 5th-floor office are arrogant."),
    ],
)  # fmt: skip
def test_valid_fillings_are_kept(version: str, kept: str) -> None:
    assert accept_version(BLANKS, version)[0] == kept


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
        assert accept_version(BLANKS, text) == (text, tuple(fills))
    else:
        with pytest.raises(Refused, match="original"):
            accept_version(BLANKS, text)
