"""Where the weights behind a model's name are."""

from __future__ import annotations

from pathlib import Path

from clinometer.models.catalog.gguf import embedded_gguf, folder_of_gguf
from clinometer.models.catalog.spec import ModelSource, ModelSpec


def gguf_file(spec: ModelSpec) -> Path | None:
    """The .gguf file of a model that comes as one; None for every other model."""
    if spec.place is ModelSource.EMBEDDED:
        return embedded_gguf()
    return Path(spec.target) if spec.place is ModelSource.GGUF else None


def weights_source(spec: ModelSpec) -> str | None:
    """The folder or hub id that transformers opens (a .gguf file is converted to a folder first);
    None for models that are not loaded by transformers here: references, servers, vLLM."""
    if (file := gguf_file(spec)) is not None:
        return str(folder_of_gguf(file))
    return spec.target if spec.place in (ModelSource.FOLDER, ModelSource.HUB) else None
