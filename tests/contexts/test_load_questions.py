from __future__ import annotations

import pytest

from clinometer.contexts.load import default_contexts, load_contexts, question_contexts
from clinometer.errors import ContextError
from clinometer.topics import load_topic


def test_a_topic_of_questions_brings_its_contexts() -> None:
    hiring = load_topic("hiring")
    contexts = default_contexts(hiring)
    assert len(contexts) == 80
    assert set(contexts.extra) == {"wording", "order", "role", "evidence", "format"}
    assert len(set(contexts.extra["wording"])) == 40
    assert contexts.metadata.topic == "hiring"


def test_orders_of_three_options_are_all_asked() -> None:
    contexts = question_contexts(load_topic("triage"))
    assert len(set(contexts.extra["order"])) == 6
    assert len(contexts) == 240


def test_a_topic_of_words_has_none() -> None:
    with pytest.raises(ContextError, match="brings no \\[contexts\\]"):
        question_contexts(load_topic("gender"))


def test_own_questions_from_a_file(tmp_path: pytest.TempPathFactory) -> None:
    file = str(tmp_path) + "/mine.csv"
    with open(file, "w", encoding="utf-8") as out:  # noqa: PTH123
        out.write('template,count,mood\n"Hire [X]? Answer [options]: [Y]",1,plain\n')
    assert load_contexts(file, topic=load_topic("hiring")).extra["mood"] == ("plain",)
