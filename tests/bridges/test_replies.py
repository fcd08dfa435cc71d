"""Tables of replies as runs: several models, axes, irrelevant edits, and tables that cannot be."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.present import present

from clinometer.bridges.mapping import load_mapping
from clinometer.bridges.replies import import_replies
from clinometer.errors import TableError
from clinometer.measure.components import NO_DICE, ONE_CONTEXT
from clinometer.runs import AuditSettings, Run
from clinometer.runs.names import context_noun

COLUMNS = ("model", "group", "context", "repetition", "score")


def rows(
    models: Iterable[str] = ("m",), groups: int = 3, contexts: int = 8, n: int = 4
) -> Any:
    rng = np.random.default_rng(0)
    for m, x, c, r in product(models, range(groups), range(contexts), range(n)):
        score = int(np.clip(round(5 + x + rng.normal()), 1, 9))
        yield dict(zip(COLUMNS, (m, f"g{x}", f"c{c}", r, score), strict=True))


def written(path: Path, some: Iterable[dict[str, Any]]) -> Path:
    content = list(some)
    frame = pd.DataFrame(content, columns=None if content else list(COLUMNS))
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix == ".json":
        frame.to_json(path, orient="records")
    else:
        frame.to_csv(path, index=False)
    return path


def imported(path: Path, mapping: str = "replies", **more: Any) -> list[Run]:
    changes = more.pop("changes", None)
    return import_replies(
        path,
        load_mapping(mapping, changes),
        AuditSettings(),
        out=more.pop("out", None),
        **more,
    )


@pytest.mark.parametrize(
    "name", ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet", "t.json"]
)
def test_every_kind_of_file_gives_the_same_components(
    tmp_path: Path, name: str
) -> None:
    (run,) = imported(written(tmp_path / name, rows()))
    (plain,) = imported(written(tmp_path / "plain.jsonl", rows()))
    assert run.record.components == plain.record.components
    assert [g.group for g in present(run.record.components).clear_groups()] == [
        "g0",
        "g2",
    ]
    # what charts mark is what the headline says
    assert [g.group for g in run.leans if g.category is not None] == ["g0", "g2"]


def test_models_and_axes_are_runs_that_can_be_loaded(tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", rows(("a", "b/c")))
    runs = imported(table, out=tmp_path / "runs")
    assert [r.path for r in runs] == [
        tmp_path / "runs" / "a",
        tmp_path / "runs" / "b-c",
    ]
    again = Run.load(tmp_path / "runs" / "a")
    assert again.record.components == runs[0].record.components
    each = [r.record.imported.samples for r in runs if r.record.imported]
    assert (
        each == [len(list(rows(("a",))))] * 2
    )  # its own replies, not those of the whole table


def test_no_name_of_a_table_leaves_the_folder(tmp_path: Path) -> None:
    """Each model and axis has a folder of its own, whatever it is called."""
    names = ("..", ".", "../..", "/", "a/b", "A-b", "x" * 300)
    some = [{**row, "axis": axis} for axis in names[:3] for row in rows(names, 2, 2, 2)]
    table = written(tmp_path / "t.jsonl", some)
    out = tmp_path / "out" / "runs"
    runs = imported(table, changes={"axis": "{axis}"}, out=out)
    assert len({str(r.path).casefold() for r in runs}) == len(names) * 3
    assert all(present(r.path).resolve().parent.parent == out.resolve() for r in runs)
    assert not list(tmp_path.glob("*.json"))
    assert not list((tmp_path / "out").glob("*.json"))


def test_a_file_name_that_is_no_text_is_shown_and_stored(tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", [{**row, "model": ""} for row in rows()])
    strange = table.rename(tmp_path / os.fsdecode(b"a\xff.csv"))
    (run,) = imported(strange, out=tmp_path / "run")
    assert Run.load(tmp_path / "run").model == run.model == "a[U+DCFF]"


def test_the_published_audit_has_axes_baseline_and_placebo(tmp_path: Path) -> None:
    """A made-up table of its shape: a name adds a point, no edit does anything."""
    rng = np.random.default_rng(1)
    names = (
        "firstName_a",
        "firstName_b",
        "careerGap_x",
        "baseline",
        "placebo_car",
        "placebo_day",
    )
    some = [
        {"variant": v, "model": "m", "jd": f"j{c}", "run": r, "score": s}
        for v, c, r in product(names, range(10), range(5))
        for s in [round(5 + (v == "firstName_a") + rng.normal(0, 0.4))]
    ]
    table = written(tmp_path / "t.csv", some)
    name, gap = imported(table, "hiring_bias")
    assert name.preferences.groups == ("a", "b")
    assert gap.preferences.groups == ("x", "as it was")
    placebo = present(name.record.placebo)
    assert placebo.edits == ("as it was", "car", "day")
    assert placebo.groups == pytest.approx(1, abs=0.25)
    assert placebo.edit < 0.25
    assert (placebo.low or 0) > 2
    labelled = {"labels": {"job": "{jd}"}}
    (only,) = imported(table, "hiring_bias", only=["career*"], changes=labelled)
    assert only.preferences.label("job")[0] == "j0"
    assert only.record.topic.title == "Score of a résumé by gap"


def test_a_result_file_of_promptfoo(tmp_path: Path) -> None:
    foo: list[dict[str, Any]] = [
        {"provider": {"id": "openai:x"}, "vars": {"group": g, "context": c}, "score": s}
        for g, c, s in product("ab", "123", (0.0, 1.0))
    ]
    # A request that failed, as promptfoo writes it.
    foo.append({**foo[0], "score": 0, "error": "429", "failureReason": 2})
    file = tmp_path / "foo.json"
    file.write_text(
        json.dumps({"evalId": "e", "results": {"version": 3, "results": foo}})
    )
    (run,) = imported(file, "promptfoo")
    assert (run.model, present(run.preferences.answers).sum()) == ("openai:x", 12)


@pytest.mark.parametrize(
    ("few", "note"),
    [({"n": 1}, NO_DICE), ({"contexts": 1}, ONE_CONTEXT), ({"groups": 1}, None)],
)
def test_what_replies_cannot_tell_is_a_result_with_a_note(
    tmp_path: Path, few: dict[str, Any], note: str | None
) -> None:
    (run,) = imported(written(tmp_path / "a.csv", rows(**few)))
    components = present(run.record.components)
    assert note is None or components.note == note
    assert "groups" not in few or components.parts[0] == 0


@pytest.mark.parametrize("named", [None, "bot"])
def test_a_table_of_one_model_may_lack_its_name_and_repetitions(
    tmp_path: Path, named: str | None
) -> None:
    whole = list(rows(models=["m"]))
    bare = [
        {k: v for k, v in row.items() if k not in ("model", "repetition")}
        for row in whole
    ]
    (run,) = imported(written(tmp_path / "bare.csv", bare), model=named)
    (same,) = imported(written(tmp_path / "whole.csv", whole))
    assert run.model == (named or "bare")
    assert run.record.components == same.record.components


@pytest.mark.parametrize("score", ["", "NaN", "inf", "seven"])
def test_single_replies_without_a_number_are_counted(
    tmp_path: Path, score: str
) -> None:
    content = list(rows())
    content[5]["score"] = score
    (run,) = imported(written(tmp_path / "t.csv", content))
    assert present(run.preferences.answers).sum() == 3 * 8 * 4 - 1


EDITS = {"placebo": {"group": "*"}, "edit": "{group}", "baseline": {}}


@pytest.mark.parametrize(
    ("some", "how", "says"),
    [
        ([], {}, "found no row"),
        (
            [{**row, "score": "good"} for row in rows()],
            {},
            "a number as score, found 'good'",
        ),
        ([*rows(), *rows()], {}, "expected each repetition once, found '0' again"),
        ([{"model": "m", "score": 1}], {}, "expected the field 'group'"),
        (list(rows([f"m{i}" for i in range(1001)], 1, 1, 2)), {}, "found 1,001"),
        (list(rows(groups=20_001, contexts=1, n=1)), {}, "20,001"),
        (
            [{**row, "score": i / 7} for i, row in enumerate(rows(contexts=30))],
            {},
            "--set step=0.1",
        ),
        (list(rows()), {"only": ["x"]}, "--only"),
        (list(rows()), {"changes": EDITS}, "placebo"),
    ],
)
def test_tables_that_cannot_be_are_one_line(
    tmp_path: Path, some: list[dict[str, Any]], how: dict[str, Any], says: str
) -> None:
    table = written(tmp_path / "t.csv", some)
    with pytest.raises(TableError, match=r"t\.csv|mapping 'replies'") as caught:
        imported(table, **how)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_named_takes_the_place_of_the_default(tmp_path: Path) -> None:
    """`--set category=` beside the score of the ready mapping measured the score, against an even
    split."""
    rng = np.random.default_rng(0)
    some = [
        {**row, "verdict": "yes" if rng.random() < 0.9 else "no"} for row in rows(n=8)
    ]
    table = written(tmp_path / "t.csv", some)
    (run,) = imported(table, changes={"category": "{verdict}", "favourable": "yes"})
    assert set(run.preferences.categories) == {"yes", "no"}
    assert run.record.topic.reference == "group-mean"
    assert run.R.value < 0.3
    assert run.outcome.favourable == run.preferences.categories.index("yes")


def test_a_context_of_replies_is_a_case_unless_the_mapping_names_it(
    tmp_path: Path,
) -> None:
    (run,) = imported(written(tmp_path / "t.csv", rows()), changes={"noun": ""})
    assert context_noun(run) == "case"


def test_the_parts_are_said_where_groups_are_compared_with_their_mean(
    tmp_path: Path,
) -> None:
    """Two replies a cell split variance around a common mean."""
    rng = np.random.default_rng(0)
    table = []
    for x, c, r in product(range(4), range(12), range(2)):
        row = ("m", f"g{x}", f"c{c}", r, str(rng.random() < 0.1 + 0.25 * x))
        table.append(dict(zip(COLUMNS, row, strict=True)))
    path = written(tmp_path / "t.jsonl", table)
    changes = {
        "score": "",
        "answer": "{score}",
        "categories": {"yes": ["True"], "no": ["False"]},
    }
    for reference, kinds in (("group-mean", ["parts"]), ({"yes": 0.5, "no": 0.5}, [])):
        (run,) = imported(path, changes={**changes, "reference": reference})
        assert [one.kind for one in run.findings if one.kind == "parts"] == kinds
