"""A run over BBQ: its risks against the benchmark's own bias score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.topics.bbq.made_items import made_lines, write_lines

from clinometer.errors import TopicError
from clinometer.models import ModelInfo
from clinometer.runs import AuditSettings, Run
from clinometer.runs.bbq import BbqReplies, bbq_run
from clinometer.topics.bbq import BbqAnswer, BbqItem, read_bbq

INFO = ModelInfo(name="made", kind="replies", revision="none")


@pytest.fixture
def items(tmp_path: Path) -> tuple[BbqItem, ...]:
    return read_bbq(write_lines(tmp_path / "t.jsonl", made_lines(8)))


def test_risks_follow_from_the_answers_and_are_stored(
    items: tuple[BbqItem, ...], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    answers = [
        BbqAnswer(item, form, int(rng.choice(3, p=[0.5, 0.2, 0.3])))
        for form in ("one", "two")
        for item in items
    ]
    run = bbq_run(
        INFO, BbqReplies.of(answers, []), AuditSettings(), name="Trade", out=tmp_path / "run"
    )
    # s is 1 for what the stereotype says, -1 for its opposite, 0 for unknown.
    size = {"stereotype": 1.0, "against": -1.0, "unknown": 0.0}
    s = {
        group: [
            size[a.item.roles[a.option]]
            for a in answers
            if a.item.roles and a.item.ambiguous and a.item.group == group
        ]
        for group in ("bakers", "millers")
    }
    assert run.risks.R.value == pytest.approx(np.mean([np.abs(v).mean() for v in s.values()]))
    assert run.risks.R_bias.value == pytest.approx(np.mean([abs(np.mean(v)) for v in s.values()]))
    # The bias score of ambiguous contexts is the mean of s over all items.
    found = run.record.benchmark
    assert found is not None
    scores = {(x.condition, x.format): x for x in found.scores}
    both = [scores["ambig", form].bias for form in ("one", "two")]
    assert np.mean([v for v in both if v is not None]) == pytest.approx(
        np.mean([v for values in s.values() for v in values])
    )
    assert run.record.settings.clusters == "question"
    assert run.risks.R_between is None
    again = Run.load(tmp_path / "run")
    assert again.preferences.equals(run.preferences)
    assert again.record.benchmark == found
    assert {f.name for f in (run.record.factors or pytest.fail("no factors")).factors} == {
        *("question", "polarity", "format")
    }


def test_unknown_everywhere_is_no_lean_and_no_swing(items: tuple[BbqItem, ...]) -> None:
    answers = [BbqAnswer(item, "one", item.unknown) for item in items]
    run = bbq_run(INFO, BbqReplies.of(answers, []), AuditSettings(), name="Trade")
    assert (run.risks.R.value, run.risks.R_bias.value, run.risks.R_volatility.value) == (0, 0, 0)


def test_a_file_without_ambiguous_items_is_refused(items: tuple[BbqItem, ...]) -> None:
    answers = [BbqAnswer(item, "one", 0) for item in items if not item.ambiguous]
    with pytest.raises(TopicError, match="expected ambiguous items"):
        bbq_run(INFO, BbqReplies.of(answers, []), AuditSettings(), name="Trade")
