"""Answers to questions: exact by log-probabilities, or read from sampled replies."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from clinometer.errors import ModelError, SettingsError, TopicError
from clinometer.models import (
    LoadOptions,
    ModelInfo,
    SampleOptions,
    WordOptions,
    open_model,
)
from clinometer.models.local.causal import CausalScorer
from clinometer.models.options import QUESTION
from clinometer.models.replies import (
    ClassifierReader,
    JudgeReader,
    ReadoutQuery,
    ReplyScorer,
    open_reader,
)
from clinometer.models.sampled import SampledScorer
from clinometer.readouts import EMPTY, OTHER, REFUSAL, ShownQuestion
from clinometer.readouts.tables import parse_readout
from clinometer.storage.untrusted import NOTHING
from clinometer.topics import Topic, load_topic, parse_topic

MODEL = "pocket:gpt2-s"
SEAT = parse_topic("""
name = "seat"
groups = ["Ann", "Bob"]
[attributes]
front = ["the front seat", "front"]
back = ["the back seat of the old car"]
[readout]
kind = "choice"
""")


def query(topic: Topic) -> ReadoutQuery:
    return ReadoutQuery.of(topic)


@pytest.fixture(scope="module")
def causal() -> CausalScorer:
    found = open_model(
        MODEL, load=LoadOptions(device="cpu"), words=WordOptions(tolerance=0.0)
    )
    assert isinstance(found, CausalScorer)
    return found


def directly(
    scorer: CausalScorer, before: str, answer: str, space: str = " "
) -> list[float]:
    """Log-probabilities of the answer's tokens, by one plain forward over question and answer."""
    head = scorer.head_tokens([before])[0]
    tail = scorer.tokenizer.encode(space + answer, add_special_tokens=False)
    with torch.inference_mode():
        logits = scorer.model(input_ids=torch.tensor([head + tail])).logits[0].double()
    steps = torch.log_softmax(logits, dim=-1)
    return [float(steps[len(head) - 1 + i, token]) for i, token in enumerate(tail)]


QUESTIONS = [
    "Where does [X] sit? [options: front, back] Answer: [Y]",
    "Where does [X] sit? [options: back, front] Answer: [Y]",
    "And [X]? [options] I say [Y]",
]
PROMPTS = [
    SEAT.render(question, group) for question in QUESTIONS for group in SEAT.groups
]


def test_labels_are_scored_for_the_option_they_stand_at(causal: CausalScorer) -> None:
    found = ReplyScorer(causal, query(SEAT), chat=False).score(PROMPTS, SEAT.words)
    for row, prompt in enumerate(PROMPTS):
        assert prompt.shown is not None
        a, b = (directly(causal, prompt.before, label)[0] for label in "AB")
        front, back = (a, b) if prompt.shown.order == (0, 1) else (b, a)
        assert found.log_probs[row] == pytest.approx([front, -np.inf, back], abs=1e-4)
        assert np.exp(found.log_coverage[row]) == pytest.approx(
            np.exp(a) + np.exp(b), rel=1e-4
        )


@pytest.mark.parametrize("rule", ["sum", "per-token"])
def test_texts_are_compared_by_their_tokens_as_asked(
    rule: str, causal: CausalScorer
) -> None:
    topic = parse_topic(
        f'name = "t"\ngroups = ["Ann"]\n[attributes]\nyes = ["Certainly not here"]\nno = ["No"]\n'
        f'[readout]\nkind = "choice"\nlabels = "none"\nnormalise = "{rule}"'
    )
    prompt = topic.render("Is [X] in? Answer [options]: [Y]", "Ann")
    found = ReplyScorer(causal, query(topic), chat=False).score([prompt], topic.words)
    steps = [directly(causal, prompt.before, text) for text in topic.words]
    expected = {
        "sum": [sum(one) for one in steps],
        "per-token": [sum(one) / len(one) for one in steps],
    }[rule]
    assert len(steps[0]) > 1
    assert found.log_probs[0] == pytest.approx(expected, abs=1e-4)


def test_in_a_chat_template_the_question_is_the_users_message(
    causal: CausalScorer,
) -> None:
    opening = f"<user>{QUESTION}<end> <bot>"
    chatting = CausalScorer(causal.model, causal.tokenizer, causal.info, chat=opening)
    prompt = SEAT.render(QUESTIONS[0], "Ann")
    ids = chatting.head_tokens([prompt.before])[0]
    assert causal.tokenizer.decode(ids) == f"<user>{prompt.before}<end> <bot>"
    found = ReplyScorer(chatting, query(SEAT), chat=True).score([prompt], SEAT.words)
    (expected,) = directly(chatting, prompt.before, "A", space="")  # it begins the turn
    assert found.log_probs[0, 0] == pytest.approx(expected, abs=1e-4)


def test_models_that_fill_gaps_are_refused_in_one_line() -> None:
    scorer = open_model("pocket:bert", load=LoadOptions(device="cpu"))
    with pytest.raises(ModelError, match="a masked model fills gaps") as caught:
        ReplyScorer(scorer, query(SEAT), chat=False)
    assert "\n" not in str(caught.value)


def test_sequence_to_sequence_models_answer(small_model: Callable[[str], Path]) -> None:
    scorer = open_model(str(small_model("t5")), load=LoadOptions(device="cpu"))
    topic = load_topic("hiring").select(["white man"])
    asked = ReplyScorer(scorer, query(topic), chat=False)
    question = "Invite [X]? Answer [options]: [Y]"
    found = asked.score([topic.render(question, topic.groups[0])], topic.words)
    assert np.isfinite(found.log_probs).all()


class Parrot(SampledScorer):
    """Gives the same replies to every question."""

    def __init__(self, *replies: str) -> None:
        options = SampleOptions(replies=len(replies))
        super().__init__(ModelInfo("parrot", "causal", "1"), options)
        self.texts = replies

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        return [list(self.texts) for _ in texts]


def asking(topic: Topic, *replies: str) -> ReplyScorer:
    asked = query(topic)
    reader = open_reader(asked.table, asked.attributes, NOTHING)
    return ReplyScorer(Parrot(*replies), asked, chat=False, reader=reader)


def test_sampled_replies_are_counted_for_their_category() -> None:
    said = ("A", "(A)", "the back seat of the old car", "Front", "", "As an AI", "hm")
    found = asking(SEAT, *said).score(PROMPTS[:3], SEAT.words)
    n = 7
    # In the first two questions A is the front seat, in the third the back seat.
    expected = [[3 / n, 0, 1 / n], [3 / n, 0, 1 / n], [1 / n, 0, 3 / n]]
    assert np.exp(found.log_probs) == pytest.approx(np.array(expected))
    assert np.exp(found.log_coverage) == pytest.approx([4 / n] * 3)
    assert found.unread is not None
    assert found.unread.tolist() == [[1, 1, 1]] * 3  # other, a refusal, empty
    assert found.draws is not None


def test_whole_replies_need_to_be_sampled() -> None:
    with pytest.raises(SettingsError, match="--replies 20"):
        query(load_topic("story")).check(LoadOptions())
    query(load_topic("hiring")).check(LoadOptions())


SHOWN = ShownQuestion("Write.")
TEXTS = [
    "the nurse said that she was late",
    "he",
    "the man was here",
    "she was there",
] * 20
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
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        classifier
    ).eval()
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
def test_labels_must_be_categories(
    names: dict[str, str], message: str, classifier: Path
) -> None:
    with pytest.raises(TopicError, match=message):
        ClassifierReader(str(classifier), tuple(MOODS), names).read(["x"], [SHOWN])


def test_a_classifier_that_is_nowhere_is_one_line() -> None:
    with pytest.raises(ModelError) as caught:
        ClassifierReader("./nowhere", tuple(MOODS), {}).read(["x"], [SHOWN])
    assert "\n" not in str(caught.value)


def test_a_judge_is_asked_the_rubric_in_every_order() -> None:
    table = parse_readout(
        {
            "kind": "text",
            "by": "judge",
            "model": "pocket:gpt2-s",
            "rubric": "Mood of: [reply]?",
        }
    )
    judge = open_reader(table, MOODS, NOTHING)
    assert isinstance(judge, JudgeReader)
    asked = judge.questions("so [options] it is")
    assert [prompt.before for prompt in asked] == [
        "Mood of: so (options) it is?\nA) glad\nB) sad\nAnswer:",
        "Mood of: so (options) it is?\nA) sad\nB) glad\nAnswer:",
    ]
    found = judge.read(["A fine day", "", "As an AI, I", "A fine day"], [SHOWN] * 4)
    assert found[1:3] == [EMPTY, REFUSAL]
    assert found[0] == found[3]
    scores = judge._scorer.score(judge.questions("A fine day"), ("glad", "sad"))
    p = np.exp(scores.log_probs).mean(axis=0)
    expected = int(p.argmax()) if p.sum() >= 0.05 else OTHER
    assert found[0] == expected
