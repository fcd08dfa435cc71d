"""The cache remembers rows, forgets when it must, and never lies."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.processes import PATIENCE_S

from clinometer.errors import SettingsError
from clinometer.storage.cache import Cache, cache_limit

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


def test_what_another_process_adds_and_removes_is_seen(
    cache: Cache, tmp_path: Path
) -> None:
    other = Cache(tmp_path, limit=10**9)
    assert len(cache.get(SCOPE, ["a", "b"], 3)[0]) == 0
    other.put(SCOPE, ["a", "b"], ROWS)
    assert len(cache.get(SCOPE, ["a", "b"], 3)[0]) == 2
    other.clear()
    assert other.scopes() == []
    assert len(cache.get(SCOPE, ["a", "b"], 3)[0]) == 0
    cache.put(SCOPE, ["a"], ROWS[:1])
    assert len(other.get(SCOPE, ["a"], 3)[0]) == 1


def test_a_scope_without_rows_is_known_at_once(cache: Cache) -> None:
    assert not cache.holds(SCOPE)
    cache.get(SCOPE, ["a"], 3)  # asking leaves nothing behind
    assert not cache.holds(SCOPE)
    cache.put(SCOPE, ["a"], ROWS[:1])
    assert cache.holds(SCOPE)
    assert not cache.holds({**SCOPE, "revision": "2"})
    assert not Cache(cache.folder.parent, limit=0).holds(SCOPE)


def test_no_text_is_stored(cache: Cache) -> None:
    cache.put(SCOPE, ["The nurse said that"], ROWS[:1])
    files = [file for file in cache.folder.rglob("*") if file.is_file()]
    assert len(files) == 2
    assert not any(b"nurse" in file.read_bytes() for file in files)


def flip_bits(file: Path, rng: np.random.Generator, *, n: int) -> None:
    damaged = bytearray(file.read_bytes())
    for place in rng.integers(len(damaged), size=n):
        damaged[place] ^= 1 << int(rng.integers(8))
    file.write_bytes(bytes(damaged))


def test_bit_flips_never_give_a_wrong_row(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rng = np.random.default_rng(0)
    items = [str(i) for i in range(200)]
    rows = rng.normal(size=(200, 30)).astype(np.float32)
    hits = 0
    for attempt in range(30):
        folder = tmp_path / str(attempt)
        cache = Cache(folder, limit=10**9)
        for start in range(0, 200, 10):
            cache.put(SCOPE, items[start : start + 10], rows[start : start + 10])
        for file in folder.rglob("*.*"):
            if rng.random() < 0.3:
                flip_bits(file, rng, n=3)
        again = Cache(folder, limit=10**9)
        order = rng.permutation(200)
        places, cached = again.get(SCOPE, [items[i] for i in order], 30)
        np.testing.assert_array_equal(cached, rows[order[places]])
        hits += len(places)
        again.put(SCOPE, items, rows)  # and what was lost is stored again
        assert len(again.get(SCOPE, items, 30)[0]) == 200
    assert 0 < hits < 30 * 200
    assert "damaged" in caplog.text


def test_notes_are_stored_and_ignored_once_damaged(cache: Cache) -> None:
    assert cache.note({"k": 1}) is None
    cache.keep_note({"k": 1}, {"a": [1, "x"]})
    assert cache.note({"k": 1}) == {"a": [1, "x"]}
    (file,) = cache.folder.glob("*.note")
    flip_bits(file, np.random.default_rng(0), n=1)
    assert cache.note({"k": 1}) is None


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
    rows = np.random.default_rng(0).normal(size=(100, 50))
    scopes = [{**SCOPE, "revision": str(i)} for i in range(40)]
    for scope in scopes:
        cache.put(scope, [str(i) for i in range(100)], rows)
        cache.get(scopes[0], ["0"], 50)
    left = {entry["scope"]["revision"] for entry in cache.scopes()}
    assert "39" in left
    assert "0" in left  # the oldest, but used all the time
    assert "1" not in left
    assert cache.size() < 400_000


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    code = """
import sys, numpy as np
from pathlib import Path
from clinometer.storage.cache import Cache
cache, me = Cache(Path(sys.argv[1]), limit=10**9), int(sys.argv[2])
for i in range(40):
    items = [f"{me}-{i}-{k}" for k in range(20)]
    cache.put({"s": i % 3}, items, np.full((20, 9), me * 100 + i))
    places, rows = cache.get({"s": i % 3}, items, 9)
    assert len(places) == 20 and (rows == me * 100 + i).all()
assert cache.on
"""
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(me)])
        for me in range(4)
    ]
    assert [process.wait(PATIENCE_S) for process in running] == [0] * 4
    assert (
        sum(entry["rows"] for entry in Cache(tmp_path, limit=10**9).scopes())
        == 4 * 40 * 20
    )


@pytest.mark.parametrize("size", [0, 1, 1000, 1024, 1025, 5000])
def test_every_byte_of_a_file_counts(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Compared with the parts digested one after another; each part's first and last byte."""
    monkeypatch.setattr("clinometer.storage.cache.DIGEST_PART", 1024)
    content = np.random.default_rng(0).bytes(size)
    file = tmp_path / "weights"

    def digest(data: bytes) -> str:
        file.write_bytes(data)
        return cache.digest_of(file)

    parts = [content[i : i + 1024] for i in range(0, max(size, 1), 1024)]
    one_by_one = b"".join(hashlib.sha256(part).digest() for part in parts)
    assert digest(content) == hashlib.sha256(one_by_one).hexdigest()
    for place in {0, 1023, 1024, size - 1} & set(range(size)):
        other = bytearray(content)
        other[place] ^= 1
        assert digest(bytes(other)) != digest(content)


def test_the_limit_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLINOMETER_CACHE_LIMIT", "1.5GB")
    assert cache_limit() == 1_500_000_000
    for wrong in ("1e400", "much", "-1"):
        monkeypatch.setenv("CLINOMETER_CACHE_LIMIT", wrong)
        with pytest.raises(SettingsError, match=wrong):
            cache_limit()
    monkeypatch.setenv("CLINOMETER_CACHE_LIMIT", "0")
    assert not Cache().on
