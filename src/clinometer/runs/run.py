"""A run: the result of an audit, returned by it or read from its folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from clinometer.errors import RunError
from clinometer.findings.finding import Finding
from clinometer.measure import Estimate, Preferences, RiskReport
from clinometer.measure.leaning import GroupLean
from clinometer.outcomes.choose import outcome_of
from clinometer.outcomes.outcome import Outcome
from clinometer.runs.answers import answered_groups
from clinometer.runs.findings.of_run import run_findings
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import RunRecord
from clinometer.runs.folder.tables import (
    LABEL,
    preference_rows,
    stored_results,
    with_report,
)
from clinometer.runs.results import finished_record, measured_risks
from clinometer.runs.shuffled_words import word_floor
from clinometer.runs.stored_scores import has_scores
from clinometer.storage.atomic import replacing

if TYPE_CHECKING:
    import pandas as pd

    from clinometer.report import Figure
    from clinometer.web import ViewerServer


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One audit of one model."""

    record: RunRecord
    """The content of run.json."""

    preferences: Preferences
    """p_y(x, c) with labels, weights and coverage."""

    risks: RiskReport
    """R, bias risk and volatility risk, overall and of each group."""

    path: Path | None = None
    """Its folder, or None for a run kept in memory."""

    @classmethod
    def measured(
        cls, record: RunRecord, preferences: Preferences, *, folder: RunFolder | None
    ) -> Run:
        """Measure preferences and, with a folder, write all results."""
        if preferences.criterion != record.chosen_criterion:
            preferences = replace(preferences, criterion=record.chosen_criterion)
        risks = measured_risks(record, preferences)
        run = cls(finished_record(record, preferences, risks), preferences, risks)
        if folder is None:
            return run
        run = replace(run, path=folder.path)
        if has_scores(run) and record.topic.readout is None:
            run.record.floor = word_floor(run)
        run.write(folder)
        return run

    def __repr__(self) -> str:
        topic = self.record.topic.name
        contexts = self.record.contexts.name
        return (
            f"Run({self.model!r}, topic {topic!r}, contexts {contexts!r}: "
            f"{self.findings[0]} {self.risks.shown})"
        )

    @property
    def model(self) -> str:
        return self.record.model.id

    @property
    def R(self) -> Estimate:  # noqa: N802  # the name of the mathematics
        """Discrimination risk, a number with an interval (`float(run.R)`, `run.R.low`)."""
        return self.risks.R

    @property
    def R_bias(self) -> Estimate:  # noqa: N802
        """Bias risk: what remains after averaging over contexts."""
        return self.risks.R_bias

    @property
    def R_volatility(self) -> Estimate:  # noqa: N802
        """Volatility risk: R less bias risk."""
        return self.risks.R_volatility

    @property
    def groups(self) -> pd.DataFrame:
        """One row per group, by its name: `run.groups.loc["nurse", "r_bias"]`.

        Columns: weight; r, r_bias and r_volatility, each with _low and _high; leaning, the
        category that the group leans to. In the order of the topic.
        """
        return self.risks.to_pandas().set_index("group")

    @cached_property
    def outcome(self) -> Outcome:
        """What kind of answer it holds: words, decisions or scores."""
        topic = self.record.topic
        readout = topic.readout or {}
        favourable = topic.favourable or readout.get("favourable") or ""
        imported = self.record.imported is not None
        return outcome_of(
            self.preferences,
            asks_questions=topic.readout is not None or imported,
            favourable=favourable,
        )

    @cached_property
    def leans(self) -> tuple[GroupLean, ...]:
        """Which groups lean clearly, and to what, in the order of the topic.

        On average at most one minus `level` of the groups on this list do not belong there. Of
        repeated scores, those whose steady lean is clear in the split of their variance, with its
        interval. An interval excludes 0 exactly where the lean is clear.
        """
        settings = self.record.settings
        leans = self.preferences.leans(
            level=settings.level,
            clusters=settings.clusters,
            known=self.record.model.kind == "reference",
        )
        return self.outcome.decided_leans(leans, self.record.components)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, in sentences with their numbers; the first is the headline."""
        return run_findings(self, finished=self.record.finished)

    def write_report(self, path: str | Path) -> list[Path]:
        """Write the report of this run as the ending of `path` says, and return the files.

        `.html` is one file that works offline.
        """
        from clinometer.report import write_report

        return write_report([self], path)

    def view(self, *, port: int = 0, browser: bool = True) -> ViewerServer:
        """Explore this run in a browser, down to single words.

        The pages can be reached from this machine only, until the process ends or `close()` is
        called on what is returned. A script that should stay calls its `wait()`.
        """
        from clinometer.web import view_run

        return view_run(self, port=port, browser=browser)

    def plot(self) -> Figure:
        """Return the chart that opens the report.

        `.svg()` and `.png()` give it as a file, and `.spec()` as a specification of Vega-Lite.
        """
        from clinometer.report import run_figure

        return run_figure(self)

    def save(self, path: str | Path, *, fresh: bool = False) -> Run:
        """Write a run that was kept in memory, or copy one, and return the run in its new folder.

        Without a folder a run has no scores of single words; all else is written. A folder of
        another run is refused unless `fresh`.
        """
        folder = RunFolder(Path(path))
        parts = [] if self.path is None else RunFolder(self.path).parts.files()
        record = self.record.model_copy(update={} if parts else {"words": None})
        saved = replace(self, record=record, path=folder.path)
        scores = folder.parts.folder
        with folder.opened(record.identity, fresh=fresh):
            for part in parts:
                scores.mkdir(exist_ok=True)
                with replacing(scores / part.name, error=RunError) as temporary:
                    copyfile(part, temporary)
            saved.write(folder)
        return saved

    @property
    def contexts(self) -> pd.DataFrame:
        """One row per context, by its id: template, weight (its share, summing to 1), influence on
        R of volatility, and a column `label_…` for each label of the context set."""
        table: pd.DataFrame = self._contexts_table().to_pandas()
        return table.set_index("context_id")

    def to_pandas(self) -> pd.DataFrame:
        """Return the preferences, one row per group, context and category.

        With the text of the context, the weights and p*: all that R needs.

        >>> from clinometer import audit, risks
        >>> run = audit("pocket:gpt2-s", topic="gender", max_contexts=4, device="cpu")
        >>> needed = ["group", "context", "attribute", "p"]
        >>> needed += ["context_weight", "group_weight", "reference"]
        >>> abs(risks(run.to_pandas()[needed]).R.value - run.R.value) < 1e-9
        True
        """
        p = self.preferences
        frame = p.to_pandas()
        shape = p.values.shape
        X, C, K = shape
        texts = p.templates if len(set(p.templates)) == C else p.contexts
        text_of_cell = np.tile(np.repeat(np.array(texts, dtype=object), K), X)
        frame.insert(2, "context", text_of_cell)
        context_weights = np.broadcast_to(p.context_weights, (X, C))[..., None]
        group_weights = np.asarray(p.group_weights)[:, None, None]
        return frame.assign(
            context_weight=np.broadcast_to(context_weights, shape).ravel(),
            group_weight=np.broadcast_to(group_weights, shape).ravel(),
            reference=np.broadcast_to(p.grid.reference, shape).ravel(),
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        topic = self.record.topic.name
        contexts = self.record.contexts.name
        return self.risks.to_html(f"{self.model}: {topic}, contexts {contexts}")

    def write(self, folder: RunFolder) -> None:
        """Write everything of a finished run except its scores."""
        groups = pa.Table.from_pylist(answered_groups(self))
        tables: dict[str, pa.Table | Iterable[pa.Table]] = {
            "preferences": preference_rows(self.preferences),
            "groups": with_report(groups, self.risks),
            "contexts": self._contexts_table(),
        }
        folder.write_finished(self.record, tables)

    def _contexts_table(self) -> pa.Table:
        p = self.preferences
        # Shares as they are: dividing them once more would move the last bit of a loaded run.
        columns = {
            "context_id": pa.array(p.contexts),
            "template": pa.array(p.templates),
            "weight": pa.array(p.context_weights),
            "influence": pa.array(p.influence(), from_pandas=True),
        }
        for name, labels in p.labels.items():
            columns[f"{LABEL}{name}"] = pa.array(labels)
        return pa.table(columns)

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Read a finished run as it was measured; nothing is measured again."""
        folder = RunFolder(Path(path))
        record, tables = folder.read_finished()
        preferences, risks = stored_results(record, tables)
        return cls(record, preferences, risks, folder.path)
