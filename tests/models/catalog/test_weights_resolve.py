"""One answer to where the weights behind a name are."""

from __future__ import annotations

from pathlib import Path

import pytest

from clinometer.models import ModelSpec
from clinometer.models.catalog import weights as resolve
from clinometer.models.catalog.weights import gguf_file, weights_source


def test_folders_and_hub_ids_are_their_own_source(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert weights_source(ModelSpec.parse(str(tmp_path))) == str(tmp_path)
    assert weights_source(ModelSpec.parse("openai-community/gpt2")) == "openai-community/gpt2"


def test_gguf_files_become_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"")
    monkeypatch.setattr(resolve, "embedded_gguf", lambda: Path("embedded.gguf"))
    monkeypatch.setattr(resolve, "folder_of_gguf", lambda gguf: Path(f"{gguf.stem}-folder"))
    assert gguf_file(ModelSpec.parse(str(file))) == file
    assert weights_source(ModelSpec.parse(str(file))) == "model-folder"
    assert weights_source(ModelSpec.parse("smollm2")) == "embedded-folder"


@pytest.mark.parametrize("name", ["reference:random", "openai:http://h/v1#m", "vllm:a/b"])
def test_models_not_loaded_locally_have_no_source(name: str) -> None:
    assert gguf_file(ModelSpec.parse(name)) is None
    assert weights_source(ModelSpec.parse(name)) is None
