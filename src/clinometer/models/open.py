"""Open a model by name, as a scorer or as a writer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinometer.errors import SettingsError
from clinometer.extras import require
from clinometer.models.catalog.spec import APPLICATIONS, ModelSource, ModelSpec
from clinometer.models.catalog.weights import weights_source
from clinometer.models.options import LoadOptions, WordOptions
from clinometer.models.protocol import Scorer, Writer

if TYPE_CHECKING:
    from clinometer.models.client.client import Client


def open_model(
    model: str | ModelSpec,
    *,
    load: LoadOptions | None = None,
    words: WordOptions | None = None,
    beside: Client | None = None,
) -> Scorer:
    """Open a model by name: `smollm2`, a folder, a .gguf file, `pocket:NAME`, a hub id,
    `openai/NAME` and other hosted ones, `openai:URL#MODEL`; or an application,
    `app:package.module:function` or `http:FILE.toml`.

    The reference models need no scorer: their preferences are known (see `clinometer.measure`).

    What a hosted model is asked counts in the limits of the client `beside` it.
    """
    spec = model if isinstance(model, ModelSpec) else ModelSpec.parse(model)
    load = spec.load(load or LoadOptions())
    words = words or WordOptions()
    _check_options(spec, load)
    if spec.place is ModelSource.SERVER:
        from clinometer.models.server.open import open_server

        return open_server(spec, load=load, words=words, beside=beside)
    if spec.place in APPLICATIONS:
        from clinometer.models.application.open import open_application

        return open_application(spec, load=load)
    if _loaded is None:
        return _load_transformer(spec, load, words)
    return _loaded.model(spec, load, words)


def _check_options(spec: ModelSpec, load: LoadOptions) -> None:
    """Refuse models that have no scorer, and options that a kind of model has not."""
    if spec.place is ModelSource.REFERENCE:
        raise SettingsError(
            f"model {spec.name!r}: expected a model that can be scored, found a reference model"
        )
    effort = None if load.sampled is None else load.sampled.effort
    if effort is not None and spec.place is not ModelSource.SERVER:
        raise SettingsError(
            f"effort: expected a hosted model, which gets it with each request; found {spec.name}"
        )
    if load.steer is not None and spec.place in (ModelSource.SERVER, *APPLICATIONS):
        raise SettingsError(
            f"steer: expected a model on this machine, found {spec.name}"
        )


def _load_transformer(spec: ModelSpec, load: LoadOptions, words: WordOptions) -> Scorer:
    """Load a model on this machine."""
    source = weights_source(spec) or spec.target
    if load.quantize == "8bit":
        require("--load quantize=8bit", "bitsandbytes")
    require("scoring with a language model", "torch", "transformers")
    from clinometer.models.local.load import load_transformer

    return load_transformer(spec, source, load=load, words=words)


@dataclass
class LoadedModel:
    """The model on this machine that was loaded last, and as what."""

    options: tuple[ModelSpec, LoadOptions, WordOptions] | None = None
    scorer: Scorer | None = None

    def model(self, spec: ModelSpec, load: LoadOptions, words: WordOptions) -> Scorer:
        """Return the model that was loaded last, or load another one in its place."""
        options = (spec, load, words)
        if self.scorer is None or self.options != options:
            self.scorer = None  # before the next one needs the memory
            self.scorer = _load_transformer(spec, load, words)
            self.options = options
        return self.scorer


_loaded: LoadedModel | None = None
"""The model that stays in memory; None outside `loaded_once`."""


@contextmanager
def loaded_once() -> Iterator[None]:
    """While this lasts, a model on this machine that is asked about several topics in turn is
    loaded for the first and stays in memory."""
    global _loaded  # noqa: PLW0603
    outer = _loaded
    _loaded = LoadedModel()
    try:
        yield
    finally:
        _loaded = outer


def open_writer(model: str, *, load: LoadOptions | None = None) -> Writer:
    """Open a model that generates text: any causal model, a hosted one, or
    `openai:URL#MODEL`."""
    spec = ModelSpec.parse(model)
    load = spec.load(load or LoadOptions())
    if spec.place is ModelSource.SERVER:
        from clinometer.models.server.writer import ServerWriter

        return ServerWriter(spec, load)
    scorer = open_model(spec, load=load)
    from clinometer.models.local.causal import CausalScorer
    from clinometer.models.local.generate import CausalWriter

    if not isinstance(scorer, CausalScorer):
        raise SettingsError(
            f"model {model!r}: expected one that writes (causal), found a {scorer.info.kind} one"
        )
    return CausalWriter(scorer)
