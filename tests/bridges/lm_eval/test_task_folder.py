"""The folder of an exported task, without the harness: what its utils.py computes."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from clinometer.bridges.lm_eval import HarnessWords, TaskFolder, import_lm_eval
from clinometer.contexts import ContextSet
from clinometer.errors import ClinometerError
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


@pytest.fixture
def evaluated(tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    """An exported task, and what the harness writes of it."""
    folder = TaskFolder(
        load_topic("gender").select(["nurse", "engineer"]),
        ContextSet("two", ["The [X] said that [Y]", "A [X] saw [Y]"], [3, 1]),
    )
    folder.write(tmp_path / "task")
    rng, lines = np.random.default_rng(0), []
    for number, doc in enumerate(folder.documents()):
        logs = -8 - rng.random(len(doc["choices"]))
        lines.append(
            {
                "doc_id": number,
                "doc": doc,
                "target": "0",
                "arguments": [[doc["before"], choice] for choice in doc["choices"]],
                "filtered_resps": [[str(value), "False"] for value in logs],
            }
        )
    return tmp_path / "task", lines


def imported(task: Path, lines: list[dict[str, Any]]) -> Any:
    file = task.with_name("samples_clinometer_gender_2026-01-01T00-00-00.jsonl")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return import_lm_eval(file, task=task)


def _every(value: str) -> Callable[[list[dict[str, Any]]], None]:
    def change(lines: list[dict[str, Any]]) -> None:
        for line in lines:
            line["filtered_resps"] = [[value, "False"]] * len(line["filtered_resps"])

    return change


def _again(lines: list[dict[str, Any]]) -> None:
    twice = json.loads(json.dumps(lines[0]))
    twice["doc_id"] = 99
    lines.append(twice)


def _swapped(lines: list[dict[str, Any]]) -> None:
    lines[0]["arguments"] = lines[0]["arguments"][::-1]


def _other_prompt(lines: list[dict[str, Any]]) -> None:
    lines[0]["arguments"] = [["The baker said that", c] for _, c in lines[0]["arguments"]]


def _one_for_all(lines: list[dict[str, Any]]) -> None:
    lines[0]["doc"]["cell"] = True
    del lines[1:]


def _other_numbers(lines: list[dict[str, Any]]) -> None:
    lines.append({**lines[0], "filtered_resps": lines[1]["filtered_resps"]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_every("0"), "probability of at most 1 together, found"),
        (_every("-3"), "probability of at most 1 together, found"),
        (_every("-30"), "expected log-likelihoods that differ"),
        (_again, "expected each cell once, found cell 0 again"),
        (_other_numbers, "another for doc_id 0"),
        (_swapped, "expected the words of the topic in their order"),
        (_other_prompt, "expected the text of cell 0 as its prompt"),
        (_one_for_all, "expected the number of a cell, found True"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_numbers_that_cannot_be_are_refused(
    change: Callable[[list[dict[str, Any]]], None],
    message: str,
    evaluated: tuple[Path, list[dict[str, Any]]],
) -> None:
    task, lines = evaluated
    assert imported(task, lines).record.counts["cells"] == 4
    change(lines)
    with pytest.raises(ClinometerError, match=message):
        imported(task, lines)
