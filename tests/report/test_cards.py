"""Pictures to share: their sizes, their sentences, and that nothing runs over the edge."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.report.made import made_run, summary_of

from clinometer.report.cards import CARD, SLIDE, Card, finding_cards
from clinometer.runs import Run


def size_of(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def words_of(svg: str) -> str:
    root = ElementTree.fromstring(svg)  # noqa: S314  (our own drawing)
    texts = [" ".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text")]
    return " ".join(" ".join(texts).replace("\N{NO-BREAK SPACE}", " ").split())


def test_every_finding_has_a_card(small: Run) -> None:
    one = summary_of(small)
    cards = finding_cards([one])
    assert cards[0].text == one.title
    assert [card.text for card in cards[1:]] == [finding.text for finding in small.findings[1:]]
    assert len({card.key for card in cards}) == len(cards)
    for card in cards:
        drawn = words_of(card.svg())
        assert card.text in drawn
        assert "Evidence" in drawn  # a picture travels alone
        assert ",;" not in drawn
    assert size_of(cards[0].png()) == CARD


def test_several_models_have_cards_of_their_comparison(small: Run, another: Run) -> None:
    cards = finding_cards([summary_of(small), summary_of(another)])
    assert cards[0].key == "01-models"
    assert any("differ" in card.text or "R than" in card.text for card in cards[1:])


def test_a_long_sentence_gets_smaller_and_hostile_text_stays_text(tmp_path: Path) -> None:
    long = Card("a", "<b>", "Every word of this is <script>shown</script>. " * 12)
    svg = long.svg()
    baselines = [float(y) for y in re.findall(r'<tspan x="60" y="([\d.]+)"', svg)]
    assert max(baselines) < CARD[1]
    assert "<script>" not in svg
    run = made_run(tmp_path / "run", groups=12, contexts=12, hostile=True)
    for card in finding_cards([summary_of(run)]):
        ElementTree.fromstring(card.svg())  # noqa: S314  (well-formed, whatever a group is called)


@pytest.mark.parametrize(("form", "size"), [("cards", CARD), ("slide", SLIDE)])
def test_the_command(
    small: Run, tmp_path: Path, clinometer: Callable[..., Any], form: str, size: tuple[int, int]
) -> None:
    out = tmp_path / ("slide.png" if form == "slide" else "cards")
    done = clinometer("report", small.path, "--format", form, "--out", out)
    assert done.status == 0, done.err
    files = [out] if form == "slide" else sorted(out.glob("*.png"))
    assert len(files) == (1 if form == "slide" else len(small.findings))
    assert {size_of(file.read_bytes()) for file in files} == {size}
