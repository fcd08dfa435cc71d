"""Who is asked: language models of every kind behind one small protocol.

Importing this package loads neither torch nor transformers; opening a model does.
"""

from clinometer.models.base import ModelInfo, Scorer, WordReport, WordScores
from clinometer.models.identity import Identity, identity_of
from clinometer.models.open import open_model
from clinometer.models.options import LoadOptions, SampleOptions, ServerOptions, WordOptions
from clinometer.models.spec import ModelSpec, Place, packaged_models

__all__ = [
    "Identity",
    "LoadOptions",
    "ModelInfo",
    "ModelSpec",
    "Place",
    "SampleOptions",
    "Scorer",
    "ServerOptions",
    "WordOptions",
    "WordReport",
    "WordScores",
    "identity_of",
    "open_model",
    "packaged_models",
]
