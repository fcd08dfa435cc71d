"""The page as text: whole, offline, escaped, of runs in every state."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.present import present
from tests.report.made import HOSTILE, hiring_run, made_run, summary_of, without

from clinometer.errors import RunError
from clinometer.measure import Estimate
from clinometer.report import write_report
from clinometer.report.evidence import badge, contexts_worth, evidence, lede
from clinometer.report.examples import pick_examples
from clinometer.report.explorer import MISSING, explorer_data, worst_cells
from clinometer.report.first_screen import first_screen
from clinometer.report.page import Report, render_report
from clinometer.report.questions import Extra, PagePart
from clinometer.runs import Run, audit
from clinometer.runs.findings.facts import facts_of_run
from clinometer.runs.findings.risk import steady
from clinometer.topics import load_topic


@pytest.fixture(scope="module")
def page(small: Run) -> str:
    return render_report([small])


def test_the_page_shows_the_numbers_what_they_rest_on_and_do_not_mean(
    page: str, small: Run
) -> None:
    record, risks = small.record, small.risks
    for text in (
        *("Ideally unbiased", "Randomly stereotyped", "made:model", "1.000"),
        *(f"{risks.R.value:.3f}", f"{risks.n_eff:,.1f}"),
        *(record.topic.sha256, record.contexts.sha256, "numpy", "scipy"),
        *("settings.coverage_threshold", "settings.words.tolerance"),
        *("do not say that a model is fair", "no certificate"),
    ):
        assert text in page
    for flag, count in record.counts.items():
        assert re.search(rf"{flag.replace('_', ' ')}.*?{count:,}", page, flags=re.S)


def test_the_page_refers_to_nothing_external(page: str) -> None:
    assert not re.search(
        r"""(?:src|href)\s*=\s*["'](?!#|data:image/png;base64,|data:image/svg|data:text/csv;base64,)""",
        page,
    )
    assert not re.search(r"url\((?!#)|@import|https?:", page)
    assert "default-src 'none'" in page


def test_ids_are_unique(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for used in re.findall(r"url\(#([^)]+)\)", page):
        assert used in ids


@pytest.mark.parametrize("name", ["unbiased", "stereotyped", "random"])
def test_reference_models_have_pages_too(name: str) -> None:
    topic = load_topic("gender").select(["nurse", "engineer", "teacher"])
    page = render_report(
        [audit(f"reference:{name}", topic=topic, contexts="paper-gender")]
    )
    assert f"reference:{name}" in page


def test_one_cell_five_categories_and_runs_of_different_topics(small: Run) -> None:
    assert "made:model" in render_report([made_run(None, groups=1, contexts=1)])
    run = made_run(None, groups=10, contexts=12, categories=5)
    screen = first_screen([summary_of(run)])
    assert len(screen.examples[0].shares) == 5
    assert "category 4" in screen.pictures[0].svg()
    page = render_report([small, run])
    assert "cannot be told from 12 sentences" in page
    assert "made:model" in page


@pytest.mark.usefixtures("undrawn")
def test_missing_runs_and_unwritable_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="at least one run"):
        render_report([])
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(RunError, match="cannot be written"):
        write_report(
            [made_run(None, groups=1, contexts=1)], tmp_path / "file" / "page.html"
        )


def parts(run: Run) -> dict[str, PagePart]:
    """The questions of the page of a run."""
    return {part.key: part for part in Report.of([run]).sections[0].parts}


def test_factors_are_shown_where_the_swing_is(small: Run, tmp_path: Path) -> None:
    made_run(tmp_path / "run", groups=4, contexts=60, orders=3)
    run = Run.load(tmp_path / "run")
    found = present(run.record.factors)
    assert found.unit == "wording"
    order = present({f.name: f.share for f in found.factors}["order"])
    assert 0 < present(order.low) < order.value < present(order.high)
    swing = parts(run)["swing"]
    assert any("with order" in line and "% (" in line for line in swing.text)
    (table,) = swing.tables
    assert list(table.frame["factor"]) == ["wording", "order", "none of them alone"]
    assert table.frame["of_swing"].sum() == pytest.approx(1.0, abs=1e-9)
    assert "levels of wording are a sample" in table.note
    assert "--clusters wording" in table.note
    assert any(t.key == "factors" for t in Report.of([run]).tables())
    assert small.record.factors is None
    assert all(t.key != "factors" for t in Report.of([small]).tables())


def test_a_judge_without_labels_is_named_on_the_first_screen(small: Run) -> None:
    assert not any("judge" in line for line in lede(small))
    rubric = "Is this reply kind? [reply]"
    judge = {"kind": "text", "by": "judge", "model": "smollm2", "rubric": rubric}
    topic = small.record.topic.model_copy(update={"readout": judge})
    judged = replace(small, record=small.record.model_copy(update={"topic": topic}))
    assert any("is not calibrated" in line for line in lede(judged))


def test_tables_have_no_raw_floats_and_that_of_the_groups_is_open(small: Run) -> None:
    for table in Report.of([small]).tables():
        cells = [cell.text for row in table.rows() for cell in row]
        assert not [text for text in cells if re.search(r"\d\.\d{9}", text)], table.key
    assert [t.key for t in parts(small)["groups"].tables] == ["groups"]


@pytest.mark.parametrize(
    ("R", "low", "high", "said"),
    [
        (
            0.398,
            0.137,
            0.213,
            "About half of R (34–54 %) is a steady lean; the rest swings",
        ),
        (
            0.398,
            0.190,
            0.213,
            "About half of R (48–54 %) is a steady lean; the rest swings",
        ),
        (0.398, 0.020, 0.360, "cannot be told"),
        (0.400, 0.300, 0.380, "Most of R (75–95 %) is a steady lean; the rest swings"),
        (
            0.400,
            0.040,
            0.160,
            "Most of R (60–90 %) swings with the sentence; the rest is steady.",
        ),
        (0.400, 0.390, 0.400, "Nearly all of R is a steady lean."),
        (0.400, 0.000, 0.010, "Nearly all of R swings with the sentence."),
    ],
)
def test_the_share_that_is_steady(
    small: Run, R: float, low: float, high: float, said: str
) -> None:
    """Of a run with this R and this interval of the bias risk."""
    summary = {
        **small.risks.summary,
        "R": Estimate(R, 0.9 * R, 1.1 * R, 0.95, "made"),
        "R_bias": Estimate((low + high) / 2, low, high, 0.95, "made"),
    }
    report = replace(small.risks, summary=summary)
    assert said in present(steady(facts_of_run(replace(small, risks=report)))).text


def test_contexts_are_never_worth_more_than_there_are(small: Run) -> None:
    odd = replace(small, risks=replace(small.risks, n_contexts=14, n_eff=15.0))
    assert contexts_worth(odd) == "14 sentences"
    few = replace(small, risks=replace(small.risks, n_contexts=10, n_eff=4.3))
    assert contexts_worth(few) == "10 sentences that count like 4"
    assert evidence(few) == ("thin", "10 sentences that count like 4")


def test_undecided_answers_are_thin_evidence() -> None:
    level, why = evidence(hiring_run(covered=0.1))
    assert level == "thin"
    assert why.startswith("10 % of the answers of 80 questions")
    assert evidence(hiring_run(covered=0.8))[0] != "thin"


def test_examples_are_the_extremes_and_differ(small: Run) -> None:
    one = summary_of(small)
    screen = first_screen([one])
    p = small.preferences
    strongest = screen.examples[0]
    trusted = p.values[~p.low_coverage]
    assert max(strongest.shares) == pytest.approx(float(trusted.max()))
    assert screen.examples[1].favoured != strongest.favoured
    swing = screen.examples[-1]
    assert swing.second is not None
    assert swing.second.favoured != swing.favoured
    assert swing.second.group == swing.group
    assert screen.examples[0].group != screen.examples[1].group
    assert strongest.why == f"strongest answer of {len(trusted):,}"


def test_the_badge_says_what_would_tell_more(small: Run) -> None:
    few = made_run(None, groups=4, contexts=4)
    assert few.findings[0].sure == "cannot tell"
    many = made_run(None, groups=4, contexts=2000)
    for run in (few, small):  # a clear finding on thin evidence is no baseline yet
        assert "thin" in badge(run)
        assert "· next: more" in badge(run)
    assert badge(many).endswith(
        "· next: hold the next model to it with clinometer gate"
    )


def test_a_perfect_model_has_no_example() -> None:
    screen = first_screen(
        [summary_of(audit("reference:unbiased", contexts="paper-gender"))]
    )
    assert "as the reference in every sentence" in screen.title
    assert screen.examples == ()


def read(content: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What it says, and its columns."""
    data = json.loads(content)
    columns = {
        name: np.frombuffer(base64.b64decode(column["data"]), f"<{column['type']}")
        for name, column in data["columns"].items()
    }
    return data, columns


@pytest.mark.parametrize("categories", [2, 5])
def test_columns_hold_the_run(categories: int) -> None:
    run = made_run(None, groups=7, contexts=11, categories=categories)
    values = run.preferences.values.copy()
    data, columns = read(explorer_data(summary_of(run)))
    shares = columns["p"].reshape(values[:, :, :-1].shape) / (MISSING - 1)
    assert np.abs(shares - values[:, :, :-1]).max() < 0.5 / 65000
    assert columns["r"] == pytest.approx(run.risks.r, abs=1e-6)
    assert columns["r_ends"] == pytest.approx(
        present(run.risks.intervals).r.ravel(), abs=1e-6
    )
    faint = np.unpackbits(columns["faint"], bitorder="little")[: 7 * 11].reshape(7, 11)
    assert (faint == run.preferences.low_coverage).all()
    assert data["groups"] == list(run.risks.groups)


def test_missing_answers_are_marked() -> None:
    run = without(made_run(None, groups=3, contexts=4), (1, 2))
    _, columns = read(explorer_data(summary_of(run)))
    assert columns["p"].reshape(3, 4)[1, 2] == MISSING
    assert columns["strength"].reshape(3, 4)[1, 2] == 255
    assert (columns["p"] == MISSING).sum() == 1


def test_the_worst_come_first_and_once() -> None:
    run = made_run(None, groups=9, contexts=30)
    one = summary_of(run)
    found = worst_cells(one, 20)
    strength = [s for x, c, s in found if not run.preferences.low_coverage[x, c]]
    assert strength == sorted(strength, reverse=True)
    assert len({(x, c) for x, c, _ in found}) == len(found) == 20
    good = np.where(run.preferences.low_coverage, -1, one.cells.strength)
    assert found[0][2] == pytest.approx(good.max(), abs=1e-4)
    data, _ = read(explorer_data(one))
    assert data["compared"] == (good >= 0).sum() < 9 * 30
    assert pick_examples(one.cells)[0].why == f"strongest answer of {data['compared']}"


@pytest.mark.usefixtures("undrawn")
def test_hostile_text_cannot_end_its_block() -> None:
    run = made_run(None, groups=12, contexts=12, hostile=True)
    content = explorer_data(summary_of(run))
    assert HOSTILE[0] in json.loads(content)["groups"]
    assert "\u202e" not in content
    block = render_report([run], interactive=True).split('id="explorer-data">')[1]
    assert json.loads(block.split("</script>")[0])["groups"][0] == HOSTILE[0]


def test_a_run_of_240_000_answers_is_small() -> None:
    run = made_run(None, groups=120, contexts=2000)
    assert len(explorer_data(summary_of(run))) < 1_400_000


def test_a_study_stands_before_its_runs_and_other_parts_after_them(small: Run) -> None:
    for first, sign in ((True, 1), (False, -1)):  # where the first question follows
        page = render_report([small], extras=[Extra("Extra part", first=first)])
        order = page.index('-q-groups">', page.index('class="rest"')) - page.index(
            'id="extra-1"'
        )
        assert np.sign(order) == sign
