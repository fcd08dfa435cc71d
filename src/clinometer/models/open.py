"""From a model's name to something that can be asked."""

from __future__ import annotations

from pathlib import Path

from clinometer.errors import SettingsError
from clinometer.models.base import Scorer
from clinometer.models.options import LoadOptions, WordOptions
from clinometer.models.spec import ModelSpec, Place


def open_model(
    model: str | ModelSpec,
    *,
    load: LoadOptions | None = None,
    words: WordOptions | None = None,
) -> Scorer:
    """Open a model by name: `smollm2`, a folder, a .gguf file, `pocket:NAME`, a hub id,
    `openai:URL#MODEL` or `vllm:MODEL`.

    The reference models need no scorer: their preferences are known (see `clinometer.measure`).
    """
    spec = model if isinstance(model, ModelSpec) else ModelSpec.parse(model)
    load, words = load or LoadOptions(), words or WordOptions()
    if spec.place is Place.REFERENCE:
        raise SettingsError(f"model {spec.name!r}: a reference model is computed, not asked")
    if spec.place is Place.SERVER:
        from clinometer.models.server import open_server

        return open_server(spec, load=load, words=words)
    if spec.place is Place.VLLM:
        from clinometer.models.vllm_engine import open_vllm

        return open_vllm(spec, load=load, words=words)
    from clinometer.models.embedded import embedded_gguf, folder_of_gguf
    from clinometer.models.load import load_transformer

    if spec.place is Place.EMBEDDED:
        source = str(folder_of_gguf(embedded_gguf()))
    elif spec.place is Place.GGUF:
        source = str(folder_of_gguf(Path(spec.target)))
    else:
        source = spec.target
    return load_transformer(spec, source, load=load, words=words)
