"""What all studies share: a plan with its cost, audits that resume, findings as tables and charts.

`Plan` says what will be scored and how long that takes, `audit_all` scores it, and `Findings` are
written as tables, charts and a page. Below: changes between versions of a model, the paper's
printed figures, and tables of risks.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from clinometer.contexts import ContextSet, builtin_contexts, load_contexts
from clinometer.contexts.load import default_contexts
from clinometer.display.numbers import IN_SENTENCES, MEASURES
from clinometer.display.text import plain_records
from clinometer.errors import ClinometerError, MissingExtra, RunError, SettingsError
from clinometer.extras import require
from clinometer.measure import Comparison
from clinometer.measure.comparison_engine import Joint, joint_replicates
from clinometer.models import ModelSource, ModelSpec
from clinometer.models.catalog.pretrained import weights_header
from clinometer.models.catalog.spec import folder_name
from clinometer.report import Extra, Figure, Table, charts, write_report
from clinometer.report.export import write_csv, write_files
from clinometer.report.figures import basis, reference_rows, risk_rows
from clinometer.runs import AuditSettings, Run, RunFolder, audit, compare
from clinometer.storage.atomic import only_writer, replacing
from clinometer.storage.resumable import Progress
from clinometer.storage.untrusted import read_json
from clinometer.topics import Topic

#: Average tokens per cell: prompts share prefixes, words of several tokens add some. Measured with
#: SmolLM2 on paper-gender, two cores.
_TOKENS = 8.0
#: Share of a plain matrix product's speed that a model reaches on a CPU.
_EFFICIENCY = 0.25
#: Seconds for loading a model, measuring and writing a run.
_OPENING = 4.0


@dataclass(frozen=True)
class PlannedRun:
    """One audit of a study.

    label     its name in tables and charts
    folder    of the run, below the folder of the study
    role      its part in the study, such as the name of a source
    like      a model of the same size, if the study itself makes this one
    """

    label: str
    model: str
    topic: Topic
    contexts: ContextSet
    settings: AuditSettings
    folder: str
    role: str = ""
    like: str = ""

    @property
    def prompts(self) -> int:
        drawn = self.settings.max_contexts
        return len(self.topic) * min(len(self.contexts), drawn or len(self.contexts))


@dataclass(frozen=True)
class Cost:
    """What remains of one audit: prompts to score and approximate seconds; None if unknown."""

    planned: PlannedRun
    done: bool
    seconds: float | None


@dataclass(frozen=True)
class Plan:
    """All audits of a study.

    further   other work of the study (training): a description and its seconds
    """

    study: str
    audits: tuple[PlannedRun, ...]
    further: tuple[tuple[str, float], ...] = field(default=())

    def __post_init__(self) -> None:
        names = [planned.folder for planned in self.audits]
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            raise SettingsError(
                f"study {self.study}: expected each model once, found {sorted(twice)[0]!r} twice"
            )

    def costs(self, out: Path) -> list[Cost]:
        """The cost of each audit, given what the study's folder already contains."""
        speed: float | None = None
        found = []
        for planned in self.audits:
            done = _finished(out / "runs" / planned.folder)
            size = None if done else parameters_of(planned.like or planned.model)
            seconds: float | None = 0.0 if done else None
            if size is not None:
                speed = speed or machine_speed()
                seconds = _OPENING + 2 * size * _TOKENS * planned.prompts / (speed * _EFFICIENCY)
            found.append(Cost(planned, done, seconds))
        return found

    def to_dict(self, out: Path) -> dict[str, Any]:
        costs = self.costs(out)
        return {
            "study": self.study,
            "prompts": sum(c.planned.prompts for c in costs if not c.done),
            "seconds": _total([c.seconds for c in costs] + [s for _, s in self.further]),
            "audits": [
                {
                    "model": c.planned.model,
                    "label": c.planned.label,
                    "topic": c.planned.topic.name,
                    "contexts": c.planned.contexts.name,
                    "prompts": c.planned.prompts,
                    "done": c.done,
                    "seconds": c.seconds,
                }
                for c in costs
            ],
            "further": [{"what": what, "seconds": seconds} for what, seconds in self.further],
        }


def planned_runs(
    models: Sequence[str],
    topic: Topic,
    contexts: ContextSet,
    settings: AuditSettings,
    *,
    role: str = "",
) -> tuple[PlannedRun, ...]:
    """One audit per model, on the same topic and contexts."""
    prefix = f"{folder_name(role)}-" if role else ""
    return tuple(
        PlannedRun(label, m, topic, contexts, settings, prefix + folder_name(m), role=role)
        for m, label in zip(models, _labels(models), strict=True)
    )


def _labels(models: Sequence[str]) -> Sequence[str]:
    """Model names for tables and charts: folders and files without their path, unless two would
    then have the same name."""
    short = [Path(m).name if Path(m).exists() else m for m in models]
    return short if len(set(short)) == len(set(models)) else models


def spoken(seconds: float | None) -> str:
    """An approximate duration in words.

    >>> spoken(12.0), spoken(200.0), spoken(None)
    ('about 12 s', 'about 3 min', 'unknown')
    """
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def parameters_of(model: str) -> int | None:
    """Parameters of a model on this machine, from its file headers; None if not available."""
    try:
        spec = ModelSpec.parse(model)
    except ClinometerError:
        return None
    if spec.place is ModelSource.REFERENCE:
        return 0
    if spec.place is ModelSource.FOLDER:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            return _in_folder(Path(spec.target))
        return None
    if spec.place is ModelSource.EMBEDDED:
        return 134_515_008  # SmolLM2-135M
    if spec.place is ModelSource.GGUF:
        return round(Path(spec.target).stat().st_size * 8 / 6.6)  # 4-bit files with larger ends
    return None


def machine_speed() -> float:
    """Floating-point operations per second of a matrix product, measured in milliseconds."""
    a = np.ones((640, 640), dtype=np.float32)
    best = math.inf
    for _ in range(4):
        start = time.perf_counter()
        a @ a
        best = min(best, time.perf_counter() - start)
    return float(2 * 640**3 / best)


def _in_folder(folder: Path) -> int | None:
    files = sorted(folder.glob("*.safetensors"))
    adapter = folder / "adapter_config.json"
    if adapter.is_file():  # it is merged into its base, and runs like it
        base = read_json(adapter).get("base_model_name_or_path", "")
        beside = (folder / base).resolve()
        return _in_folder(beside) if beside.is_dir() and beside != folder else None
    headers = [weights_header(file) for file in files]
    return sum(math.prod(t["shape"]) for header in headers for t in header.values()) or None


def _finished(folder: Path) -> bool:
    try:
        return RunFolder(folder).read_record().finished
    except ClinometerError:
        return False


def _total(seconds: Iterable[float | None]) -> float | None:
    known = list(seconds)
    return None if any(s is None for s in known) else sum(s for s in known if s is not None)


# --- Audits and findings -------------------------------------------------------------------------


#: Called before each audit; returns its progress callback.
Watch = Callable[[PlannedRun], Progress | None]


@dataclass(frozen=True)
class Failed:
    """An audit that failed, and why."""

    planned: PlannedRun
    error: ClinometerError


@dataclass(frozen=True, eq=False)
class Findings:
    """The result of a study: sentences, tables, charts, and the runs they come from."""

    study: str
    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()
    runs: tuple[Run, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None for a missing number."""
        return {
            "study": self.study,
            "title": self.title,
            "sentences": list(self.sentences),
            "tables": {t.key: plain_records(t.frame) for t in self.tables},
            "figures": [{"key": f.key, "title": f.title, "says": f.alt} for f in self.figures],
            "runs": [None if run.path is None else str(run.path) for run in self.runs],
        }

    def write(self, out: Path, *, page: bool = True) -> str:
        """Tables, charts, study.json and, with `page` and at least one run, report.html.

        Charts and page are skipped if they cannot be drawn; the return value says why.
        """
        out.mkdir(parents=True, exist_ok=True)
        with only_writer(out, out / ".lock", error=RunError):
            for folder in (out, out / "tables", out / "charts"):
                for stale in folder.glob(".*.tmp"):  # of a writer that was killed
                    stale.unlink(missing_ok=True)
            return self._write(out, page=page)

    def _write(self, out: Path, *, page: bool) -> str:
        write_csv(self.tables, out / "tables")
        missing = _cannot_draw()
        if not missing:
            drawn = {out / "charts" / f"{f.key}.svg": f.svg().encode() for f in self.figures}
            drawn |= {out / "charts" / f"{f.key}.png": f.png() for f in self.figures}
            write_files(drawn)
            if page and self.runs:
                extra = Extra(self.title, self.sentences, self.figures, self.tables)
                write_report(list(self.runs), out / "report.html", extras=[extra])
        with replacing(out / "study.json", error=RunError) as beside:
            text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)
            beside.write_text(text + "\n", encoding="utf-8")
        return missing


def audit_all(
    plan: Plan, out: Path, *, watch: Watch | None = None, fresh: bool = False
) -> tuple[list[tuple[PlannedRun, Run]], list[Failed]]:
    """Run every audit of the plan; a finished one is read, an interrupted one resumed.

    A model that fails does not stop the others. If all fail, the error is the study's.
    """
    if not plan.audits:
        raise SettingsError(f"study {plan.study}: expected at least one model, found none")
    done: list[tuple[PlannedRun, Run]] = []
    failed: list[Failed] = []
    for planned in plan.audits:
        try:
            run = audit(
                planned.model,
                topic=planned.topic,
                contexts=planned.contexts,
                out=out / "runs" / planned.folder,
                settings=planned.settings,
                fresh=fresh,
                progress=watch(planned) if watch else None,
            )
        except ClinometerError as error:
            failed.append(Failed(planned, error))
        else:
            done.append((planned, run))
    if not done:
        raise failed[0].error
    return done, failed


def only(results: list[tuple[PlannedRun, Run]], role: str) -> list[tuple[str, Run]]:
    """Label and run of one part of a study."""
    return [(planned.label, run) for planned, run in results if planned.role == role]


def _cannot_draw() -> str:
    """Why there are no charts; "" if there are."""
    try:
        require("drawing charts", "altair", "vl_convert")
    except MissingExtra as error:
        return str(error)
    return ""


# --- A model and its versions on the same contexts: paired differences, and changed leanings -----


def change_table(before: tuple[str, Run], after: Sequence[tuple[str, Run]]) -> pd.DataFrame:
    """after − before of R, R^b and R^v, each with its paired interval and p."""
    rows: list[dict[str, Any]] = []
    for name, run in after:
        found = compare(run, before[1])
        rows += [
            {
                "pair": f"{name} − {before[0]}",
                "measure": d.measure,
                "value": d.value,
                "low": d.low,
                "high": d.high,
                "p": d.p,
            }
            for d in found.overall
        ]
    return pd.DataFrame(rows)


def leaning_changes(before: tuple[str, Run], after: tuple[str, Run]) -> pd.DataFrame:
    """Each group: the category it leans to before and after, s towards it, and the change of r."""
    a, b = before[1].risks, after[1].risks
    found: Comparison = compare(after[1], before[1])
    change = {d.group: d for d in found.by_group if d.measure == "r"}
    rows = []
    for i, group in enumerate(a.groups):
        first, second = (r.mean_stereotype[i] for r in (a, b))
        if np.isnan(first).any() or np.isnan(second).any():
            continue
        d = change[group]
        rows.append(
            {
                "group": group,
                "before": a.categories[int(first.argmax())],
                "after": b.categories[int(second.argmax())],
                "s_before": float(first.max()),
                "s_after": float(second.max()),
                "value": d.value,
                "low": d.low,
                "high": d.high,
                "p_corrected": d.p_corrected,
            }
        )
    frame = pd.DataFrame(rows)
    return frame.sort_values("value", key=lambda v: -v.abs(), kind="stable", ignore_index=True)


def sentences(changes: pd.DataFrame) -> list[str]:
    """What changed, and what is indistinguishable from no change."""
    lines = []
    for row in changes.to_dict("records"):
        if row["low"] is None or pd.isna(row["low"]):
            verdict = "too few effective contexts to say whether it changed"
        elif row["low"] > 0:
            verdict = "higher"
        elif row["high"] < 0:
            verdict = "lower"
        else:
            verdict = "no difference shown"
        span = "" if pd.isna(row["low"]) else f" ({row['low']:+.3f} to {row['high']:+.3f})"
        lines.append(
            f"{row['pair']}: {IN_SENTENCES[row['measure']]} {row['value']:+.3f}{span}: {verdict}."
        )
    return lines


def moved(leanings: pd.DataFrame, name: str) -> str:
    """How many groups lean to another category than before, with examples."""
    other = leanings[leanings["before"] != leanings["after"]]
    if other.empty:
        return f"{name}: no group leans to another category than before."
    some = ", ".join(
        f"{r['group']} ({r['before']} → {r['after']})" for r in other.head(6).to_dict("records")
    )
    more = f" and {len(other) - 6} more" if len(other) > 6 else ""
    return f"{name}: {len(other)} of {len(leanings)} groups lean to another category: {some}{more}."


def change_figures(
    key: str, named: Sequence[tuple[str, Run]], changes: pd.DataFrame, *, title: str
) -> tuple[Figure, ...]:
    """The versions in the plane of bias and volatility, and the paired differences."""
    plane = pd.DataFrame(risk_rows([r for _, r in named], [n for n, _ in named]))
    said = "; ".join(
        f"{r['name']}: bias {r['R_bias']:.3f}, volatility {r['R_volatility']:.3f}"
        for r in plane.to_dict("records")
    )
    moves = "; ".join(
        f"{r['pair']} {r['measure']} {r['value']:+.3f}" for r in changes.to_dict("records")
    )
    return (
        Figure(
            key=f"{key}-plane",
            title=title,
            caption=f"{basis(named[0][1])}. Lines: intervals over contexts. R is constant along "
            "the dotted diagonals.",
            alt=f"Plane of bias and volatility risk. {said}.",
            draw=lambda width: charts.plane(plane, width=width),
        ),
        Figure(
            key=f"{key}-differences",
            title=f"{title}: paired differences",
            caption=f"{basis(named[0][1])}. Right of zero: higher than before. Both were scored in "
            "the same contexts, which cancels the effect of a context on both.",
            alt=f"Differences with intervals. {moves}.",
            draw=lambda width: charts.differences(changes, width=width),
        ),
    )


def change_tables(
    key: str, changes: pd.DataFrame, leanings: dict[str, pd.DataFrame]
) -> list[Table]:
    """The differences of all groups together, and those of each group."""
    found = [Table(f"{key}-differences", "Paired differences", changes)]
    for name, frame in leanings.items():
        found.append(Table(f"{key}-groups-{name}", f"Groups before and after: {name}", frame))
    return found


def study_contexts(topic: Topic, contexts: str | None) -> ContextSet:
    """The given set; else the paper's set for the topic; else the one mined from Wikipedia."""
    if contexts is not None:
        return load_contexts(contexts, topic=topic)
    known = builtin_contexts()
    if f"paper-{topic.name}" not in known and f"wikipedia-{topic.name}" in known:
        return load_contexts("wikipedia", topic=topic)
    return default_contexts(topic)


# --- The paper's printed figures, and why ours may differ ----------------------------------------


#: Why our figures differ from the printed ones, even for the same model.
DIFFERENCES = (
    "Words: the released code drops words of several tokens, and looks words up without the "
    "leading space; here every word counts, by the chain rule. `--single-token` drops them here "
    "too.",
    "Position: the released code reads the last position of right-padded batches, which for the "
    "shorter prompts of a batch is padding; here the slot is read.",
    "Contexts: the paper uses thousands of mined contexts; it prints ten of them, which are "
    "paper-gender and paper-race.",
    "Criterion: the equations use the positive part of s; the released code uses absolute values "
    "in one place and the mean of positive parts in another. They differ for more than two "
    "categories (race, religion, disability).",
    "Scale: with K categories J reaches K - 1; the tables put the stereotyped model at 1 for K = 5 "
    "as well, so risks are divided by that maximum here.",
)


@dataclass(frozen=True)
class Printed:
    """One row of a table: R, R^b and R^v as printed."""

    table: str
    model: str
    R: float
    R_bias: float
    R_volatility: float

    @property
    def adds_up(self) -> bool:
        """Whether R = R^b + R^v within the rounding of four digits."""
        return abs(self.R - self.R_bias - self.R_volatility) <= 1.51e-4


def tables() -> tuple[str, ...]:
    """The names of the printed tables.

    >>> tables()[:2]
    ('table1', 'table2')
    """
    return tuple(_all())


def printed(table: str) -> tuple[Printed, ...]:
    """The rows of a table, in its order.

    >>> printed("table1")[0].model, printed("table1")[0].R
    ('T5', 0.8703)
    """
    found = _all().get(table)
    if found is None:
        raise SettingsError(f"published: expected one of {', '.join(tables())}; found {table!r}")
    return tuple(Printed(table, model, *values) for model, values in found["models"].items())


@cache
def _all() -> dict[str, dict[str, dict[str, list[float]]]]:
    text = (files("clinometer.studies") / "data" / "published.toml").read_text("utf-8")
    return tomllib.loads(text)


# --- Runs on the same groups and contexts as arrays, and rows of their risks ---------------------


def joint(runs: Sequence[Run], *, replicates: int = 2000, seed: int = 0) -> Joint:
    """The risks of runs with the same cells, under common resampling of the contexts."""
    first = runs[0].preferences
    for run in runs[1:]:
        p = run.preferences
        if p.groups != first.groups or p.contexts != first.contexts:
            raise RunError(
                f"study: {run.model} was scored on other groups or contexts than "
                f"{runs[0].model}; use another --out"
            )
    mask = np.logical_and.reduce([run.preferences.observed for run in runs])
    return joint_replicates(
        [replace(first.grid, values=run.preferences.values, mask=mask) for run in runs],
        replicates=replicates,
        seed=seed,
    )


def risks(named: Sequence[tuple[str, Run]], *, references: bool = False) -> pd.DataFrame:
    """One row per run, lowest R first, with ranks (1 is lowest); the reference models last."""
    rows: list[dict[str, Any]] = risk_rows([r for _, r in named], [n for n, _ in named])
    frame = pd.DataFrame(rows).sort_values("R", kind="stable", ignore_index=True)
    for measure in MEASURES:
        frame[f"{measure}_rank"] = rankdata(frame[measure], method="min").astype(int)
    if references:
        known = pd.DataFrame(reference_rows(named[0][1]))
        frame = pd.concat([frame, known], ignore_index=True)
    return frame


def parameters(run: Run) -> int | None:
    """The number of parameters of a run's model, if known."""
    return run.record.model.parameters


def risks_table(key: str, title: str, named: Sequence[tuple[str, Run]]) -> Table:
    """`risks` for a page: the three risks and the rank; the csv file has all columns."""
    frame = risks(named).drop(columns=["muted"])
    hidden = ("n_contexts", "n_eff", "R_bias_rank", "R_volatility_rank")
    return Table(key, title, frame, hidden=hidden)
