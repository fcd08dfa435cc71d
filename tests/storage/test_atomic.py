"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from clinometer.errors import RunError
from clinometer.storage.atomic import replacing


def test_the_content_is_on_the_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, done = tmp_path / "a.txt", list[str]()

    def noted(name: str) -> Any:
        real = getattr(os, name)

        def call(*args: Any) -> None:
            done.append(name)
            real(*args)

        return call

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, noted(name))
    with replacing(file) as beside:
        beside.write_text("new")
        assert not file.exists()
    assert done == ["fsync", "replace"]
    assert file.read_text() == "new"
    assert list(tmp_path.iterdir()) == [file]


def test_an_error_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old")

    def fail() -> None:
        with replacing(file) as beside:
            beside.write_text("half")
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011  (our own, from the block)
        fail()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("name", "message"), [("", "found a folder"), ("none/a.txt", "cannot be written")]
)
def test_what_cannot_be_written_is_one_line(
    tmp_path: Path, name: str, message: str
) -> None:
    with (
        pytest.raises(RunError, match=message) as caught,
        replacing(tmp_path / name, error=RunError) as beside,
    ):
        beside.write_text("x")
    assert "\n" not in str(caught.value)
