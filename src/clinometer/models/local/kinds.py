"""Which kind a model is, from its configuration, and the scorer for each kind."""

from __future__ import annotations

from typing import Any

from clinometer.errors import ModelError
from clinometer.models.local.base import TransformerScorer
from clinometer.models.local.causal import CausalScorer
from clinometer.models.local.masked import MaskedScorer
from clinometer.models.local.permutation import PermutationScorer
from clinometer.models.local.seq2seq import Seq2SeqScorer

SCORERS: dict[str, type[TransformerScorer]] = {
    scorer.kind: scorer for scorer in (CausalScorer, MaskedScorer, Seq2SeqScorer, PermutationScorer)
}


def detect_kind(config: Any, name: str, wanted: str | None) -> str:
    """The requested kind, or the one that the configuration names."""
    kind = wanted or _kind_of(config)
    if kind is None:
        raise ModelError(
            f"model {name!r}: cannot detect its kind from the configuration "
            f"({', '.join(getattr(config, 'architectures', None) or ['no architecture'])}): use "
            f"--kind {'|'.join(SCORERS)}"
        )
    return kind


def _kind_of(config: Any) -> str | None:
    model_type = str(getattr(config, "model_type", ""))
    architectures = getattr(config, "architectures", None) or []
    if model_type == "xlnet":
        return "permutation"
    if getattr(config, "is_encoder_decoder", False):
        return "seq2seq"
    if "ElectraForPreTraining" in architectures:
        return None  # ELECTRA's discriminator tells real words from replaced ones and writes none
    for architecture in architectures:
        if architecture.endswith(("ForMaskedLM", "ForPreTraining")):
            return "masked"
        if architecture.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")):
            return "causal"
    # auto_map says what a model's own code builds (ChatGLM2's architecture does not).
    brought = getattr(config, "auto_map", None) or {}
    for auto_class, kind in (
        ("AutoModelForMaskedLM", "masked"),
        ("AutoModelForCausalLM", "causal"),
    ):
        if auto_class in brought:
            return kind
    return _kind_by_model_type(model_type)


def _kind_by_model_type(model_type: str) -> str | None:
    """For configurations that name no architecture: what the library can build from it."""
    from transformers.models.auto import modeling_auto as auto

    if model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return "masked"
    if model_type in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "causal"
    return None
