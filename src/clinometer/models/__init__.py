"""Who is asked: language models of every kind behind one small protocol.

Importing this package loads neither torch nor transformers; opening a model does.
"""

from clinometer.models.catalog.revisions import revision_of
from clinometer.models.catalog.spec import ModelSource, ModelSpec, packaged_models
from clinometer.models.open import open_model
from clinometer.models.options import (
    LoadOptions,
    SampleOptions,
    ServerOptions,
    WordOptions,
)
from clinometer.models.protocol import ModelInfo, Scorer, WordReport, WordScores

__all__ = [
    "LoadOptions",
    "ModelInfo",
    "ModelSource",
    "ModelSpec",
    "SampleOptions",
    "Scorer",
    "ServerOptions",
    "WordOptions",
    "WordReport",
    "WordScores",
    "open_model",
    "packaged_models",
    "revision_of",
]
