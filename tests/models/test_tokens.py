"""Words as tokens under each family of tokenizers, trained on the spot."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import transformers
from tests.models import zoo

from clinometer.models.tokens import (
    Marker,
    WordList,
    continuations,
    slot_groups,
    word_tokens,
)
from clinometer.topics import Prompt


@cache
def made(family: str) -> Any:
    return zoo.FAMILIES[family].tokenizer()


def names(tokenizer: Any, ids: Any) -> str:
    return "|".join(tokenizer.convert_ids_to_tokens(list(ids)))


@pytest.mark.parametrize(
    ("family", "after_space", "after_quote", "opening"),
    [
        ("gpt2", "Ġher", "her", "her"),
        ("qwen2", "Ġher", "her", "her"),
        ("bert", "her", "her", "her"),
        ("t5", "▁her", "her", "▁her"),
        ("llama", "▁her", "her", "▁her"),
        ("gemma2", "▁her", "her", "her"),
    ],
)
def test_the_space_before_a_word(
    family: str, after_space: str, after_quote: str, opening: str
) -> None:
    tokenizer = made(family)

    def written(**place: bool) -> str:
        # Small vocabularies may split a word; what matters is the mark before it.
        return names(tokenizer, word_tokens(tokenizer, "her", **place)).replace("|", "")

    assert written(space=True) == after_space
    assert written(space=False) == after_quote
    assert written(space=False, opening=True) == opening


@pytest.mark.parametrize("family", ["gpt2", "qwen2", "bert", "t5", "llama", "gemma2"])
def test_a_word_has_the_tokens_it_has_in_the_sentence(family: str) -> None:
    tokenizer = made(family)
    for word in ("she", "granddaughter", "queen", "him"):
        text = tokenizer("the nurse said that " + word, add_special_tokens=False)[
            "input_ids"
        ]
        ids = list(word_tokens(tokenizer, word, space=True))
        if tokenizer.unk_token_id not in ids:
            assert text[-len(ids) :] == ids
    ids = list(continuations(tokenizer, [" was late."])[0])
    text = tokenizer("the nurse was late.", add_special_tokens=False)["input_ids"]
    assert text[-len(ids) :] == ids


def test_text_that_continues_a_word_gets_the_wordpiece_prefix() -> None:
    tokenizer = made("bert")
    texts = ["s", " was late", ".", " and"]
    found = continuations(tokenizer, texts)
    assert names(tokenizer, found[0]) == "##s"
    assert found == [continuations(tokenizer, [text])[0] for text in texts]
    assert names(tokenizer, word_tokens(tokenizer, "she", space=False)) == "she"


@pytest.mark.parametrize("lower", [True, False])
def test_casing_is_the_tokenizers_own(lower: bool) -> None:
    tokenizer = zoo.bert_tokenizer(lower=lower)
    words = WordList(tokenizer, ["he", "He", "she"], space=True)
    if lower:
        assert words.report.same_tokens == {"He": "he"}
        assert words.columns == (0, 2)
    else:
        assert words.report.same_tokens == {}
        assert words.report.tokens["He"] == ("He",)


def test_chinese_wordpiece() -> None:
    tokenizer = zoo.bert_tokenizer(corpus=zoo.CHINESE)
    words = WordList(tokenizer, ["他", "她", "他们", "龘"], space=False)
    assert words.report.tokens["他"] == ("他",)
    assert words.report.tokens["他们"] == ("他", "们")
    assert words.report.unwritable == ("龘",)
    assert words.report.prefixes == {"他": ("他们",)}


def test_chinese_unigram_has_no_mark_for_a_space() -> None:
    pieces = zoo.unigram(["<pad>", "</s>", "<unk>"], "<unk>", corpus=zoo.CHINESE)
    tokenizer = transformers.T5Tokenizer(vocab=pieces, extra_ids=0)
    words = WordList(tokenizer, ["他", "她", "女人", "龘", "龘人"], space=False)
    for word in ("他", "她", "女人"):
        assert "".join(words.report.tokens[word]) == word
    assert words.report.unwritable == ("龘", "龘人")


def test_bytes_write_what_the_vocabulary_lacks() -> None:
    vocab, merges = zoo.mark_bpe(["<unk>", "<s>", "</s>"], zoo.CHINESE)
    tokenizer = transformers.LlamaTokenizer(vocab=vocab, merges=merges)
    words = WordList(tokenizer, ["他", "龘"], space=False)
    assert words.report.tokens["他"] == ("他",)
    assert words.report.tokens["龘"] == ("<0xE9>", "<0xBE>", "<0x98>")
    assert words.report.unwritable == ()


def test_prefixes_and_the_single_token_restriction() -> None:
    tokenizer = made("gpt2")
    words = ["her", "hers", "girl", "girls"]
    free = WordList(tokenizer, words, space=True)
    assert free.report.prefixes == {"her": ("hers",), "girl": ("girls",)}
    single = WordList(tokenizer, words, space=True, single_token=True)
    assert single.report.restricted == ("hers", "girls")
    assert single.columns == (0, 2)
    assert single.report.left_out == {"hers", "girls"}


@pytest.mark.parametrize(
    "family", ["bert", "roberta", "albert", "modernbert", "deberta", "xlnet"]
)
def test_text_around_the_slot(family: str) -> None:
    """The tokens are those of the whole sentence, with the mask in place of the word."""
    tokenizer = made(family)
    marker = Marker.of(tokenizer, tokenizer.mask_token)
    for after in ("", ".", " was late.", ", and the man"):
        prompt = Prompt("The nurse said that", after, space=True)
        (group,) = slot_groups(tokenizer, [prompt], marker, size=8)
        word = word_tokens(tokenizer, "girl", space=True)
        filled = group.filled(
            np.array([0]), places=len(word), prefixes=np.array([word], dtype=np.int64)
        )
        assert names(tokenizer, filled[0]) == names(
            tokenizer, tokenizer("The nurse said that girl" + after)["input_ids"]
        )


def test_a_prompt_that_contains_the_mask_token_is_refused() -> None:
    tokenizer = zoo.bert_tokenizer()
    marker = Marker.of(tokenizer, "[MASK]")
    with pytest.raises(
        ValueError, match=r"expected the slot's \[MASK\] once .* found it 2 times"
    ):
        list(
            slot_groups(
                tokenizer, [Prompt("The [MASK] said", "", space=True)], marker, size=8
            )
        )


def test_prompts_are_batched_by_length() -> None:
    """Groups leave when they are full, and every prompt is in one of them."""
    tokenizer = zoo.bert_tokenizer()
    marker = Marker.of(tokenizer, "[MASK]")
    prompts = [
        Prompt("The nurse " + "said that " * (i % 3), "", space=True)
        for i in range(9000)
    ]
    groups = list(slot_groups(tokenizer, prompts, marker, size=2000))
    assert sorted(np.concatenate([g.members for g in groups]).tolist()) == list(
        range(9000)
    )
    assert len(groups[0]) == 1366, "the first one does not wait"
    assert sorted(len(g) for g in groups) == [1000, 1000, 1366, 1634, 2000, 2000]
    for group in groups:
        assert {i % 3 for i in group.members} == {group.members[0] % 3}
        assert (group.tokens[np.arange(len(group)), group.positions] == marker.id).all()
