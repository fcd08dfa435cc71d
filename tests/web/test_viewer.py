"""The viewer over HTTP: what it serves, and what it refuses."""

from __future__ import annotations

import base64
import html
import io
import json
import os
import re
import shutil
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from tests.browser import watched
from tests.planted import planted_run
from tests.processes import PATIENCE_S
from tests.report.made import HOSTILE, made_run, with_floor
from tests.web.conftest import served

from clinometer.cli.show_runs import as_json, print_runs
from clinometer.display.numbers import percent, risk
from clinometer.errors import RunError, SettingsError
from clinometer.models.providers import is_loopback
from clinometer.report import write_report
from clinometer.runs import Run, RunFolder
from clinometer.storage.atomic import only_writer
from clinometer.web import view_run, viewer
from clinometer.web.app import new_app
from clinometer.web.runs_index import RunsIndex
from clinometer.web.viewer import peers_of


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=PATIENCE_S) as found:
        yield found


def test_the_data_of_a_run_and_the_words_of_an_answer(client: httpx.Client) -> None:
    data = client.get("/data", params={"id": "real"}).json()
    assert data["groups"] == ["nurse", "engineer", "accountant"]
    assert data["model"] == "pocket:gpt2-s"
    found = client.get("/words", params={"id": "real", "x": 0, "c": 0}).json()
    words = {word: p for word, p, _ in found}
    assert words["she"] > 0
    for x, c in ((-1, 0), (3, 0), (0, 2), (10**9, 0)):
        assert (
            client.get("/words", params={"id": "real", "x": x, "c": c}).status_code
            == 404
        )
    assert (
        client.get("/words", params={"id": "real", "x": "a", "c": 0}).status_code == 422
    )


def test_peers_are_the_other_runs_of_the_topic(client: httpx.Client) -> None:
    found = client.get("/peers", params={"id": "second"}).json()
    assert [(peer["id"], peer["name"]) for peer in found] == [("a/first", "made:model")]
    (peer,) = client.get("/peers", params={"id": "second", "x": 2, "c": 3}).json()
    assert peer["asked"]
    assert sum(peer["shares"]) == pytest.approx(1)
    assert client.get("/peers", params={"id": "real"}).json() == []
    assert client.get("/finding", params={"id": "second"}).json()["text"].endswith(".")


def test_scores_of_another_model_are_drawn_on_the_scale_and_beside_its_own_mean(
    tmp_path: Path,
) -> None:
    """A page of scores draws two ends of the scale, not the probability of each score."""
    rng = np.random.default_rng(0)
    for name, lean in (("one", 0.0), ("other", 0.2)):
        planted_run("ratings", np.array([0.1, -0.1]) + lean, rng, model=name).save(
            tmp_path / name
        )
    other = Run.load(tmp_path / "other")
    with served(tmp_path) as address:
        asked: dict[str, str | int] = {"id": "one", "x": 1, "c": 3}
        (peer,) = httpx.get(f"{address}/peers", params=asked, timeout=PATIENCE_S).json()
    points = np.arange(len(other.preferences.categories)) / (
        len(other.preferences.categories) - 1
    )
    scores = other.preferences.values @ points
    assert peer["shares"] == pytest.approx([1 - scores[1, 3], scores[1, 3]])
    assert peer["star"] == pytest.approx(scores[:, 3].mean())


def test_states_of_a_run_that_is_not_finished(tmp_path: Path, root: Path) -> None:
    shutil.copytree(root / "second", tmp_path / "half")
    file = tmp_path / "half" / "run.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**record, "status": "running"}), encoding="utf-8")
    index = RunsIndex(tmp_path)
    assert index.entry("half").state == "interrupted"
    with only_writer(file.parent, file.parent / ".lock"):
        os.utime(file, (1, 1))
        assert index.entry("half").state == "running"
    (file.parent / ".lock").touch()  # of a process that was killed
    for path in (file.parent, file):
        os.utime(path, (1, 1))
    assert index.entry("half").state == "interrupted"


def test_the_report_of_a_run_and_of_several(client: httpx.Client) -> None:
    both = client.get("/report", params={"id": ["a/first", "second"]}).text
    assert "made:model and made:other do not clearly differ in R" in both
    assert "Paired differences" in both
    assert (
        client.get("/report", params={"id": [f"{i}" for i in range(7)]}).status_code
        == 400
    )
    page = client.get("/report", params={"id": "second"})
    assert page.status_code == 200
    assert "The sentences behind it" in page.text


FOREIGN = "../../etc/passwd .. /etc a/../../x a/first/../../.. a nothing ~ %2e%2e second/scores"


@pytest.mark.parametrize(
    "name", [*FOREIGN.split(), "a\\..\\..", "second\0", "", "x" * 5000]
)
@pytest.mark.parametrize(
    "path", ["/run", "/report", "/version", "/data", "/words", "/peers", "/finding"]
)
def test_nothing_but_runs_under_the_root(
    client: httpx.Client, path: str, name: str
) -> None:
    if path == "/version" and not name:
        return  # no name: the version of the list
    params: dict[str, str | int] = {"id": name, "x": 0, "c": 0}
    assert client.get(path, params=params).status_code == 404


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/../etc/passwd", "/static/../basics.py", "/docs"]
)
def test_no_other_file_is_served(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_links_out_of_the_root_are_404(tmp_path: Path, root: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "runs"
    shutil.copytree(root / "second", outside / "run")
    inside.mkdir()
    (inside / "folder").symlink_to(outside / "run")
    (inside / "up").symlink_to(outside)
    for name in ("run.json", "preferences.parquet"):
        shutil.copytree(root / "second", inside / name)
        (inside / name / name).unlink()
        (inside / name / name).symlink_to(outside / "run" / name)
    with served(inside) as address:
        listed = httpx.get(address).text
        assert "folder" not in listed.split("<main")[1].split("in the folder")[0]
        for name in ("folder", "up/run", "run.json", "preferences.parquet"):
            found = httpx.get(f"{address}/run", params={"id": name})
            assert found.status_code == 404, name


def test_hostile_names_are_text_on_every_page(client: httpx.Client) -> None:
    for page in ("/", "/run?id=hostile", "/report?id=hostile&id=second"):
        found = client.get(page)
        assert found.status_code == 200, page
        for text in HOSTILE[:2]:
            assert text not in found.text
        assert "<img" not in found.text
        # A form carries the name as it is; nobody sees that.
        shown = re.sub(r'<input type="hidden"[^>]*>', "", found.text)
        assert "\u202e" not in shown
    data = client.get("/data", params={"id": "hostile"}).content
    assert "\u202e".encode() not in data


def test_security_headers_are_set_and_foreign_hosts_refused(
    client: httpx.Client,
) -> None:
    found = client.get("/").headers
    assert "script-src 'self'" in found["content-security-policy"]
    assert found["x-content-type-options"] == "nosniff"
    assert found["referrer-policy"] == "no-referrer"
    assert found["x-frame-options"] == "DENY"
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400


def test_other_machines_need_a_token(root: Path) -> None:
    assert [
        is_loopback(h) for h in ("127.0.0.1", "::1", "10.0.0.1", "example.org")
    ] == [
        True,
        True,
        False,
        False,
    ]
    with pytest.raises(SettingsError, match="token"):
        viewer(root, host="10.0.0.1")
    with (
        served(root, token="secret") as address,
        httpx.Client(base_url=address) as client,
    ):
        assert client.get("/").status_code == 403
        assert client.get("/", params={"token": "wrong"}).status_code == 403
        there = client.get("/", params={"token": "secret", "q": "x"})
        assert there.status_code == 303
        assert there.headers["location"] == "/?q=x"
        assert client.get("/").status_code == 200  # by the cookie
    assert new_app().openapi_url is None


def test_the_root_may_be_missing_empty_or_a_run(tmp_path: Path, root: Path) -> None:
    with pytest.raises(RunError, match="no such folder"):
        viewer(tmp_path / "nothing")
    with served(tmp_path) as address:
        assert "no run below this folder yet" in httpx.get(address).text
    with served(root / "second") as address:
        assert "1 run<" in httpx.get(address).text
        assert httpx.get(f"{address}/run", params={"id": "."}).status_code == 200


def test_damaged_runs_are_listed_as_such(tmp_path: Path, root: Path) -> None:
    shutil.copytree(root / "second", tmp_path / "bad")
    (tmp_path / "bad" / "run.json").write_text("{", encoding="utf-8")
    shutil.copytree(root / "second", tmp_path / "old")
    record = json.loads((tmp_path / "old" / "run.json").read_text(encoding="utf-8"))
    (tmp_path / "old" / "run.json").write_text(
        json.dumps({**record, "schema_version": 0}), encoding="utf-8"
    )
    with served(tmp_path) as address:
        listed = httpx.get(address).text
        assert listed.count("unreadable") >= 2
        for name, why in (("bad", "damaged"), ("old", "schema version")):
            shown = httpx.get(f"{address}/run", params={"id": name})
            assert shown.status_code == 200
            assert why in shown.text


def test_the_list_rereads_only_changed_runs(tmp_path: Path, root: Path) -> None:
    """200 runs: the second look parses nothing, and a touched run is read again."""
    for i in range(200):
        (tmp_path / f"run{i}").mkdir()
        shutil.copy(root / "second" / "run.json", tmp_path / f"run{i}" / "run.json")
    index = RunsIndex(tmp_path)
    assert len(index.entries()) == 200
    kept = {name: entry for name, (_, entry) in index._entries.items()}
    again = index.entries()
    assert all(kept[e.id] is e for e in again)
    before = index.version()
    file = tmp_path / "run7" / "run.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    record["model"]["id"] = "renamed"
    file.write_text(json.dumps(record), encoding="utf-8")
    os.utime(file, (time.time() + 2, time.time() + 2))
    assert index.version() != before
    changed = [e for e in index.entries() if kept[e.id] is not e]
    assert [e.model for e in changed] == ["renamed"]


# --- The viewer of one run, beside the program that made it ---------------------------------------


def test_only_the_run_itself_is_shown(tmp_path: Path) -> None:
    run = made_run(tmp_path / "one", groups=3, contexts=5)
    made_run(tmp_path / "two", groups=3, contexts=5)
    assert peers_of(RunsIndex(tmp_path), "one", run) == [("two", "two")]  # of one model
    with view_run(run, browser=False) as run_view:
        page = run_view.address.split("?")[0]
        with httpx.Client(follow_redirects=True) as browser:
            assert (
                browser.get(page, params={"id": "."}).status_code == 403
            )  # no token yet
            assert browser.get(run_view.address).status_code == 200
            for other in ("two", "../two", ".."):
                assert browser.get(page, params={"id": other}).status_code == 404


def test_the_browser_opens_where_the_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with view_run(made_run(None, groups=3, contexts=5)) as run_view:
        (address,) = opened
        file = Path(address.removeprefix("file://"))
        assert html.escape(run_view.address) in file.read_text(encoding="utf-8")
        assert file.parent.stat().st_mode & 0o077 == 0  # its token is for nobody else


def test_waiting_ends_with_an_interrupt_and_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_view = view_run(made_run(None, groups=3, contexts=5), browser=False)
    join = threading.Thread.join

    def interrupted(thread: threading.Thread, timeout: float | None = None) -> None:
        monkeypatch.setattr(threading.Thread, "join", join)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    run_view.wait()
    with pytest.raises(httpx.ConnectError):
        httpx.get(run_view.address)


def test_a_port_that_is_taken_is_one_line() -> None:
    run = made_run(None, groups=3, contexts=5)
    with view_run(run, browser=False) as run_view:
        port = int(run_view.address.split(":")[2].split("/")[0])
        with pytest.raises(SettingsError, match=f"^port {port} of 127.0.0.1: "):
            view_run(run, port=port, browser=False)


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
    tables = {
        n: pd.read_parquet(folder / f"{n}.parquet") for n in ("groups", "contexts")
    }
    answers = pd.read_parquet(folder / "preferences.parquet")
    weighted = answers.merge(
        tables["contexts"][["context_id", "weight"]], on="context_id"
    )
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
            record,
            tables["groups"].set_index("group"),
            share,
            answers,
            folder,
            report,
            run,
            listed,
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


def test_chips_and_strip_show_risks_and_floor(shown: Shown) -> None:
    summary = shown.record["summary"]
    chips = words(shown.run, ".chips")
    strip = words(shown.report, ".risk")
    for measure, name in IN_CHIPS.items():
        assert value_and_ends(name, summary[measure]) in chips
    for measure in MEASURES:
        assert value_and_ends(IN_CHIPS[measure], summary[measure]) in strip
    floor = value_and_ends("shuffled words", shown.record["floor"]["R"])
    assert floor in chips
    assert floor in strip


def value_and_ends(name: str, estimate: dict[str, Any]) -> str:
    return f"{name} {estimate['value']:.3f} ({ends(estimate, '–')})"


def test_the_report_prints_the_risks(shown: Shown) -> None:
    printed = words(shown.report, ".printed")
    models = rows(shown.report, "Risks of the models")
    (row,) = (cells for cells in models if cells[0][0] == "made:model")
    for measure, (text, exact) in zip(MEASURES, row[1:4], strict=True):
        estimate = shown.record["summary"][measure]
        value = f"{estimate['value']:.3f}"
        assert float(exact) == estimate["value"]
        assert text == f"{value}{ends(estimate, ' to ')}"
        assert f"{value} (95 % interval {ends(estimate, ' to ')})" in printed
    contexts, effective = row[-2:]
    assert contexts[0] == str(shown.record["contexts"]["n"])
    assert effective[0] == f"{shown.record['n_eff']:.1f}"
    assert words(shown.run, "h1") == words(shown.report, "h1")


def test_the_list_shows_the_risks(shown: Shown) -> None:
    summary = shown.record["summary"]
    row = words(shown.listed, "tbody tr")
    for measure in MEASURES:
        assert f"{summary[measure]['value']:.3f}" in row
    assert ends(summary["R"], " to ") in row
    n_contexts = shown.record["contexts"]["n"]
    assert f"{n_contexts}, {shown.record['n_eff']:.1f} effective" in row


def test_the_terminal_prints_the_risks(
    shown: Shown, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = shown.record["summary"]
    print_runs([Run.load(shown.folder)])
    terminal = capsys.readouterr().out
    for measure in (*MEASURES, "R_shared", "R_between"):
        assert f"{summary[measure]['value']:.3f}" in terminal
    for measure in MEASURES:
        assert ends(summary[measure], "–") in terminal
    n_contexts = shown.record["contexts"]["n"]
    assert f"{n_contexts}    {shown.record['n_eff']:.1f}" in terminal


def test_json_holds_the_risks_of_the_record(shown: Shown) -> None:
    (run,) = as_json([Run.load(shown.folder)], [])["runs"]
    assert run["summary"] == shown.record["summary"]
    assert run["n_contexts"] == shown.record["contexts"]["n"]
    assert run["n_eff"] == shown.record["n_eff"]


def test_pages_draw_and_name_the_mean_of_every_group(shown: Shown) -> None:
    labels: dict[str, str] = {}
    for item in shown.run.locator(".rows li").all():
        label = item.locator("button").get_attribute("aria-label")
        labels[str(item.get_attribute("data-group"))] = str(label)
    assert set(labels) == set(shown.groups.index)
    chart = shown.report.locator("#first-1-groups .wide [data-tip]")
    tips = chart.evaluate_all("marks => marks.map(mark => mark.dataset.tip)")
    download = shown.report.locator("#first-1-groups .tools a[download]")
    encoded = download.get_attribute("href").partition("base64,")[2]
    drawn = pd.read_csv(io.BytesIO(base64.b64decode(encoded))).set_index("group")
    for group, row in rows_of_groups(shown).items():
        female = float(shown.share["female"][group])
        mean = f"{percent(female)} female"
        assert labels[group].startswith(f"{group}: {mean}")
        risks = f"risk {risk(row['r'])}, swing {risk(row['r_volatility'])}"
        assert labels[group].endswith(risks)
        assert any(tip.startswith(f"{group}: {mean} words on average") for tip in tips)
        assert drawn["share of female"][group] == pytest.approx(female, abs=1e-12)


def rows_of_groups(shown: Shown) -> dict[str, dict[str, Any]]:
    """Return the row of each group in the table of the run's folder."""
    table = shown.groups.reset_index().to_dict("records")
    return {str(row["group"]): {str(k): v for k, v in row.items()} for row in table}


GROUP_MEASURES = ("r", "r_bias", "r_volatility")


def test_pages_print_the_risks_of_every_group(shown: Shown) -> None:
    table = {cells[0][0]: cells for cells in rows(shown.report, "Groups")}
    for group, row in rows_of_groups(shown).items():
        shown.run.locator(f'.rows li[data-group="{group}"] button').click()
        facts = " ".join(shown.run.locator(".facts").inner_text().split())
        for measure, cell in zip(GROUP_MEASURES, table[group][1:4], strict=True):
            value = row[measure]
            low = row[f"{measure}_low"]
            high = row[f"{measure}_high"]
            text, exact = cell
            assert text == f"{value:.3f}{low:.3f} to {high:.3f}"
            assert float(exact) == value
            assert f"{value:.3f} ({low:.3f}–{high:.3f})" in facts


def test_files_hold_the_risks_of_every_group(
    shown: Shown, tmp_path: Path, clinometer: Callable[..., Any]
) -> None:
    result = clinometer("report", shown.folder, "--out", tmp_path / "run.csv")
    assert result.status == 0, result.err
    csv = pd.read_csv(tmp_path / "run-groups.csv").set_index("group")
    (run,) = as_json([Run.load(shown.folder)], [])["runs"]
    in_json = {entry["group"]: entry for entry in run["groups"]}
    risks = [*GROUP_MEASURES, *(f"{measure}_low" for measure in GROUP_MEASURES)]
    for group, row in rows_of_groups(shown).items():
        for column in (*risks, "leaning"):
            assert in_json[group][column] == row[column]
            assert csv[column][group] == row[column]


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
            np.testing.assert_allclose(
                shares[x][c], truth.loc[group, context], atol=1.6e-5
            )
    behind = shown.report.locator(".behind .example .shares").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-label'))"
    )
    written = {
        f"male {percent(p['male'])}, female {percent(p['female'])}"
        for _, p in truth.iterrows()
    }
    assert len(behind) == 4
    assert set(behind) <= written
    for (group, _), *_, male, female in rows(
        shown.report, "The answers that weigh most"
    ):
        told = (float(male[1]), float(female[1]))
        assert told in {
            (p["male"], p["female"]) for _, p in truth.loc[group].iterrows()
        }


def test_scripts_and_python_write_a_number_alike(shown: Shown) -> None:
    values = (
        [i / 1024 for i in range(1025)]
        + [i / 977 for i in range(978)]
        + [1e-9, 5e-4, 0.9995]
    )
    found = shown.run.evaluate(
        """async (values) => {
          const { asPercent, asRisk } = await import("/static/explorer.js");
          return values.map((v) => [asPercent(v), asRisk(v), asRisk(-v)]);
        }""",
        values,
    )
    assert found == [[percent(v), risk(v), risk(-v)] for v in values]
