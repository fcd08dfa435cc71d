# ruff: noqa: S106  (special tokens are no passwords)
"""Tokenizers in the conventions of the real families, as folders that AutoTokenizer loads.

Every one is saved as the generic fast class, so that tokenizer.json is used as it stands and no
version of transformers rebuilds it from its own idea of the family.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    processors,
    trainers,
)
from tokenizers import pre_tokenizers as pre
from transformers import PreTrainedTokenizerFast

from .words import with_emphasis

UNIGRAM_PIECES = 8089
UNIGRAM_SAMPLE = 12_000_000
EMPHASIS = 3000
_WORD_PIECE = re.compile(r"▁?[^\W_]*")
SENTINELS = tuple(f"<extra_id_{i}>" for i in range(100))


def train(family: str, documents: Sequence[str]) -> PreTrainedTokenizerFast:
    """Train the tokenizer of a family: bert, gpt2, t5 or xlnet."""
    if family not in FAMILIES:
        raise KeyError(
            f"family: expected one of {', '.join(FAMILIES)}, found {family!r}"
        )
    return FAMILIES[family](documents)


def load(folder: Path) -> PreTrainedTokenizerFast:
    """Load a tokenizer that `train` made and `save` wrote."""
    return PreTrainedTokenizerFast.from_pretrained(folder)


def save(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write a tokenizer, compactly, under the class name that transformers 4 and 5 both know."""
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    for name in (
        "backend",
        "is_local",
        "local_files_only",
    ):  # of the run, not of the tokenizer
        settings.pop(name, None)
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    path.write_text(json.dumps(settings, indent=2) + "\n")
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    compact = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    path.write_text(compact + "\n", encoding="utf-8")


def _bert(documents: Sequence[str]) -> PreTrainedTokenizerFast:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=10_240,
        special_tokens=special,
        limit_alphabet=400,
        show_progress=False,
    )
    tokenizer.train_from_iterator(with_emphasis(documents, times=EMPHASIS), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=512,
        model_input_names=["input_ids", "attention_mask"],
    )


def _gpt2(documents: Sequence[str]) -> PreTrainedTokenizerFast:
    end = "<|endoftext|>"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=8192,
        special_tokens=[end],
        initial_alphabet=pre.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(with_emphasis(documents, times=EMPHASIS), trainer)
    tokenizer.post_processor = begin_with(end, 0)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=end,
        eos_token=end,
        unk_token=end,
        pad_token=end,
        model_max_length=256,
        model_input_names=["input_ids", "attention_mask"],
    )


def begin_with(token: str, number: int) -> processors.PostProcessor:
    """Put `token` before every text, as every row of training begins, and nothing after it."""
    return processors.TemplateProcessing(
        single=f"{token} $A",
        pair=f"{token} $A {token} $B",
        special_tokens=[(token, number)],
    )


def _unigram_pieces(documents: Sequence[str]) -> list[tuple[str, float]]:
    """Pieces with log probabilities, likeliest first, from an even sample of the documents.

    The trainer considers only strings that occur in two different words. It is therefore shown
    words with their punctuation ("from", "from,"), and the pieces that hold some are dropped.
    """
    every = max(1, sum(map(len, documents)) // UNIGRAM_SAMPLE)
    sample = with_emphasis(documents[::every], times=EMPHASIS // every)
    lines = (line for document in sample for line in document.split("\n"))
    tokenizer = _unigram([("<unk>", 0.0)])
    tokenizer.pre_tokenizer = pre.Metaspace(replacement="▁", prepend_scheme="first")
    trainer = trainers.UnigramTrainer(
        vocab_size=int(UNIGRAM_PIECES * 1.6),
        special_tokens=["<unk>"],
        unk_token="<unk>",
        max_piece_length=16,
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    vocabulary = json.loads(tokenizer.to_str())["model"]["vocab"][1:]
    plain = [
        (p, score) for p, score in vocabulary if len(p) == 1 or _WORD_PIECE.fullmatch(p)
    ]
    # Single characters stay whatever their rank, so that hardly anything is unknown.
    plain.sort(key=lambda entry: (len(entry[0]) > 1, -entry[1]))
    return sorted(plain[:UNIGRAM_PIECES], key=lambda entry: -entry[1])


def _unigram(vocabulary: list[tuple[str, float]], *, unk_id: int = 0) -> Tokenizer:
    """A Unigram tokenizer whose pieces carry their leading space as ▁.

    A space is written for the first word of a text only, not after a sentinel or mask, so that
    "<extra_id_0>." keeps its full stop unspaced, as in training.
    """
    tokenizer = Tokenizer(
        models.Unigram(vocabulary, unk_id=unk_id, byte_fallback=False)
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")]
    )
    tokenizer.pre_tokenizer = pre.Sequence(
        [
            pre.Metaspace(replacement="▁", prepend_scheme="first"),
            # As SentencePiece does by script: no piece joins letters and punctuation.
            pre.Split(Regex(r"[^\p{L}\p{M}\p{N}▁]"), behavior="isolated"),
        ]
    )
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="first")
    return tokenizer


def _t5(documents: Sequence[str]) -> PreTrainedTokenizerFast:
    head = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces = _unigram_pieces(documents)
    # Sentinels stand last and count down, as in T5: <extra_id_0> is the last of all.
    tail = [(sentinel, 0.0) for sentinel in reversed(SENTINELS)]
    tokenizer = _unigram(head + pieces + tail, unk_id=2)
    tokenizer.add_special_tokens([name for name, _ in head])
    tokenizer.add_special_tokens(
        [
            AddedToken(name, lstrip=True, normalized=False, special=True)
            for name, _ in tail
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        additional_special_tokens=[
            AddedToken(name, lstrip=True, normalized=False, special=True)
            for name in SENTINELS
        ],
        model_max_length=512,
        model_input_names=["input_ids", "attention_mask"],
    )


def _xlnet(documents: Sequence[str]) -> PreTrainedTokenizerFast:
    names = [
        "<unk>",
        "<s>",
        "</s>",
        "<cls>",
        "<sep>",
        "<pad>",
        "<mask>",
        "<eod>",
        "<eop>",
    ]
    # Six spare tokens make the vocabulary a multiple of eight, which matrix units want.
    names += [f"<unused{i}>" for i in range(6)]
    tokenizer = _unigram([(name, 0.0) for name in names] + _unigram_pieces(documents))
    mask = AddedToken("<mask>", lstrip=True, normalized=False, special=True)
    tokenizer.add_special_tokens([mask if name == "<mask>" else name for name in names])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <sep> <cls>:2",
        pair="$A <sep> $B:1 <sep>:1 <cls>:2",
        special_tokens=[("<sep>", 4), ("<cls>", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        sep_token="<sep>",
        pad_token="<pad>",
        cls_token="<cls>",
        mask_token=mask,
        padding_side="left",
        model_max_length=512,
        model_input_names=["input_ids", "attention_mask"],
    )


FAMILIES: dict[str, Callable[[Sequence[str]], PreTrainedTokenizerFast]] = {
    "bert": _bert,
    "gpt2": _gpt2,
    "t5": _t5,
    "xlnet": _xlnet,
}
