"""Which kind a model is, from its configuration, and the scorer for each kind."""

from __future__ import annotations

from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.models.causal import CausalScorer
from tiltmeter.models.transformer import TransformerScorer

SCORERS: dict[str, type[TransformerScorer]] = {
    scorer.kind: scorer for scorer in (CausalScorer,)
}


def detect_kind(config: Any, name: str, wanted: str | None) -> str:
    """The kind asked for, or the one that the configuration names."""
    kind = wanted or _kind_of(config)
    if kind is None:
        raise ModelError(
            f"model {name!r}: cannot tell its kind from the configuration "
            f"({', '.join(getattr(config, 'architectures', None) or ['no architecture'])}): say "
            f"--kind {'|'.join(SCORERS)}"
        )
    if kind not in SCORERS:
        raise ModelError(f"model {name!r} is a {kind} model, which this version cannot ask")
    return kind


def _kind_of(config: Any) -> str | None:
    if getattr(config, "model_type", "") == "xlnet":
        return "permutation"
    if getattr(config, "is_encoder_decoder", False):
        return "seq2seq"
    for architecture in getattr(config, "architectures", None) or []:
        if architecture.endswith(("ForMaskedLM", "ForPreTraining")):
            return "masked"
        if architecture.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")):
            return "causal"
    return _kind_by_model_type(str(getattr(config, "model_type", "")))


def _kind_by_model_type(model_type: str) -> str | None:
    """For configurations that name no architecture: what the library can build from it."""
    from transformers.models.auto import modeling_auto as auto

    if model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return "masked"
    if model_type in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "causal"
    return None
