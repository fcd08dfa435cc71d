"""Tokenizers of every family, trained on the spot on a few sentences."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import tokenizers
import transformers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

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


def mark_bpe(specials: list[str], corpus: list[str] = CORPUS) -> tuple[dict[str, int], list[Any]]:
    """Llama-like BPE: ▁ for a space, bytes for what is unknown."""
    trained = tokenizers.Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
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
neox_tokenizer = partial(with_bytes, "GPTNeoXTokenizer", ["<|endoftext|>", "<|padding|>"])
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
    names = {"bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"}
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    return opened_with("</s>", with_bytes("GPT2Tokenizer", specials, **names))


def bert_tokenizer(*, lower: bool = True, corpus: list[str] = CORPUS) -> Any:
    trained = tokenizers.BertWordPieceTokenizer(lowercase=lower)
    trained.train_from_iterator(
        corpus, vocab_size=SIZE + 60, min_frequency=1, special_tokens=BERTS, show_progress=False
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
        models.BPE(vocab=vocab, merges=merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
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
