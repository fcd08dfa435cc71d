"""One HTML page about one or several runs: a single file, no request, everything escaped.

The first screen is followed by a section per run, in the order of a reader's questions; what the
numbers mean is said in plain words, how sure they are, and what they do not mean.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clinometer.display.numbers import between, counted, percent, risk
from clinometer.display.text import brief, plain, proper, visible
from clinometer.errors import ClinometerError, SettingsError
from clinometer.findings.finding import Finding
from clinometer.measure import Estimate
from clinometer.measure.criterion import CRITERIA
from clinometer.measure.risks import CONTEXT_RISKS, MEASURES, RISKS
from clinometer.report import tables
from clinometer.report.cell_statistics import (
    Example,
    RunSummary,
    is_answered,
    pick_examples,
    top_examples,
)
from clinometer.report.document import asset, render_document
from clinometer.report.export import format_of, write_as
from clinometer.report.figure import Figure
from clinometer.report.figures.distances import distances
from clinometer.report.figures.distribution import distribution_figure
from clinometer.report.figures.groups import leans_figure
from clinometer.report.figures.models import differences_figure, risks_figure
from clinometer.report.figures.parts import PARTS, parts_figure, parts_rows
from clinometer.report.figures.spread import spread_figure
from clinometer.report.figures.swing import swing_figure
from clinometer.runs import Run, compare
from clinometer.runs.compared import runs_findings
from clinometer.runs.findings.case import strongest_case
from clinometer.runs.findings.cautions import cautions
from clinometer.runs.findings.of_models import edited_models, leaning
from clinometer.runs.findings.of_run import HEADLINES, next_step
from clinometer.runs.folder.cells import cell_words
from clinometer.runs.folder.record import find_topic
from clinometer.runs.folder.recover import LoadedRun, open_runs, require_some
from clinometer.runs.names import context_noun, group_noun, groups_noun
from clinometer.runs.protocol import protocol_sentences
from clinometer.tables import Table
from clinometer.topics.prompt import english_article

T = TypeVar("T")

#: A run, its folder, or a folder as `open_run` found it.
Source = Run | LoadedRun | str | Path

#: Number of the worst sentences whose words are in an interactive page.
_HELD_WORDS = 50

#: Maximum number of runs that a page compares in pairs; with more, the table is unreadable.
_MOST_COMPARED = 5


@dataclass(frozen=True)
class Extra:
    """A part that a caller adds to a report: `first` a study of its runs, else what they end in."""

    title: str
    text: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    first: bool = False


@dataclass(frozen=True)
class PagePart(Extra):
    """One question with its answer; `folded` tables open on a click."""

    key: str = ""
    examples: tuple[Example, ...] = ()
    folded: tuple[Table, ...] = ()
    collapsed: bool = False


def write_report(
    runs: Sequence[Source],
    out: str | Path,
    *,
    extras: Sequence[Extra] = (),
    interactive: bool = False,
) -> list[Path]:
    """Write a report in the format that the ending of `out` names; returns the files.

    `.html` is the page; `.md`, `.tex` and `.json` are its tables in one file; `.csv` is a file for
    each table, `.svg` and `.png` are one for each chart: `x.csv` gives `x-groups.csv` and others.
    `interactive` puts the viewer's page of the run, with its data, into the page; it takes a single
    run that can be measured.
    """
    if format_of(Path(out)) != "html" and interactive:
        raise SettingsError(
            f"interactive: expected a name that ends in .html, found {out}"
        )
    report = Report.of(runs, extras=extras, interactive=interactive)
    return write_as(
        Path(out), page=report.page, tables=report.tables, figures=report.figures
    )


def render_report(
    runs: Sequence[Source], *, extras: Sequence[Extra] = (), interactive: bool = False
) -> str:
    """The page as text, of runs or of their folders."""
    return Report.of(runs, extras=extras, interactive=interactive).page()


def run_figure(run: Run) -> Figure:
    """The first figure of the page of a run."""
    return Report.of([run]).screens[0].pictures[0]


@dataclass(frozen=True, eq=False)
class Report:
    """A page about runs, its tables and its charts; what several of them need is made once."""

    opened: Sequence[LoadedRun]
    extras: Sequence[Extra] = ()
    interactive: bool = False

    @classmethod
    def of(cls, runs: Sequence[Source], **options: Any) -> Report:
        """The report on runs or their folders; nothing to show is an error."""
        opened = open_runs(
            [
                LoadedRun(r.path or Path(), r.model, "finished", run=r, record=r.record)
                if isinstance(r, Run)
                else r
                for r in runs
            ]
        )
        require_some(opened)
        return cls(opened, **options)

    @cached_property
    def summaries(self) -> dict[int, RunSummary]:
        """The runs that can be measured, by index."""
        return {
            i: RunSummary(one)
            for i, one in enumerate(self.opened)
            if one.run is not None
        }

    @cached_property
    def screens(self) -> list[Screen]:
        """One first screen for each set of runs that share an axis."""
        kinds: dict[tuple[Any, ...], list[RunSummary]] = {}
        for one in self.summaries.values():
            kind = (one.run.risks.categories, one.run.risks.criterion)
            kinds.setdefault(kind, []).append(one)
        screens = [first_screen(part) for part in kinds.values()]
        if len(screens) == 1:
            return screens
        return [
            replace(
                s, pictures=tuple(replace(f, key=f"{i}-{f.key}") for f in s.pictures)
            )
            for i, s in enumerate(screens, start=1)
        ]

    @cached_property
    def compared(self) -> Extra | None:
        """Every pair of a few runs; None where they cannot be paired."""
        runs = [
            one.run
            for one in self.opened
            if one.run is not None and one.state == "finished"
        ]
        if not 2 <= len(runs) <= _MOST_COMPARED:
            return None
        try:
            found = compare(*runs)
        except ClinometerError:
            return None  # another topic or other contexts: shown side by side, unpaired
        return Extra(
            "The models compared",
            figures=(differences_figure(found),),
            tables=tuple(tables.comparison_tables(found)),
        )

    @cached_property
    def sections(self) -> list[Section]:
        """A section for each run; of one that cannot be read, what is stored of its settings."""
        found, alone = [], len(self.opened) == 1
        for i, one in enumerate(self.opened):
            shown = Section(section_key(i, one), one.name, one.notice)
            if (summary := self.summaries.get(i)) is None:
                stored = tuple(tables_of(one, None))
                part = PagePart("What is stored", tables=stored, key="stored")
                shown = replace(shown, parts=(part,))
            else:
                parts, names = (
                    tuple(_parts(summary, alone)),
                    summary.run.preferences.categories,
                )
                decides = summary.run.outcome.coloured
                shown = replace(shown, parts=parts, categories=names, decides=decides)
            found.append(shown)
        return found

    def page(self) -> str:
        """The page as text."""
        opened, runs = self.opened, [one.run for one in self.summaries.values()]
        if self.interactive and (len(opened) != 1 or not runs):
            raise SettingsError(
                f"interactive: expected one run that can be measured, found {len(opened)} with "
                f"{len(runs)} of them; write one page per run"
            )
        title = f"{len(runs)} runs on {len(self.screens)} kinds of topic"
        if len(self.screens) < 2:
            left = f"What is left of {', '.join(brief(one.name, 40) for one in opened)}"
            title = self.screens[0].title if self.screens else left
        explorer = ""
        if (
            self.interactive
        ):  # as text that cannot end the block of the page that holds it
            data = explorer_data(self.summaries[0], words=_HELD_WORDS)
            explorer = data.replace("<", "\\u003c")
        return render_document(
            "report.html",
            css=asset("explorer.css") if explorer else "",
            scripts=[asset("page.js"), *([asset("explorer.js")] if explorer else [])],
            title=title,
            topic=" · ".join(dict.fromkeys(one.topic for one in opened if one.topic)),
            names=[one.name for one in opened],
            explorer=explorer,
            notices=[one.notice for one in opened if one.notice],
            screens=self.screens,
            sections=self.sections,
            numbers=_some(tables.parts_table(opened), tables.risks_table(opened)),
            comparison=self.compared,
            extras=self.extras,
            study=any(extra.first for extra in self.extras),
            asked=runs
            and all(r.outcome.asks_questions or r.preferences.counted for r in runs),
        )

    def figures(self) -> list[Figure]:
        """Every figure of the page, with unique keys: what .svg and .png hold."""
        found = [f for screen in self.screens for f in screen.pictures]
        found += self.compared.figures if self.compared else ()
        for one in self.sections:
            prefix = f"{one.key}-" if len(self.sections) > 1 else ""
            found += [
                replace(f, key=prefix + f.key)
                for part in one.parts
                for f in part.figures
            ]
        for i, extra in enumerate(self.extras, start=1):
            prefix = f"{i}-" if len(self.extras) > 1 else ""
            found += [replace(f, key=prefix + f.key) for f in extra.figures]
        return found

    def tables(self) -> list[Table]:
        """Every table of the page, with unique keys: what .csv, .json, .md and .tex hold."""
        every = [
            tables.risks_table(self.opened),
            *_some(tables.parts_table(self.opened)),
        ]
        every += self.compared.tables if self.compared else ()
        for i, one in enumerate(self.opened):
            for table in tables_of(one, self.summaries.get(i)):
                if len(self.opened) > 1:
                    key = f"{section_key(i, one)}-{table.key}"
                    table = replace(table, key=key, title=f"{table.title}: {one.name}")
                every.append(table)
        return every


@dataclass(frozen=True, eq=False)
class Section:
    """The part of a page about one run."""

    key: str
    name: str
    notice: str = ""
    parts: tuple[PagePart, ...] = ()
    categories: tuple[str, ...] = ()
    decides: int | None = None


def _parts(summary: RunSummary, alone: bool) -> list[PagePart]:
    """The questions of a run. Of one of several the first screen has no chart of its groups, and
    the page leaves out what only a reader of this run asks: `report` of it alone has that."""
    run, cells = summary.run, summary.cells
    by_key = {t.key: t for t in tables_of(summary.opened, summary)}
    noun, groups = context_noun(run), groups_noun(run)
    answered = "distances" in by_key
    chosen = "The answers with the largest share of R"
    if answered:
        chosen = f"The answers furthest from what all {groups} get"
    how = "A column of one colour is a steady lean; a column of mixed colours is swing."
    risks = _some(tables.risks_table([summary.opened]) if alone else None)
    parts = [
        PagePart(
            f"Which {groups}?",
            key="groups",
            figures=_some(None if alone else leans_figure(cells)),
            tables=(by_key["distances" if answered else "groups"],),
        ),
        PagePart(
            f"Which {noun}s?",
            (f"{chosen}, each {noun} once.",),
            key="sentences",
            examples=tuple(top_examples(cells, 8 if alone else 4)),
            folded=(by_key["cells"],),
        ),
        PagePart(
            "What makes it swing?",
            _some(
                how if alone else None,
                *(f.text for f in run.findings if f.kind == "factors"),
            ),
            _some(swing_figure(cells) if alone else None),
            _some(by_key.get("factors")),
            key="swing",
            folded=(by_key["contexts"],),
        ),
        PagePart("How sure is it?", tuple(sentences(run)), key="sure"),
        PagePart(
            "Against what reference?", tables=() if answered else risks, key="reference"
        ),
        PagePart(
            "How was it asked?",
            key="asked",
            folded=(by_key["flags"], by_key["settings"]),
        ),
        PagePart(
            "For researchers",
            figures=_some(
                distribution_figure(cells, groups=outermost(run)) if alone else None
            ),
            tables=(*risks, by_key["groups"]) if answered else (),
            key="research",
            collapsed=True,
        ),
    ]
    return [p for p in parts if p.text or p.figures or p.tables or p.folded]


def tables_of(one: LoadedRun, summary: RunSummary | None) -> list[Table]:
    """Every table of a run: what .csv, .json, .md and .tex hold."""
    if summary is None:
        return (
            [] if one.record is None else [tables.settings_table(one.record.to_dict())]
        )
    run, cells = summary.run, summary.cells
    return [
        tables.cells_table(cells),
        tables.groups_table(run),
        *_some(
            tables.distances_table(run) if run.outcome.chart == "distances" else None
        ),
        tables.contexts_table(cells),
        *_some(tables.factors_table(run)),
        tables.flags_table(run),
        tables.settings_table(run.record.to_dict()),
    ]


def outermost(run: Run) -> list[str]:
    """The groups that lean furthest in each direction, to compare with all of them."""
    mean = run.risks.mean_stereotype[:, 0]
    order = [
        run.risks.groups[x]
        for x in np.argsort(mean, kind="stable")
        if not np.isnan(mean[x])
    ]
    return [order[-1], order[0]] if len(order) > 2 else []


def section_key(number: int, one: LoadedRun) -> str:
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in one.name.lower())
    return f"run{number + 1}-{plain.strip('-')[:40] or 'model'}"


def _some(*each: T | None) -> tuple[T, ...]:
    """Those that there are."""
    return tuple(one for one in each if one is not None)


# --- The first screen: headline, the risk on its axis, pictures and examples ----------------------


@dataclass(frozen=True)
class Chip:
    """A number of the first screen: its name, value and interval."""

    name: str
    value: str
    interval: str = ""
    kind: str = ""
    about: str = ""


@dataclass(frozen=True)
class Strip:
    """The risk on an axis that begins at 0: steady lean and swing end to end, the interval of R,
    and the range of shuffled words.

    parts     the ends of the steady lean and of the swing, as shares of the axis
    interval  of R, as shares of the axis; None without one
    chance    the same of shuffled words; None where there are none
    ends      what the ends of the axis mean
    key       what its marks stand for, with their numbers
    """

    parts: tuple[float, float]
    interval: tuple[float, float] | None
    chance: tuple[float, float] | None
    ends: tuple[str, str]
    key: tuple[Chip, ...]

    @property
    def alt(self) -> str:
        """The text alternative."""
        said = "; ".join(
            f"{c.name} {c.value}" + f" ({c.interval})" * bool(c.interval)
            for c in self.key
        )
        return f"{said}. Axis from {self.ends[0]} to {self.ends[1]}."


@dataclass(frozen=True, eq=False)
class Screen:
    """The content above the fold; `behind` is the heading of the examples, `notes` are headings
    with their texts in the place of examples."""

    title: str
    lede: tuple[str, ...] = ()
    strip: Strip | None = None
    badge: str = ""
    pictures: tuple[Figure, ...] = ()
    examples: tuple[Example, ...] = ()
    categories: tuple[str, ...] = ()
    behind: str = ""
    decides: int | None = None
    notes: tuple[tuple[str, str], ...] = ()


def first_screen(summaries: Sequence[RunSummary]) -> Screen:
    """The first screen of one run, or of several: of words who leans where, of replies and
    decisions lean, swing and dice in their own unit."""
    names, runs = [s.opened.name for s in summaries], [s.run for s in summaries]
    split = parts_figure(runs, names)
    if len(summaries) == 1:
        one = summaries[0]
        replied = split is not None and runs[0].outcome.leads_with_parts
        return Screen(
            one.title,
            lede(one.run),
            None if split else strip(one.run),
            _replies_badge(runs) if replied else badge(one.run),
            (leans_figure(one.cells), *([split] if split else [])),
            tuple(pick_examples(one.cells)),
            one.run.preferences.categories,
            f"The {context_noun(one.run)}s behind it",
            one.run.outcome.coloured,
        )
    if split is not None and runs[0].outcome.leads_with_parts:
        return _scores_screen(summaries, split)
    top = max(summaries, key=lambda s: s.run.risks.R.value)
    spread = spread_figure([s.cells for s in summaries], names)
    first = runs_findings(runs, names)[0]
    level, why = min(map(evidence, runs), key=lambda e: _LEVELS.index(e[0]))
    how = {
        "thin": level == "thin",
        "replies": any(run.preferences.counted for run in runs),
    }
    return Screen(
        first.text,
        (top.title, f"R is the {CRITERIA[runs[0].risks.criterion.name]}."),
        None,
        f"Evidence {level}: {why}{_next(first, **how)}",
        (split or risks_figure(runs, names), *([spread] if spread else [])),
        tuple(pick_examples(top.cells)[:1]),
        top.run.preferences.categories,
        f"The {context_noun(top.run)} that shows it most in {brief(top.opened.name, 40)}",
        top.run.outcome.coloured,
    )


def _scores_screen(summaries: Sequence[RunSummary], split: Figure) -> Screen:
    """Repeated scores of several models: who leans, what an irrelevant edit does and which answer
    shows it, beside lean, swing and dice."""
    runs, names = [s.run for s in summaries], [s.opened.name for s in summaries]
    listed = leaning(runs)
    leans = [
        0.0 if (s := run.record.components) is None else s.lean.value for run in runs
    ]
    top = max(listed, key=leans.__getitem__, default=0)
    case = strongest_case(summaries[top].opened.run or runs[top])
    first = runs_findings(runs, names)[0]
    edited = edited_models(runs)
    notes = [("What an irrelevant edit does", edited.text)] if edited else []
    if case and listed:
        notes.append((f"Where {brief(names[top], 40)} shows it most", case.text))
    swap = "A clear lean in one and not in another is no difference yet: clinometer compare A B."
    notes.append(("May one replace another?", swap))
    return Screen(
        first.text,
        tuple(
            one.text for i in listed for one in runs[i].findings if one.kind == "scores"
        ),
        badge=_replies_badge(runs) + _next(first, replies=True),
        pictures=(split,),
        notes=tuple(notes),
    )


def _replies_badge(runs: Sequence[Run]) -> str:
    """What repeated replies rest on."""
    parts, noun = runs[0].record.components, context_noun(runs[0])
    asked = (
        ""
        if parts is None
        else f" × {parts.contexts} {noun}s × {parts.replies:.2g} replies"
    )
    return f"{len(runs[0].preferences.groups)} {groups_noun(runs[0])}{asked}"


#: How strong evidence is, the weakest first; of several runs the weakest counts.
_LEVELS = ("thin", "fair", "good", "exact")

#: Ends of an axis of risks that do not reach the end of their scale.
_AXIS_ENDS = (0.02, 0.05, 0.1, 0.2, 0.5)


def strip(run: Run) -> Strip | None:
    """The risk on its axis; None where there is none to speak of."""
    report = run.risks
    if run.findings[0].kind in ("nothing", "improbable", "alike"):
        return None
    R, floor = report.R, None if run.record.floor is None else run.record.floor.R
    given = [
        v
        for e in (R, floor)
        if e is not None
        for v in (e.value, e.high)
        if v is not None
    ]
    top = report.criterion.top
    end = next((e for e in _AXIS_ENDS if max(given) <= 0.9 * e and e < top), top)
    if np.isinf(end):
        end = 1.1 * max(given)
    bias = report.R_bias.value
    return Strip(
        (bias / end, (bias + report.R_volatility.value) / end),
        span(R, end),
        None if floor is None else span(floor, end),
        _axis_ends(run, end),
        tuple(_risk_chips(run)),
    )


def span(e: Estimate, end: float = 1.0) -> tuple[float, float] | None:
    """The interval of a number as shares of an axis that ends at `end`; None without one."""
    return (
        None
        if e.low is None or e.high is None
        else (e.low / end, min(e.high / end, 1.0))
    )


def _axis_ends(run: Run, end: float) -> tuple[str, str]:
    """What the two ends of the axis of R mean."""
    zero = run.outcome.reference.zero.format(one=group_noun(run))
    return zero, run.outcome.risk_end(end)


def badge(run: Run) -> str:
    """How far the numbers can be trusted, what they rest on, and what would tell more."""
    level, why = evidence(run)
    how = {
        "finished": run.record.finished,
        "thin": level == "thin",
        "replies": run.preferences.counted,
    }
    return f"Evidence {level}: {why}{_next(run.findings[0], **how)}"


def _next(first: Finding, **how: bool) -> str:
    return f" · next: {step}" if (step := next_step(first, **how)) else ""


def chips(run: Run) -> tuple[Chip, ...]:
    """The numbers of a run and their evidence, for the line above the explorer: lean, swing and
    dice of replies, R and its two components of words."""
    listed = _parts_chips(run) or _risk_chips(run)
    for mean in CONTEXT_RISKS:
        e = run.risks.summary.get(mean.name)
        if e is not None and mean.meaning and not run.outcome.reference.is_mean:
            about = mean.meaning.format(context=context_noun(run))
            ends = between(e.low, e.high)
            listed.append(Chip(mean.label, risk(e.value), ends, "", about))
    if (placebo := run.record.placebo) is not None:
        scale = run.outcome.unit.factor
        about = "How far an edit that should not matter moves the answer, beside another group."
        beside = f"another {group_noun(run)} {scale * placebo.groups:.2g}"
        moved = f"{scale * placebo.edit:.2g} {run.outcome.unit.name}"
        listed.append(Chip("irrelevant edit", moved, beside, "", about))
    level, why = evidence(run)
    about = "How far the numbers can be trusted."
    return (*listed, Chip("evidence", level, why, "evidence", about))


def _parts_chips(run: Run) -> list[Chip]:
    if not run.outcome.reference.is_mean:
        return []
    unit, digits = run.outcome.unit.name, f".{run.outcome.unit.digits}f"
    one, noun = group_noun(run), context_noun(run)
    about = (
        f"A standard deviation between {one}s, the same in every {noun}.",
        f"A standard deviation between {one}s, another in another {noun}.",
        "The standard deviation of the same request, asked again.",
    )
    chips = []
    for row in parts_rows([run], [run.model]):
        for part, words, kind in zip(PARTS, about, ("b", "v", ""), strict=True):
            if row[part.key] is not None:
                low, high = (row[f"{part.key}_{end}"] for end in ("low", "high"))
                ends = "" if low is None else f"{low:{digits}}–{high:{digits}}"
                value = f"{row[part.key]:{digits}} {unit}"
                chips.append(Chip(part.title.lower(), value, ends, kind, words))
    return chips


def _risk_chips(run: Run) -> list[Chip]:
    """R and its two parts, in points of a scale if there is one, and what shuffled words give."""
    report, noun = run.risks, context_noun(run)
    unit = report.criterion.length
    named = []
    for measure, kind in zip(MEASURES, ("r", "b", "v"), strict=True):
        part = RISKS[measure]
        about = part.meaning.format(context=noun)
        named.append((part.label, report.summary[measure], kind, about))
    if run.record.floor is not None:
        about = "R of the same words, shuffled between the categories: what the lists alone give."
        named.append(("shuffled words", run.record.floor.R, "c", about))
    chips = []
    for name, e, kind, about in named:
        low, high = (None if v is None else unit * v for v in (e.low, e.high))
        value = f"{unit * e.value:.2f} points" if unit != 1 else risk(e.value)
        chips.append(Chip(name, value, between(low, high), kind, about))
    return chips


# --- In plain words -------------------------------------------------------------------------------

#: Fewer effective contexts, or an interval wider than this share of R, are thin evidence.
_THIN_N, _THIN_WIDTH = 30, 0.5
_GOOD_N, _GOOD_WIDTH = 100, 0.25


def lede(run: Run) -> tuple[str, ...]:
    """What follows the headline: how much of R is steady, and what else moves the answer. The strip
    below it has R and what it is measured from, the badge the number of contexts."""
    said = {one.kind: one.text for one in run.findings[1:]}
    kinds = (
        "judge",
        *HEADLINES,
        "shown",
        "placebo",
        "parts",
        "steady",
        "shared",
        "other",
    )
    return tuple(said[kind] for kind in (*kinds, "shuffled") if kind in said)


def sentences(run: Run) -> list[str]:
    """A run in a few sentences: its findings, its risks, and what a reader must know first."""
    report = run.risks
    said = [
        *(one.text for one in run.findings),
        f"R is {estimate(report.R)}, bias risk {estimate(report.R_bias)}, volatility risk "
        f"{estimate(report.R_volatility)}.",
    ]
    return [*said, *protocol_sentences(run.record.protocol), *cautions(run)]


def estimate(e: Estimate) -> str:
    """0.253 (95 % interval 0.192 to 0.346)."""
    if e.low is None or e.high is None or e.level is None:
        return risk(e.value)
    return f"{risk(e.value)} ({100 * e.level:g} % interval {between(e.low, e.high, to=' to ')})"


def evidence(run: Run) -> tuple[str, str]:
    """How strong the evidence is (thin, fair, good), and what it rests on."""
    report, R = run.risks, run.risks.R
    worth = contexts_worth(run)
    n = min(report.n_eff, float(report.n_contexts))
    if R.low is None or R.high is None or R.value <= 0:
        exact = run.record.model.kind == "reference"
        return ("exact", "a reference model") if exact else ("thin", worth)
    other = run.record.other
    if other is not None and other.share > 0.5:
        return (
            "thin",
            f"{percent(1 - other.share)} of the answers of {worth} are decided",
        )
    width = (R.high - R.low) / R.value
    if n < _THIN_N or width > _THIN_WIDTH:
        return "thin", worth
    return ("good" if n >= _GOOD_N and width <= _GOOD_WIDTH else "fair"), worth


def contexts_worth(run: Run) -> str:
    """10 sentences that count like 4: never like more than there are."""
    report = run.risks
    n, worth = report.n_contexts, min(round(report.n_eff), report.n_contexts)
    count = counted(n, context_noun(run))
    return count if worth >= n else f"{count} that count like {worth}"


# --- What the explorer shows of a run -------------------------------------------------------------
#
# As JSON: names and sentences, and columns of numbers. `assets/explorer.js` reads it, fetched from
# the viewer or held by an interactive page. Columns are little-endian typed arrays in base64:
# 240,000 shares take a megabyte, and a browser has them in a moment.

#: A missing share; shares run from 0 to one less.
MISSING = 65535
_WORST = 50  # sentences on the list of the strongest
_LONGEST = 4000  # characters of a label; longer ones are cut


def explorer_data(summary: RunSummary, *, words: int = 0) -> str:
    """The JSON. `words`: for how many of the strongest answers it holds the words too (0 for a page
    that can ask a server for them)."""
    run, cells = summary.run, summary.cells
    report, p = run.risks, run.preferences
    worst = worst_cells(summary)
    columns: dict[str, NDArray[Any]] = {
        "share": cells.share,
        "low": cells.share_range[0],
        "high": cells.share_range[1],
        "favoured": np.where(cells.side < 0, 255, cells.side).astype("<u1"),
        "clear": cells.clear.astype("<u1"),
        "context_mean": cells.context_mean,
        "influence": p.influence(),
        "faint": np.packbits(p.low_coverage.ravel(), bitorder="little"),
        "strength": _quantised(cells.depth, 255, "<u1"),
        "p": _quantised(p.values[:, :, :-1], MISSING, "<u2"),
    }
    if run.outcome.chart == "distances":
        away = distances(run).set_index("group").reindex(list(p.groups))
        columns |= {
            name: away[name].to_numpy() for name in ("away", "away_low", "away_high")
        }
        star = np.broadcast_to(p.grid.reference, p.values.shape)[0]
        columns["mean_share"] = star.astype(float)
    for name in ("r", "r_bias", "r_volatility"):
        columns[name] = getattr(report, name)
        if report.intervals is not None:
            columns[f"{name}_ends"] = getattr(report.intervals, name)
    content = {
        **_about(summary),
        "worst": worst,
        "compared": int((~np.isnan(cells.trusted)).sum()),
        "words": {f"{x},{c}": answer_words(run, x, c) for x, c, _ in worst[:words]},
        "columns": {name: _packed(values) for name, values in columns.items()},
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def worst_cells(summary: RunSummary, n: int = _WORST) -> list[tuple[int, int, float]]:
    """(group, context, strength) of the strongest answers, each sentence once; answers whose words
    carry hardly any probability come last."""
    cells = summary.cells
    strength = np.where(cells.cell_weights > 0, cells.strength, np.nan)
    score = np.nan_to_num(strength, nan=-1.0) - 2.0 * np.isnan(cells.trusted)
    answered = (
        cell for cell in cells.ordered(score, 10 * n) if not np.isnan(strength[cell])
    )
    return [
        (*cell, round(float(strength[cell]), 4))
        for cell in cells.one_a_sentence(answered, n)
    ]


def answer_words(run: Run, x: int, c: int) -> list[tuple[str, float, list[int]]]:
    """The words of one answer: (word, probability, categories), the likeliest first."""
    categories = run.preferences.categories
    return [
        (
            visible(w.word),
            w.probability,
            [categories.index(k) for k in w.categories if k in categories],
        )
        for w in cell_words(run, x, c)
        if w.probability > 0
    ]


def _about(summary: RunSummary) -> dict[str, Any]:
    """Everything but the columns."""
    run = summary.run
    p = run.preferences
    topic = find_topic(run.record)
    english = run.record.topic.language.lower().startswith("en")
    texts, articles = [], []
    for group in p.groups:
        if topic is not None and group in topic.group_names:
            text, article = topic.written(group)
        else:
            text, article = group, english_article(group) if english else None
        texts.append(visible(text))
        articles.append(article)
    even = p.reference is None or np.asarray(p.reference).ndim != 1
    return {
        "model": visible(summary.opened.name),
        "state": summary.opened.state,
        "noun": groups_noun(run),
        "context": context_noun(run),
        "asked": is_answered(run),
        "points": list(run.risks.criterion.points),
        "unit": run.outcome.unit.name,
        "decides": run.outcome.coloured,
        "categories": list(
            run.outcome.end_names or [proper(visible(c)) for c in p.categories]
        ),
        "reference": [1 / len(p.categories)] * len(p.categories)
        if even
        else plain(p.reference),
        "groups": [proper(brief(g, _LONGEST)) for g in p.groups],
        "texts": texts,
        "articles": articles,
        "contexts": [brief(c, _LONGEST) for c in p.contexts],
        "templates": [visible(t) for t in (p.templates or p.contexts)],
    }


def _quantised(values: NDArray[np.float64], missing: int, kind: str) -> NDArray[Any]:
    levels = np.rint(np.clip(np.nan_to_num(values), 0, 1) * (missing - 1))
    return np.where(np.isnan(values), missing, levels).astype(kind)


def _packed(values: NDArray[Any]) -> dict[str, str]:
    column = values.astype("<f4") if values.dtype.kind == "f" else values
    return {
        "type": f"{column.dtype.kind}{column.dtype.itemsize}",
        "data": base64.b64encode(np.ascontiguousarray(column).tobytes()).decode(),
    }
