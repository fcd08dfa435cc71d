"""The cache remembers rows, forgets when it must, and never lies."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.processes import PATIENCE_S

from clinometer.errors import SettingsError
from clinometer.storage.cache import MOST_ROWS, Cache, cache_limit, checksum, digest

SCOPE = {"model": "m", "revision": "1", "words": ["he", "she"]}
ROWS = np.array([[-1.5, -np.inf, 0.25], [-2.5, -3.5, 0.0]], dtype=np.float32)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path, limit=10**9)


def test_stored_rows_come_back(cache: Cache, tmp_path: Path) -> None:
    cache.put(SCOPE, ["a", "b"], ROWS)
    cache.put(SCOPE, ["a"], np.zeros((1, 3)))  # the first row of an item stays
    for seen in (cache, Cache(tmp_path, limit=10**9)):
        places, rows = seen.get(SCOPE, ["x", "b", "y", "a", "b"], 3)
        assert places.tolist() == [1, 3, 4]
        np.testing.assert_array_equal(rows, ROWS[[1, 0, 1]])


@pytest.mark.parametrize(
    "other", [{"revision": "2"}, {"words": ["he"]}, {"words": ["she", "he"]}, {"dtype": "float16"}]
)
def test_scopes_do_not_share_rows(cache: Cache, other: dict[str, object]) -> None:
    cache.put(SCOPE, ["a"], ROWS[:1])
    assert len(cache.get({**SCOPE, **other}, ["a"], 3)[0]) == 0


def test_more_rows_than_a_block_holds(cache: Cache) -> None:
    items = [str(i) for i in range(2 * MOST_ROWS + 7)]
    rows = np.arange(3 * len(items), dtype=np.float32).reshape(-1, 3)
    cache.put(SCOPE, items, rows)
    chosen = np.random.default_rng(0).permutation(len(items))[:500]
    places, found = cache.get(SCOPE, [items[i] for i in chosen], 3)
    assert places.tolist() == list(range(500))
    np.testing.assert_array_equal(found, rows[chosen])


def test_what_another_process_adds_and_removes_is_seen(cache: Cache, tmp_path: Path) -> None:
    other = Cache(tmp_path, limit=10**9)
    assert len(cache.get(SCOPE, ["a", "b"], 3)[0]) == 0
    other.put(SCOPE, ["a", "b"], ROWS)
    assert len(cache.get(SCOPE, ["a", "b"], 3)[0]) == 2
    other.clear()
    assert len(cache.get(SCOPE, ["a", "b"], 3)[0]) == 0


def test_rows_of_the_first_release_are_adopted(tmp_path: Path) -> None:
    """It stored every row in a record of its table `rows`."""
    text = '{"model":"m","revision":"1","words":["he","she"]}'
    database = sqlite3.connect(tmp_path / "scores.sqlite")
    database.executescript(
        "CREATE TABLE scopes(id INTEGER PRIMARY KEY, digest BLOB UNIQUE, about TEXT, used REAL);"
        "CREATE TABLE rows(id INTEGER PRIMARY KEY, scope INTEGER, item BLOB, data BLOB, "
        "checksum BLOB, UNIQUE(scope, item));"
    )
    database.execute("INSERT INTO scopes VALUES(1, ?, ?, 0)", (digest(text), text))
    for item, row in zip("abc", [*ROWS, ROWS[0]], strict=True):
        kept = (digest(item), row.tobytes(), checksum(digest(text), digest(item), row.tobytes()))
        database.execute("INSERT INTO rows(scope, item, data, checksum) VALUES(1,?,?,?)", kept)
    database.execute("UPDATE rows SET data=zeroblob(12) WHERE id=3")
    database.commit()
    database.close()
    for _ in range(2):
        cache = Cache(tmp_path, limit=10**9)
        places, rows = cache.get(SCOPE, ["a", "b", "c"], 3)
        assert places.tolist() == [0, 1]
        np.testing.assert_array_equal(rows, ROWS)
        assert [entry["rows"] for entry in cache.scopes()] == [2]
        cache.close()


def test_a_scope_without_rows_is_known_at_once(cache: Cache) -> None:
    assert not cache.holds(SCOPE)
    cache.get(SCOPE, ["a"], 3)  # asking leaves nothing behind
    assert not cache.holds(SCOPE)
    cache.put(SCOPE, ["a"], ROWS[:1])
    assert cache.holds(SCOPE)
    assert not cache.holds({**SCOPE, "revision": "2"})
    assert not Cache(cache.file.parent, limit=0).holds(SCOPE)


def test_notes_are_stored(cache: Cache) -> None:
    assert cache.note({"k": 1}) is None
    cache.keep_note({"k": 1}, {"a": [1, "x"]})
    assert cache.note({"k": 1}) == {"a": [1, "x"]}


def test_no_text_is_stored(cache: Cache) -> None:
    cache.put(SCOPE, ["The nurse said that"], ROWS[:1])
    cache.close()
    files = list(cache.file.parent.iterdir())
    assert not any(b"nurse" in file.read_bytes() for file in files)


@pytest.mark.parametrize("column", ["data", "checksum", "items"])
def test_a_changed_block_is_ignored(
    cache: Cache, column: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache.put(SCOPE, ["a"], ROWS[:1])
    cache.put(SCOPE, ["b"], ROWS[1:])
    database = sqlite3.connect(cache.file)
    if column == "items":  # the row of one item under the name of another
        (second,) = database.execute("SELECT items FROM blocks WHERE id=2").fetchone()
        database.execute("DELETE FROM blocks WHERE id=2")
        database.execute("UPDATE blocks SET items=? WHERE id=1", (second,))
    else:
        database.execute(f"UPDATE blocks SET {column}=zeroblob(length({column})) WHERE id=2")  # noqa: S608
    database.commit()
    database.close()
    places, _ = cache.get(SCOPE, ["b"], 3)
    assert len(places) == 0
    assert "damaged" in caplog.text
    cache.put(SCOPE, ["b"], ROWS[1:])
    np.testing.assert_array_equal(cache.get(SCOPE, ["b"], 3)[1], ROWS[1:])


def test_bit_flips_never_give_a_wrong_row(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    items = [str(i) for i in range(200)]
    rows = rng.normal(size=(200, 30)).astype(np.float32)
    cache = Cache(tmp_path, limit=10**9)
    for start in range(0, 200, 10):
        cache.put(SCOPE, items[start : start + 10], rows[start : start + 10])
    cache.close()
    whole = cache.file.read_bytes()
    hits = 0
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=20):
            damaged[place] ^= 1 << int(rng.integers(8))
        for file in tmp_path.iterdir():
            file.unlink()
        cache.file.write_bytes(bytes(damaged))
        again = Cache(tmp_path, limit=10**9)
        places, found = again.get(SCOPE, items, 30)
        np.testing.assert_array_equal(found, rows[places])
        hits += len(places)
        again.put(SCOPE, items, rows)
        again.close()
    assert hits > 0


def test_a_file_that_is_not_a_database_is_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "scores.sqlite").write_bytes(b"not a database" * 1000)
    cache = Cache(tmp_path, limit=10**9)
    assert len(cache.get(SCOPE, ["a"], 3)[0]) == 0
    assert "was started again" in caplog.text
    cache.put(SCOPE, ["a"], ROWS[:1])
    assert len(cache.get(SCOPE, ["a"], 3)[0]) == 1


def test_an_unwritable_folder_disables_the_cache(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    cache = Cache(tmp_path / "file", limit=10**9)
    cache.put(SCOPE, ["a"], ROWS[:1])
    assert not cache.on
    assert "is not used" in caplog.text
    assert caplog.text.count("\n") == 1


def test_the_limit_evicts_the_least_recently_used(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=400_000)
    rows = np.ones((100, 50), dtype=np.float32)
    scopes = [{**SCOPE, "revision": str(i)} for i in range(40)]
    for scope in scopes:
        cache.put(scope, [str(i) for i in range(100)], rows)
        cache.get(scopes[0], ["0"], 50)
    left = {entry["scope"]["revision"] for entry in cache.scopes()}
    assert "39" in left
    assert "0" in left  # the oldest, but used all the time
    assert "1" not in left
    cache.close()
    assert cache.file.stat().st_size < 450_000


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    code = """
import sys, numpy as np
from pathlib import Path
from clinometer.storage.cache import Cache
from clinometer.storage.cache_blocks import MOST_ROWS, checksum, digest
cache, me = Cache(Path(sys.argv[1]), limit=10**9), int(sys.argv[2])
for i in range(40):
    items = [f"{me}-{i}-{k}" for k in range(20)]
    cache.put({"s": i % 3}, items, np.full((20, 9), me * 100 + i))
    places, rows = cache.get({"s": i % 3}, items, 9)
    assert len(places) == 20 and (rows == me * 100 + i).all()
assert cache.on
"""
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(me)]) for me in range(4)
    ]
    assert [process.wait(PATIENCE_S) for process in running] == [0] * 4
    assert sum(entry["rows"] for entry in Cache(tmp_path, limit=10**9).scopes()) == 4 * 40 * 20


def test_clear_removes_everything(cache: Cache) -> None:
    cache.put(SCOPE, ["a", "b"], ROWS)
    cache.clear()
    assert cache.scopes() == []
    cache.put(SCOPE, ["a"], ROWS[:1])
    assert len(cache.get(SCOPE, ["a"], 3)[0]) == 1


def test_the_limit_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINOMETER_CACHE_LIMIT", "1.5GB")
    assert cache_limit() == 1_500_000_000
    monkeypatch.setenv("CLINOMETER_CACHE_LIMIT", "much")
    with pytest.raises(SettingsError, match="much"):
        cache_limit()
    monkeypatch.setenv("CLINOMETER_CACHE_LIMIT", "0")
    assert not Cache().on
