"""Size, alignment, sources and views on runs whose answers are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clinometer.errors import RunError, SettingsError, TableError
from clinometer.measure import Preferences
from clinometer.runs import AuditSettings, Run
from clinometer.runs.folder.record import ContextsRecord, RunRecord, TopicRecord
from clinometer.storage.record import ModelRecord
from clinometer.studies.alignment import alignment_findings
from clinometer.studies.framework import PlannedRun
from clinometer.studies.size import over_models, size_findings, slope
from clinometer.studies.sources import sources_findings
from clinometer.studies.toxicity import read_texts, some_of
from clinometer.studies.views import (
    distribution_findings,
    heatmap_findings,
    leaning_findings,
)
from clinometer.topics import load_topic

TOPIC = load_topic("gender")
GROUPS = TOPIC.group_names[:12]
SETTINGS = AuditSettings(replicates=200)


def made(name: str, p: np.ndarray, *, size: int = 1000) -> Run:
    """A run with these probabilities of the first category, [X, C]."""
    preferences = Preferences(
        values=np.stack([p, 1 - p], axis=-1),
        groups=GROUPS[: len(p)],
        contexts=tuple(f"c{i}" for i in range(p.shape[1])),
        categories=("male", "female"),
        context_weights=np.ones(p.shape[1]),
        group_weights=np.ones(len(p)),
        templates=tuple(f"The [X] did {i} that [Y]" for i in range(p.shape[1])),
    )
    words = {"male": ["he"], "female": ["she"]}
    record = RunRecord(
        model=ModelRecord(id=name, kind="causal", revision="none", parameters=size),
        topic=TopicRecord(name="made", sha256="t", groups=len(p), attributes=words),
        contexts=ContextsRecord(name="made", sha256="c", n=p.shape[1], n_eff=p.shape[1]),
        scoring={},
        settings=SETTINGS,
    )
    return Run.measured(record, preferences, SETTINGS, folder=None)


def planned(name: str, role: str = "") -> PlannedRun:
    from tests.studies.conftest import CONTEXTS

    return PlannedRun(name, name, TOPIC, CONTEXTS, SETTINGS, name, role=role)


def lean(mean: float, swing: float, *, C: int = 60, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(mean + swing * rng.normal(size=(12, C)), 0.01, 0.99)


def test_slope_matches_numpy() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 6))
    assert slope(x, y) == pytest.approx(np.polyfit(x, y, 1)[0])
    import statsmodels.api as sm

    fit = sm.OLS(y, sm.add_constant(x)).fit()
    assert over_models(x, y, level=0.95) == pytest.approx(tuple(fit.conf_int()[1]))
    assert over_models(x[:2], y[:2], level=0.95) is None


def test_size_finds_a_trend_only_where_there_is_one() -> None:
    sizes = {"s": (0.65, 10**6), "m": (0.75, 10**7), "l": (0.85, 10**8)}
    results = [
        (planned(n), made(n, lean(m, 0.03, seed=i), size=size))
        for i, (n, (m, size)) in enumerate(sizes.items())
    ]
    found = size_findings(results)
    rows = {r["measure"]: r for r in found.tables[0].frame.to_dict("records")}
    # R^b = 2 (mean - 1/2): 0.3, 0.5, 0.7, so 0.2 for ten times the size.
    assert rows["R_bias"]["value"] == pytest.approx(0.2, abs=0.01)
    assert rows["R_bias"]["low"] > 0.15
    assert rows["R_volatility"]["low"] <= 0 <= rows["R_volatility"]["high"]
    assert any(line.startswith("bias risk rises") for line in found.sentences)
    assert found.figures[0].svg().startswith("<svg")


def test_size_needs_two_sizes() -> None:
    with pytest.raises(RunError, match="two different sizes"):
        size_findings([(planned("a"), made("a", lean(0.6, 0.1)))])


def test_alignment_names_groups_that_changed_sides() -> None:
    before, after = lean(0.7, 0.1), lean(0.7, 0.1)
    after[3] = 1 - after[3]
    found = alignment_findings(
        [(planned("base"), made("base", before)), (planned("new"), made("new", after))]
    )
    assert any(
        f"1 of 12 groups lean to another category: {GROUPS[3]}" in s for s in found.sentences
    )
    assert any("no difference shown" in s for s in found.sentences)
    frame = next(t.frame for t in found.tables if t.key == "alignment-groups-new")
    turned = frame[frame["before"] != frame["after"]]
    assert turned["group"].tolist() == [GROUPS[3]]
    for figure in found.figures:
        assert figure.svg().startswith("<svg")
    with pytest.raises(SettingsError, match="could not be scored"):
        alignment_findings([(planned("base"), made("base", before))])


def test_sources_agree_when_the_models_keep_their_order() -> None:
    means = {"a": 0.55, "b": 0.7, "c": 0.85}
    same = [
        (planned(n, s), made(n, lean(m, 0.05, seed=i)))
        for i, s in enumerate(("book", "web"))
        for n, m in means.items()
    ]
    found = sources_findings(same)
    R = found.tables[0].frame.query("measure == 'R'").iloc[0]
    assert (R["tau"], R["tau_low"], R["tau_high"]) == (1, 1, 1)
    turned = [
        (a, made(a.label, lean(1.4 - means[a.label], 0.05, seed=9)) if a.role == "web" else r)
        for a, r in same
    ]
    R = sources_findings(turned).tables[0].frame.query("measure == 'R'").iloc[0]
    assert R["tau"] < 1
    assert any("LLaMA2 has 0.708" in line for line in found.sentences)
    assert found.figures[0].svg().startswith("<svg")


def test_views_of_runs() -> None:
    p = lean(0.7, 0.1)
    p[0] = 1 - p[0]
    runs = [("one", made("one", p)), ("two", made("two", lean(0.7, 0.1, seed=5)))]
    leaning = leaning_findings(runs)
    assert "one: of 12 groups lean 11 to male, 1 to female." in leaning.sentences
    table = leaning.tables[0].frame.set_index("group")
    assert table.loc[GROUPS[0], "one"] == "female"
    shape = distribution_findings(runs)
    assert len({f.key for f in shape.figures}) == len(shape.figures) == 4
    heat = heatmap_findings(runs, groups=GROUPS[:3], contexts=5)
    assert len(heat.tables[0].frame) == 2 * 3 * 5
    for found in (leaning, shape, heat):
        for figure in found.figures:
            assert figure.svg().startswith("<svg")
    with pytest.raises(SettingsError, match="astronaut"):
        heatmap_findings(runs, groups=["astronaut"], contexts=5)


def test_texts_are_filtered_and_sampled(tmp_path: Path) -> None:
    table = tmp_path / "posts.csv"
    pd.DataFrame({"tweet": ["a  b", "c", "d"], "class": [0, 2, 1]}).to_csv(table, index=False)
    lines = tmp_path / "posts.jsonl"
    lines.write_text('{"text": "e"}\n\n{"text": "f"}\n', encoding="utf-8")
    texts = read_texts([table, lines], where=["class=0,1"])
    assert texts == ["a b", "d", "e", "f"]
    assert sorted(some_of(texts, None, seed=1)) == sorted(texts)
    assert some_of(texts, 2, seed=1) == some_of(texts, 4, seed=1)[:2]
    with pytest.raises(TableError, match="--column"):
        read_texts([table], column="words")
    with pytest.raises(TableError, match="no row is left"):
        read_texts([table], where=["class=7"])
    with pytest.raises(TableError, match="--where"):
        read_texts([table], where=["class"])
