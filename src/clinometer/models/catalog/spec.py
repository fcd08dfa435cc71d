"""What MODEL on the command line may be, and what it means."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from enum import Enum
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from clinometer.errors import ModelNotFound
from clinometer.extras import DISTRIBUTION, install_command
from clinometer.models.options import LOAD_KEYS, LoadOptions
from clinometer.models.providers import hosted
from clinometer.settings import values_from_texts, with_settings

REFERENCE_MODELS = ("unbiased", "stereotyped", "random")
EMBEDDED = "smollm2"
ENTRY_POINTS = "clinometer.models"

#: A whole model, or an adapter that names its base model.
_CONFIGURATIONS = ("config.json", "adapter_config.json")


class ModelSource(Enum):
    """Where a model is found."""

    REFERENCE = "reference"
    EMBEDDED = "embedded"
    GGUF = "gguf"
    FOLDER = "folder"
    HUB = "hub"
    SERVER = "server"
    APP = "app"
    HTTP = "http"


APPLICATIONS = (ModelSource.APP, ModelSource.HTTP)
#: What a run records as the device of an application: its cells are asked in random order.
APPLICATION = "application"


@dataclass(frozen=True)
class ModelSpec:
    """A model by name: `name` as reports show it, the place, what to look for there, and the
    settings that are part of it."""

    name: str
    place: ModelSource
    target: str
    settings: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def parse(cls, text: str) -> ModelSpec:
        """Read a model's name, and the settings of `LoadOptions` behind a question mark.

        >>> spec = ModelSpec.parse("openai-community/gpt2?dtype=float16&revision=main")
        >>> spec.target, spec.load(LoadOptions()).dtype
        ('openai-community/gpt2', 'float16')
        """
        name, _, keys = text.rpartition("?")
        # The address of a server may have a question mark of its own, and so may a folder.
        if (
            not name
            or Path(text).exists()
            or "#" in keys
            or (text.startswith("openai:") and "#" not in name)
        ):
            return cls._parse(text)
        texts = [unquote(key) for key in keys.split("&")]
        where = f"model {name!r}"
        own = values_from_texts(LoadOptions, texts, LOAD_KEYS, where=where)
        return replace(cls._parse(name), name=text, settings=tuple(own.items()))

    def load(self, load: LoadOptions) -> LoadOptions:
        """How this model is loaded: its own settings on top of those for all."""
        return with_settings(load, dict(self.settings))

    @classmethod
    def _parse(cls, name: str) -> ModelSpec:
        """

        >>> ModelSpec.parse("reference:random").place
        <ModelSource.REFERENCE: 'reference'>
        >>> ModelSpec.parse("smollm2").place
        <ModelSource.EMBEDDED: 'embedded'>
        >>> ModelSpec.parse("openai-community/gpt2").place
        <ModelSource.HUB: 'hub'>
        >>> ModelSpec.parse("openai/gpt-4.1").place, ModelSpec.parse("hub:openai/gpt-oss-20b").place
        (<ModelSource.SERVER: 'server'>, <ModelSource.HUB: 'hub'>)
        """
        prefix, colon, rest = name.partition(":")
        path = Path(name).expanduser()
        if prefix == "reference" and colon:
            if rest not in REFERENCE_MODELS:
                known = ", ".join(f"reference:{r}" for r in REFERENCE_MODELS)
                raise ModelNotFound(f"model {name!r}: expected one of {known}")
            return cls(name, ModelSource.REFERENCE, rest)
        if prefix == "openai" and colon:
            return cls(name, ModelSource.SERVER, rest)
        if hosted(name) and not path.is_dir():
            return cls(name, ModelSource.SERVER, name)
        if prefix == "hub" and rest.count("/") == 1:
            return cls(name, ModelSource.HUB, rest)
        if prefix == "app" and colon:
            module, _, function = rest.partition(":")
            if not (
                function.isidentifier()
                and all(n.isidentifier() for n in module.split("."))
            ):
                raise ModelNotFound(
                    f"model {name!r}: expected app:package.module:function"
                )
            return cls(name, ModelSource.APP, rest)
        if prefix == "http" and rest.endswith(".toml") and not rest.startswith("//"):
            return cls(name, ModelSource.HTTP, rest)
        if name == EMBEDDED:
            return cls(name, ModelSource.EMBEDDED, name)
        if colon and prefix in {"pocket", *entry_points(group=ENTRY_POINTS).names}:
            return cls(
                name, ModelSource.FOLDER, str(_packaged_folder(prefix, rest, name))
            )
        if name.endswith(".gguf"):
            if not path.is_file():
                raise ModelNotFound(f"model {name!r}: no such file")
            return cls(name, ModelSource.GGUF, str(path))
        if path.is_dir():
            if not any((path / file).is_file() for file in _CONFIGURATIONS):
                raise ModelNotFound(
                    f"model {name!r}: expected a folder in the Hugging Face format, found no "
                    "config.json in it"
                )
            return cls(name, ModelSource.FOLDER, str(path))
        if name.startswith((".", "/", "~")) or name.endswith(os.sep):
            raise ModelNotFound(f"model {name!r}: no such folder")
        if colon or not name or name.count("/") > 1 or any(c.isspace() for c in name):
            raise ModelNotFound(
                f"model {name!r}: expected {EMBEDDED}, reference:NAME, pocket:NAME, a folder, a "
                ".gguf file, a Hugging Face id, openai/NAME, anthropic/NAME, azure/NAME, "
                "mistral/NAME, gemini/NAME, openai:URL#MODEL, app:package.module:function or "
                "http:FILE.toml; 'clinometer list models' lists what is available locally"
            )
        return cls(name, ModelSource.HUB, name)

    def asked_with(self, load: LoadOptions) -> ModelSpec:
        """The same model, named after its scoring mode: with a chat template or sampling it
        answers like another model, and reports list the two side by side."""
        if self.place is ModelSource.REFERENCE:
            return self
        return replace(self, name=asked_name(self.name, load))


def on_this_machine(name: str) -> bool:
    """Whether opening a model of this name asks no address: a packaged one, a folder or a .gguf
    file. A path that begins with two slashes may be another machine's.

    >>> on_this_machine("smollm2"), on_this_machine("openai:http://127.0.0.1:8080#m")
    (True, False)
    """
    if name.startswith(("//", "\\\\")):
        return False
    places = (
        ModelSource.EMBEDDED,
        ModelSource.FOLDER,
        ModelSource.GGUF,
        ModelSource.REFERENCE,
    )
    return ModelSpec.parse(name).place in places


def asked_name(wrote: str, load: LoadOptions) -> str:
    """The name of a model together with its scoring mode.

    >>> asked_name("smollm2", LoadOptions(chat=True))
    'smollm2 (chat)'
    """
    sampled = load.sampled
    how = [
        *(["chat"] if load.chat else []),
        *([f"{sampled.replies} replies"] if sampled and not sampled.automatic else []),
    ]
    return f"{wrote} ({', '.join(how)})" if how else wrote


def _packaged_folder(prefix: str, model: str, name: str) -> Path:
    """`pocket:bert` comes from the package pocket."""
    entries = list(entry_points(group=ENTRY_POINTS, name=prefix))
    if not entries:
        raise ModelNotFound(
            f"model {name!r}: the package that carries it is not installed: "
            + install_command(f"{DISTRIBUTION}-{prefix}")
        )
    folder = entries[0].load()
    try:
        return Path(folder(model))
    except KeyError as error:
        raise ModelNotFound(f"model {name!r}: {error.args[0]}") from error


def packaged_models() -> list[str]:
    """Names of the models that installed packages ship."""
    names: list[str] = []
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda e: e.name):
        module = __import__(entry.module)
        names += [f"{entry.name}:{n}" for n in module.names()]
    return names
