"""Pictures to share: a card for each finding, and one slide. A sentence and the chart it is about.

A card is what sites show beside a link (1200 × 630), a slide fills a screen (1920 × 1080). Both say
whose findings they are, what they rest on and how sure they are: a picture travels alone.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinometer import __version__
from clinometer.display.numbers import between, counted, risk
from clinometer.display.text import brief, visible
from clinometer.errors import ClinometerError
from clinometer.report.charts.style import BIAS, FONT, INK, LINE, PAGE, PALETTE, SOFT, VOLATILITY
from clinometer.report.document import unbroken
from clinometer.report.figure import Figure, svg_to_png
from clinometer.report.figures import differences_figure
from clinometer.report.page import first_screens
from clinometer.report.sentences import evidence
from clinometer.report.summary import RunSummary, strip
from clinometer.runs import Run, compare
from clinometer.runs.compare import runs_findings
from clinometer.runs.findings import Finding, comparison_findings
from clinometer.runs.nouns import noun_of

if TYPE_CHECKING:
    from clinometer.report.reliability import ReliabilityStory

CARD, SLIDE = (1200, 630), (1920, 1080)
#: Kinds of findings that are about the size of R; the strip shows them.
_OF_SIZE = ("size", "steadiness", "shared", "floor")
#: Those about lean, swing and dice.
_OF_PARTS = ("parts", "placebo")
#: Mean width of a character of the font, in ems, and the height of a line.
_CHARACTER, _LINE = 0.53, 1.2
_WASH = PALETTE["wash"][0]
#: How sure a finding is, as a badge says it.
_SURE = {
    "clear": "clear",
    "unclear": "not clear",
    "cannot tell": "cannot tell",
    "exact": "exact for this set",
}


@dataclass(frozen=True)
class Card:
    """One picture: what it is about, its sentence, what that rests on, and its chart."""

    key: str
    about: str
    text: str
    rests_on: str = ""
    sure: str = ""
    picture: Figure | Run | None = None

    def svg(self) -> str:
        """The card as a complete SVG file."""
        width, height = CARD
        room = 520 if self.picture is not None else 1080
        parts = [_text(self.about, 60, 68, 22, 1080, SOFT)[0]]
        size = _fitting(self.text, room, 340)
        sentence, bottom = _text(self.text, 60, 100 + size, size, room, INK, bold=True)
        parts.append(sentence)
        if self.sure:
            parts.append(_badge(self.sure, 60, bottom + 26))
        parts.append(_text(self.rests_on, 60, height - 80, 20, room, SOFT, up=True)[0])
        parts.append(_text(_signature(), 60, height - 36, 18, room, SOFT)[0])
        parts += _picture(self.picture, (620, 100, 530, height - 140))
        return _page(width, height, parts)

    def png(self) -> bytes:
        return svg_to_png(self.svg())


def finding_cards(summaries: Sequence[RunSummary]) -> list[Card]:
    """One card for each finding of a run, or of the comparison of several."""
    screen = first_screens(summaries)[0]
    chart = screen.pictures[0] if screen.pictures else None
    if len(summaries) > 1:
        return _comparison_cards(summaries, chart)
    run = summaries[0].run
    split = next((f for f in screen.pictures if f.key.endswith("components")), None)
    charts = dict.fromkeys(_OF_PARTS, split) if split else {}
    about = f"{run.record.topic.title or run.record.topic.name} · {brief(run.model, 60)}"
    rests_on = _rests_on(run)
    first = Finding(run.findings[0].kind, summaries[0].title, run.findings[0].sure)
    return [
        Card(
            f"{number:02d}-{one.kind}",
            about,
            one.text,
            rests_on,
            _SURE.get(one.sure, ""),
            run if one.kind in _OF_SIZE else charts.get(one.kind, chart),
        )
        for number, one in enumerate([first, *run.findings[1:]], start=1)
    ]


def _comparison_cards(summaries: Sequence[RunSummary], chart: Figure | None) -> list[Card]:
    runs, names = [s.run for s in summaries], [s.opened.name for s in summaries]
    about = f"{runs[0].record.topic.title} · {counted(len(runs), 'model')}"
    rests_on = _rests_on(runs[0])
    cards = [Card("01-models", about, runs_findings(runs, names)[0].text, rests_on, "", chart)]
    try:
        compared = compare(*runs)
    except ClinometerError:
        return cards  # another topic or other contexts: not paired
    differences = differences_figure(compared)
    found = comparison_findings(compared, noun=noun_of(runs[0])[0])
    return cards + [
        Card(f"{n:02d}-{one.kind}", about, one.text, rests_on, _SURE.get(one.sure, ""), differences)
        for n, one in enumerate(found, start=2)
    ]


def reliability_cards(story: ReliabilityStory) -> list[Card]:
    """The card of a reliability run."""
    note = story.notes[0] if story.notes else ""
    return [
        Card("01-statements", "Reliability of statements", story.title, note, "", story.picture)
    ]


def slide(cards: Sequence[Card]) -> bytes:
    """One slide: the first finding over its chart, and what follows from the others beside it."""
    width, height = SLIDE
    first = cards[0]
    parts = [_text(first.about, 90, 90, 30, 1740, SOFT)[0]]
    size = _fitting(first.text, 1740, 170, most=60)
    sentence, bottom = _text(first.text, 90, 120 + size, size, 1740, INK, bold=True)
    parts.append(sentence)
    top = int(bottom + 50)
    parts += _picture(first.picture, (90, top, 1060, height - top - 120), drawn_at=640)
    y = top + 30.0
    for card in cards[1:]:
        text, lower = _text(card.text, 1240, y, 28, 590, INK)
        if lower > height - 150:
            break
        parts.append(text)
        y = lower + 66
    parts.append(_text(f"{first.rests_on} {_signature()}.", 90, height - 50, 24, 1740, SOFT)[0])
    return svg_to_png(_page(width, height, parts))


def _rests_on(run: Run) -> str:
    level, why = evidence(run)
    R = run.risks.R
    ends = between(R.low, R.high)
    interval = f"; R {risk(R.value)} ({ends})" if ends else ""
    return f"Evidence {level}: {why}{interval}."


def _signature() -> str:
    return f"Measured with Clinometer {__version__}"


def _page(width: int, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{html.escape(FONT)}">'
        f'<rect width="{width}" height="{height}" fill="{PAGE}"/>{"".join(parts)}</svg>'
    )


def _fitting(text: str, width: int, height: int, *, most: int = 52) -> int:
    """The largest size at which a text fits."""
    for size in range(most, 20, -2):
        if len(_lines(text, size, width)) * size * _LINE <= height:
            return size
    return 20


def _lines(text: str, size: float, width: float) -> list[str]:
    room = int(width / (size * _CHARACTER))
    lines = [""]
    for word in unbroken(visible(text)).split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip(" ")
    return lines


def _text(
    text: str,
    x: float,
    y: float,
    size: int,
    width: float,
    colour: str,
    *,
    bold: bool = False,
    up: bool = False,
) -> tuple[str, float]:
    """A text in lines from the baseline y on (`up`: that ends there), and where it ends."""
    lines = _lines(text, size, width)
    first = y - (len(lines) - 1) * size * _LINE if up else y
    spans = "".join(
        f'<tspan x="{x}" y="{first + i * size * _LINE:.1f}">{html.escape(line)}</tspan>'
        for i, line in enumerate(lines)
    )
    weight = ' font-weight="bold"' if bold else ""
    end = first + (len(lines) - 1) * size * _LINE
    return f'<text font-size="{size}" fill="{colour}"{weight}>{spans}</text>', end


def _badge(text: str, x: float, y: float) -> str:
    width = 28 + len(text) * 20 * _CHARACTER
    return (
        f'<rect x="{x}" y="{y:.0f}" width="{width:.0f}" height="36" rx="18" fill="{_WASH}" '
        f'stroke="{LINE}"/><text x="{x + 14}" y="{y + 25:.0f}" font-size="20" fill="{INK}">'
        f"{html.escape(text)}</text>"
    )


def _picture(
    picture: Figure | Run | None, box: tuple[int, int, int, int], *, drawn_at: int = 500
) -> list[str]:
    """A chart as large as the box allows, or the strip of a run. A chart is drawn smaller and
    enlarged, so that its letters are legible."""
    x, y, width, height = box
    if picture is None:
        return []
    if isinstance(picture, Run):
        return _strip(picture, x, y + height / 3, width)
    drawn = picture.svg_alone(drawn_at)
    title, top = _text(picture.title, x, y + 20, 20, width, INK, bold=True)
    wide, high = (float(n) for n in re.findall(r'(?<= )(?:width|height)="([\d.]+)"', drawn)[:2])
    scale = min(width / wide, (height - (top - y) - 16) / high)
    inner = drawn[drawn.index("<svg") :]
    return [title, f'<g transform="translate({x},{top + 16:.0f}) scale({scale:.3f})">{inner}</g>']


def _strip(run: Run, x: float, y: float, width: float) -> list[str]:
    """R on the axis of the page: its steady and its swinging part, its interval, and shuffled words
    in grey."""
    shown = strip(run)
    if shown is None:
        return []

    def bar(low: float, high: float, colour: str, y: float, height: float) -> str:
        return (
            f'<rect x="{x + width * low:.1f}" y="{y:.1f}" '
            f'width="{max(1.0, width * (high - low)):.1f}" height="{height}" fill="{colour}"/>'
        )

    total, *marks = shown.key
    parts = [_text(f"R {total.value}", x, y - 46, 26, width, INK, bold=True)[0]]
    if shown.chance is not None:
        parts.append(bar(*shown.chance, LINE, y - 26, 92))
    bias, end = shown.parts
    parts += [bar(0, bias, BIAS, y, 40), bar(bias, end, VOLATILITY, y, 40)]
    if shown.interval is not None:
        parts.append(bar(*shown.interval, INK, y + 18, 4))
    parts.append(f'<rect x="{x}" y="{y + 66:.1f}" width="{width}" height="2" fill="{INK}"/>')
    for i, (text, place, anchor) in enumerate(
        zip(shown.ends, (x, x + width), ("start", "end"), strict=True)
    ):
        parts.append(
            f'<text x="{place}" y="{y + 92 + 26 * i:.0f}" font-size="20" text-anchor="{anchor}" '
            f'fill="{SOFT}">{html.escape(text)}</text>'
        )
    colours = {"b": "blue", "v": "orange", "c": "grey"}
    legend = "; ".join(f"{colours[one.kind]}: {one.name} {one.value}" for one in marks)
    return [*parts, _text(legend, x, y + 160, 20, width, SOFT)[0]]
