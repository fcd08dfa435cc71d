"""Words scored one by one as disjoint events."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from clinometer.bridges.lm_eval import HarnessWords
from clinometer.topics import Prompt

ENDS = Prompt("The nurse saw", "", space=True)
READS_ON = Prompt("The nurse saw", " leave", space=True)
LOGS = np.log([[0.4, 0.1, 0.3]])


def test_a_shorter_word_stands_for_itself_alone() -> None:
    words = HarnessWords(("her", "her own", "he"))
    found = words.scores(LOGS, [ENDS])
    assert_allclose(np.exp(found.log_probs), [[0.3, 0.1, 0.3]])
    assert_allclose(np.exp(found.log_coverage), [0.7])  # "her own" is in "her"


def test_with_text_after_the_slot_words_exclude_each_other_as_they_are() -> None:
    found = HarnessWords(("her", "her own", "he")).scores(LOGS, [READS_ON])
    assert_allclose(found.log_probs, LOGS)


def test_a_chain_of_words_subtracts_the_nearest_only() -> None:
    words = HarnessWords(("her", "her own", "her own way"))
    assert words.report.prefixes == {"her": ("her own",), "her own": ("her own way",)}
    found = words.scores(np.log([[0.4, 0.3, 0.1]]), [ENDS])
    assert_allclose(np.exp(found.log_probs), [[0.1, 0.2, 0.1]])


def test_the_tokenizer_tells_what_texts_do_not() -> None:
    """Under GPT-2's kind of tokens, pocket:gpt2-l writes some words as others and more."""
    words = ("he", "she", "her", "hers", "grandson")
    report = HarnessWords(words, tokenizer="pocket:gpt2-l").report
    assert set(report.tokens) == set(words)
    assert not HarnessWords(words).report.prefixes
