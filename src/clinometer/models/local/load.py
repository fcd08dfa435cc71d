"""Load a transformers model from a folder or the Hugging Face hub, as the scorer of its kind."""

from __future__ import annotations

import logging
from dataclasses import dataclass
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
from clinometer.models.catalog.revisions import folder_revision, unchanged
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.local.base import TransformerScorer
from clinometer.models.local.batches import collector_off
from clinometer.models.local.causal import CausalScorer
from clinometer.models.local.generate import CausalSampler
from clinometer.models.local.masked import MaskedScorer, PermutationScorer
from clinometer.models.local.seq2seq import Seq2SeqScorer
from clinometer.models.local.steer import Steering, steer
from clinometer.models.options import LoadOptions, WordOptions
from clinometer.models.protocol import ModelInfo, Scorer
from clinometer.models.tokens import has_tokenizer, in_template, load_tokenizer
from clinometer.topics.conversation import messages_of

_ONLY_FLOAT32 = ("deberta", "xlnet")
"""Model types whose transformers code mixes float32 into half precision, and fails."""

SCORERS: dict[str, type[TransformerScorer]] = {
    scorer.kind: scorer
    for scorer in (CausalScorer, MaskedScorer, Seq2SeqScorer, PermutationScorer)
}
"""The scorer of each kind of model."""


@dataclass(frozen=True)
class Origin:
    """Where a model's weights are: a whole model, or an adapter and its base."""

    base: str
    """A folder or hub id."""

    adapter: Path | None
    """The folder of the adapter; None for a whole model."""

    common: dict[str, Any]
    """What every call that loads a part of the base is given."""

    @classmethod
    def of(cls, source: str, load: LoadOptions) -> Origin:
        """Look at the folder or hub id, and refuse a base that only an adapter names."""
        adapter = None
        base = source
        if (Path(source) / ADAPTER).is_file():
            adapter = Path(source)
            base = adapter_base(adapter)
        common: dict[str, Any] = {
            "trust_remote_code": load.allowed.remote_code,
            "revision": load.revision,
        }
        by_adapter_alone = adapter is not None and base not in load.allowed.models
        is_folder = Path(base).is_dir()
        if not is_folder and (by_adapter_alone or not hub_reachable()):
            common["local_files_only"] = True
            if by_adapter_alone and not cached(base):
                where = f"adapter {str(adapter)!r}"
                load.allowed.check_model(base, here=False, where=where)
        return cls(base, adapter, common)

    def revision(self, config: Any) -> str:
        """Return what pins the weights, once the base has been loaded."""
        revision = str(getattr(config, "_commit_hash", None) or "unknown")
        if Path(self.base).is_dir():
            revision = folder_revision(Path(self.base))
        if self.adapter is not None:
            return f"{folder_revision(self.adapter)} on {revision}"
        return revision


@collector_off()
def load_transformer(
    spec: ModelSpec, source: str, *, load: LoadOptions, words: WordOptions
) -> Scorer:
    """Load the model at `source` (a folder or hub id) and wrap it by kind."""
    device = choose_device(load.device)
    is_spread = load.device_map is not None or load.quantize is not None
    origin = Origin.of(source, load)
    base = origin.base
    with (
        loading(spec.name, base, allow_pickle=load.allowed.pickle),
        unchanged(spec.name, {source, base}),
    ):
        config = pretrained(transformers.AutoConfig, base, **origin.common)
        kind = detect_kind(config, spec.name, load.kind)
        dtype = choose_dtype(spec.name, config, load.dtype, device)
        tokenizer_source = source if has_tokenizer(source) else base
        tokenizer = load_tokenizer(spec.name, tokenizer_source, **origin.common)
        auto_class = getattr(transformers, SCORERS[kind].auto_class)
        options: dict[str, Any] = {
            "dtype": getattr(torch, dtype),
            "allow_pickle": load.allowed.pickle,
            "config": config,
            **origin.common,
            **_placement(load, device, is_spread=is_spread),
        }
        model = _whole_model(spec.name, auto_class, base, options)
        if origin.adapter is not None:
            model = merged_adapter(model, origin.adapter)
        if not is_spread:  # with a device map, transformers has placed every layer
            model = model.to(device)
        if load.steer is not None:
            steer(model, Steering.read(load.steer), spec.name)
    _check_vocabulary(spec.name, model, tokenizer)
    info = ModelInfo(
        name=spec.name,
        kind=kind,
        revision=origin.revision(config),
        dtype=dtype,
        device=_places(model) if is_spread else str(device),
        parameters=sum(weight.numel() for weight in model.parameters()),
        notes=_notes(load, origin),
    )
    _check_asked(spec.name, kind, load)
    scorer = SCORERS[kind](
        model,
        tokenizer,
        info,
        options=words,
        batch_tokens=load.batch_tokens,
        chat=_chat_opening(spec.name, tokenizer, load),
    )
    if load.sampled is not None and isinstance(scorer, CausalScorer):
        return CausalSampler(scorer, load.sampled)
    return scorer


def _placement(
    load: LoadOptions, device: torch.device, *, is_spread: bool
) -> dict[str, Any]:
    """Return the options that say where the weights go, and in how many bits."""
    options: dict[str, Any] = {}
    if is_spread:
        options["device_map"] = load.device_map or "auto"
    elif device.type == "cuda" and find_spec("accelerate") is not None:
        options["device_map"] = device  # straight to the GPU, not through main memory
    if load.quantize == "8bit":
        # bitsandbytes warns on every matmul that inputs are cast to float16.
        warner = logging.getLogger("bitsandbytes.autograd._functions")
        warner.setLevel(logging.ERROR)
        eight_bits = transformers.BitsAndBytesConfig(load_in_8bit=True)
        options["quantization_config"] = eight_bits
    return options


def _check_vocabulary(name: str, model: Any, tokenizer: Any) -> None:
    """Refuse a tokenizer that knows more tokens than the model has embeddings."""
    size = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > size:
        raise ModelError(
            f"model {name!r}: its tokenizer has {len(tokenizer)} tokens, its embeddings only "
            f"{size}: tokenizer and weights do not belong together; use those of one model"
        )


def _notes(load: LoadOptions, origin: Origin) -> tuple[str, ...]:
    """Return sentences for the reader of a report."""
    notes = []
    if origin.adapter is not None:
        notes.append(f"adapter merged into {Path(origin.base).name}")
    if load.quantize:
        notes.append("weights in 8 bits (bitsandbytes)")
    if load.steer:
        notes.append(f"steered by {Path(load.steer).name}")
    return tuple(notes)


def _check_asked(name: str, kind: str, load: LoadOptions) -> None:
    """Refuse what only a causal model can do."""
    if kind != "causal" and (load.chat or load.sampled):
        option = "--chat" if load.chat else "--replies"
        raise SettingsError(
            f"model {name!r}: {option}: expected a causal model, found a {kind} one"
        )


def _chat_opening(name: str, tokenizer: Any, load: LoadOptions) -> str | None:
    """Return what the chat template writes before the assistant's turn; None without --chat."""
    if not load.chat:
        return None
    chat = in_template(tokenizer, messages_of(load.chat_request))
    if chat is None:
        raise ModelError(
            f"model {name!r}: has no chat template; score it without --chat"
        )
    return chat


def _places(model: Any) -> str:
    """Return the devices of a model spread over several: cuda:0, cuda:1, cpu."""
    device_map = getattr(model, "hf_device_map", None)
    if not device_map:
        return str(next(model.parameters()).device)
    names = set()
    for device in device_map.values():
        names.add(f"cuda:{device}" if isinstance(device, int) else str(device))
    return ", ".join(sorted(names))


def _whole_model(
    name: str, auto_class: Any, source: str, options: dict[str, Any]
) -> Any:
    """Load the weights, and refuse a checkpoint that lacks some of them.

    transformers fills missing weights with random numbers and only logs it: a classifier's
    checkpoint loaded as a masked model would return noise.
    """
    config = options["config"]
    model, missing = _model_and_missing(auto_class, source, options)
    is_old_deberta = getattr(config, "legacy", None) and str(
        config.model_type
    ).startswith("deberta")
    if missing and is_old_deberta:
        # DeBERTa's own checkpoints keep their output layer where the library's newer class looks.
        # That class uses the embeddings as they are; transformers 5.17 fails to tie them as well.
        config.legacy = False
        config.tie_word_embeddings = False
        model, missing = _model_and_missing(auto_class, source, options)
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ModelError(
            f"model {name!r}: its weights lack {missing[0]!r}{others}, so "
            f"{type(model).__name__} would return noise: it was saved for another task; try "
            "another --load kind="
        )
    return model


def _model_and_missing(
    auto_class: Any, source: str, options: dict[str, Any]
) -> tuple[Any, list[str]]:
    """Return the model, and the names of the weights that its checkpoint lacks."""
    model, info = pretrained(auto_class, source, output_loading_info=True, **options)
    return model, sorted(info["missing_keys"])


def choose_device(wanted: str) -> torch.device:
    """Return the device to run on; `auto` takes a GPU when there is one."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    kind = wanted.split(":")[0]
    is_available = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if not is_available.get(kind, False):
        raise SettingsError(
            f"device {wanted!r}: none on this machine; use --device cpu or auto"
        )
    return torch.device(wanted)


def choose_dtype(name: str, config: Any, wanted: str, device: torch.device) -> str:
    """Return the dtype that was asked for, if transformers can compute this architecture in it.

    `auto` is float32 on a CPU, where it is exact and as fast, and bfloat16 on a GPU.
    """
    only_float32 = config.model_type in _ONLY_FLOAT32
    if wanted == "auto":
        return "bfloat16" if device.type == "cuda" and not only_float32 else "float32"
    if only_float32 and wanted != "float32":
        raise SettingsError(
            f"model {name!r}: transformers cannot compute {config.model_type} in {wanted}: use "
            "--load dtype=float32, or leave it out"
        )
    return wanted


def detect_kind(config: Any, name: str, wanted: str | None) -> str:
    """Return the requested kind, or the one that the configuration names."""
    kind = wanted or _kind_of(config)
    if kind is None:
        architectures = getattr(config, "architectures", None) or ["no architecture"]
        raise ModelError(
            f"model {name!r}: cannot detect its kind from the configuration "
            f"({', '.join(architectures)}): use --load kind={'|'.join(SCORERS)}"
        )
    return kind


def _kind_of(config: Any) -> str | None:
    architectures = getattr(config, "architectures", None) or []
    if getattr(config, "model_type", "") == "xlnet":
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
    return _kind_without_architecture(config)


def _kind_without_architecture(config: Any) -> str | None:
    """Return the kind that a model's own code builds, or the library from its type."""
    # auto_map says what a model's own code builds (ChatGLM2's architecture does not).
    custom_classes = getattr(config, "auto_map", None) or {}
    if "AutoModelForMaskedLM" in custom_classes:
        return "masked"
    if "AutoModelForCausalLM" in custom_classes:
        return "causal"
    model_type = str(getattr(config, "model_type", ""))
    if model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return "masked"
    if model_type in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "causal"
    return None
