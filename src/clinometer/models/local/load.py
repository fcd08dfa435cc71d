"""Load a transformers model from a folder or the Hugging Face hub, as the scorer of its kind."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto as auto

from clinometer.errors import ModelError, SettingsError
from clinometer.models.catalog.pretrained import (
    ADAPTER,
    adapter_base,
    cached,
    hub_reachable,
    loading,
    merged_adapter,
    pretrained,
)
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.catalog.weights import folder_revision, unchanged
from clinometer.models.local.base import TransformerScorer, collector_off
from clinometer.models.local.causal import CausalSampler, CausalScorer
from clinometer.models.local.masked import (
    MaskedScorer,
    PermutationScorer,
    Seq2SeqScorer,
)
from clinometer.models.local.steer import Steering, steer
from clinometer.models.options import LoadOptions, WordOptions
from clinometer.models.protocol import ModelInfo, Scorer
from clinometer.models.tokens import has_tokenizer, in_template, load_tokenizer
from clinometer.topics.conversation import messages_of

#: Model types whose transformers code mixes float32 into half precision, and fails.
_ONLY_FLOAT32 = ("deberta", "xlnet")


@collector_off()
def load_transformer(
    spec: ModelSpec, source: str, *, load: LoadOptions, words: WordOptions
) -> Scorer:
    """Load the model at `source` (a folder or hub id) and wrap it by kind."""
    device = choose_device(load.device)
    spread = load.device_map is not None or load.quantize is not None
    adapter = Path(source) if (Path(source) / ADAPTER).is_file() else None
    base = adapter_base(adapter) if adapter else source
    common: dict[str, Any] = {
        "trust_remote_code": load.allowed.remote_code,
        "revision": load.revision,
    }
    named = (
        adapter is not None and base not in load.allowed.models
    )  # by the adapter alone
    if not Path(base).is_dir() and (named or not hub_reachable()):
        common["local_files_only"] = True
        if named and not cached(base):
            load.allowed.check_model(
                base, here=False, where=f"adapter {str(adapter)!r}"
            )
    with (
        loading(spec.name, base, allow_pickle=load.allowed.pickle),
        unchanged(spec.name, {source, base}),
    ):
        config = pretrained(transformers.AutoConfig, base, **common)
        kind = detect_kind(config, spec.name, load.kind)
        dtype = choose_dtype(spec.name, config, load.dtype, device)
        written = source if has_tokenizer(source) else base
        tokenizer = load_tokenizer(spec.name, written, **common)
        scorer_class = SCORERS[kind]
        options: dict[str, Any] = {
            "dtype": getattr(torch, dtype),
            "allow_pickle": load.allowed.pickle,
            "config": config,
            **common,
        }
        if spread:
            options["device_map"] = load.device_map or "auto"
        elif device.type == "cuda" and find_spec("accelerate") is not None:
            options["device_map"] = (
                device  # straight to the GPU, not through main memory
            )
        if load.quantize == "8bit":
            # bitsandbytes warns on every matmul that inputs are cast to float16.
            logging.getLogger("bitsandbytes.autograd._functions").setLevel(
                logging.ERROR
            )
            options["quantization_config"] = transformers.BitsAndBytesConfig(
                load_in_8bit=True
            )
        auto_class = getattr(transformers, scorer_class.auto_class)
        model = _whole_model(spec.name, auto_class, base, options)
        if adapter is not None:
            model = merged_adapter(model, adapter)
        if not spread:  # with a device map, transformers has placed every layer
            model = model.to(device)
        if load.steer is not None:
            steer(model, Steering.read(load.steer), spec.name)
    size = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > size:
        raise ModelError(
            f"model {spec.name!r}: its tokenizer has {len(tokenizer)} tokens, its embeddings only "
            f"{size}: tokenizer and weights do not belong together; use those of one model"
        )
    revision = str(getattr(config, "_commit_hash", None) or "unknown")
    if Path(base).is_dir():
        revision = folder_revision(Path(base))
    info = ModelInfo(
        name=spec.name,
        kind=kind,
        revision=f"{folder_revision(adapter)} on {revision}" if adapter else revision,
        dtype=dtype,
        device=_places(model) if spread else str(device),
        parameters=sum(p.numel() for p in model.parameters()),
        notes=(
            *((f"adapter merged into {Path(base).name}",) if adapter else ()),
            *(("weights in 8 bits (bitsandbytes)",) if load.quantize else ()),
            *((f"steered by {Path(load.steer).name}",) if load.steer else ()),
        ),
    )
    if kind != "causal" and (load.chat or load.sampled):
        asked = "--chat" if load.chat else "--replies"
        raise SettingsError(
            f"model {spec.name!r}: {asked}: expected a causal model, found a {kind} one"
        )
    chat = in_template(tokenizer, messages_of(load.chat_request)) if load.chat else None
    if load.chat and chat is None:
        raise ModelError(
            f"model {spec.name!r}: has no chat template; score it without --chat"
        )
    scorer = scorer_class(
        model, tokenizer, info, options=words, batch_tokens=load.batch_tokens, chat=chat
    )
    if load.sampled is not None and isinstance(scorer, CausalScorer):
        return CausalSampler(scorer, load.sampled)
    return scorer


def _places(model: Any) -> str:
    """Devices of a model spread over several: cuda:0, cuda:1, cpu."""
    found = getattr(model, "hf_device_map", None) or {
        "": next(model.parameters()).device
    }
    names = {f"cuda:{p}" if isinstance(p, int) else str(p) for p in found.values()}
    return ", ".join(sorted(names))


def _whole_model(
    name: str, auto_class: Any, source: str, options: dict[str, Any]
) -> Any:
    """Load the weights, and refuse a checkpoint that lacks some of them.

    transformers fills missing weights with random numbers and only logs it: a classifier's
    checkpoint loaded as a masked model would return noise.
    """
    config = options["config"]
    model, info = pretrained(auto_class, source, output_loading_info=True, **options)
    missing = sorted(info["missing_keys"])
    if (
        missing
        and getattr(config, "legacy", None)
        and str(config.model_type).startswith("deberta")
    ):
        # DeBERTa's own checkpoints keep their output layer where the library's newer class looks.
        # That class uses the embeddings as they are; transformers 5.17 fails to tie them as well.
        config.legacy = config.tie_word_embeddings = False
        model, info = pretrained(
            auto_class, source, output_loading_info=True, **options
        )
        missing = sorted(info["missing_keys"])
    if missing:
        raise ModelError(
            f"model {name!r}: its weights lack {missing[0]!r}"
            f"{f' and {len(missing) - 1} more' if len(missing) > 1 else ''}, so "
            f"{type(model).__name__} would return noise: it was saved for another task; try "
            "another --load kind="
        )
    return model


def choose_device(wanted: str) -> torch.device:
    """The device to run on; `auto` takes a GPU when there is one."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    kind = wanted.split(":")[0]
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if not there.get(kind, False):
        raise SettingsError(
            f"device {wanted!r}: none on this machine; use --device cpu or auto"
        )
    return torch.device(wanted)


def choose_dtype(name: str, config: Any, wanted: str, device: torch.device) -> str:
    """As requested, if transformers can compute this architecture in it; else float32 on a CPU,
    where it is exact and as fast, and bfloat16 on a GPU."""
    only_float32 = config.model_type in _ONLY_FLOAT32
    if wanted == "auto":
        return "bfloat16" if device.type == "cuda" and not only_float32 else "float32"
    if only_float32 and wanted != "float32":
        raise SettingsError(
            f"model {name!r}: transformers cannot compute {config.model_type} in {wanted}: use "
            "--load dtype=float32, or leave it out"
        )
    return wanted


SCORERS: dict[str, type[TransformerScorer]] = {
    scorer.kind: scorer
    for scorer in (CausalScorer, MaskedScorer, Seq2SeqScorer, PermutationScorer)
}


def detect_kind(config: Any, name: str, wanted: str | None) -> str:
    """The requested kind, or the one that the configuration names."""
    kind = wanted or _kind_of(config)
    if kind is None:
        raise ModelError(
            f"model {name!r}: cannot detect its kind from the configuration "
            f"({', '.join(getattr(config, 'architectures', None) or ['no architecture'])}): use "
            f"--load kind={'|'.join(SCORERS)}"
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
        if architecture.endswith(
            ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
        ):
            return "causal"
    # auto_map says what a model's own code builds (ChatGLM2's architecture does not).
    own_code = getattr(config, "auto_map", None) or {}
    # For configurations that name no architecture: what the library can build from it.
    clues = (
        ("AutoModelForMaskedLM" in own_code, "masked"),
        ("AutoModelForCausalLM" in own_code, "causal"),
        (model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES, "masked"),
        (model_type in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, "causal"),
    )
    return next((kind for holds, kind in clues if holds), None)
