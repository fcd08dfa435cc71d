"""Small models of every architecture: real classes, random weights, tokenizers trained on the spot.

Weights are drawn wide, so that distributions are far from uniform and an error of position, space
or mask shows as nats rather than rounding.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from tokenizers import (
    AddedToken,
    decoders,
    models,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from clinometer.models import LoadOptions, WordOptions, open_model

CORPUS = [
    "The nurse said that he was late and she was happy.",
    "The doctor told her that his brother saw the woman and the man.",
    "A man met a woman, and he liked her; she liked him.",
    "The engineer stated that the father and the mother were there, near the house.",
    "His sister said that her uncle was a pilot. He was there with the grandson.",
    "The granddaughter of the teacher said that she saw him and the girl in the house",
    "the boy and the girl said that they were late (and happy), so the nurse left 1 or 2 notes",
] * 3
CHINESE = [
    "医生说他很好。",
    "护士说她很好。",
    "老师看见他们了，她很高兴",
    "他说医生很好",
    "女人和男人",
] * 3
CANDIDATES = """
he she him her man woman boy girl father mother brother sister uncle grandson granddaughter
aunt queen king wife bride husband actress lady heiress waiter duke monk nun emperor mans
boys girls sisters uncles hims mothers fathers
""".split()  # noqa: SIM905  (a list of words, one a line, is a page long)
ALPHABET = [chr(c) for c in range(33, 127)]
SIZE = 190

BERTS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def byte_bpe(specials: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Byte-level BPE: vocabulary and merges, special tokens first."""
    trained = tokenizers.Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=256 + SIZE,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return trained.get_vocab(), _merges(trained)


def mark_bpe(
    specials: list[str], corpus: list[str] = CORPUS
) -> tuple[dict[str, int], list[Any]]:
    """Llama-like BPE: ▁ for a space, bytes for what is unknown."""
    trained = tokenizers.Tokenizer(
        models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    )
    trained.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    bytes_ = [f"<0x{b:02X}>" for b in range(256)]
    trained.train_from_iterator(
        corpus,
        trainers.BpeTrainer(
            vocab_size=256 + SIZE, special_tokens=specials + bytes_, show_progress=False
        ),
    )
    return trained.get_vocab(), _merges(trained)


def unigram(
    specials: list[str], unknown: str, corpus: list[str] = CORPUS
) -> list[tuple[str, float]]:
    """SentencePiece's Unigram: pieces with their scores, special tokens first."""
    trained = tokenizers.Tokenizer(models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    trained.train_from_iterator(
        corpus,
        trainers.UnigramTrainer(
            vocab_size=SIZE,
            special_tokens=specials,
            unk_token=unknown,
            show_progress=False,
            initial_alphabet=ALPHABET if corpus is CORPUS else [],
        ),
    )
    return [(p, s) for p, s in json.loads(trained.to_str())["model"]["vocab"]]


def _merges(trained: tokenizers.Tokenizer) -> list[tuple[str, str]]:
    return [tuple(m) for m in json.loads(trained.to_str())["model"]["merges"]]


def opened_with(token: str, tokenizer: Any) -> Any:
    """The tokenizer with a special token before every text."""
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{token} $A", special_tokens=[(token, tokenizer.get_vocab()[token])]
    )
    return tokenizer


def with_bytes(name: str, specials: list[str], **more: Any) -> Any:
    vocab, merges = byte_bpe(specials)
    return getattr(transformers, name)(vocab=vocab, merges=merges, **more)


def with_pieces(name: str, specials: list[str], unknown: str, **more: Any) -> Any:
    return getattr(transformers, name)(vocab=unigram(specials, unknown), **more)


def mask(token: str) -> AddedToken:
    """It swallows the space before it."""
    return AddedToken(token, lstrip=True, special=True)


gpt2_tokenizer = partial(with_bytes, "GPT2Tokenizer", ["<|endoftext|>"])
qwen_tokenizer = partial(with_bytes, "Qwen2Tokenizer", ["<|endoftext|>"])
neox_tokenizer = partial(
    with_bytes, "GPTNeoXTokenizer", ["<|endoftext|>", "<|padding|>"]
)
deberta_tokenizer = partial(
    with_bytes, "DebertaTokenizer", ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
)
deberta_v2_tokenizer = partial(with_pieces, "DebertaV2Tokenizer", BERTS, "[UNK]")
roberta_tokenizer = partial(
    with_bytes,
    "RobertaTokenizer",
    ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    mask_token=mask("<mask>"),
)
albert_tokenizer = partial(
    with_pieces,
    "AlbertTokenizer",
    ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"],
    "<unk>",
    mask_token=mask("[MASK]"),
)
xlnet_tokenizer = partial(
    with_pieces,
    "XLNetTokenizer",
    ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"],
    "<unk>",
)


def opt_tokenizer() -> Any:
    """OPT: GPT-2's, opened with </s>."""
    names = {
        "bos_token": "</s>",
        "eos_token": "</s>",
        "unk_token": "</s>",
        "pad_token": "<pad>",
    }
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    return opened_with("</s>", with_bytes("GPT2Tokenizer", specials, **names))


def bert_tokenizer(*, lower: bool = True, corpus: list[str] = CORPUS) -> Any:
    trained = tokenizers.BertWordPieceTokenizer(lowercase=lower)
    trained.train_from_iterator(
        corpus,
        vocab_size=SIZE + 60,
        min_frequency=1,
        special_tokens=BERTS,
        show_progress=False,
    )
    return transformers.BertTokenizer(vocab=trained.get_vocab(), do_lower_case=lower)


def modernbert_tokenizer() -> Any:
    names = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    vocab, merges = byte_bpe(names)
    backend = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token=mask("[MASK]"),
    )


def llama_tokenizer() -> Any:
    vocab, merges = mark_bpe(["<unk>", "<s>", "</s>"])
    return opened_with("<s>", transformers.LlamaTokenizer(vocab=vocab, merges=merges))


def mistral_tokenizer() -> Any:
    """Mistral and Phi-3 load their tokenizer.json as it stands."""
    vocab, merges = mark_bpe(["<unk>", "<s>", "</s>"])
    backend = tokenizers.Tokenizer(
        models.BPE(
            vocab=vocab,
            merges=merges,
            byte_fallback=True,
            fuse_unk=True,
            unk_token="<unk>",
        )
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace(
        prepend_scheme="first", split=False
    )
    backend.decoder = decoders.Metaspace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )
    return opened_with("<s>", tokenizer)


def gemma_tokenizer() -> Any:
    vocab, merges = mark_bpe(["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"])
    return opened_with("<bos>", transformers.GemmaTokenizer(vocab=vocab, merges=merges))


def t5_tokenizer() -> Any:
    pieces = unigram(["<pad>", "</s>", "<unk>"], "<unk>")
    pieces += [(f"<extra_id_{i}>", 0.0) for i in range(9, -1, -1)]
    return transformers.T5Tokenizer(vocab=pieces, extra_ids=10)


# --- Models ---------------------------------------------------------------------------------------


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
START = "decoder_start_token_id"
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, START: 0}
FLAN_T5: dict[str, Any] = {
    **T5,
    "feed_forward_proj": "gated-gelu",
    "tie_word_embeddings": False,
}
XLNET = {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48}
DEBERTA: dict[str, Any] = {
    **SMALL,
    "position_biased_input": False,
    "type_vocab_size": 0,
}
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
    tokenizer: Callable[[], Any]
    settings: dict[str, Any]


def ids(**names: int) -> dict[str, Any]:
    return {f"{name}_token_id": number for name, number in names.items()}


DISTILBERT = {**PLACES, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}
MODERNBERT = {**SMALL, "global_attn_every_n_layers": 2, "local_attention": 8}
MODERNBERT |= ids(pad=3, cls=1, sep=2, bos=1, eos=2)
DEBERTA_V3 = {**DEBERTA, "position_buckets": 16, "norm_rel_ebd": "layer_norm"}
DEBERTA_V3 |= {"share_att_key": True}
OPT = {**SIZES, "ffn_dim": 48, "word_embed_proj_dim": 32}
PHI3 = {**SMALL, "num_key_value_heads": 2, **ids(pad=0)}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, **ENDS}
GPT_NEO: dict[str, Any] = {
    "hidden_size": 32,
    "num_layers": 2,
    "num_heads": 4,
    **PLACES,
    **ENDS,
}
GPT_NEO |= {"attention_types": [[["global", "local"], 1]], "window_size": 4}
FAMILIES = {
    "bert": Family("masked", "Bert", bert_tokenizer, SMALL),
    "distilbert": Family("masked", "DistilBert", bert_tokenizer, DISTILBERT),
    "albert": Family(
        "masked", "Albert", albert_tokenizer, SMALL | {"embedding_size": 16}
    ),
    "roberta": Family(
        "masked", "Roberta", roberta_tokenizer, SMALL | ids(pad=1, bos=0, eos=2)
    ),
    "modernbert": Family("masked", "ModernBert", modernbert_tokenizer, MODERNBERT),
    "deberta": Family("masked", "Deberta", deberta_tokenizer, DEBERTA),
    "deberta-v3": Family("masked", "DebertaV2", deberta_v2_tokenizer, DEBERTA_V3),
    "electra": Family(
        "masked", "Electra", bert_tokenizer, SMALL | {"embedding_size": 16}
    ),
    "gpt2": Family("causal", "GPT2", gpt2_tokenizer, GPT2),
    "gpt-neo": Family("causal", "GPTNeo", gpt2_tokenizer, GPT_NEO),
    "gpt-neox": Family("causal", "GPTNeoX", neox_tokenizer, SMALL | ENDS),
    "opt": Family("causal", "OPT", opt_tokenizer, OPT),
    "llama": Family("causal", "Llama", llama_tokenizer, LLAMA),
    "qwen2": Family("causal", "Qwen2", qwen_tokenizer, LLAMA),
    "qwen3": Family("causal", "Qwen3", qwen_tokenizer, LLAMA),
    "gemma2": Family("causal", "Gemma2", gemma_tokenizer, GEMMA),
    "gemma3": Family("causal", "Gemma3Text", gemma_tokenizer, GEMMA),
    "mistral": Family(
        "causal", "Mistral", mistral_tokenizer, LLAMA | {"sliding_window": 6}
    ),
    "phi": Family("causal", "Phi", gpt2_tokenizer, SMALL | ids(bos=0)),
    "phi3": Family("causal", "Phi3", mistral_tokenizer, PHI3),
    "t5": Family("seq2seq", "T5", t5_tokenizer, T5),
    "flan-t5": Family("seq2seq", "T5", t5_tokenizer, FLAN_T5),
    "bart": Family("seq2seq", "Bart", roberta_tokenizer, MARIAN_LIKE | {START: 2}),
    "xlnet": Family("permutation", "XLNet", xlnet_tokenizer, XLNET),
}


def make(family: str, folder: Path, *, tokenizer: Any = None, **changes: Any) -> Path:
    """Save the family's small model and tokenizer, or another tokenizer, in a folder."""
    tokenizer = tokenizer or FAMILIES[family].tokenizer()
    build(family, len(tokenizer), **changes).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def build(family: str, vocabulary: int, **changes: Any) -> Any:
    """The family's small model with wide random weights."""
    made = FAMILIES[family]
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # torch.jit in DeBERTa's module
        config_class = getattr(transformers, f"{made.config}Config")
        config = config_class(**{"vocab_size": vocabulary, **made.settings, **changes})
        return widen(AUTO[made.kind].from_config(config))


def widen(model: Any) -> Any:
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0.0, 0.35)
            else:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def opened(folder: Path) -> Any:
    """The folder's model on the CPU, with exact probabilities."""
    load, exact = LoadOptions(device="cpu"), WordOptions(tolerance=0.0)
    return open_model(str(folder), load=load, words=exact)
