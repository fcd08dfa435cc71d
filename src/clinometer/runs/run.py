"""A run: the result of an audit, returned by it or read from its folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from clinometer.errors import RunError
from clinometer.findings.finding import Finding
from clinometer.measure import Estimate, Preferences, RiskReport
from clinometer.measure.factors import factor_shares
from clinometer.measure.leaning import GroupLean
from clinometer.measure.risks import MEASURES
from clinometer.outcomes.choose import outcome_of
from clinometer.outcomes.outcome import Outcome
from clinometer.runs.answers import answered_groups, other_record
from clinometer.runs.findings.of_run import run_findings
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import BoundsRecord, RunRecord, SummaryRecord
from clinometer.runs.folder.tables import (
    LABEL,
    preference_rows,
    stored_results,
    with_report,
)
from clinometer.runs.shuffled_words import word_floor
from clinometer.runs.stored_scores import has_scores
from clinometer.storage.atomic import replacing

if TYPE_CHECKING:
    import pandas as pd

    from clinometer.report import Figure
    from clinometer.web import ViewerServer


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One audit of one model.

    record       the content of run.json
    preferences  p_y(x, c) with labels, weights and coverage
    risks        R, bias risk and volatility risk, overall and of each group
    path         its folder, or None for a run kept in memory
    """

    record: RunRecord
    preferences: Preferences
    risks: RiskReport
    path: Path | None = None

    @classmethod
    def measured(
        cls, record: RunRecord, preferences: Preferences, *, folder: RunFolder | None
    ) -> Run:
        """Measure preferences and, with a folder, write all results."""
        settings, known = record.settings, record.model.kind == "reference"
        if preferences.criterion != record.chosen_criterion:
            preferences = replace(preferences, criterion=record.chosen_criterion)
        # A reference model is known, not estimated, and what its groups share depends only on how
        # it is represented.
        report = (
            preferences.decompose().decomposition
            if known
            else preferences.estimate(**settings.inference())
        )
        words = {} if record.words is None else record.words.counts
        found: dict[str, Any] = {
            "status": "finished",
            "summary": SummaryRecord.model_validate(report.summary),
            "criterion": report.criterion.to_dict(),
            "n_eff": report.n_eff,
            "counts": {**preferences.counts(), **words, **record.replies},
        }
        plain = preferences.decompose().summary
        found["plug_in"] = {name: plain[name].value for name in MEASURES}
        if preferences.counted:
            found["components"] = preferences.components(
                level=settings.level, clusters=settings.clusters
            )
        if preferences.labels and not known:  # what makes the answers swing
            factors = factor_shares(
                preferences.grid,
                preferences.labels,
                unit=settings.clusters,
                level=settings.level,
                samples=preferences.samples,
            )
            found |= {} if factors is None else {"factors": factors}
        if record.topic.readout is not None:
            found["other"] = other_record(preferences)
        bounds, low, high = preferences.bounds(), preferences.low, preferences.high
        if bounds is not None and low is not None and high is not None:
            width = (high - low).max(axis=2)
            found["bounds"] = BoundsRecord(
                **{name: list(ends) for name, ends in bounds._asdict().items()},
                widest_cell=float(width.max()),
                mean_cell=float(width.mean()),
            )
        run = cls(record.model_copy(update=found), preferences, report)
        if folder is None:
            return run
        run = replace(run, path=folder.path)
        if has_scores(run) and record.topic.readout is None:
            run.record.floor = word_floor(run)
        run.write(folder)
        return run

    def __repr__(self) -> str:
        asked = (
            f"topic {self.record.topic.name!r}, contexts {self.record.contexts.name!r}"
        )
        return f"Run({self.model!r}, {asked}: {self.findings[0]} {self.risks.shown})"

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
        record, topic = self.record, self.record.topic
        named = topic.favourable or (topic.readout or {}).get("favourable")
        return outcome_of(
            self.preferences,
            asks_questions=topic.readout is not None or record.imported is not None,
            favourable=named or "",
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
        """Write the report of this run as the ending of `path` says (`.html`: one file that works
        offline); returns the files."""
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
        """The chart that opens the report; `.svg()` and `.png()` give it as a file, and `.spec()`
        as a specification of Vega-Lite."""
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
        with folder.opened(record.identity, fresh=fresh):
            for part in parts:
                (folder.path / "scores").mkdir(exist_ok=True)
                with replacing(
                    folder.path / "scores" / part.name, error=RunError
                ) as beside:
                    copyfile(part, beside)
            saved.write(folder)
        return saved

    @property
    def contexts(self) -> pd.DataFrame:
        """One row per context, by its id: template, weight (its share, summing to 1), influence on
        R of volatility, and a column `label_…` for each label of the context set."""
        table: pd.DataFrame = self._contexts_table().to_pandas()
        return table.set_index("context_id")

    def to_pandas(self) -> pd.DataFrame:
        """The preferences, one row per group, context and category, with the text of the context,
        the weights and p*: all that R needs.

        >>> from clinometer import audit, risks
        >>> run = audit("pocket:gpt2-s", topic="gender", max_contexts=4, device="cpu")
        >>> needed = ["group", "context", "attribute", "p"]
        >>> needed += ["context_weight", "group_weight", "reference"]
        >>> abs(risks(run.to_pandas()[needed]).R.value - run.R.value) < 1e-9
        True
        """
        p, frame = self.preferences, self.preferences.to_pandas()
        X, C, K = p.values.shape
        texts = p.templates if len({*p.templates}) == C else p.contexts
        by_cell = {
            "context_weight": np.broadcast_to(p.context_weights, (X, C))[..., None],
            "group_weight": np.asarray(p.group_weights)[:, None, None],
            "reference": p.grid.reference,
        }
        frame.insert(
            2, "context", np.tile(np.repeat(np.array(texts, dtype=object), K), X)
        )
        flat = {n: np.broadcast_to(v, (X, C, K)).ravel() for n, v in by_cell.items()}
        return frame.assign(**flat)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        topic, contexts = self.record.topic.name, self.record.contexts.name
        return self.risks.to_html(f"{self.model}: {topic}, contexts {contexts}")

    def write(self, folder: RunFolder) -> None:
        """Write everything of a finished run except its scores."""
        tables: dict[str, pa.Table | Iterable[pa.Table]] = {
            "preferences": preference_rows(self.preferences),
            "groups": with_report(
                pa.Table.from_pylist(answered_groups(self)), self.risks
            ),
            "contexts": self._contexts_table(),
        }
        folder.write_finished(self.record, tables)

    def _contexts_table(self) -> pa.Table:
        p = self.preferences
        influence = p.influence()
        # Shares as they are: dividing them once more would move the last bit of a loaded run.
        columns = {
            "context_id": pa.array(p.contexts),
            "template": pa.array(p.templates),
            "weight": pa.array(p.context_weights),
            "influence": pa.array(influence, from_pandas=True),
        }
        labels = {
            f"{LABEL}{name}": pa.array(values) for name, values in p.labels.items()
        }
        return pa.table({**columns, **labels})

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Read a finished run as it was measured; nothing is measured again."""
        folder = RunFolder(Path(path))
        record, tables = folder.read_finished()
        return cls(record, *stored_results(record, tables), folder.path)
