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
from clinometer.models.providers import HOSTED_NAMES, hosted
from clinometer.settings import values_from_texts, with_settings

REFERENCE_MODELS = ("unbiased", "stereotyped", "random")
EMBEDDED = "smollm2"
ENTRY_POINTS = "clinometer.models"

_CONFIGURATIONS = ("config.json", "adapter_config.json")
"""Files of which a folder has one: a whole model, or an adapter that names its base model."""


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

APPLICATION = "application"
"""What a run records as the device of an application: its cells are asked in random order."""

_ON_THIS_MACHINE = (
    ModelSource.EMBEDDED,
    ModelSource.FOLDER,
    ModelSource.GGUF,
    ModelSource.REFERENCE,
)


@dataclass(frozen=True)
class ModelSpec:
    """A model by name."""

    name: str
    """The name as reports show it."""

    place: ModelSource

    target: str
    """What to look for in that place."""

    settings: tuple[tuple[str, Any], ...] = ()
    """The settings that are part of the name."""

    @classmethod
    def parse(cls, text: str) -> ModelSpec:
        """Read a model's name, and the settings of `LoadOptions` behind a question mark.

        >>> spec = ModelSpec.parse("openai-community/gpt2?dtype=float16&revision=main")
        >>> spec.target, spec.load(LoadOptions()).dtype
        ('openai-community/gpt2', 'float16')
        """
        name, _, keys = text.rpartition("?")
        # The address of a server may have a question mark of its own, and so may a folder.
        is_address = text.startswith("openai:") and "#" not in name
        if not name or "#" in keys or is_address or Path(text).exists():
            return cls._parse(text)
        texts = [unquote(key) for key in keys.split("&")]
        where = f"model {name!r}"
        settings = values_from_texts(LoadOptions, texts, LOAD_KEYS, where=where)
        return replace(cls._parse(name), name=text, settings=tuple(settings.items()))

    def load(self, load: LoadOptions) -> LoadOptions:
        """Return how this model is loaded: its own settings on top of those for all."""
        return with_settings(load, dict(self.settings))

    @classmethod
    def _parse(cls, name: str) -> ModelSpec:
        """Read a name without settings.

        >>> ModelSpec.parse("reference:random").place
        <ModelSource.REFERENCE: 'reference'>
        >>> ModelSpec.parse("smollm2").place
        <ModelSource.EMBEDDED: 'embedded'>
        >>> ModelSpec.parse("openai-community/gpt2").place
        <ModelSource.HUB: 'hub'>
        >>> ModelSpec.parse("openai/gpt-4.1").place, ModelSpec.parse("hub:openai/gpt-oss-20b").place
        (<ModelSource.SERVER: 'server'>, <ModelSource.HUB: 'hub'>)
        """
        spec = _by_prefix(name) or _by_path(name)
        if spec is not None:
            return spec
        is_odd = ":" in name or name.count("/") > 1 or any(c.isspace() for c in name)
        if is_odd or not name:
            raise ModelNotFound(
                f"model {name!r}: expected {EMBEDDED}, reference:NAME, pocket:NAME, a folder, a "
                f".gguf file, a Hugging Face id, {HOSTED_NAMES}, openai:URL#MODEL, "
                "app:package.module:function or http:FILE.toml; "
                "'clinometer list models' lists what is available locally"
            )
        return cls(name, ModelSource.HUB, name)

    def asked_with(self, load: LoadOptions) -> ModelSpec:
        """Return the same model, named after its scoring mode: with a chat template or sampling it
        answers like another model, and reports list the two side by side."""
        if self.place is ModelSource.REFERENCE:
            return self
        return replace(self, name=asked_name(self.name, load))


def _by_prefix(name: str) -> ModelSpec | None:
    """Return the model that the beginning of a name, or a reserved name, stands for."""
    prefix, colon, rest = name.partition(":")
    if prefix == "reference" and colon:
        if rest not in REFERENCE_MODELS:
            names = ", ".join(f"reference:{model}" for model in REFERENCE_MODELS)
            raise ModelNotFound(f"model {name!r}: expected one of {names}")
        return ModelSpec(name, ModelSource.REFERENCE, rest)
    if prefix == "openai" and colon:
        return ModelSpec(name, ModelSource.SERVER, rest)
    if hosted(name) and not Path(name).expanduser().is_dir():
        return ModelSpec(name, ModelSource.SERVER, name)
    if prefix == "hub" and rest.count("/") == 1:
        return ModelSpec(name, ModelSource.HUB, rest)
    if prefix == "app" and colon:
        _check_function(name, rest)
        return ModelSpec(name, ModelSource.APP, rest)
    if prefix == "http" and rest.endswith(".toml") and not rest.startswith("//"):
        return ModelSpec(name, ModelSource.HTTP, rest)
    if name == EMBEDDED:
        return ModelSpec(name, ModelSource.EMBEDDED, name)
    if colon and prefix in {"pocket", *entry_points(group=ENTRY_POINTS).names}:
        folder = _packaged_folder(prefix, rest, name)
        return ModelSpec(name, ModelSource.FOLDER, str(folder))
    return None


def _check_function(name: str, target: str) -> None:
    """Refuse what is not package.module:function."""
    module, _, function = target.partition(":")
    parts = [function, *module.split(".")]
    if not all(part.isidentifier() for part in parts):
        raise ModelNotFound(f"model {name!r}: expected app:package.module:function")


def _by_path(name: str) -> ModelSpec | None:
    """Return the model of a file or a folder; None for a name that is neither."""
    path = Path(name).expanduser()
    if name.endswith(".gguf"):
        if not path.is_file():
            raise ModelNotFound(f"model {name!r}: no such file")
        return ModelSpec(name, ModelSource.GGUF, str(path))
    if path.is_dir():
        if not any((path / file).is_file() for file in _CONFIGURATIONS):
            raise ModelNotFound(
                f"model {name!r}: expected a folder in the Hugging Face format, found no "
                "config.json in it"
            )
        return ModelSpec(name, ModelSource.FOLDER, str(path))
    if name.startswith((".", "/", "~")) or name.endswith(os.sep):
        raise ModelNotFound(f"model {name!r}: no such folder")
    return None


def on_this_machine(name: str) -> bool:
    """Return whether opening a model of this name asks no address: a packaged one, a folder or a
    .gguf file. A path that begins with two slashes may be another machine's.

    >>> on_this_machine("smollm2"), on_this_machine("openai:http://127.0.0.1:8080#m")
    (True, False)
    """
    if name.startswith(("//", "\\\\")):
        return False
    return ModelSpec.parse(name).place in _ON_THIS_MACHINE


def asked_name(name: str, load: LoadOptions) -> str:
    """Return the name of a model together with its scoring mode.

    >>> asked_name("smollm2", LoadOptions(chat=True))
    'smollm2 (chat)'
    """
    modes = []
    if load.chat:
        modes.append("chat")
    if load.sampled and not load.sampled.automatic:
        modes.append(f"{load.sampled.replies} replies")
    return f"{name} ({', '.join(modes)})" if modes else name


def _packaged_folder(prefix: str, model: str, name: str) -> Path:
    """Return the folder of a model in a package: `pocket:bert` comes from the package pocket."""
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
    """Return the names of the models that installed packages ship."""
    names: list[str] = []
    entries = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    for entry in entries:
        module = __import__(entry.module)
        names += [f"{entry.name}:{model}" for model in module.names()]
    return names
