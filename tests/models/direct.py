"""Word probabilities one prompt and one word at a time, with plain transformers calls.

Written without the package: it shares no line with what it checks.
"""

from __future__ import annotations

from typing import Any

import torch


def word_ids(tokenizer: Any, word: str) -> list[int]:
    """Tokens of a word after a space, by what each family of tokenizers is known to do."""
    text = word
    if "Ġ" in tokenizer.get_vocab() or type(tokenizer).__name__ == "GemmaTokenizer":
        text = " " + word  # the others mark or forget the space by themselves
    ids: list[int] = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text))
    return ids


def log_prob(
    kind: str, model: Any, tokenizer: Any, before: str, after: str, word: str
) -> float:
    """log p(word at the slot); for causal models log p(word, after | before)."""
    ask = {
        "masked": masked,
        "causal": causal,
        "seq2seq": seq2seq,
        "permutation": permutation,
    }
    with torch.no_grad():
        return ask[kind](model, tokenizer, before, after, word_ids(tokenizer, word))


def masked(
    model: Any, tokenizer: Any, before: str, after: str, word: list[int]
) -> float:
    ids = tokenizer(f"{before} {tokenizer.mask_token}{after}")["input_ids"]
    slot = ids.index(tokenizer.mask_token_id)
    if (
        tokenizer.convert_ids_to_tokens(ids[slot - 1]) == "Ġ"
    ):  # DeBERTa's mask leaves the space
        del ids[slot - 1]
        slot -= 1
    ids = ids[:slot] + [tokenizer.mask_token_id] * len(word) + ids[slot + 1 :]
    total = 0.0
    for j, token in enumerate(word):
        logits = model(
            input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids))
        ).logits
        total += float(logits[0, slot + j].log_softmax(-1)[token])
        ids[slot + j] = token
    return total


def causal(
    model: Any, tokenizer: Any, before: str, after: str, word: list[int]
) -> float:
    head = tokenizer(before)["input_ids"]
    tail = []
    if after:
        whole = tokenizer("that" + after, add_special_tokens=False)["input_ids"]
        tail = whole[len(tokenizer("that", add_special_tokens=False)["input_ids"]) :]
    ids = head + word + tail
    found = (
        model(input_ids=torch.tensor([ids], device=model.device))
        .logits[0]
        .log_softmax(-1)
    )
    return sum(float(found[i - 1, ids[i]]) for i in range(len(head), len(ids)))


def seq2seq(
    model: Any, tokenizer: Any, before: str, after: str, word: list[int]
) -> float:
    start = model.config.decoder_start_token_id
    if "<extra_id_0>" in tokenizer.get_vocab():
        source = tokenizer(f"{before} <extra_id_0>{after}")["input_ids"]
        head = [start, tokenizer.convert_tokens_to_ids("<extra_id_0>")]
    else:
        source = tokenizer(f"{before} {tokenizer.mask_token}{after}")["input_ids"]
        read = tokenizer(before)["input_ids"]
        head = [start, *read[: read.index(tokenizer.eos_token_id)]]
    target = head + word
    found = (
        model(
            input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target])
        )
        .logits[0]
        .log_softmax(-1)
    )
    return sum(float(found[i - 1, target[i]]) for i in range(len(head), len(target)))


def permutation(
    model: Any, tokenizer: Any, before: str, after: str, word: list[int]
) -> float:
    text = f"{before} {tokenizer.mask_token}{after}"
    encoded = tokenizer(text, return_token_type_ids=True)
    ids, types = encoded["input_ids"], encoded["token_type_ids"]
    slot = ids.index(tokenizer.mask_token_id)
    ids = ids[:slot] + word + ids[slot + 1 :]
    types = types[:slot] + [0] * len(word) + types[slot + 1 :]
    total = 0.0
    for j in range(len(word)):
        hidden = torch.zeros(1, len(ids), len(ids))
        hidden[:, :, slot + j : slot + len(word)] = 1.0
        target = torch.zeros(1, 1, len(ids))
        target[0, 0, slot + j] = 1.0
        logits = model(
            input_ids=torch.tensor([ids]),
            token_type_ids=torch.tensor([types]),
            perm_mask=hidden,
            target_mapping=target,
        ).logits
        total += float(logits[0, 0].log_softmax(-1)[word[j]])
    return total
