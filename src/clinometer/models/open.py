"""Open a model by name, as a scorer or as a writer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clinometer.errors import SettingsError
from clinometer.extras import require
from clinometer.models.catalog.spec import APPLICATIONS, ModelSource, ModelSpec
from clinometer.models.catalog.weights import weights_source
from clinometer.models.options import LoadOptions, WordOptions
from clinometer.models.protocol import Scorer, Writer


def open_model(
    model: str | ModelSpec,
    *,
    load: LoadOptions | None = None,
    words: WordOptions | None = None,
) -> Scorer:
    """Open a model by name: `smollm2`, a folder, a .gguf file, `pocket:NAME`, a hub id,
    `openai/NAME` and other hosted ones, `openai:URL#MODEL`; or an application,
    `app:package.module:function` or `http:FILE.toml`.

    The reference models need no scorer: their preferences are known (see `clinometer.measure`).
    """
    spec = model if isinstance(model, ModelSpec) else ModelSpec.parse(model)
    load, words = spec.load(load or LoadOptions()), words or WordOptions()
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
    if spec.place is ModelSource.SERVER:
        from clinometer.models.server.open import open_server

        return open_server(spec, load=load, words=words)
    if spec.place in APPLICATIONS:
        from clinometer.models.application import open_application

        return open_application(spec, load=load)
    source = weights_source(spec) or spec.target
    if load.quantize == "8bit":
        require("--load quantize=8bit", "bitsandbytes")
    require("scoring with a language model", "torch", "transformers")
    from clinometer.models.local.load import load_transformer

    question = (spec, load, words)
    if _loaded is None:
        return load_transformer(spec, source, load=load, words=words)
    if _loaded.get("question") != question:
        _loaded.clear()  # before the next one needs the memory
        scorer = load_transformer(spec, source, load=load, words=words)
        _loaded.update(question=question, scorer=scorer)
    last: Scorer = _loaded["scorer"]
    return last


#: The model on this machine that was loaded last, and as what; None outside `loaded_once`.
_loaded: dict[str, Any] | None = None


@contextmanager
def loaded_once() -> Iterator[None]:
    """While this lasts, a model on this machine that is asked about several topics in turn is
    loaded for the first and stays in memory."""
    global _loaded  # noqa: PLW0603
    before, _loaded = _loaded, {}
    try:
        yield
    finally:
        _loaded = before


def open_writer(model: str, *, load: LoadOptions | None = None) -> Writer:
    """Open a model that generates text: any causal model, a hosted one, or
    `openai:URL#MODEL`."""
    spec = ModelSpec.parse(model)
    load = spec.load(load or LoadOptions())
    if spec.place is ModelSource.SERVER:
        from clinometer.models.server.writer import ServerWriter

        return ServerWriter(spec, load)
    scorer = open_model(spec, load=load)
    from clinometer.models.local.causal import CausalScorer, CausalWriter

    if not isinstance(scorer, CausalScorer):
        raise SettingsError(
            f"model {model!r}: expected one that writes (causal), found a {scorer.info.kind} one"
        )
    return CausalWriter(scorer)
