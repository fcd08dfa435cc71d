"""What is drawn is what is said: numbers and directions read out of the drawings are those of the
findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from tests.present import present
from tests.report.made import hiring_run, made_run, summary_of, with_floor

from clinometer.display.numbers import percent
from clinometer.display.text import proper
from clinometer.report import render_report
from clinometer.report.charts.cobias import cobias_chart
from clinometer.report.charts.look import category_colours
from clinometer.report.charts.points import Panel, points_chart
from clinometer.report.chips import strip
from clinometer.report.figure import Figure
from clinometer.report.figures.distances import distances
from clinometer.report.figures.distribution import distribution_figure
from clinometer.report.figures.groups import leans_figure
from clinometer.report.figures.models import differences_figure, risks_figure
from clinometer.report.first_screen import first_screen
from clinometer.runs import Run, compare
from clinometer.runs.compared import runs_findings
from clinometer.runs.findings.facts import facts_of_run
from clinometer.runs.findings.of_comparison import comparison_findings
from clinometer.runs.findings.of_run import run_findings
from clinometer.runs.findings.people import shown
from clinometer.topics import load_topic

# --- Numbers read out of drawings, from where the marks stand -------------------------------------

_MOVE = re.compile(r"translate\(([-\d.e]+),([-\d.e]+)\)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class Mark:
    """A mark of a drawing: its name and place, and what else can be seen of it."""

    tag: str
    x: float
    y: float
    text: str
    tip: str
    seen: dict[str, str]

    @property
    def ink(self) -> str:
        """Its colour, without the fallback for files."""
        fill = self.seen.get("fill", "")
        return (
            fill
            if fill not in ("", "none", "transparent")
            else self.seen.get("stroke", "")
        )

    @property
    def ends(self) -> tuple[float, float]:
        """Left and right of a bar or a line."""
        if self.tag == "line":
            return self.x, self.x + float(self.seen.get("x2", 0))
        across, at, width = [], 0.0, self.seen["d"]
        for command, numbers in re.findall(r"([MLHhvVCcAalZz])([^A-Za-z]*)", width):
            values = [float(v) for v in _NUMBER.findall(numbers)]
            if command in "MLC":
                across += values[::2]
            elif command == "H":
                across += values
            elif command == "h":
                across += [at + values[0]]
            elif command == "A":
                across.append(values[5])
            at = across[-1] if across else at
        return self.x + min(across), self.x + max(across)


def marks(figure: Figure) -> list[Mark]:
    """The marks of a drawing as wide as a page, each where it stands."""
    root = ElementTree.fromstring(figure.inline()["wide"])  # noqa: S314  (our own drawing)
    return list(_walk(root, 0.0, 0.0, {}))


def _walk(
    e: ElementTree.Element, x: float, y: float, outer: dict[str, str]
) -> Iterator[Mark]:
    if moved := _MOVE.search(e.get("transform", "")):
        x, y = x + float(moved[1]), y + float(moved[2])
    seen = {**outer, **e.attrib}
    if e.tag != "g":
        yield Mark(e.tag, x, y, "".join(e.itertext()), e.get("data-tip", ""), seen)
    for child in e:
        yield from _walk(child, x, y, {"opacity": seen.get("opacity", "")})


def axis(found: list[Mark], at: dict[str, float]) -> Callable[[float], float]:
    """Pixels to values: the line through the labels of two ticks."""
    places = {m.text: m.x for m in found if m.tag == "text" and m.text in at}
    assert len(places) >= 2, [m.text for m in found if m.tag == "text"]
    slope, start = np.polyfit(list(places.values()), [at[text] for text in places], 1)
    return lambda x: float(slope * x + start)


# --- What they must be ----------------------------------------------------------------------------

PERCENT = {"25 %": 0.25, "75 %": 0.75}


@pytest.fixture(scope="module")
def even() -> Run:
    """18 occupations, as many as a chart shows, in 60 sentences that count alike, so that each mean
    has an interval."""
    return made_run(None, groups=18, contexts=60, orders=1)


def test_dots_and_thick_lines_are_what_the_headline_and_the_intervals_say(
    even: Run,
) -> None:
    headline = even.findings[0]
    found = marks(leans_figure(summary_of(even).cells))
    share = axis(found, PERCENT)
    dots = {m.tip.partition(":")[0]: m for m in found if m.tip}
    places = [share(m.x) for m in dots.values()]
    most, least = (one.value for one in headline.groups.values())
    assert headline.words["share"] == "male words"  # which are on the left
    assert 1 - min(places) == pytest.approx(most, abs=0.006)
    assert 1 - max(places) == pytest.approx(least, abs=0.006)
    male, female = (f",{colour})" for colour in category_colours(2))
    clear = [m for m in dots.values() if m.ink.endswith((male, female))]
    assert len(clear) == headline.clear
    for dot in clear:
        assert dot.ink.endswith(male if share(dot.x) < 0.5 else female)
    assert all(m.tip.endswith("not clear") == (m not in clear) for m in dots.values())
    thick = [m for m in found if m.tag == "path" and m.seen.get("opacity") == "0.45"]
    assert len(thick) == len(even.leans)
    drawn = [tuple(map(share, m.ends)) for m in thick]
    for lean in even.leans:
        sign = 1 if lean.favoured == "female" else -1
        ends = sorted(0.5 + sign * present(end) / 2 for end in (lean.low, lean.high))
        near = min(drawn, key=lambda d: abs(d[0] - ends[0]) + abs(d[1] - ends[1]))
        assert near == pytest.approx(tuple(ends), abs=0.004)
        assert near[0] < share(dots[proper(lean.group)].x) < near[1]


def test_decisions_are_measured_from_the_mean_as_the_headline_says() -> None:
    run = hiring_run(Black_man=-0.12, Ashley_Chen=0.08)
    frame = distances(run)
    points = dict(zip(frame["group"], frame["away"], strict=True))
    assert len(points) == 24
    assert max(points, key=lambda g: points[g]) == "Ashley Chen"
    assert min(points, key=lambda g: points[g]) == "Black man"
    headline = next(one for one in run.findings if one.kind == "rates")
    for name, rate in headline.groups.items():
        apart = 100 * (rate.value - headline.numbers["mean"].value)
        assert points[name.removeprefix("a ")] == pytest.approx(apart, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_dot_is_filled_exactly_where_its_interval_excludes_the_reference(
    seed: int,
) -> None:
    runs = [
        made_run(None, groups=18, contexts=30, orders=1, lean=0.1, seed=seed),
        hiring_run(),
    ]
    for run in runs:
        away = distances(run)
        drawn = [(away["away_low"], away["away_high"], away["clear"], 0.0)]
        if run.outcome.chart != "distances":
            cells = summary_of(run).cells
            ends = cells.mean_ends[:, :, 1]
            drawn.append(
                (pd.Series(ends[0]), pd.Series(ends[1]), pd.Series(cells.clear), 0.5)
            )
        for low, high, clear, reference in drawn:
            assert low.notna().all()
            assert (clear != ((low <= reference) & (reference <= high))).all()


def test_panels_show_what_the_finding_says_of_names_and_descriptions() -> None:
    lifted = {
        group.name.replace(" ", "_"): 0.06
        if group.name.endswith(("Chen", "Nguyen"))
        else 0.0
        for group in load_topic("hiring").groups
    }
    run = hiring_run(**{**lifted, "Black_man": -0.12})
    said = next(one for one in run.findings if one.kind == "shown")
    found = marks(leans_figure(summary_of(run).cells))
    kinds = {"First name": 4, "Surname": 8, "Description": 8}
    titles = [next(m for m in found if m.text.startswith(f"{kind},")) for kind in kinds]
    ends = [*(m.y for m in titles[1:]), 1e9]
    p = run.preferences
    groups = dict(zip(p.groups, p.grid.mean(p.values)[:, 0], strict=True))
    for title, end, (kind, n) in zip(titles, ends, kinds.items(), strict=True):
        part = [m for m in found if title.y <= m.y < end]
        value = axis(found, {"−10": -10, "0": 0, "+10": 10})
        dots = {m.tip.partition(":")[0]: m for m in part if m.tip}
        assert len(dots) == n
        shares = {
            name: np.mean([v for g, v in groups.items() if name in (g, *g.split())])
            if kind != "Description"
            else groups[name]
            for name in dots
        }
        single = kind == "Description"
        mean = np.mean(list((groups if single else shares).values()))
        of = "mean of all" if single else "average"
        assert title.text.endswith(f"{of} {percent(float(mean))}")
        for name, dot in dots.items():
            assert value(dot.x) == pytest.approx(100 * (shares[name] - mean), abs=0.15)
        drawn = [value(m.x) for m in dots.values()]
        apart = said.numbers[f"{kind.lower()}s"].value
        assert max(drawn) - min(drawn) == pytest.approx(apart, abs=0.2)
        clear = [m for m in dots.values() if not m.tip.endswith("not clear")]
        leans = [
            one for one in run.leans if one.group in shares and one.category is not None
        ]
        assert len(clear) == (len(leans) if single else said.tally[f"{kind.lower()}s"])
        assert all("--page" not in m.ink for m in clear)


def test_a_kind_with_a_clear_group_is_not_called_still() -> None:
    run = hiring_run()
    x = run.preferences.groups.index("Black man")
    found = facts_of_run(run)
    leans = [
        replace(one, category="no" if i == x else None)
        for i, one in enumerate(found.leans)
    ]
    still, named = (
        present(shown(run, replace(found, leans=tuple(some)))).text.partition(":")[0]
        for some in (found.leans, leans)
    )
    assert "descriptions" in still
    assert "descriptions" not in named


def test_panels_only_where_people_are_shown_in_several_ways() -> None:
    run = hiring_run(Black_man=-0.12)
    shown_as = ["description"] * len(run.preferences.groups)
    topic = run.record.topic.model_copy(update={"people": {"shown_as": shown_as}})
    one = replace(run, record=run.record.model_copy(update={"topic": topic}))
    assert all(f.kind != "shown" for f in one.findings)
    texts = [m.text for m in marks(leans_figure(summary_of(one).cells))]
    assert not any("average " in text and "," in text for text in texts)


def test_the_strip_stands_at_the_risks_of_the_run(even: Run) -> None:
    run = with_floor(even)
    shown = present(strip(run))
    page = render_report([run])
    places = {
        kind: tuple(
            float(v) / 100 for v in re.findall(r"(?:left|width):([\d.]+)%", style)
        )
        for kind, style in re.findall(
            r'<i class="([bvrc])" style="([^"]+)"></i>', page
        )[:4]
    }
    R, floor = run.risks.R, present(run.record.floor).R
    assert shown.ends == ("0: an even split", "1: always the same category of words")
    assert places["b"] == pytest.approx((run.risks.R_bias.value,), abs=1e-4)
    ends = (run.risks.R_bias.value, run.risks.R_volatility.value)
    assert places["v"] == pytest.approx(ends, abs=1.1e-4)
    for kind, e in (("r", R), ("c", floor)):
        low, high = present(e.low), present(e.high)
        assert places[kind] == pytest.approx((low, high - low), abs=1.1e-4)
    size = next(f for f in run.findings if f.kind == "size")
    assert size.numbers["R"].value == pytest.approx(sum(places["v"]), abs=2e-4)


@pytest.fixture(scope="module")
def three() -> list[Run]:
    """Three models, two of which lean alike."""
    return [
        made_run(
            None, groups=30, contexts=60, orders=1, model=f"made/{i}", lean=lean, seed=i
        )
        for i, lean in enumerate((0.4, 0.45, 1.2))
    ]


def test_models_are_points_with_the_intervals_of_the_page(three: list[Run]) -> None:
    names = [run.model for run in three]
    found = marks(risks_figure([with_floor(run) for run in three], names))
    firsts = [m for m in found if m.tip and ": R discrimination" in m.tip]
    order = sorted(range(3), key=lambda i: -three[i].risks.R.value)
    assert [m.tip.partition(":")[0] for m in firsts] == [f"made/{i}" for i in order]
    titles = ("R discrimination", "Rᵇ bias", "Rᵛ volatility")
    for title, measure in zip(titles, ("R", "R_bias", "R_volatility"), strict=True):
        panel = [m for m in found if m.tip and f": {title} " in m.tip]
        values = [getattr(three[i].risks, measure).value for i in order]
        slope = np.polyfit(values, [m.x for m in panel], 1)
        assert np.polyval(slope, values) == pytest.approx([m.x for m in panel], abs=0.5)
    assert (
        len([m for m in found if m.seen.get("opacity") == "0.45" and m.tag == "path"])
        == 9
    )


def test_differences_stand_where_the_verdicts_say(three: list[Run]) -> None:
    compared = compare(*three)
    found = marks(differences_figure(compared))
    dots = {m.tip.partition(" (")[0]: m for m in found if m.tip}
    zero = next(m.x for m in found if m.text == "0")
    said = [f for f in comparison_findings(compared) if f.kind == "difference"]
    pairs = [f for f in said if f.words["measure"] == "R"]
    assert {f.sure for f in pairs} == {"clear", "unclear"}
    for d, finding in zip(
        [d for d in compared.overall if d.measure == "R"], pairs, strict=True
    ):
        value = finding.numbers["difference"].value
        dot = dots[f"{d.a} minus {d.b}: R discrimination {value:+.3f}"]
        assert abs(value) < 0.001 or (dot.x > zero) == (value > 0)
        assert ("--page" in dot.ink) == (finding.sure == "unclear")


def test_several_models_open_with_what_the_riskiest_shows(three: list[Run]) -> None:
    screen = first_screen([summary_of(run, run.model) for run in three])
    top = max(three, key=lambda run: run.risks.R.value)
    assert screen.lede[0] == run_findings(top, top.model)[0].text
    assert screen.title == runs_findings(three, [run.model for run in three])[0].text
    assert screen.behind == "The sentence that shows it most in made/2"
    assert len(screen.examples) == 1
    ranking, spread = screen.pictures
    assert present(ranking.table)["R"].is_monotonic_decreasing
    assert spread.key == "spread"
    assert screen.badge.startswith("Evidence ")


def test_one_side_for_each_category(even: Run) -> None:
    figure = present(distribution_figure(summary_of(even).cells))
    words = " ".join(m.text for m in marks(figure))
    assert re.search(r"← leans to male.*leans to female →", words.replace("\xa0", " "))


def test_a_lean_is_filled_where_it_is_clear_and_dice_have_their_own_axis() -> None:
    rows = [
        ("a", "Steady lean", 0.2, 0.1, 0.3, True),
        ("b", "Steady lean", 0.1, 0.0, 0.2, False),
        ("a", "Dice", 0.9, 0.8, 1.0, True),
        ("b", "Dice", 1.1, 1.0, 1.2, True),
    ]
    table = pd.DataFrame(
        rows, columns=["name", "panel", "value", "low", "high", "clear"]
    )
    panels = [Panel("Steady lean", end=0.3), Panel("Dice", end=1.2)]
    figure = Figure(
        "x", "t", "c", "a",
        draw=lambda width: points_chart(table.assign(text=""), panels=panels, width=width),
    )  # fmt: skip
    dots = {m.tip.strip(): m for m in marks(figure) if m.tip}
    assert "--page" not in dots["a: Steady lean"].ink
    assert "--page" in dots["b: Steady lean"].ink
    apart = dots["a: Steady lean"].x - dots["b: Steady lean"].x
    longer = (dots["b: Dice"].x - dots["a: Dice"].x) / 2
    assert apart == pytest.approx(4 * longer, rel=0.35)


def test_the_axis_of_statements_ends_where_they_end() -> None:
    table = pd.DataFrame(
        [("a", 0.17, 0.15, 0.19), ("b", 0.29, 0.24, 0.35)],
        columns=["text", "cobias", "cobias_low", "cobias_high"],
    )
    figure = Figure(
        "x", "t", "c", "a", draw=lambda width: cobias_chart(table, width=width)
    )
    found = marks(figure)
    ticks = {m.text: float(m.text) for m in found if re.fullmatch(r"\d\.\d", m.text)}
    assert (min(ticks.values()), max(ticks.values())) == (0.1, 0.4)
    value = axis(found, ticks)
    dots = [m for m in found if m.tip]
    assert [value(m.x) for m in dots] == pytest.approx([0.17, 0.29], abs=0.002)
    thick = [
        tuple(map(value, m.ends)) for m in found if m.seen.get("opacity") == "0.45"
    ]
    assert thick == [
        pytest.approx((0.15, 0.19), abs=0.002),
        pytest.approx((0.24, 0.35), abs=0.002),
    ]


def test_little_coverage_fades_the_chart_and_takes_the_headline() -> None:
    run = made_run(None, groups=9, contexts=12)
    present(run.preferences.coverage)[:] = 1e-5
    assert run.findings[0].kind == "improbable"
    dots = [m for m in marks(leans_figure(summary_of(run).cells)) if m.tip]
    assert {m.seen["opacity"] for m in dots} == {"0.35"}
    assert strip(run) is None
