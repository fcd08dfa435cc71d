"""Replies read by other models: a real small classifier, and a real model as a judge."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from clinometer.errors import ModelError, TopicError
from clinometer.models.generation.replies import ClassifierReader, JudgeReader, open_reader
from clinometer.readouts import EMPTY, OTHER, REFUSAL, ShownQuestion
from clinometer.readouts.tables import parse_readout

SHOWN = ShownQuestion("Write.")
TEXTS = ["the nurse said that she was late", "he", "the man was here", "she was there"] * 20
MOODS = {"glad": ("glad",), "sad": ("sad",)}


@pytest.fixture(scope="module")
def classifier(
    small_model: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Three labels over the small BERT; its head is random but pinned."""
    folder = tmp_path_factory.mktemp("classifier") / "m"
    shutil.copytree(small_model("bert"), folder)
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification.from_pretrained(
        folder, num_labels=3, id2label={0: "GLAD", 1: "LABEL_1", 2: "neither"}
    )
    torch.nn.init.normal_(model.classifier.weight, std=3.0)
    model.save_pretrained(folder)
    return folder


def test_a_classifier_reads_each_reply_as_it_does_alone(classifier: Path) -> None:
    names = {"LABEL_1": "sad"}
    reader = ClassifierReader(str(classifier), tuple(MOODS), names)
    found = reader.read([*TEXTS, "", "I'm sorry, I can't"], [SHOWN] * (len(TEXTS) + 2))
    assert found[-2:] == [EMPTY, REFUSAL]
    tokenizer = transformers.AutoTokenizer.from_pretrained(classifier)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(classifier).eval()
    category = {0: 0, 1: 1, 2: OTHER}
    for text, number in zip(TEXTS[:4], found[:4], strict=True):
        with torch.inference_mode():
            logits = model(**tokenizer(text, return_tensors="pt")).logits[0]
        assert number == category[int(logits.argmax())]
    assert found[:-2] == found[:4] * 20


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({}, "no label of the classifier .* is the category 'sad'"),
        (
            {"LABEL_9": "sad"},
            "readout.names.LABEL_9: expected a label of the classifier .* \\(GLAD",
        ),
    ],
)
def test_labels_must_be_categories(names: dict[str, str], message: str, classifier: Path) -> None:
    with pytest.raises(TopicError, match=message):
        ClassifierReader(str(classifier), tuple(MOODS), names).read(["x"], [SHOWN])


def test_a_classifier_that_is_nowhere_is_one_line() -> None:
    with pytest.raises(ModelError) as caught:
        ClassifierReader("./nowhere", tuple(MOODS), {}).read(["x"], [SHOWN])
    assert "\n" not in str(caught.value)


def test_a_judge_is_asked_the_rubric_in_every_order() -> None:
    table = parse_readout(
        {"kind": "text", "by": "judge", "model": "pocket:gpt2-s", "rubric": "Mood of: [reply]?"}
    )
    assert table is not None
    judge = open_reader(table, MOODS)
    assert isinstance(judge, JudgeReader)
    asked = judge.questions("so [options] it is")
    assert [prompt.before for prompt in asked] == [
        "Mood of: so (options) it is?\nA) glad\nB) sad\nAnswer:",
        "Mood of: so (options) it is?\nA) sad\nB) glad\nAnswer:",
    ]
    found = judge.read(["A fine day", "", "As an AI, I", "A fine day"], [SHOWN] * 4)
    assert found[1:3] == [EMPTY, REFUSAL]
    assert found[0] == found[3]
    scores = judge._opened.score(judge.questions("A fine day"), ("glad", "sad"))
    p = np.exp(scores.log_probs).mean(axis=0)
    expected = int(p.argmax()) if p.sum() >= 0.05 else OTHER
    assert found[0] == expected
