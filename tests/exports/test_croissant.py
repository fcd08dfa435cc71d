"""A context set with Croissant metadata, validated and loaded by mlcroissant."""

from __future__ import annotations

from pathlib import Path

import mlcroissant
import pytest
from tests.command import Clinometer

from clinometer.contexts import ContextSet, load_contexts
from clinometer.errors import SettingsError
from clinometer.exports.croissant import write_croissant

#: What the other library warns of in its own code.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_mlcroissant_validates_and_loads(clinometer: Clinometer, tmp_path: Path) -> None:
    more = ("--url", "https://example.org/set", "--published", "2026-11-16", "--cite", "Us, 2026")
    done = clinometer(
        "export", "croissant", "paper-gender", "--license", "CC-BY-4.0", *more, "--out", tmp_path
    )
    assert done.status == 0, done.err
    found = mlcroissant.Dataset(jsonld=str(tmp_path / "croissant.json"))
    assert (found.metadata.ctx.issues.errors, found.metadata.ctx.issues.warnings) == (set(), set())
    asked = load_contexts("paper-gender")
    rows = {
        one["contexts/template"].decode(): one["contexts/count"]
        for one in found.records("contexts")
    }
    assert rows == dict(zip(asked.templates, asked.counts, strict=True))


def test_other_columns_are_fields_and_a_licence_is_needed(tmp_path: Path) -> None:
    made = ContextSet("two", ["The [X] is [Y]", "A [X] was [Y]"], [2, 1], {"source": ["a", "b"]})
    where = {"url": "https://example.org", "published": "2026-11-16"}
    write_croissant(made, tmp_path, licence="MIT", **where)
    rows = list(mlcroissant.Dataset(jsonld=str(tmp_path / "croissant.json")).records("contexts"))
    assert [one["contexts/source"] for one in rows] == [b"a", b"b"]
    with pytest.raises(SettingsError, match="licence"):
        write_croissant(made, tmp_path, licence=" ", **where)
