"""Facts: closed forms, distractors, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clinometer.errors import TopicError
from clinometer.measure import Preferences
from clinometer.studies.knowledge import Relation, read_facts, score_facts

CAPITALS = Relation.model_validate(
    {
        "name": "capitals",
        "paraphrases": ("The capital of [X] is [Y]", "[X] is governed from [Y]"),
        "facts": {
            "France": "Paris",
            "Canada": {"answer": "Ottawa", "distractors": ("Toronto",)},
        },
    }
)


def answers(values: np.ndarray) -> Preferences:
    """[X, C, Y] with the answers Paris, Ottawa, Toronto."""
    topic = CAPITALS.topic
    assert topic.categories == ("Paris", "Ottawa", "Toronto")
    contexts = CAPITALS.contexts
    return Preferences(
        values=values,
        groups=topic.group_names,
        contexts=contexts.ids,
        categories=topic.categories,
        context_weights=contexts.weights,
        group_weights=topic.group_weights,
    )


@pytest.mark.parametrize("exponent", [0.5, 0.25, 1.0])
def test_a_model_right_in_half_the_contexts(exponent: float) -> None:
    """E[J] = 1/2, J(E) = (1/2)^a, and the loss is their difference."""
    p = np.zeros((2, 2, 3))
    p[0, 0, 0] = p[0, 1, 1] = 1
    p[1, 0, 1] = p[1, 1, 2] = 1
    found = score_facts(answers(p), CAPITALS, exponent=exponent)
    for row in found.to_dict("records"):
        assert row["knowledge"] == pytest.approx(0.5)
        assert row["deterministic"] == pytest.approx(0.5**exponent)
        assert row["confidence_loss"] == pytest.approx(0.5**exponent - 0.5)
        assert row["accuracy"] == pytest.approx(0.5)


def test_a_distractor_of_one_subject_is_not_an_answer_for_another() -> None:
    p = np.tile([0.2, 0.2, 0.6], (2, 2, 1))
    found = score_facts(answers(p), CAPITALS, exponent=1.0)
    assert found["knowledge"].tolist() == pytest.approx([0.5, 0.2])
    assert found["accuracy"].tolist() == [1.0, 0.0]
    assert found["chance"].tolist() == pytest.approx([1 / 2, 1 / 3])


def test_the_builtin_facts_can_be_scored() -> None:
    for relation in read_facts():
        topic, contexts = relation.topic, relation.contexts
        assert len(topic) == len(relation.answers)
        assert all(topic.render(t, g) for t in contexts.templates for g in topic.groups)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at least one relation"),
        ("[a]\nparaphrases = []\n[a.facts]\nx = 'y'\nz = 'w'\n", "a.paraphrases"),
        (
            "[a]\nparaphrases = ['[X] is [Y]']\nfacts = {x = 'y', z = 'w'}\nmore = 1\n",
            "a.more",
        ),
        ("[a", "facts"),
    ],
)
def test_a_wrong_file_names_the_entry(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "facts.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(TopicError, match=said):
        read_facts(file)
    with pytest.raises(TopicError, match="no such file"):
        read_facts(tmp_path / "none.toml")
