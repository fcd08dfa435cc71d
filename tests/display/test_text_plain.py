"""Results as JSON holds them: no NaN, no numpy, no tuples; what knows its own form keeps it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.text import plain, plain_records, to_plain


@dataclass(frozen=True)
class Inner:
    share: float

    def to_dict(self) -> dict[str, Any]:
        return {"percent": 100 * self.share}


@dataclass(frozen=True)
class Pair:
    a: int
    b: float


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner | None
    pairs: tuple[Pair, ...]
    counts: Counter[str]
    values: Any
    folder: Path


def test_a_result_becomes_plain_json_values() -> None:
    pairs, values = (Pair(1, float("inf")),), np.array([1.0, np.nan])
    result = Outer("x", Inner(0.5), pairs, Counter("aab"), values, Path("f"))
    found = to_plain(result)
    assert found == {
        "name": "x",
        "inner": {"percent": 50.0},
        "pairs": [{"a": 1, "b": None}],
        "counts": {"a": 2, "b": 1},
        "values": [1.0, None],
        "folder": "f",
    }
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert type(found["counts"]) is dict


def test_numpy_scalars_become_python_numbers() -> None:
    found = [
        plain(np.float32(0.5)),
        plain(np.int64(2)),
        plain(np.bool_(True)),
        plain(np.float64()),
    ]
    assert [type(x) for x in found] == [float, int, bool, float]


def test_rows_of_a_table() -> None:
    frame = pd.DataFrame({"n": [1, 2], "x": [0.5, np.nan], 3: ["a", None]})
    assert plain_records(frame) == [
        {"n": 1, "x": 0.5, "3": "a"},
        {"n": 2, "x": None, "3": None},
    ]
