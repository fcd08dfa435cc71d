"""The preferences table: what reads, and what is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clinometer.errors import TableError
from clinometer.measure import decompose, estimate_risks
from clinometer.runs import read_table, risks

M1 = """group,context,attribute,p
x,c1,a,0.6
x,c1,b,0.4
x,c2,a,0.6
x,c2,b,0.4
x,c3,a,0.6
x,c3,b,0.4
"""


def write(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_papers_first_example(tmp_path: Path) -> None:
    """In any order of the rows."""
    frame = pd.read_csv(write(tmp_path, M1))
    for given in (tmp_path / "t.csv", frame.sample(frac=1, random_state=3)):
        report = read_table(given).decompose()
        assert report.R.value == pytest.approx(0.2)
        assert report.R_bias.value == pytest.approx(0.2)
        assert report.R_volatility.value == pytest.approx(0.0)


def test_parquet_and_gzip_give_the_same_result(tmp_path: Path) -> None:
    plain = read_table(write(tmp_path, M1))
    frame = pd.read_csv(tmp_path / "t.csv")
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    assert plain.equals(read_table(tmp_path / "t.parquet"))
    assert plain.equals(read_table(tmp_path / "t.csv.gz"))


def test_names_that_look_like_numbers_or_missing_stay_names(tmp_path: Path) -> None:
    text = M1.replace("x,", "NA,").replace(",c1,", ",007,")
    table = read_table(write(tmp_path, text))
    assert table.groups == ("NA",)
    assert table.contexts[0] == "007"


def test_context_weights_may_differ_between_groups() -> None:
    rows = []
    for group, weights in (("x", (1, 2)), ("y", (2, 1))):
        for context, weight in zip(("c1", "c2"), weights, strict=True):
            rows += [
                (group, context, "a", 0.7, weight),
                (group, context, "b", 0.3, weight),
            ]
    frame = pd.DataFrame(
        rows, columns=["group", "context", "attribute", "p", "context_weight"]
    )
    np.testing.assert_array_equal(read_table(frame).context_weights, [[1, 2], [2, 1]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("attribute", "attr"), "found no attribute"),
        (lambda t: t.splitlines()[0] + "\n", "found none"),
        (
            lambda t: t.replace("0.6", "six", 1),
            "line 2: expected a number in p, found 'six'",
        ),
        (lambda t: t + "x,c1,a,0.5\n", "occurs twice"),
        (lambda t: t.replace("x,c3,b,0.4\n", ""), "has no p for b"),
        (lambda t: t.replace("x,c3,b,0.4", ",c3,b,0.4"), "group"),
        (lambda t: t.replace("p\n", "p,colour\n"), "unknown columns"),
        (lambda t: "", "cannot be read"),
        (
            lambda t: t.replace("0.", "0,"),
            't.csv: line 2: "0,6" is not a number; write it with',
        ),
        (
            lambda t: t.replace("c2,a,0.6", "c2,a,0,6"),
            't.csv: line 4: "0,6" is not a number',
        ),
        (
            lambda t: t.replace("x,c2,a,0.6", '\nx,c2,a,"0,6"'),
            "line 5: expected a number in p, found '0,6'; write it with a point",
        ),
        (
            lambda t: t.replace(",", ";").replace("0.", "0,"),
            "line 1: expected commas between",
        ),
        (
            lambda t: t.replace(",c1", ",c,1"),
            "4 fields (group, context, attribute, p), found 5",
        ),
        (
            lambda t: "\n".join(t.splitlines()[:2]),
            "expected two attributes or more, found only 'a'",
        ),
    ],
)
def test_wrong_tables_name_the_error(
    tmp_path: Path, change: Callable[[str], str], message: str
) -> None:
    path = write(tmp_path, change(M1))
    with pytest.raises(TableError) as caught:
        read_table(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_errors_in_a_frame_count_rows_not_lines() -> None:
    frame = pd.DataFrame(
        {"group": "x", "context": "c", "attribute": ["a", "b"], "p": ["1", "?"]}
    )
    with pytest.raises(
        TableError, match=r"table: row 2: expected a number in p, found '\?'"
    ):
        read_table(frame)


def test_contradicting_weights_are_refused() -> None:
    rows = [("x", "c", "a", 0.5, 1), ("x", "c", "b", 0.5, 2)]
    frame = pd.DataFrame(
        rows, columns=["group", "context", "attribute", "p", "group_weight"]
    )
    with pytest.raises(TableError, match="expected one value per group, found two"):
        read_table(frame)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nothing.csv", None),
        ("t.txt", M1.encode()),
        (".", None),
        ("b.parquet", b"\x00\x01garbage"),
        ("b.csv", b"\xff\xfe\x00\x01garbage"),
    ],
)
def test_wrong_files_are_refused(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(
        TableError, match="cannot be read|expected UTF-8" if name[0] == "b" else None
    ):
        read_table(tmp_path / name)


def test_risks_of_a_frame_a_file_and_an_array_are_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([2, 1, 1], (3, 12))
    rows = [
        {"group": f"g{x}", "context": f"c{c}", "attribute": "abc"[y], "p": p[x, c, y],
         "context_weight": c + 1.5, "group_weight": x + 1.0, "reference": (0.5, 0.25, 0.25)[y]}
        for x in range(3) for c in range(12) for y in range(3) if (x, c) != (1, 4)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    mask = np.ones((3, 12), dtype=bool)
    mask[1, 4] = False
    arrays: dict[str, Any] = {
        "context_weights": np.arange(12) + 1.5, "group_weights": [1, 2, 3], "mask": mask,
        "reference": [0.5, 0.25, 0.25], "groups": ["g0", "g1", "g2"], "categories": list("abc"),
    }  # fmt: skip
    table = read_table(frame)
    assert table.context_weights.shape == (12,)
    assert np.asarray(table.reference).shape == (3,)
    assert table.counts()["cells_missing"] == 1
    assert decompose(frame).to_dict() == decompose(p, **arrays).to_dict()
    assert estimate_risks(frame).to_dict() == estimate_risks(p, **arrays).to_dict()
    parity = decompose(frame, reference=[1 / 3, 1 / 3, 1 / 3])
    assert parity.to_dict() == decompose(p, **arrays | {"reference": None}).to_dict()
    frame.to_csv(tmp_path / "t.csv", index=False, float_format="%.17g")
    from_file = risks(tmp_path / "t.csv")  # a parser of text may differ in the last bit
    assert from_file.R.value == pytest.approx(risks(frame).R.value, rel=1e-12)
    assert from_file.R.high == pytest.approx(risks(frame).R.high, rel=1e-9)
    assert risks(frame, level=0.9).R.level == 0.9
    with pytest.raises(TableError, match="expected the columns"):
        decompose(pd.DataFrame({"p": [0.5]}))
