"""What the readers of files stand on: limits of depth, length and kind, to the last one allowed."""

from __future__ import annotations

import contextlib
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.security.fuzzing import budget

from clinometer.storage.untrusted import DEPTH, open_text, parse_json, parse_toml, read_parquet

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


@pytest.mark.parametrize("shape", [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_nesting_has_an_end(shape: tuple[str, str]) -> None:
    begin, end = shape

    def nested(levels: int) -> str:
        return begin * levels + ("1" if "a" in begin else "") + end * levels

    assert parse_json(nested(DEPTH))
    for levels in (DEPTH + 1, 500):
        with pytest.raises(ValueError, match=f"at most {DEPTH} levels"):
            parse_json(nested(levels))
    assert DEPTH < 500  # far below Python's own limit, which is 1,000


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_lines_have_an_end(ending: str, tmp_path: Path) -> None:
    """Also a text that is read line by line is refused once it is too long."""
    path = tmp_path / f"long.csv{ending}"
    plain = b"a,b\n" * 100_000
    path.write_bytes(gzip.compress(plain) if ending == ".gz" else plain)
    if ending == ".zst":
        path.write_bytes(pa.compress(plain, codec="zstd", asbytes=True))
    with open_text(path, most=len(plain)) as stream:
        assert sum(1 for _ in stream) == 100_000
    with open_text(path, most=len(plain) - 1) as stream, pytest.raises(OSError, match="larger"):
        stream.read()


@budget(100)
@given(JSON)
def test_sound_json_is_read_as_it_is(value: Any) -> None:
    for ascii_only in (True, False):
        try:
            text = json.dumps(value, ensure_ascii=ascii_only)
            text.encode()
        except UnicodeEncodeError:
            continue
        assert parse_json(text) == json.loads(text)


@budget(100)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_value_error(data: bytes) -> None:
    for reader in (parse_json, lambda b: parse_toml(b.decode("utf-8", "replace")), read_parquet):
        with contextlib.suppress(ValueError, OSError):
            reader(data)
