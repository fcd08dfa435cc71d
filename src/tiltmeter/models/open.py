"""From a model's name to something that can be asked."""

from __future__ import annotations

from pathlib import Path

from tiltmeter.errors import SettingsError
from tiltmeter.models.base import Scorer
from tiltmeter.models.options import LoadOptions, WordOptions
from tiltmeter.models.spec import ModelSpec, Place


def open_model(
    model: str | ModelSpec,
    *,
    load: LoadOptions | None = None,
    words: WordOptions | None = None,
) -> Scorer:
    """Open a model by name: `smollm2`, a folder, a .gguf file, `pocket:NAME`, a hub id,
    `openai:URL#MODEL` or `vllm:MODEL`.

    The reference models need no scorer: their preferences are known (see `tiltmeter.measure`).
    """
    spec = model if isinstance(model, ModelSpec) else ModelSpec.parse(model)
    load, words = load or LoadOptions(), words or WordOptions()
    if spec.place is Place.REFERENCE:
        raise SettingsError(f"model {spec.name!r}: a reference model is computed, not asked")
    if spec.place is Place.SERVER:
        from tiltmeter.models.server import open_server

        return open_server(spec, load=load, words=words)
    if spec.place is Place.VLLM:
        from tiltmeter.models.vllm_engine import open_vllm

        return open_vllm(spec, load=load, words=words)
    from tiltmeter.models.embedded import embedded_gguf, folder_of_gguf
    from tiltmeter.models.load import load_transformer

    if spec.place is Place.EMBEDDED:
        source = str(folder_of_gguf(embedded_gguf()))
    elif spec.place is Place.GGUF:
        source = str(folder_of_gguf(Path(spec.target)))
    else:
        source = spec.target
    return load_transformer(spec, source, load=load, words=words)
