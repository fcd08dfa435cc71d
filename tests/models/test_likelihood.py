"""Log-likelihoods of texts: against one masked sequence at a time, and plain logits.

The same on 200 statements, and against minicons, with its figures: benchmarks/pll_agreement.py.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clinometer.errors import SettingsError
from clinometer.models import LoadOptions, open_model
from clinometer.models.likelihood import score_chunks, score_texts
from clinometer.models.local.base import light_kernels
from clinometer.models.whole_texts import MarkedText, TextOptions

#: On any device: half precision, the default on a GPU, would hide a mistake.
EXACT = LoadOptions(dtype="float32")


@pytest.fixture(scope="module")
def bert() -> Any:
    return open_model("pocket:bert", load=EXACT)


@pytest.fixture(scope="module")
def sentences(shared_data: Path) -> list[str]:
    """Short real statements, some with words of several pieces."""
    with (shared_data / "cobias/statements.csv").open(encoding="utf-8") as stream:
        found = [row["sentence"] for row in csv.DictReader(stream)]
    return sorted(found, key=len)[100:1300:100]


def slow(
    model: Any,
    tokenizer: Any,
    text: str,
    options: TextOptions,
    targets: tuple[tuple[int, int], ...] = (),
) -> tuple[float, int]:
    """One masked sequence at a time, from the library's own outputs."""
    encoded = tokenizer(
        text.lower() if options.lower else text,
        add_special_tokens=options.special_tokens,
        return_offsets_mapping=True,
    )
    ids, words, places = (
        encoded["input_ids"],
        encoded.word_ids(),
        encoded["offset_mapping"],
    )
    target = [any(a < e and b > s for s, e in targets) for a, b in places]
    total, n = 0.0, 0
    for p, word in enumerate(words):
        if word is None or (target[p] and options.targets != "scored"):
            continue
        row = list(ids)
        for q in range(len(ids)):
            later = options.masking == "within_word_l2r" and q > p and words[q] == word
            if q == p or later or (options.targets == "masked" and target[q]):
                row[q] = tokenizer.mask_token_id
        with torch.inference_mode(), light_kernels():
            rows = torch.tensor([row], device=model.device)
            logits = model(input_ids=rows).logits[0, p].double()
        total += float(logits.log_softmax(-1)[ids[p]])
        n += 1
    return total, n


OPTIONS = {
    "equation": TextOptions(),
    "figure": TextOptions(targets="masked"),
    "released": TextOptions(
        masking="original", targets="scored", special_tokens=False, lower=True
    ),
    "original": TextOptions(masking="original", targets="scored"),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize(
    "family", ["pocket", "bert", "roberta", "albert", "deberta-v3", "modernbert"]
)
def test_batches_match_one_sequence_at_a_time(
    family: str, name: str, bert: Any, sentences: list[str], small_model: Any
) -> None:
    """Real statements; and tokenizers of every family, which differ in spaces, special tokens and
    what a word is."""
    texts = [
        MarkedText("the nurse said that he was late", ((4, 9),)),
        MarkedText("she", ()),
        MarkedText("he said hers was his", ((8, 12), (17, 20))),
    ]
    if family == "pocket":
        texts = [MarkedText(t, ((0, 3),)) for t in sentences[::4]]
    scorer: Any = (
        bert if family == "pocket" else open_model(str(small_model(family)), load=EXACT)
    )
    options = OPTIONS[name]
    found = score_texts(scorer, texts, options)
    for i, text in enumerate(texts):
        value, n = slow(
            scorer.model, scorer.tokenizer, text.text, options, text.targets
        )
        assert (found.tokens[i], found.log_prob[i]) == (
            n,
            pytest.approx(value, abs=1e-4),
        )


def test_batching_and_order_change_nothing(bert: Any, sentences: list[str]) -> None:
    texts = [MarkedText(t) for t in sentences[:5]]
    whole = score_texts(bert, [*texts, texts[0]], TextOptions())
    assert whole.log_prob[5] == whole.log_prob[0]
    chunks = list(score_chunks(bert, [texts[:2], [], texts[2:]], TextOptions()))
    assert [len(c) for c in chunks] == [2, 0, 3]
    joined = np.concatenate([c.log_prob for c in chunks])
    assert joined == pytest.approx(whole.log_prob[:5], abs=1e-4)
    size = bert.batch_size.tokens
    bert.batch_size.tokens = 30
    try:
        small = score_texts(bert, texts[::-1], TextOptions())
    finally:
        bert.batch_size.tokens = size
    assert small.log_prob[::-1] == pytest.approx(whole.log_prob[:5], abs=1e-4)


def test_equal_copies_are_computed_once(bert: Any) -> None:
    texts = [
        MarkedText(f"The {w} nurse was late.") for w in ("old", "young", "tall", "old")
    ]
    rows: list[int] = []

    def count(_module: Any, _args: Any, inputs: dict[str, Any]) -> None:
        rows.append(len(inputs["input_ids"]))

    with bert.model.register_forward_pre_hook(count, with_kwargs=True):
        assert score_texts(bert, texts, TextOptions()).tokens.tolist() == [6] * 4
    # Three texts are distinct, and they share the copy that hides the adjective.
    assert sum(rows) == 3 * 5 + 1


def test_texts_that_cannot_be_scored_are_refused(bert: Any) -> None:
    long = " ".join(["nurse"] * 2000)
    texts = [
        MarkedText(long),
        MarkedText(""),
        MarkedText("Women", ((0, 5),)),
        MarkedText("😀 היא רופאה"),
        MarkedText("She was late."),
    ]
    found = score_texts(bert, texts, TextOptions())
    assert found.problem == ("too_long", "nothing_to_score", "nothing_to_score", "", "")
    assert np.isnan(found.log_prob[:3]).all()
    assert np.isfinite(found.log_prob[3:]).all()
    assert found.unknown[3] > 0
    assert found.unknown[4] == 0


def test_causal_likelihoods_match_the_models_own_loss() -> None:
    scorer: Any = open_model("pocket:gpt2-s", load=EXACT)
    text = "The nurse said that she was tired."
    found = score_texts(
        scorer, [MarkedText(text), MarkedText(text, ((4, 9),))], TextOptions()
    )
    plain = scorer.tokenizer(text, add_special_tokens=False)["input_ids"]
    ids = [scorer.tokenizer.bos_token_id, *plain]
    with torch.inference_mode():
        rows = torch.tensor([ids], device=scorer.device)
        logits = scorer.model(input_ids=rows).logits[0].double().log_softmax(-1)
    each = [float(logits[i, t]) for i, t in enumerate(ids[1:])]
    assert found.log_prob[0] == pytest.approx(sum(each), abs=1e-4)
    assert found.tokens[0] == len(each)
    assert found.log_prob[1] > found.log_prob[0]  # the target is read, not scored
    with pytest.raises(SettingsError, match="causal"):
        score_texts(scorer, [MarkedText(text)], TextOptions(targets="masked"))


def test_other_kinds_are_refused() -> None:
    scorer = open_model("pocket:t5")
    with pytest.raises(SettingsError, match="masked or a causal"):
        score_texts(scorer, [MarkedText("Hi.")], TextOptions())
