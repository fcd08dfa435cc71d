"""What is drawn is what is said: numbers and directions read out of the drawings are those of the
findings."""

from __future__ import annotations

import math
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
from clinometer.findings.finding import Finding
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


def axis(
    figure_marks: list[Mark], tick_values: dict[str, float]
) -> Callable[[float], float]:
    """Return the function from pixels to values: the line through the labels of two ticks."""
    texts = [mark for mark in figure_marks if mark.tag == "text"]
    places = {mark.text: mark.x for mark in texts if mark.text in tick_values}
    assert len(places) >= 2, [mark.text for mark in texts]
    values = [tick_values[text] for text in places]
    slope, start = np.polyfit(list(places.values()), values, 1)
    return lambda x: float(slope * x + start)


def dots_by_name(figure_marks: list[Mark]) -> dict[str, Mark]:
    """Return the marks that have a tip, by what the tip names."""
    return {mark.tip.partition(":")[0]: mark for mark in figure_marks if mark.tip}


def thick_lines(figure_marks: list[Mark]) -> list[Mark]:
    """Return the translucent bars that draw intervals."""
    paths = [mark for mark in figure_marks if mark.tag == "path"]
    return [path for path in paths if path.seen.get("opacity") == "0.45"]


# --- What they must be ----------------------------------------------------------------------------

PERCENT = {"25 %": 0.25, "75 %": 0.75}


@pytest.fixture(scope="module")
def even() -> Run:
    """18 occupations, as many as a chart shows, in 60 sentences that count alike, so that each mean
    has an interval."""
    return made_run(None, groups=18, contexts=60, orders=1)


@pytest.fixture(scope="module")
def lean_marks(even: Run) -> list[Mark]:
    return marks(leans_figure(summary_of(even).cells))


def test_extreme_dots_are_the_groups_of_the_headline(
    even: Run, lean_marks: list[Mark]
) -> None:
    headline = even.findings[0]
    assert headline.words["share"] == "male words"  # which are on the left
    male_leaning, female_leaning = headline.groups.values()
    share_of_female = axis(lean_marks, PERCENT)
    shares = [share_of_female(dot.x) for dot in dots_by_name(lean_marks).values()]
    assert 1 - min(shares) == pytest.approx(male_leaning.value, abs=0.006)
    assert 1 - max(shares) == pytest.approx(female_leaning.value, abs=0.006)


def test_clear_dots_have_the_colour_of_their_side(
    even: Run, lean_marks: list[Mark]
) -> None:
    share_of_female = axis(lean_marks, PERCENT)
    male_colour, female_colour = category_colours(2)
    clear_dots = 0
    for dot in dots_by_name(lean_marks).values():
        coloured = dot.ink.endswith((f",{male_colour})", f",{female_colour})"))
        assert dot.tip.endswith("not clear") == (not coloured)
        if coloured:
            clear_dots += 1
            colour = male_colour if share_of_female(dot.x) < 0.5 else female_colour
            assert dot.ink.endswith(f",{colour})")
    assert clear_dots == even.findings[0].clear


def test_thick_lines_are_the_intervals_of_the_leans(
    even: Run, lean_marks: list[Mark]
) -> None:
    share_of_female = axis(lean_marks, PERCENT)
    dots = dots_by_name(lean_marks)
    drawn_intervals = []
    for line in thick_lines(lean_marks):
        left, right = line.ends
        drawn_intervals.append((share_of_female(left), share_of_female(right)))
    assert len(drawn_intervals) == len(even.leans)
    for lean in even.leans:
        # A lean of 1 to female words is a share of 1, one of 1 to male words a share of 0.
        sign = 1 if lean.favoured == "female" else -1
        ends = (0.5 + sign * present(lean.low) / 2, 0.5 + sign * present(lean.high) / 2)
        interval = (min(ends), max(ends))
        distances_to = [
            float(np.abs(np.subtract(d, interval)).sum()) for d in drawn_intervals
        ]
        nearest = drawn_intervals[int(np.argmin(distances_to))]
        assert nearest == pytest.approx(interval, abs=0.004)
        low, high = nearest
        assert low < share_of_female(dots[proper(lean.group)].x) < high


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


@pytest.fixture(scope="module")
def lifted_surnames() -> Run:
    """Applicants named Chen or Nguyen are hired more often, described as Black men less often."""
    rates = {"Black_man": -0.12}
    for group in load_topic("hiring").groups:
        if group.name.endswith(("Chen", "Nguyen")):
            rates[group.name.replace(" ", "_")] = 0.06
    return hiring_run(**rates)


@pytest.fixture(scope="module")
def panel_marks(lifted_surnames: Run) -> list[Mark]:
    return marks(leans_figure(summary_of(lifted_surnames).cells))


def is_description(group: str) -> bool:
    """Return whether applicants are described ("Black man"), not named ("Ashley Chen")."""
    return group.endswith(("woman", "man"))


def panel_of(figure_marks: list[Mark], kind: str) -> tuple[str, list[Mark]]:
    """Return the title of a panel, and the marks from it to the next panel's title."""
    titles = []
    for name in ("First name", "Surname", "Description"):
        titles.append(next(m for m in figure_marks if m.text.startswith(f"{name},")))
    title = next(m for m in titles if m.text.startswith(f"{kind},"))
    bottom = min((m.y for m in titles if m.y > title.y), default=math.inf)
    return title.text, [m for m in figure_marks if title.y <= m.y < bottom]


def checked_panel(
    figure_marks: list[Mark], kind: str, expected: dict[str, float], spread: float
) -> tuple[str, list[Mark]]:
    """Check dots, in percentage points, and how far apart they are; return title and clear dots."""
    title, panel = panel_of(figure_marks, kind)
    points = axis(figure_marks, {"−10": -10, "0": 0, "+10": 10})
    dots = dots_by_name(panel)
    assert dots.keys() == expected.keys()
    for name, dot in dots.items():
        assert points(dot.x) == pytest.approx(expected[name], abs=0.15)
    drawn = [points(dot.x) for dot in dots.values()]
    assert max(drawn) - min(drawn) == pytest.approx(spread, abs=0.2)
    clear_dots = [dot for dot in dots.values() if not dot.tip.endswith("not clear")]
    assert all("--page" not in dot.ink for dot in clear_dots)
    return title, clear_dots


def shown_finding(run: Run) -> Finding:
    """Return the finding on how people are shown."""
    return next(finding for finding in run.findings if finding.kind == "shown")


def shares_of_yes(run: Run) -> dict[str, float]:
    """Return the mean share of the first category of each group."""
    preferences = run.preferences
    means = preferences.grid.mean(preferences.values)[:, 0]
    return {
        group: float(mean)
        for group, mean in zip(preferences.groups, means, strict=True)
    }


@pytest.mark.parametrize(
    ("kind", "position", "number"), [("First name", 0, 4), ("Surname", 1, 8)]
)
def test_panels_of_names_show_means_over_their_bearers(
    lifted_surnames: Run, panel_marks: list[Mark], kind: str, position: int, number: int
) -> None:
    shares_of_name: dict[str, list[float]] = {}
    for group, share in shares_of_yes(lifted_surnames).items():
        if not is_description(group):
            shares_of_name.setdefault(group.split()[position], []).append(share)
    means = {name: float(np.mean(shares)) for name, shares in shares_of_name.items()}
    assert len(means) == number
    average = float(np.mean(list(means.values())))
    expected = {name: 100 * (mean - average) for name, mean in means.items()}
    finding = shown_finding(lifted_surnames)
    spread = finding.numbers[f"{kind.lower()}s"].value
    title, clear_dots = checked_panel(panel_marks, kind, expected, spread)
    assert title.endswith(f"average {percent(average)}")
    assert len(clear_dots) == finding.tally[f"{kind.lower()}s"]


def test_the_panel_of_descriptions_shows_distances_from_the_mean_of_all(
    lifted_surnames: Run, panel_marks: list[Mark]
) -> None:
    shares = shares_of_yes(lifted_surnames)
    mean = float(np.mean(list(shares.values())))
    expected = {}
    for group, share in shares.items():
        if is_description(group):
            expected[group] = 100 * (share - mean)
    assert len(expected) == 8
    spread = shown_finding(lifted_surnames).numbers["descriptions"].value
    title, clear_dots = checked_panel(panel_marks, "Description", expected, spread)
    assert title.endswith(f"mean of all {percent(mean)}")
    clear_leans = [lean for lean in lifted_surnames.leans if lean.category is not None]
    clear_descriptions = [lean for lean in clear_leans if is_description(lean.group)]
    assert len(clear_dots) == len(clear_descriptions)


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


def bars_of_strip(page: str) -> dict[str, list[float]]:
    """Return, by its class, the left end and width of each bar of the first strip as shares."""
    bars = re.findall(r'<i class="([bvrc])" style="([^"]+)"></i>', page)
    places = {}
    for kind, style in bars[:4]:
        percentages = re.findall(r"(?:left|width):([\d.]+)%", style)
        places[kind] = [float(percentage) / 100 for percentage in percentages]
    return places


def test_the_strip_stands_at_the_risks_of_the_run(even: Run) -> None:
    run = with_floor(even)
    assert present(strip(run)).ends == (
        "0: an even split",
        "1: always the same category of words",
    )
    bars = bars_of_strip(render_report([run]))
    bias = run.risks.R_bias.value
    volatility = run.risks.R_volatility.value
    # Bias begins at 0, volatility where bias ends: together they are as wide as R.
    assert bars["b"] == pytest.approx([bias], abs=1e-4)
    assert bars["v"] == pytest.approx([bias, volatility], abs=1.1e-4)
    for kind, estimate in (("r", run.risks.R), ("c", present(run.record.floor).R)):
        low = present(estimate.low)
        width = present(estimate.high) - low
        assert bars[kind] == pytest.approx([low, width], abs=1.1e-4)
    size = next(finding for finding in run.findings if finding.kind == "size")
    assert size.numbers["R"].value == pytest.approx(sum(bars["v"]), abs=2e-4)


@pytest.fixture(scope="module")
def three() -> list[Run]:
    """Three models, two of which lean alike."""
    return [
        made_run(
            None, groups=30, contexts=60, orders=1, model=f"made/{i}", lean=lean, seed=i
        )
        for i, lean in enumerate((0.4, 0.45, 1.2))
    ]


@pytest.mark.parametrize(
    ("title", "measure"),
    [
        ("R discrimination", "R"),
        ("Rᵇ bias", "R_bias"),
        ("Rᵛ volatility", "R_volatility"),
    ],
)
def test_models_stand_in_order_of_risk_at_their_values(
    three: list[Run], model_marks: list[Mark], title: str, measure: str
) -> None:
    dots = [mark for mark in model_marks if mark.tip and f": {title} " in mark.tip]
    by_risk = sorted(three, key=lambda run: run.risks.R.value, reverse=True)
    assert [dot.tip.partition(":")[0] for dot in dots] == [run.model for run in by_risk]
    # Places are values on some straight axis: a line through them leaves nothing over.
    values = [getattr(run.risks, measure).value for run in by_risk]
    places = [dot.x for dot in dots]
    line = np.polyfit(values, places, 1)
    assert np.polyval(line, values) == pytest.approx(places, abs=0.5)


def test_every_risk_of_a_model_has_an_interval(model_marks: list[Mark]) -> None:
    assert len(thick_lines(model_marks)) == 9  # three risks of three models


@pytest.fixture(scope="module")
def model_marks(three: list[Run]) -> list[Mark]:
    names = [run.model for run in three]
    return marks(risks_figure([with_floor(run) for run in three], names))


def test_differences_stand_where_the_verdicts_say(three: list[Run]) -> None:
    compared = compare(*three)
    differences = [d for d in compared.overall if d.measure == "R"]
    findings = []
    for finding in comparison_findings(compared):
        if finding.kind == "difference" and finding.words["measure"] == "R":
            findings.append(finding)
    assert {finding.sure for finding in findings} == {"clear", "unclear"}

    figure_marks = marks(differences_figure(compared))
    zero = next(mark.x for mark in figure_marks if mark.text == "0")
    dots = {mark.tip.partition(" (")[0]: mark for mark in figure_marks if mark.tip}
    for difference, finding in zip(differences, findings, strict=True):
        value = finding.numbers["difference"].value
        pair = f"{difference.a} minus {difference.b}"
        dot = dots[f"{pair}: R discrimination {value:+.3f}"]
        if abs(value) >= 0.001:
            assert (dot.x > zero) == (value > 0)
        hollow = "--page" in dot.ink
        assert hollow == (finding.sure == "unclear")


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
