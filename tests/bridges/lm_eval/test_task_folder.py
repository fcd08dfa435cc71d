"""The folder of an exported task, without the harness: what its utils.py computes."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from clinometer.bridges.lm_eval import HarnessWords, TaskFolder
from clinometer.contexts import ContextSet
from clinometer.topics import Prompt, load_topic


def test_functions_of_the_written_task_give_its_risks(tmp_path: Path) -> None:
    topic = load_topic("gender").select(["nurse", "engineer"])
    folder = TaskFolder(
        topic, ContextSet("two", ["The [X] said that [Y]", "A [X] saw [Y]"], [3, 1])
    )
    folder.write(tmp_path)
    utils = runpy.run_path(str(tmp_path / "utils.py"))
    likely = set(topic.attributes["male"]) - set(topic.attributes["female"])
    results = [(float(np.log(0.01 if w in likely else 1e-9)), False) for w in topic.words]
    items = [utils["process_results"](doc, results)["R"] for doc in folder.documents()]
    assert [cell for cell, _ in items] == [0, 1, 2, 3]
    assert utils["R"](items) == pytest.approx(1.0, abs=1e-5)  # always the same category
    assert utils["R_volatility"](items) == pytest.approx(0.0, abs=1e-9)


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
