"""A tokenizer without its model: for a server that has none to offer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.extras import require
from tiltmeter.models.options import LoadOptions
from tiltmeter.models.spec import ModelSpec, Place


def local_tokenizer(name: str, load: LoadOptions) -> Any:
    """The tokenizer of a folder, a .gguf file, an embedded or packaged model, or a hub id."""
    require("a local tokenizer", "transformers")
    import transformers

    from tiltmeter.models.embedded import embedded_gguf, folder_of_gguf

    spec = ModelSpec.parse(name)
    if spec.place not in (Place.EMBEDDED, Place.GGUF, Place.FOLDER, Place.HUB):
        raise ModelError(f"tokenizer {name!r}: expected a folder, a .gguf file or a hub id")
    source = spec.target
    if spec.place is Place.EMBEDDED:
        source = str(folder_of_gguf(embedded_gguf()))
    elif spec.place is Place.GGUF:
        source = str(folder_of_gguf(Path(spec.target)))
    try:
        return transformers.AutoTokenizer.from_pretrained(
            source, trust_remote_code=load.trust_remote_code, revision=load.revision
        )
    except (OSError, ValueError) as error:
        text = " ".join(str(error).split())
        raise ModelError(f"tokenizer {name!r} cannot be loaded: {text[:160]}") from error
