"""Parts of a table: whole or damaged, never half an answer."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from clinometer.errors import RunError
from clinometer.storage.parquet_parts import Parts


def table(*values: int) -> pa.Table:
    return pa.table({"value": list(values)})


def values(part: pa.Table) -> list[int]:
    found: list[int] = part.column("value").to_pylist()
    return found


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    made = Parts(tmp_path / "scores")
    made.write(20, table(3))
    made.write(0, table(1, 2))
    return made


def test_parts_come_back_in_the_order_of_their_numbers(parts: Parts) -> None:
    assert list(parts.results(values)) == [[1, 2], [3]]


def test_every_flipped_bit_is_noticed(parts: Parts) -> None:
    file = parts.files()[0]
    sound = file.read_bytes()
    for position in range(len(sound)):
        damaged = bytearray(sound)
        damaged[position] ^= 1
        file.write_bytes(damaged)
        assert [part is None for _, part in parts.read()] == [True, False], position


def test_a_part_that_is_damaged_or_rejected_is_removed_and_the_others_stay(
    parts: Parts,
) -> None:
    first, second = parts.files()
    assert list(
        parts.results(lambda part: None if part.num_rows == 1 else part.num_rows)
    ) == [2]
    assert parts.files() == [first]
    parts.write(20, table(3))
    first.write_bytes(first.read_bytes()[:-1])
    assert list(parts.results(values)) == [[3]]
    assert parts.files() == [second]


def test_with_advice_a_damaged_part_is_an_error(parts: Parts) -> None:
    file = parts.files()[1]
    file.write_bytes(b"")
    with pytest.raises(RunError, match=rf"{file.name}: .*score it again"):
        list(parts.results(values, advice="score it again"))
    assert file.exists()


def test_a_part_that_cannot_be_read_counts_as_damaged(parts: Parts) -> None:
    (parts.folder / "part-000000099-0.parquet").mkdir()
    assert [part is None for _, part in parts.read()] == [False, False, True]


def test_clear_removes_leftovers_and_the_folder_but_no_files_of_others(
    parts: Parts,
) -> None:
    (parts.folder / ".part-000000040-aa.parquet.bb.tmp").touch()
    (parts.folder / "notes.txt").touch()
    parts.clear()
    assert [file.name for file in parts.folder.iterdir()] == ["notes.txt"]
    (parts.folder / "notes.txt").unlink()
    for _ in range(2):  # then there is nothing left to remove
        parts.clear()
        assert not parts.folder.exists()


def test_a_folder_that_cannot_be_created_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be written") as caught:
        Parts(tmp_path / "file" / "scores").write(0, table(1))
    assert "\n" not in str(caught.value)
