"""Tables of judgements as they are read, and what is accepted."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from clinometer.errors import SettingsError, TableError
from clinometer.reliability.ratings import Ratings, accepted, parse_share, read_ratings


def test_acceptance_is_counted_exactly() -> None:
    table: dict[str, dict[str, str]] = {
        "two of three": {"a": "yes", "b": "yes", "c": "no"},
        "one of two": {"a": "yes", "b": "no", "c": ""},
        "two of two": {"a": "yes", "b": "yes", "c": "skip"},
        "alone": {"a": "yes", "b": "", "c": ""},
    }
    ratings = Ratings.of(table)
    assert accepted(ratings) == ("two of three", "two of two")
    assert accepted(ratings, judgements=3) == ("two of three",)
    assert accepted(ratings, judgements=1, share=Fraction(1)) == ("two of two", "alone")
    assert accepted(ratings, ("yes", "no")) == (
        "two of three",
        "one of two",
        "two of two",
    )
    with pytest.raises(SettingsError, match="expected one of no, yes; found maybe"):
        accepted(ratings, ("maybe",))
    for text in ("x", "1/0", ""):
        with pytest.raises(SettingsError, match="such as 2/3"):
            parse_share(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sentence,annotator_1\na,1\n", "expected a column 'id'"),
        (
            "id,a,b\n1,2,3\n",
            "expected columns annotator_1, annotator_2, …, found id, a, b",
        ),
        ("id,annotator_1,annotator_2\n1,2,3\n1,2,3\n", "found '1' in rows 2 and 3"),
        ("id,annotator,value\n1,x,yes\n1,x,no\n", "one judgement of '1' by 'x'"),
        ("id,annotator_1,annotator_2\n,2,3\n", "row 2: expected an id, found none"),
        (
            "id,rater\n" + "".join(f"{i},{i / 7}\n" for i in range(60)),
            "at most 50 different ones",
        ),
    ],
)
def test_a_broken_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=message):
        read_ratings(path)


def test_wide_and_long_tables_give_the_same_result(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text(
        "id,Annotator 1,Annotator 2\n1,4.0,3\n2,,5\n3,skip,2\n"
    )
    (tmp_path / "l.csv").write_text(
        "id,annotator,value\n1,Annotator 1,4\n1,Annotator 2,3\n2,Annotator 2,5\n3,Annotator 2,2\n"
    )
    wide, long = read_ratings(tmp_path / "w.csv"), read_ratings(tmp_path / "l.csv")
    assert wide.categories == long.categories == ("2", "3", "4", "5")
    assert wide.codes.tolist() == long.codes.tolist() == [[2, 1], [-1, 3], [-1, 0]]
    assert wide.means().tolist() == [3.5, 5.0, 2.0]
