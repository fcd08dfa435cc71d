"""The maps of the sheets: clauses of a framework, and what of a run bears on each."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from clinometer import __version__
from clinometer.display.numbers import IN_SENTENCES, MEASURES, counted, percent, risk
from clinometer.errors import SettingsError, closest
from clinometer.measure import Preferences
from clinometer.measure.distribution import weighted_quantile
from clinometer.report.document import render_document
from clinometer.report.export import markdown_text, write_files
from clinometer.report.sentences import estimate
from clinometer.runs import Run

# --- What of a run bears on a clause: each field as a line of text, or as missing with a next
# step


@dataclass(frozen=True)
class FieldOfRun:
    """label, a reader that returns "" where the run lacks it, and how a run gets it."""

    label: str
    read: Callable[[Run], str]
    next_step: str


def _risks(run: Run) -> str:
    parts = [f"{IN_SENTENCES[m]} {estimate(run.risks.summary[m])}" for m in MEASURES]
    return "; ".join(parts)


def _groups(run: Run) -> str:
    seen = [(float(r), g) for r, g in zip(run.risks.r, run.risks.groups, strict=True) if r == r]
    if not seen:
        return ""
    (high, highest), (low, lowest) = max(seen), min(seen)
    ends = f"highest {highest} ({risk(high)}), lowest {lowest} ({risk(low)})"
    return f"{counted(len(seen), 'group')}; {ends}"


def _categories(run: Run) -> str:
    words = run.record.topic.attributes
    return "; ".join(f"{name} ({counted(len(of), 'word')})" for name, of in words.items())


def _protocol(run: Run) -> str:
    found = run.record.protocol
    if found is None:
        return ""
    limits = ", ".join(found.fail_above) or "no threshold"
    changes = f"; deviations: {', '.join(found.deviations)}" if found.deviations else ""
    return f"sha256 {found.sha256[:12]}, created {found.created}, {limits}{changes}"


def _floor(run: Run) -> str:
    found = run.record.floor
    return "" if found is None else f"R {estimate(found.R)} from {found.shuffles} shuffles"


def _coverage(run: Run) -> str:
    cells = run.record.counts.get("cells", 0)
    if not cells or run.preferences.coverage is None:
        return ""
    low = run.record.counts.get("cells_low_coverage", 0)
    return f"{percent(1 - low / cells)} of {counted(cells, 'cell')} carry enough probability"


def _model(run: Run) -> str:
    model = run.record.model
    return f"{model.id}, {model.kind}, revision {model.revision}, {model.dtype}"


def _topic(run: Run) -> str:
    topic = run.record.topic
    groups = counted(topic.groups, "group")
    return f"{topic.title or topic.name}, {groups}, sha256 {topic.sha256[:12]}"


def _contexts(run: Run) -> str:
    found = run.record.contexts
    return f"{found.name}, {counted(found.n, 'context')}, sha256 {found.sha256[:12]}"


def _settings(run: Run) -> str:
    settings = run.record.settings
    return f"population {settings.population}, level {settings.level:g}, seed {settings.seed}"


def _versions(run: Run) -> str:
    return ", ".join(f"{name} {version}" for name, version in run.record.versions.items())


_WITH_INTERVALS = "audit more contexts"
FIELDS = {
    "risks": FieldOfRun("Risks", _risks, _WITH_INTERVALS),
    "volatility": FieldOfRun(
        "Volatility risk", lambda run: estimate(run.risks.R_volatility), _WITH_INTERVALS
    ),
    "between": FieldOfRun(
        "Differs between groups",
        lambda run: "" if run.risks.R_between is None else estimate(run.risks.R_between),
        "a topic of two groups or more",
    ),
    "groups": FieldOfRun("Groups", _groups, "a finished run"),
    "categories": FieldOfRun("Categories of words", _categories, "a finished run"),
    "n_eff": FieldOfRun(
        "Effective contexts",
        lambda run: f"{run.risks.n_eff:,.1f} of {run.risks.n_contexts:,}",
        "a finished run",
    ),
    "floor": FieldOfRun("From shuffled words", _floor, "audit with a model that stores its scores"),
    "coverage": FieldOfRun("Coverage", _coverage, "a model with log-probabilities"),
    "protocol": FieldOfRun(
        "Protocol", _protocol, "clinometer plan --protocol FILE, then audit --protocol FILE"
    ),
    "model": FieldOfRun("Model", _model, "a finished run"),
    "topic": FieldOfRun("Topic", _topic, "a finished run"),
    "contexts": FieldOfRun("Contexts", _contexts, "a finished run"),
    "settings": FieldOfRun("Settings", _settings, "a finished run"),
    "versions": FieldOfRun("Versions", _versions, "audit with this version of clinometer"),
    "git_revision": FieldOfRun(
        "Git revision", lambda run: run.record.git_revision or "", "audit inside a git checkout"
    ),
    "created": FieldOfRun("Date", lambda run: run.record.created, "a finished run"),
    "chat": FieldOfRun(
        "Asked as a chat",
        lambda run: "yes" if run.record.scoring.get("chat") else "",
        "audit --chat, if the deployment is one",
    ),
}
"""Every field that a map may name."""


# --- The maps of the sheets: clauses of a framework, and what of a run bears on each -------------


NAMES = ("nist-ai-rmf", "eu-ai-act", "iso-42001", "nyc-ll144")


class _MapPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Clause(_MapPart):
    """One clause, by its number.

    quote     its words, verbatim; "" where they may not be reprinted, and then a title
    title     "" beside a quote; neither is given where no copy was found to compare them with
    compared  the copy that quote or title were compared with
    fields    what of a run bears on it: keys of `FIELDS`
    can       "This run can show ..."
    cannot    "It cannot show ..."
    missing   what no run contains and the clause asks for
    """

    number: str
    quote: str = ""
    title: str = ""
    compared: str = ""
    fields: tuple[str, ...] = Field(min_length=1)
    can: str
    cannot: str
    missing: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _checked(self) -> Clause:
        if self.quote and self.title:
            raise SettingsError(f"{self.number}: expected either a quote or a title, found both")
        if bool(self.quote or self.title) != bool(self.compared):
            raise SettingsError(
                f"{self.number}: expected a quote or a title with the copy that it was compared "
                "with, or neither"
            )
        if unknown := set(self.fields) - set(FIELDS):
            raise SettingsError(
                f"{self.number}: expected fields of a run, found {', '.join(sorted(unknown))}"
            )
        return self


class SheetMap(_MapPart):
    """A framework as of a date.

    version        of the map; it rises with every change
    date           of the source
    compared       when quotes and titles were compared with copies of it
    impact_ratios  whether the source names impact ratios
    """

    name: str
    version: int
    title: str
    source: str
    date: str
    compared: str
    note: str
    impact_ratios: bool = False
    clauses: tuple[Clause, ...]


def load_sheet(name: str) -> SheetMap:
    """The map of this name."""
    if name not in NAMES:
        raise SettingsError(
            f"--sheet: expected one of {', '.join(NAMES)}; found {name!r}{closest(name, NAMES)}"
        )
    file = resources.files("clinometer.report") / "maps" / f"{name}.toml"
    return SheetMap.model_validate(tomllib.loads(file.read_text("utf-8")))


# --- Scoring rates and impact ratios as 6 RCNY § 5-300 defines them, of cells instead of people


@dataclass(frozen=True)
class ImpactRatio:
    """scoring_rate: weighted share of the cells in which the category is above the median."""

    category: str
    scoring_rate: float
    ratio: float


def impact_ratios(preferences: Preferences) -> list[ImpactRatio]:
    """Each category against the one that is above the median most often.

    A cell (group, context) stands in the place of an individual, once for each category, with the
    preference as its score and the weights of group and context. The median is that of all scores;
    a score that equals it is not above it. No category above the median gives no ratios.

    >>> from clinometer.measure import Preferences
    >>> p = np.array([[[0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]])
    >>> of = Preferences(p, ("x",), ("a", "b", "c"), ("m", "f"), np.ones(3), np.ones(1))
    >>> [(r.category, round(r.scoring_rate, 3), r.ratio) for r in impact_ratios(of)]
    [('m', 0.667, 1.0), ('f', 0.333, 0.5)]
    """
    values = preferences.values
    weights = np.asarray(preferences.context_weights, dtype=float)
    cells = weights if weights.ndim == 2 else np.broadcast_to(weights, values.shape[:2])
    cells = cells * np.asarray(preferences.group_weights, dtype=float)[:, None]
    seen = ~np.isnan(values).any(axis=2)
    scores, w = values[seen], cells[seen]
    if not w.sum() > 0:
        return []
    middle = weighted_quantile(scores.ravel(), 0.5, weights=np.repeat(w, scores.shape[1]))
    rates = ((scores > middle) * w[:, None]).sum(axis=0) / w.sum()
    top = float(rates.max())
    if top == 0:
        return []
    return [
        ImpactRatio(name, float(rate), float(rate) / top)
        for name, rate in zip(preferences.categories, rates, strict=True)
    ]


# --- A sheet about a run, as an HTML page or as Markdown -----------------------------------------


FORMATS = ("html", "md")

SCOPE = (
    "This sheet lists what the records of one run bear on. It is no statement that any requirement "
    "is met, and it is not legal advice."
)

NO_TEXT = "Text not reproduced: no copy was found to compare it with."


@dataclass(frozen=True)
class Evidence:
    """A clause with what the run has for it, and what it lacks."""

    clause: Clause
    there: tuple[tuple[str, str], ...]
    lacking: tuple[tuple[str, str], ...]


def evidence(sheet: SheetMap, run: Run) -> list[Evidence]:
    """Each clause of the map with the fields of the run."""
    found = []
    for clause in sheet.clauses:
        read = [(FIELDS[name], FIELDS[name].read(run)) for name in clause.fields]
        found.append(
            Evidence(
                clause,
                tuple((field.label, text) for field, text in read if text),
                tuple((field.label, field.next_step) for field, text in read if not text),
            )
        )
    return found


def write_sheet(run: Run, name: str, out: Path, *, form: str = "html") -> Path:
    """Write the sheet of this name about a run."""
    if form not in FORMATS:
        raise SettingsError(f"--format: expected html or md for a sheet, found {form}")
    text = render_sheet(run, name) if form == "html" else sheet_markdown(run, name)
    write_files({out: text.encode("utf-8")})
    return out


def render_sheet(run: Run, name: str) -> str:
    """The page as text."""
    sheet = load_sheet(name)
    return render_document(
        "sheet.html",
        sheet=sheet,
        model=run.model,
        rows=evidence(sheet, run),
        ratios=_ratios(sheet, run),
        scope=SCOPE,
        no_text=NO_TEXT,
    )


def sheet_markdown(run: Run, name: str) -> str:
    """The same in Markdown."""
    sheet = load_sheet(name)
    lines = [
        f"# {markdown_text(sheet.title)}: {markdown_text(run.model)}",
        "",
        SCOPE,
        "",
        f"Source: {markdown_text(sheet.source)} ({sheet.date}). Map version {sheet.version}, "
        f"compared with copies on {sheet.compared}. "
        f"{markdown_text(sheet.note)}",
    ]
    for one in evidence(sheet, run):
        clause = one.clause
        lines += ["", f"## {markdown_text(clause.number)}", ""]
        lines += [f"> {clause.quote}" if clause.quote else f"*{clause.title or NO_TEXT}*", ""]
        lines += [f"Compared with {markdown_text(clause.compared)}.", ""] if clause.compared else []
        lines += [f"**This run can show:** {clause.can}.", ""]
        lines += [f"- {label}: {markdown_text(text)}" for label, text in one.there]
        lines += ["", f"**It cannot show:** {clause.cannot}.", ""]
        lines += ["**Missing:**", ""]
        lines += [f"- {label} of this run: {markdown_text(step)}" for label, step in one.lacking]
        lines += [f"- {text}" for text in clause.missing]
    if ratios := _ratios(sheet, run):
        lines += ["", "## Impact ratios of word preferences", "", _RATIOS, ""]
        lines += ["| category | scoring rate | impact ratio |", "|---|---:|---:|"]
        lines += [
            f"| {markdown_text(r.category)} | {risk(r.scoring_rate)} | {risk(r.ratio)} |"
            for r in ratios
        ]
    lines += ["", f"Made by clinometer {__version__}."]
    return "\n".join(lines) + "\n"


_RATIOS = (
    "The arithmetic of 6 RCNY § 5-300 on cells of a group and a context: no candidate was scored, "
    "and the rules set no limit for the ratio."
)


def _ratios(sheet: SheetMap, run: Run) -> list[ImpactRatio]:
    return impact_ratios(run.preferences) if sheet.impact_ratios else []
