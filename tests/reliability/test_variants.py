"""Versions: made by real models, none invalid, resumable, everything counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.present import present
from tests.reliability.test_blanks import Scripted

from clinometer.errors import SettingsError, TableError
from clinometer.models import open_model
from clinometer.reliability import Statement, read_variants
from clinometer.reliability.blanks import MadeRows, parse
from clinometer.reliability.statement import Blanks, Refused
from clinometer.reliability.variants import (
    Makers,
    PhraseFiller,
    VariantSettings,
    accept_version,
    candidates,
    kind_of,
    make_variants,
    phrases,
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


BLANKS = Blanks.parse("The ___ women at the ___ office are arrogant ___.")


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("The women at the office are arrogant.", "original"),
        ("The women in the office are arrogant today.", "text_changed"),
        ("The women at the office are very arrogant.", "text_changed"),
        ("The men at the office are arrogant today.", "text_changed"),
        ("Theyoung women at the office are arrogant.", "text_changed"),
        ("The women at the office are arrogant today", "text_changed"),
        (
            "The women at the office are arrogant. Note: I filled it.",
            "fill_is_no_phrase",
        ),
        ("The ___ women at the office are arrogant today.", "fill_is_no_phrase"),
        ("The [young] women at the office are arrogant.", "fill_is_no_phrase"),
        (
            "The women at the office are arrogant " + "so " * 16 + "much.",
            "fill_too_long",
        ),
        ("", "text_changed"),
    ],
)
def test_rejected_fillings_name_the_reason(version: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        accept_version(BLANKS, version)
    assert str(refused.value) == reason


@given(
    st.lists(
        st.sampled_from(["", "5th-floor", "on the second floor"]),
        min_size=3,
        max_size=3,
    )
)
def test_every_filling_can_be_recovered(fills: list[str]) -> None:
    text = BLANKS.fill(fills)
    if any(fills):
        assert accept_version(BLANKS, text.lower().replace(" are", "  are")) == text
    else:
        with pytest.raises(Refused, match="original"):
            accept_version(BLANKS, text)


# --- Built-in phrases: those that suit a blank, of which a real model chooses ---------------------


@pytest.fixture(scope="module")
def chooser() -> PhraseFiller:
    return PhraseFiller(open_model("pocket:gpt2-l"))


def test_versions_do_not_depend_on_what_was_filled_before(
    chooser: PhraseFiller,
) -> None:
    """A run that was interrupted begins with another statement."""
    before, blanks = map(
        Blanks.parse,
        ("The father ___ was never at home ___.", "Boys ___ do not cry ___."),
    )
    alone, after = PhraseFiller(chooser.scorer), PhraseFiller(chooser.scorer)
    after.fill(before, n=2, temperature=1.1, seed=3)
    a, b = (one.fill(blanks, n=40, temperature=1.1, seed=3) for one in (alone, after))
    assert a == b
    known: Any = phrases()["adjunct"]
    assert {fills[1] for fills in a} <= {p for some in known.values() for p in some} | {
        ""
    }


def test_a_phrase_that_suits_is_chosen_before_one_that_does_not(
    chooser: PhraseFiller,
) -> None:
    blanks = Blanks.parse("The snow is falling ___.")
    doc = next(iter(parse([blanks.plain])))
    pool, weights = chooser._pool(blanks, 0, blanks.positions[0], doc, 1.1)
    assert weights.sum() == pytest.approx(1)
    assert {"right now", "this morning", "today"} & set(pool[:4])
    assert "according to the author" not in pool[:4]


def test_a_version_says_one_thing_about_a_whole_sentence(chooser: PhraseFiller) -> None:
    blanks = Blanks.parse(
        "The ___ nurse met the ___ manager at the ___ office of a ___ lawyer ___. She laughed ___."
    )
    found = chooser.fill(blanks, n=20, temperature=1.1, seed=0)
    assert all(sum(map(bool, fills)) <= 3 for fills in found)
    assert not any(fills[4] and fills[5] for fills in found)
    assert any(fills[4] for fills in found)
    assert any(fills[5] for fills in found)


def offered(points: str) -> set[str]:
    blanks = Blanks.parse(points)
    doc = next(iter(parse([blanks.plain])))
    (place,) = blanks.positions
    return set(candidates(kind_of(doc, place), doc, place))


@pytest.mark.parametrize(
    ("points", "yes", "no"),
    [
        # the position
        ("Women ___ are tired.", "from poor families", "often"),
        ("Women are ___ tired.", "often", "from poor families"),
        # the article and the noun
        ("He met an ___ officer.", "experienced", "young"),
        ("He met a ___ nurse.", "young", "experienced"),
        ("The ___ women left.", "middle-aged", None),
        ("The ___ car left.", None, "middle-aged"),
        ("They met at the ___ office.", "nearby", None),
        ("He came from ___ Spain.", "northern", None),
        ("The ___ software developer left.", "young", None),
        # tense, aspect and subject
        ("She lost her keys ___.", "last week", None),
        ("She loses her keys ___.", None, "last week"),
        ("The nurse was tired ___.", "back then", "yesterday"),
        ("Women are arrogant ___.", "in rural areas", None),
        ("The nurse is arrogant ___.", None, "in rural areas"),
        ("She will lose her keys ___.", "sooner or later", None),
        ("She has lost her keys ___.", "in recent years", None),
        # nothing is said twice
        ("She lost her keys yesterday ___.", None, "last week"),
        ("Women in Spain are arrogant ___.", None, "in this town"),
        ("I lost my keys ___.", None, "according to my uncle"),
        # questions and requests have their own
        ("Why are women so arrogant ___?", "where you live", None),
        ("Call the nurse ___.", "next time", None),
    ],
)
def test_phrases_suit_what_stands_beside_them(
    points: str, yes: str | None, no: str | None
) -> None:
    found = offered(points)
    assert yes is None or yes in found
    assert no not in found


@pytest.mark.parametrize(
    "points",
    [
        "The ___ quark spins.",
        "The ___ tall man left.",
        "What a day ___!",
        "The dumb blonde ___.",
    ],
)
def test_what_no_list_suits_takes_nothing(points: str) -> None:
    """A noun that is not known, an adjective, and a text without a clause."""
    assert offered(points) == set()


def test_every_phrase_is_whole_and_every_class_of_nouns_has_modifiers() -> None:
    assert not [
        p
        for lists in phrases().values()
        for some in lists.values()
        for p in some
        if ";" in p
    ]
    assert set(phrases()["nouns"]) == set(phrases()["modifier"])
