"""The papers' models by table."""

from __future__ import annotations

from pathlib import Path

import pytest

from clinometer.errors import SettingsError
from clinometer.models.catalog.suites import ZooEntry, at_hand, suite, suites
from clinometer.models.options import KINDS


def test_every_suite_is_complete() -> None:
    for name, source in suites().items():
        assert source.startswith("BVF, ")
        for entry in suite(name):
            assert entry.kind in KINDS
            assert entry.id.count("/") == 1
    assert len(suite("bvf-gender")) == len(suite("bvf-race")) == 12


def test_an_unknown_suite_is_refused() -> None:
    with pytest.raises(
        SettingsError, match="'bvf-gendr': expected one of bvf-gender, "
    ):
        suite("bvf-gendr")


def test_locally_available_models_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert at_hand(ZooEntry("here", "causal", str(tmp_path)))
    cache = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(
        "huggingface_hub.file_download.constants.HF_HUB_CACHE", str(cache)
    )
    entry = ZooEntry("there", "causal", "someone/model")
    assert not at_hand(entry)
    snapshot = cache / "models--someone--model" / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    refs = cache / "models--someone--model" / "refs"
    refs.mkdir()
    (refs / "main").write_text("a" * 40)
    (snapshot / "config.json").write_text("{}")
    assert not at_hand(entry)  # a configuration alone cannot be asked
    (snapshot / "model.safetensors").write_bytes(b"")
    assert at_hand(entry)
