"""Small models of every architecture: real classes, random weights, tokenizers trained on the spot.

Weights are drawn wide, so that distributions are far from uniform and an error of position, space
or mask shows as nats rather than rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from tests.models.zoo_tokenizers import (
    albert_tokenizer,
    bert_tokenizer,
    deberta_tokenizer,
    deberta_v2_tokenizer,
    gemma_tokenizer,
    gpt2_tokenizer,
    llama_tokenizer,
    mistral_tokenizer,
    modernbert_tokenizer,
    neox_tokenizer,
    opt_tokenizer,
    qwen_tokenizer,
    roberta_tokenizer,
    t5_tokenizer,
    xlnet_tokenizer,
)

from clinometer.models import LoadOptions, WordOptions, open_model

#: The folder of an architecture's small model.
Folder = Callable[[str], Path]
PLACES = {"max_position_embeddings": 64}
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, **PLACES}
SMALL = {**SIZES, "intermediate_size": 48}
LLAMA = {**SMALL, "num_key_value_heads": 2, "head_dim": 8}
GEMMA = {**LLAMA, "query_pre_attn_scalar": 8, "sliding_window": 4}
MARIAN_LIKE = {"d_model": 32, **PLACES} | {
    f"{side}_{size}": number
    for side in ("encoder", "decoder")
    for size, number in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 48))
}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
DEBERTA: dict[str, Any] = {**SMALL, "position_biased_input": False, "type_vocab_size": 0}
DEBERTA |= {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
#: BOS and EOS are the first token.
ENDS = {"bos_token_id": 0, "eos_token_id": 0}
AUTO = {
    "masked": transformers.AutoModelForMaskedLM,
    "causal": transformers.AutoModelForCausalLM,
    "seq2seq": transformers.AutoModelForSeq2SeqLM,
    "permutation": transformers.AutoModelForCausalLM,
}


@dataclass(frozen=True)
class Family:
    """One architecture: how its small model is made."""

    kind: str
    config: str
    model: str
    tokenizer: Callable[[], Any]
    settings: dict[str, Any]


def masked(
    stem: str, tokenizer: Callable[[], Any], settings: dict[str, Any] = SMALL, **more: Any
) -> Family:
    return Family("masked", f"{stem}Config", f"{stem}ForMaskedLM", tokenizer, settings | more)


def causal(
    stem: str, tokenizer: Callable[[], Any], settings: dict[str, Any] = LLAMA, **more: Any
) -> Family:
    return Family("causal", f"{stem}Config", f"{stem}ForCausalLM", tokenizer, settings | more)


def seq2seq(
    stem: str, tokenizer: Callable[[], Any], settings: dict[str, Any], **more: Any
) -> Family:
    head = f"{stem}ForConditionalGeneration"
    return Family("seq2seq", f"{stem}Config", head, tokenizer, settings | more)


def ids(**names: int) -> dict[str, Any]:
    return {f"{name}_token_id": number for name, number in names.items()}


FAMILIES: dict[str, Family] = {
    "bert": masked("Bert", bert_tokenizer),
    "distilbert": masked(
        "DistilBert", bert_tokenizer, PLACES, dim=32, n_layers=2, n_heads=4, hidden_dim=48
    ),
    "albert": masked("Albert", albert_tokenizer, embedding_size=16),
    "roberta": masked("Roberta", roberta_tokenizer, **ids(pad=1, bos=0, eos=2)),
    "modernbert": masked(
        "ModernBert",
        modernbert_tokenizer,
        SMALL | ids(pad=3, cls=1, sep=2, bos=1, eos=2),
        global_attn_every_n_layers=2,
        local_attention=8,
    ),
    "deberta": masked("Deberta", deberta_tokenizer, DEBERTA),
    "deberta-v3": masked(
        "DebertaV2",
        deberta_v2_tokenizer,
        DEBERTA,
        position_buckets=16,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
    ),
    "electra": masked("Electra", bert_tokenizer, embedding_size=16),
    "gpt2": Family(
        "causal",
        "GPT2Config",
        "GPT2LMHeadModel",
        gpt2_tokenizer,
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, **ENDS},
    ),
    "gpt-neo": causal(
        "GPTNeo",
        gpt2_tokenizer,
        {"hidden_size": 32, "num_layers": 2, "num_heads": 4, **PLACES, **ENDS},
        attention_types=[[["global", "local"], 1]],
        window_size=4,
    ),
    "gpt-neox": causal("GPTNeoX", neox_tokenizer, SMALL, **ENDS),
    "opt": causal("OPT", opt_tokenizer, SIZES, ffn_dim=48, word_embed_proj_dim=32),
    "llama": causal("Llama", llama_tokenizer),
    "qwen2": causal("Qwen2", qwen_tokenizer),
    "qwen3": causal("Qwen3", qwen_tokenizer),
    "gemma2": causal("Gemma2", gemma_tokenizer, GEMMA),
    "gemma3": Family("causal", "Gemma3TextConfig", "Gemma3ForCausalLM", gemma_tokenizer, GEMMA),
    "mistral": causal("Mistral", mistral_tokenizer, sliding_window=6),
    "phi": causal("Phi", gpt2_tokenizer, SMALL, bos_token_id=0),
    "phi3": causal("Phi3", mistral_tokenizer, SMALL, num_key_value_heads=2, pad_token_id=0),
    "t5": seq2seq("T5", t5_tokenizer, T5),
    "flan-t5": seq2seq(
        "T5", t5_tokenizer, T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False
    ),
    "bart": seq2seq("Bart", roberta_tokenizer, MARIAN_LIKE),
    "xlnet": Family(
        "permutation",
        "XLNetConfig",
        "XLNetLMHeadModel",
        xlnet_tokenizer,
        {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48},
    ),
}


def make(family: str, folder: Path, *, seed: int = 0) -> Path:
    """Save the family's small model and tokenizer in a folder."""
    tokenizer = FAMILIES[family].tokenizer()
    build(family, len(tokenizer), seed=seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def build(family: str, vocabulary: int, *, seed: int = 0, **changes: Any) -> Any:
    """The family's small model with wide random weights."""
    made = FAMILIES[family]
    torch.manual_seed(seed)
    settings: dict[str, Any] = {"vocab_size": vocabulary, **made.settings, **changes}
    if made.kind == "seq2seq":
        settings.setdefault("decoder_start_token_id", 0 if "t5" in family else 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit in DeBERTa's module
        config = getattr(transformers, made.config)(**settings)
        model = getattr(transformers, made.model)(config)
    return widen(model)


def widen(model: Any) -> Any:
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0.0, 0.35)
            else:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def opened(folder: Path, **words: Any) -> Any:
    """The folder's model on the CPU, with exact probabilities."""
    exact = WordOptions(tolerance=0.0, **words)
    return open_model(str(folder), load=LoadOptions(device="cpu"), words=exact)
