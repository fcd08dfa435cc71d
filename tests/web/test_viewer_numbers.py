"""The same numbers everywhere: what report, viewer, list, terminal, JSON and CSV show of one run is
what its folder holds, figure by figure."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.browser import watched
from tests.report.made import made_run, with_floor
from tests.web.conftest import served

from clinometer.cli.audit import as_json, print_runs
from clinometer.display.numbers import percent, risk
from clinometer.report import write_report
from clinometer.runs import Run, RunFolder

MEASURES = ("R", "R_bias", "R_volatility")
IN_CHIPS = {
    "R": "R",
    "R_bias": "steady lean",
    "R_volatility": "swing",
    "R_between": "between groups",
}


@dataclass(frozen=True)
class Shown:
    """A run's files, read without the library, and the pages about it."""

    record: dict[str, Any]
    groups: pd.DataFrame
    share: pd.DataFrame
    answers: pd.DataFrame
    folder: Path
    report: Any
    run: Any
    listed: Any


@pytest.fixture(scope="module")
def shown(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    root = tmp_path_factory.mktemp("numbers")
    folder = root / "one"
    made = with_floor(made_run(folder, groups=8, contexts=40, orders=2))
    made.write(RunFolder(folder))
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    tables = {n: pd.read_parquet(folder / f"{n}.parquet") for n in ("groups", "contexts")}
    answers = pd.read_parquet(folder / "preferences.parquet")
    weighted = answers.merge(tables["contexts"][["context_id", "weight"]], on="context_id")
    weighted["part"] = weighted["p"] * weighted["weight"]
    share = weighted.groupby(["group", "attribute"])["part"].sum().unstack()
    write_report([folder], root / "page.html")
    with served(root) as address:
        report, run, listed = (watched(chromium).page for _ in range(3))
        report.goto((root / "page.html").as_uri())
        run.goto(f"{address}/run?id=one")
        run.wait_for_function("() => document.querySelector('#explorer[data-ready]')")
        listed.goto(address)
        yield Shown(
            record, tables["groups"].set_index("group"), share, answers, folder, report, run, listed
        )


def words(page: Any, place: str) -> str:
    return " ".join(page.locator(place).first.inner_text().replace("\xa0", " ").split())


def ends(e: dict[str, Any], to: str) -> str:
    return f"{e['low']:.3f}{to}{e['high']:.3f}"


def rows(page: Any, title: str) -> list[list[list[Any]]]:
    """The body of a table: [text, value] of each cell."""
    table = page.locator("table", has=page.locator("caption", has_text=title)).first
    found: list[list[list[Any]]] = table.evaluate(
        "t => [...t.tBodies[0].rows].map(r => [...r.cells].map(c => [c.textContent, c.dataset.v]))"
    )
    return found


def test_the_risks(shown: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    summary = shown.record["summary"]
    chips, strip = words(shown.run, ".chips"), words(shown.report, ".risk")
    for measure, name in IN_CHIPS.items():
        e = summary[measure]
        assert f"{name} {e['value']:.3f} ({ends(e, '–')})" in chips
        if measure in MEASURES:
            assert f"{name} {e['value']:.3f} ({ends(e, '–')})" in strip
    floor = shown.record["floor"]["R"]
    assert f"shuffled words {floor['value']:.3f} ({ends(floor, '–')})" in chips
    assert f"shuffled words {floor['value']:.3f} ({ends(floor, '–')})" in strip
    loaded = Run.load(shown.folder)
    print_runs([loaded])
    terminal = capsys.readouterr().out
    row = words(shown.listed, "tbody tr")
    (table,) = (r for r in rows(shown.report, "Risks of the models") if r[0][0] == "made:model")
    said = words(shown.report, ".printed")
    for i, measure in enumerate(MEASURES):
        e = summary[measure]
        assert float(table[1 + i][1]) == e["value"]
        assert table[1 + i][0] == f"{e['value']:.3f}{ends(e, ' to ')}"
        assert f"{e['value']:.3f} (95 % interval {ends(e, ' to ')})" in said
        assert f"{e['value']:.3f}" in row
        assert f"{e['value']:.3f}" in terminal
        assert ends(e, "–") in terminal
    for measure in ("R_shared", "R_between"):
        assert f"{summary[measure]['value']:.3f}" in terminal
    assert ends(summary["R"], " to ") in row
    n, worth = shown.record["contexts"]["n"], f"{shown.record['n_eff']:.1f}"
    assert [cell[0] for cell in table[-2:]] == [str(n), worth]
    assert f"{n}, {worth} effective" in row
    assert f"{n}    {worth}" in terminal
    (found,) = as_json([loaded], [])["runs"]
    assert found["summary"] == summary
    assert (found["n_contexts"], found["n_eff"]) == (n, shown.record["n_eff"])
    assert words(shown.run, "h1") == words(shown.report, "h1")


def test_every_group(shown: Shown, tmp_path: Path, clinometer: Callable[..., Any]) -> None:
    listed = shown.run.locator(".rows li")
    labels = {
        str(li.get_attribute("data-group")): str(li.locator("button").get_attribute("aria-label"))
        for li in listed.all()
    }
    assert set(labels) == set(shown.groups.index)
    table = {cells[0][0]: cells for cells in rows(shown.report, "Groups")}
    done = clinometer("report", shown.folder, "--out", tmp_path / "run.csv")
    assert done.status == 0, done.err
    csv = pd.read_csv(tmp_path / "run-groups.csv").set_index("group")
    stated = {g["group"]: g for g in as_json([Run.load(shown.folder)], [])["runs"][0]["groups"]}
    address = shown.report.locator("#first-1-groups .tools a[download]").get_attribute("href")
    content = base64.b64decode(address.partition("base64,")[2])
    drawn = pd.read_csv(io.BytesIO(content)).set_index("group")
    tips = shown.report.locator("#first-1-groups .wide [data-tip]").evaluate_all(
        "all => all.map(one => one.dataset.tip)"
    )
    for row in shown.groups.reset_index().to_dict("records"):
        group = str(row["group"])
        female = float(shown.share["female"][group])
        mean = f"{percent(female)} female"
        assert labels[group].startswith(f"{group}: {mean}")
        assert any(tip.startswith(f"{group}: {mean} words on average") for tip in tips)
        assert drawn["share of female"][group] == pytest.approx(female, abs=1e-12)
        lean = f"risk {risk(row['r'])}, swing {risk(row['r_volatility'])}"
        assert labels[group].endswith(lean)
        shown.run.locator(f'.rows li[data-group="{group}"] button').click()
        facts = " ".join(shown.run.locator(".facts").inner_text().split())
        for i, measure in enumerate(("r", "r_bias", "r_volatility")):
            value, low, high = (row[measure + end] for end in ("", "_low", "_high"))
            text, exact = table[group][1 + i]
            assert (text, float(exact)) == (f"{value:.3f}{low:.3f} to {high:.3f}", value)
            assert f"{value:.3f} ({low:.3f}–{high:.3f})" in facts
            assert stated[group][measure] == csv[measure][group] == value
            assert stated[group][f"{measure}_low"] == csv[f"{measure}_low"][group] == low
        assert csv["leaning"][group] == row["leaning"] == stated[group]["leaning"]


def test_every_answer(shown: Shown) -> None:
    """Shares in the viewer's file are rounded to 16 bits: what is shown of them is not changed."""
    decoded = shown.run.evaluate("""async () => {
      const { fromAddress } = await import("/static/explorer.js");
      const run = await fromAddress("/data?id=one");
      const shares = run.groups.map((_, x) => run.contexts.map((_, c) => run.shares(x, c)));
      return [run.groups, run.contexts, shares];
    }""")
    groups, contexts, shares = decoded
    truth = shown.answers.pivot_table(
        index=["group", "context_id"], columns="attribute", values="p", sort=False
    )[["male", "female"]]
    for x, group in enumerate(groups):
        for c, context in enumerate(contexts):
            np.testing.assert_allclose(shares[x][c], truth.loc[group, context], atol=1.6e-5)
    behind = shown.report.locator(".behind .example .shares").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-label'))"
    )
    written = {
        f"male {percent(p['male'])}, female {percent(p['female'])}" for _, p in truth.iterrows()
    }
    assert len(behind) == 4
    assert set(behind) <= written
    for (group, _), *_, male, female in rows(shown.report, "The answers that weigh most"):
        told = (float(male[1]), float(female[1]))
        assert told in {(p["male"], p["female"]) for _, p in truth.loc[group].iterrows()}


def test_scripts_and_python_write_a_number_alike(shown: Shown) -> None:
    values = [i / 1024 for i in range(1025)] + [i / 977 for i in range(978)] + [1e-9, 5e-4, 0.9995]
    found = shown.run.evaluate(
        """async (values) => {
          const { asPercent, asRisk } = await import("/static/explorer.js");
          return values.map((v) => [asPercent(v), asRisk(v), asRisk(-v)]);
        }""",
        values,
    )
    assert found == [[percent(v), risk(v), risk(-v)] for v in values]
