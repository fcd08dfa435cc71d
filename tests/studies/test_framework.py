"""Plans, resuming, what a study leaves behind; findings of runs whose answers are known."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.preferences import labelled, pair
from tests.studies.conftest import CONTEXTS

from clinometer.errors import ModelNotFound, RunError, SettingsError, TableError
from clinometer.models.catalog.suites import members, suite
from clinometer.models.local import load
from clinometer.report.export import to_latex, to_markdown
from clinometer.runs import AuditSettings, Run, audit
from clinometer.runs.folder.record import ContextsRecord, RunRecord, TopicRecord
from clinometer.storage.atomic import only_writer
from clinometer.storage.record import ModelRecord
from clinometer.studies import framework as frame
from clinometer.studies.alignment import alignment_findings, alignment_plan
from clinometer.studies.figures import figures_findings
from clinometer.studies.framework import (
    Findings,
    Plan,
    PlannedRun,
    about,
    audit_all,
    planned_runs,
    study_contexts,
)
from clinometer.studies.several_models import (
    printed,
    size_findings,
    source_sets,
    sources_findings,
    table_findings,
)
from clinometer.studies.toxicity import read_texts, some_of
from clinometer.topics import load_topic

TOPIC = load_topic("gender").select(["nurse", "engineer", "teacher"])
SETTINGS = AuditSettings()


def plan(*models: str) -> Plan:
    return Plan(
        "table1", planned_runs(models, TOPIC, CONTEXTS, SETTINGS, role="table1")
    )


def test_plans_that_cannot_be_carried_out_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="twice"):
        plan("pocket:bert", "pocket:bert")
    with pytest.raises(SettingsError, match="at least one model"):
        audit_all(Plan("table1", ()), tmp_path)
    with pytest.raises(ModelNotFound):
        audit_all(plan("./no-such-folder"), tmp_path)


def test_an_interrupted_study_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second model is killed; the next call asks only what is missing."""
    whole = plan("reference:stereotyped", "pocket:gpt2-s")
    results: list[str] = []

    def dying(model: str, **rest: Any) -> Run:
        if model.startswith("pocket") and not results:
            results.append(model)
            raise KeyboardInterrupt
        return audit(model, **rest)

    monkeypatch.setattr(frame, "audit", dying)
    with pytest.raises(KeyboardInterrupt):
        audit_all(whole, tmp_path)
    assert [a["done"] for a in whole.to_dict(tmp_path)["audits"]] == [True, False]
    done, failed = audit_all(whole, tmp_path)
    assert len(done) == 2
    assert not failed
    assert [a["done"] for a in whole.to_dict(tmp_path)["audits"]] == [True, True]
    first = done[1][1]

    # A third call asks no model at all, and finds the same numbers.
    monkeypatch.setattr(
        load, "load_transformer", lambda *a, **k: pytest.fail("a model was opened")
    )
    again, _ = audit_all(whole, tmp_path)
    assert again[1][1].preferences.equals(first.preferences)


def test_tables_charts_and_page_are_written(tmp_path: Path) -> None:
    done, _ = audit_all(plan("reference:random", "pocket:gpt2-s"), tmp_path)
    found = table_findings(done, study="table1")
    found.write(tmp_path)
    plain = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    rows = plain["tables"]["table1"]
    references = ["Ideally unbiased", "Stereotyped", "Randomly stereotyped"]
    assert [r["name"] for r in rows][:4] == [*references, "T5"]
    assert [r["printed_R"] for r in rows][1:5] == [1, 1, 0.8703, 0.7343]
    ranks = {r["name"]: r["R_rank"] for r in rows[15:]}
    assert ranks == {"reference:random": 2, "pocket:gpt2-s": 1}
    assert (tmp_path / "charts" / "table1.png").read_bytes().startswith(b"\x89PNG")
    assert "published" in (tmp_path / "charts" / "table1.svg").read_text(
        encoding="utf-8"
    )
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Why a figure here is not the printed one" in page
    assert (
        (tmp_path / "tables" / "table1.csv")
        .read_text(encoding="utf-8")
        .startswith("name,")
    )


def test_a_killed_writer_leaves_nothing_and_a_second_is_refused(tmp_path: Path) -> None:
    nothing = Findings("versions", ())
    stale = tmp_path / "tables" / ".a.csv.0a1b2c3d.tmp"
    stale.parent.mkdir()
    stale.touch()
    nothing.write(tmp_path)
    assert not stale.exists()
    with (
        only_writer(tmp_path, tmp_path / ".lock"),
        pytest.raises(RunError, match="another process is writing it"),
    ):
        nothing.write(tmp_path)


def test_a_source_name_resolves_to_the_set_of_the_topic() -> None:
    """As for audit: `--contexts wikipedia`, and `--source mine=book`."""
    race = load_topic("race")
    assert study_contexts(race, "wikipedia").name == "wikipedia-race"
    given = source_sets(race, [("a", "book"), ("b", "paper-race")])
    assert [(n, c.name) for n, c in given] == [("a", "book-race"), ("b", "paper-race")]


def test_a_model_alone_is_compared_with_itself_in_chat() -> None:
    inside = replace(SETTINGS, load=replace(SETTINGS.load, chat=True))
    asked: dict[str, Any] = {"topic": TOPIC, "contexts": "paper-gender"}
    audits = alignment_plan([["smollm2"]], settings=inside, **asked).audits
    labels = [(a.label, a.settings.load.chat) for a in audits]
    assert labels == [("smollm2", False), ("smollm2 (chat)", True)]
    with pytest.raises(SettingsError, match="or one model and --chat"):
        alignment_plan([["smollm2"]], settings=SETTINGS, **asked)


def test_folder_names_omit_the_path(tmp_path: Path) -> None:
    for name in ("a/model", "b/model", "b/other"):
        (tmp_path / name).mkdir(parents=True)
    folders = [str(tmp_path / n) for n in ("a/model", "b/other")]
    audits = planned_runs([*folders, "smollm2"], TOPIC, CONTEXTS, SETTINGS)
    assert [a.label for a in audits] == ["model", "other", "smollm2"]
    alike = [str(tmp_path / n) for n in ("a/model", "b/model")]
    assert [a.label for a in planned_runs(alike, TOPIC, CONTEXTS, SETTINGS)] == alike


def test_every_number_is_in_the_paper(shared_data: Path) -> None:
    """Each printed figure is found in the paper's text, in a row of its model's three numbers."""
    paper = next((shared_data.parent / "papers").glob("000_*.txt")).read_text(
        encoding="utf-8"
    )
    text = re.sub(r"</?[iu]>", "", paper)
    rows = 0
    for table in printed().values():
        for row in table.models.values():
            assert "\t".join(f"{v:.4f}" for v in row) in text, row
            rows += 1
    assert rows == 12 + 12 + 4 * 6 + 3


def test_a_suite_goes_by_the_papers_names_and_only_what_ships_code_may_run_it() -> None:
    trusting = replace(SETTINGS, load=replace(SETTINGS.load, allow=("remote-code",)))
    entries = members("bvf-gender", download=True)
    audits = planned_runs(entries, TOPIC, CONTEXTS, trusting)
    assert [a.label for a in audits] == list(printed()["table1"].models)
    for table in filter(lambda table: table.study, printed().values()):
        names = {entry.name for entry in suite(about(table.study).suite)}
        assert names <= table.models.keys(), table.title
    trusted = {a.label for a in audits if "remote-code" in a.settings.load.allow}
    assert trusted == {"Baichuan", "ChatGLM2"}


def test_a_table_has_the_layout_of_the_paper() -> None:
    names = ["google-t5/t5-base", "BERT", "mine"]
    results = [
        (planned(n, "table1"), made(n, lean(m, 0.1)))
        for n, m in zip(names, (0.9, 0.6, 0.7), strict=True)
    ]
    table = table_findings(results, study="table1").tables[0]
    rows = {row[0].text: row for row in table.rows()}
    assert list(rows)[3:] == [*printed()["table1"].models, "mine"]
    shown = ["R", "Rᵇ", "Rᵛ"]
    headings = [c.heading for c in table.combined()]
    assert headings == ["model", *shown, *(f"{one}\nprinted" for one in shown)]
    assert [c.text for c in rows["Stereotyped"][1:]] == ["1.0000", "1.0000", "0"] * 2
    assert [c.text for c in rows["XLNet"][1:]] == ["–"] * 3 + [
        "0.7343",
        "0.7177",
        "0.0166",
    ]
    assert [c.mark for c in rows["T5"][1:]] == [
        "worst",
        "worst",
        "best",
        "worst",
        "worst",
        "best",
    ]
    assert [c.mark for c in rows["BERT"][1:]] == [
        "best",
        "best",
        "worst",
        "best",
        "",
        "",
    ]
    assert "| **0.8703** | **0.8691** | *<u>0.0012</u>* |" in to_markdown(table)
    assert r"\underline{\textit{0.0012}}" in to_latex(table)


def test_rows_that_do_not_add_up_are_listed() -> None:
    odd = {(key, model) for key, table in printed().items() for model in table.odd}
    llama = {(f"table4-{source}", "LLaMA2") for source in ("book", "textbook")}
    assert odd == {("table1", "Baichuan"), *llama}


GENDER = load_topic("gender")
GROUPS = GENDER.group_names[:12]


def made(name: str, p: np.ndarray, *, size: int = 1000) -> Run:
    """A run with these probabilities of the first category, [X, C]."""
    preferences = labelled(
        pair(p),
        groups=GROUPS[: len(p)],
        categories=("male", "female"),
        templates=tuple(f"The [X] did {i} that [Y]" for i in range(p.shape[1])),
    )
    words = {"male": ["he"], "female": ["she"]}
    record = RunRecord(
        model=ModelRecord(id=name, kind="causal", revision="none", parameters=size),
        topic=TopicRecord(name="made", sha256="t", groups=len(p), attributes=words),
        contexts=ContextsRecord(
            name="made", sha256="c", n=p.shape[1], n_eff=p.shape[1]
        ),
        scoring={},
        settings=SETTINGS,
    )
    return Run.measured(record, preferences, folder=None)


def planned(name: str, role: str = "") -> PlannedRun:
    return PlannedRun(name, name, GENDER, CONTEXTS, SETTINGS, name, role=role)


def lean(mean: float, swing: float, *, C: int = 60, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(mean + swing * rng.normal(size=(12, C)), 0.01, 0.99)


@pytest.fixture(scope="module")
def models_of_three_sizes() -> list[tuple[PlannedRun, Run]]:
    """Models of 10⁶, 10⁷ and 10⁸ parameters, whose mean preference is 0.65, 0.75 and 0.85."""
    models = []
    for seed, (name, mean) in enumerate([("s", 0.65), ("m", 0.75), ("l", 0.85)]):
        preferences = lean(mean, 0.03, seed=seed)
        run = made(name, preferences, size=10 ** (6 + seed))
        models.append((planned(name), run))
    return models


def test_size_finds_a_trend_only_where_there_is_one(
    models_of_three_sizes: list[tuple[PlannedRun, Run]],
) -> None:
    findings = size_findings(models_of_three_sizes)
    table = findings.tables[0].frame.set_index("measure")
    # R^b = 2 (mean - 1/2): 0.3, 0.5, 0.7, so 0.2 for ten times the size.
    bias = table.loc["R_bias"]
    assert bias["value"] == pytest.approx(0.2, abs=0.01)
    assert bias["low"] > 0.15
    volatility = table.loc["R_volatility"]
    assert volatility["low"] <= 0 <= volatility["high"]
    verdicts = [line.split(": ")[-1] for line in findings.measured]
    assert verdicts[1:] == ["rises.", "no clear trend."]
    assert findings.figures[0].svg().startswith("<svg")


def test_the_trend_over_models_is_that_of_least_squares(
    models_of_three_sizes: list[tuple[PlannedRun, Run]],
) -> None:
    import statsmodels.api as sm

    table = size_findings(models_of_three_sizes).tables[0].frame
    bias = table.set_index("measure").loc["R_bias"]
    biases = [run.R_bias.value for _, run in models_of_three_sizes]
    log_sizes = [6.0, 7.0, 8.0]
    fit = sm.OLS(biases, sm.add_constant(log_sizes)).fit()
    low, high = fit.conf_int()[1]
    assert bias["value"] == pytest.approx(fit.params[1])
    assert bias["over_models_low"] == pytest.approx(low)
    assert bias["over_models_high"] == pytest.approx(high)


def test_two_sizes_have_no_interval_over_models_and_one_no_trend(
    models_of_three_sizes: list[tuple[PlannedRun, Run]],
) -> None:
    table = size_findings(models_of_three_sizes[:2]).tables[0].frame
    assert table["over_models_low"].isna().all()
    with pytest.raises(RunError, match="two different sizes"):
        size_findings(models_of_three_sizes[:1])


def test_alignment_names_groups_that_changed_sides() -> None:
    before, after = lean(0.7, 0.1), lean(0.7, 0.1)
    after[3] = 1 - after[3]
    found = alignment_findings(
        [
            (planned(name, role), made(name, p))
            for name, role, p in (
                ("base", "base", before),
                ("new", "base", after),
                ("large", "large", before),
                ("large new", "large", before),
                ("alone", "alone", before),
                ("without its base", "lost", before),
            )
        ]
    )
    pairs = next(t.frame for t in found.tables if t.key == "alignment-differences")[
        "pair"
    ]
    assert pairs.unique().tolist() == ["new − base", "large new − large"]
    assert any(
        f"1 of 12 groups clearly lean to another category: {GROUPS[3]}" in s
        for s in found.measured
    )
    assert any("no difference shown" in s for s in found.sentences)
    frame = next(t.frame for t in found.tables if t.key == "alignment-groups-new")
    assert frame[frame["turned"]]["group"].tolist() == [GROUPS[3]]
    for figure in found.figures:
        assert figure.svg().startswith("<svg")
    with pytest.raises(SettingsError, match="could not be scored"):
        alignment_findings([(planned("base", "base"), made("base", before))])


def equal_versions(n: int, *, seed: int) -> Findings:
    """n versions that differ from their base by chance alone: all of them at parity."""
    runs = [
        made(f"m{i}", lean(0.5, 0.2, C=40, seed=100 * seed + i)) for i in range(n + 1)
    ]
    return alignment_findings([(planned(run.model, "m0"), run) for run in runs])


def test_equal_models_at_parity_turn_no_group() -> None:
    """The favoured category of such groups is a coin: a bare argmax turned about half of them."""
    found = equal_versions(1, seed=1)
    frame = next(t.frame for t in found.tables if t.key.startswith("alignment-groups"))
    assert (frame["before"] != frame["after"]).sum() > 3
    assert not frame["turned"].any()
    assert "0 of 12 groups" in found.measured[-1]


def test_differences_of_equal_versions_are_corrected_for_their_number() -> None:
    """One of four equal versions seems higher or lower by its own interval; corrected, none is."""
    found = equal_versions(4, seed=3)
    changes = next(t.frame for t in found.tables if t.key == "alignment-differences")
    assert (changes["p"] < 0.05).any()
    assert changes["p_corrected"].tolist() == pytest.approx(
        (4 * changes["p"]).clip(upper=1)
    )
    assert ((changes["low"] <= 0) & (changes["high"] >= 0)).all()
    said = found.measured[: len(changes)]
    assert all(line.endswith("no difference shown.") for line in said)


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
        (
            a,
            made(a.label, lean(1.4 - means[a.label], 0.05, seed=9))
            if a.role == "web"
            else r,
        )
        for a, r in same
    ]
    R = sources_findings(turned).tables[0].frame.query("measure == 'R'").iloc[0]
    assert R["tau"] < 1
    published = found.tables[1].frame.set_index("pair")["tau"]
    assert len(published) == 10
    assert published.mean() == pytest.approx(0.87, abs=0.005)
    assert found.figures[0].svg().startswith("<svg")


def test_views_of_runs() -> None:
    p = lean(0.7, 0.1)
    p[0] = 1 - p[0]
    runs = [("one", made("one", p)), ("two", made("two", lean(0.7, 0.1, seed=5)))]
    found = figures_findings(runs, groups=GROUPS[:3], contexts=5)
    tables = {table.key: table.frame for table in found.tables}
    counts = tables["leaning-counts"].set_index(["name", "category"])["groups"]
    assert counts["one"].tolist() == [11, 1]
    assert counts["all models"].tolist() == [11, 0]
    table = tables["leaning-groups"].set_index("group")
    assert table.loc[GROUPS[0], "one"] == "female"
    assert table["system bias: one"].tolist() == pytest.approx(
        (p.mean(axis=1) - 0.5).tolist()
    )
    far = np.abs(p - 0.5).mean(axis=1) / 0.5
    assert table["deviation: one"].tolist() == pytest.approx(far.tolist())
    assert len(tables["distribution"]) == 4
    heat = tables["heatmap"]
    assert len(heat) == 2 * 3 * 5
    assert heat["p"].tolist()[:15] == pytest.approx(
        p[:3, :5].ravel().tolist()
    )  # of male
    assert len({f.key for f in found.figures}) == len(found.figures) == 2 + 2 * 2
    for figure in found.figures:
        assert figure.svg().startswith("<svg")
    with pytest.raises(SettingsError, match="astronaut"):
        figures_findings(runs, groups=["astronaut"])


def test_texts_are_filtered_and_sampled(tmp_path: Path) -> None:
    table = tmp_path / "posts.csv"
    pd.DataFrame({"tweet": ["a  b", "c", "d"], "class": [0, 2, 1]}).to_csv(
        table, index=False
    )
    lines = tmp_path / "posts.jsonl"
    lines.write_text('{"text": "e"}\n\n{"text": "f"}\n', encoding="utf-8")
    texts = read_texts([table, lines], where=["class=0,1"])
    assert texts == ["a b", "d", "e", "f"]
    assert sorted(some_of(texts, None, seed=1)) == sorted(texts)
    assert some_of(texts, 2, seed=1) == some_of(texts, 4, seed=1)[:2]
    table.write_text("words\nx\n", encoding="utf-8")
    with pytest.raises(TableError, match="column with texts"):
        read_texts([table])
    table.write_text("tweet,class\nx,0\n", encoding="utf-8")
    with pytest.raises(TableError, match="no row is left"):
        read_texts([table], where=["class=7"])
    with pytest.raises(TableError, match="--where"):
        read_texts([table], where=["class"])
