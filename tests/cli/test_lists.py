"""clinometer list samples: written whole, never over existing files, and good for its commands."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.command import Clinometer, refused

from clinometer.cli.lists import NEXT
from clinometer.samples import SAMPLES


def test_samples_are_written_with_the_next_commands_to_run(
    clinometer: Clinometer, tmp_path: Path
) -> None:
    folder = tmp_path / "some where"
    result = clinometer("list", "samples", "--out", folder)
    assert result.status == 0
    assert {p.name for p in folder.iterdir()} == set(SAMPLES)
    for words in NEXT:
        given = [str(folder / w) if w in SAMPLES else w for w in words]
        assert f"  clinometer {shlex.join(given)}\n" in result.out


def test_existing_files_are_not_overwritten(
    clinometer: Clinometer, tmp_path: Path
) -> None:
    mine = tmp_path / "table.csv"
    mine.write_text("my own", encoding="utf-8")
    found = clinometer("list", "samples", "--out", tmp_path)
    refused(found, f"clinometer: {mine}: is there already; choose another folder")
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]
    assert mine.read_text(encoding="utf-8") == "my own"


def test_the_samples_match_each_other(tmp_path: Path) -> None:
    from clinometer.reliability import load_statements, read_variants
    from clinometer.samples import write_samples

    write_samples(tmp_path)
    statements = load_statements(tmp_path / "statements.csv")
    versions = read_variants(tmp_path / "versions.jsonl")
    assert {s.id for s in statements} == set(versions)
    for statement in statements:
        assert statement.has_its_targets
        assert all(
            target in v for v in versions[statement.id] for target in statement.targets
        )
