"""A judge behind a server is asked within the limits of the run, and for each reply once."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.models.server.providers import KINDS, Body, ProviderServer, Refusal

from clinometer.errors import ModelError
from clinometer.runs import Run, audit
from clinometer.runs.notes import notes

N_REPLIES = 80
"""Four groups, two questions, ten replies, no two alike."""

TOPIC = """
name = "moods"
groups = ["Ann", "Bob", "Cem", "Dia"]
[attributes]
glad = ["glad"]
sad = ["sad"]
[readout]
kind = "text"
by = "judge"
model = "openai/gpt-4.1"
rubric = "What mood is it? [reply]"
[contexts]
ending = "[Y]"
wording = ["How is [X]?", "What does [X] say?"]
"""
APP = """
import itertools

numbers = itertools.count()

def answer(messages):
    return f"The mood is number {next(numbers)}."
"""


class Judge(ProviderServer):
    """A provider that lists the letters of options, and is dead from some answer on."""

    def __init__(self) -> None:
        super().__init__(KINDS["OpenAI with log-probabilities"])
        self.asked = 0
        self.open = 0
        self.most_at_a_time = 0
        self.dies_after = 10_000

    def reply(self, body: Body) -> Refusal:
        with self.turn:
            self.asked += 1
            self.open += 1
            self.most_at_a_time = max(self.most_at_a_time, self.open)
            is_dead = len(self.answered) >= self.dies_after
        time.sleep(0.002)  # others come meanwhile, if they may
        with self.turn:
            self.open -= 1
        if is_dead:
            return 500, {"error": {"code": "dead"}}
        status, answer = super().reply(body)
        text = json.dumps(answer).replace('"Yes"', '"A"').replace('"No"', '"B"')
        return status, json.loads(text)

    @property
    def most_often(self) -> int:
        """How often the question was answered that was answered most often."""
        questions = Counter(
            json.dumps(body["messages"])
            for body in self.answered
            if "number" in json.dumps(body["messages"])
        )
        return max(questions.values())


@pytest.fixture
def judge(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    until_the_end: Callable[[Judge], Judge],
) -> Iterator[Judge]:
    server = until_the_end(Judge())
    monkeypatch.setenv("OPENAI_BASE_URL", server.base)
    (tmp_path / "own_moods.py").write_text(APP, encoding="utf-8")
    (tmp_path / "moods.toml").write_text(TOPIC, encoding="utf-8")
    yield server
    sys.modules.pop("own_moods", None)


def judged(**options: Any) -> Run:
    return audit(
        "app:own_moods:answer",
        topic="moods.toml",
        replies=10,
        out="run",
        allow=("model:openai/gpt-4.1",),
        **options,
    )


def numbers_of_requests() -> dict[str, int]:
    record = json.loads(Path("run/run.json").read_text(encoding="utf-8"))
    usage: dict[str, int] = record["usage"]
    return usage


def test_a_judge_stays_within_the_limit_and_judges_nothing_twice(judge: Judge) -> None:
    for limit in (100, 70):
        before = judge.asked
        with pytest.raises(ModelError, match=f"the budget of {limit} requests"):
            judged(max_requests=limit)
        assert 0 < judge.asked - before <= limit
    usage = numbers_of_requests()
    assert usage["requests"] == N_REPLIES
    assert usage["judge_requests"] == judge.asked
    run = judged()
    assert judge.most_often == 1
    assert numbers_of_requests()["judge_requests"] == judge.asked
    assert f"The judge: {judge.asked:,} requests" in " ".join(notes(run))


def test_a_dead_judge_is_given_up_and_its_answers_are_kept(judge: Judge) -> None:
    judge.dies_after = 60
    with pytest.raises(ModelError, match="no usable answer"):
        judged(patience=0.5, concurrency=4)
    answered = len(judge.answered)
    # Those on their way at its death were answered too.
    assert judge.dies_after <= answered < judge.dies_after + 4
    assert judge.asked - answered < 200
    judge.dies_after = 10_000
    judged()
    assert judge.most_often == 1


def test_a_judge_is_asked_by_as_many_requests_at_a_time_as_the_model(
    judge: Judge,
) -> None:
    judged(concurrency=1)
    assert judge.most_at_a_time == 1
