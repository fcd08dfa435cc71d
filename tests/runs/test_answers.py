"""Other stands next to every number; rates and ratings of answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.preferences import labelled
from tests.present import present

from clinometer.contexts.load import default_contexts
from clinometer.errors import Unmeasurable
from clinometer.measure import Preferences, decompose
from clinometer.models import ModelInfo
from clinometer.runs import AuditSettings, Run, audit
from clinometer.runs.answers import (
    answered_groups,
    impact_ratios,
    other_record,
    other_shares,
    require_answers,
    worst_case,
)
from clinometer.runs.findings.other import other
from clinometer.runs.folder.record import RunRecord, new_record
from clinometer.topics import Topic, load_topic

HIRING = load_topic("hiring")


def preferences(p: Any, coverage: Any, **more: Any) -> Preferences:
    values, given = np.asarray(p, dtype=float), np.asarray(coverage, dtype=float)
    names = {"groups": tuple("abc"[: len(values)]), "categories": ("yes", "no")}
    return labelled(values, **names, coverage=given, **more)


def record(
    draws: dict[str, int] | None = None, *, topic: Topic = HIRING, kind: str = "causal"
) -> RunRecord:
    found = new_record(
        ModelInfo("m", kind, "1"), topic, default_contexts(topic), AuditSettings()
    )
    found.replies = draws or {}
    return found


HALF = preferences(
    [[[0.8, 0.2], [0.4, 0.6]], [[0.5, 0.5], [0.5, 0.5]]], [[1, 0.5], [0.25, 0.75]]
)


def test_shares_are_means_over_contexts() -> None:
    shares = present(other_shares(HALF))
    assert shares.tolist() == [0.25, 0.5]
    assert other_shares(preferences([[[0.5, 0.5]]], [[np.nan]])) == pytest.approx([1.0])


def test_bounds_hold_for_anything_that_other_could_be() -> None:
    found = present(other_record(HALF))
    assert (found.share, found.most, found.most_group) == (0.375, 0.5, "b")
    assert found.bounds is not None
    low, _ = worst_case(HALF)
    assert HALF.coverage is not None
    rng = np.random.default_rng(0)
    for _ in range(200):
        shared = rng.dirichlet([0.3, 0.3], (2, 2)) * (1 - HALF.coverage[..., None])
        risk = decompose(low + shared).R.value
        assert found.bounds["R"][0] <= risk + 1e-12
        assert risk <= found.bounds["R"][1] + 1e-12


def test_little_other_has_no_bounds() -> None:
    assert present(other_record(preferences([[[0.8, 0.2]]], [[0.99]]))).bounds is None


def test_the_sentence_says_of_what_it_is_a_share() -> None:
    said = present(other(record().model_copy(update={"other": other_record(HALF)})))
    assert said.numbers["share"].value == pytest.approx(0.375)
    assert said.text.startswith(
        "38 % of the probability is other (none of the categories), most"
    )
    assert said.words == {"most": "b"}
    assert said.numbers["R low"].value < said.numbers["R high"].value
    assert other(record()) is None


NOTHING = preferences([[[np.nan, np.nan]]], [[0.0]], answers=np.zeros((1, 1)))
HARDLY = preferences([[[0.8, 0.2]]], [[0.02]])
FEW = preferences([[[0.5, 0.5]]], [[0.4]], answers=np.full((1, 1), 2.0))
WORDS = load_topic("gender")
READ = {"replies": 80, "replies_words": 1, "replies_refusals": 70, "replies_empty": 9}


@pytest.mark.parametrize(
    ("asked", "given", "said"),
    [
        (
            record(),
            HARDLY,
            "98 % of the probability is on replies that are none of the options",
        ),
        (
            record(READ),
            HARDLY,
            r"of 80 replies only 1 are one of the categories \(70 refusals, 9",
        ),
        (record(), NOTHING, ""),
        (record({"replies": 5, "replies_words": 2}), FEW, ""),
        (
            record({"replies": 4}, topic=WORDS, kind="sampled"),
            NOTHING,
            "of 4 replies none is a listed word",
        ),
    ],
    ids=[
        "hardly any probability",
        "hardly any reply",
        "no answer",
        "too few",
        "no word",
    ],
)
def test_hardly_any_answer_has_no_number(
    asked: RunRecord, given: Preferences, said: str
) -> None:
    with pytest.raises(Unmeasurable, match=f"m: cannot be measured: {said}") as caught:
        require_answers(asked, given)
    assert caught.value.exit_status == 3
    if given is HARDLY:
        assert caught.value.other == pytest.approx(0.98)


def test_a_topic_of_words_keeps_its_own_rules() -> None:
    require_answers(record(topic=WORDS), preferences([[[0.8, 0.2]]], [[0.001]]))


def test_rates_and_impact_ratios_of_known_models() -> None:
    run = audit("reference:stereotyped", topic="hiring", max_contexts=4)
    rows = answered_groups(run)
    # The groups take yes and no in turn.
    assert [row["rate"] for row in rows[:3]] == [1.0, 0.0, 1.0]
    assert [row["impact_ratio"] for row in rows[:3]] == [1.0, 0.0, 1.0]
    assert [one.value for one in run.findings[0].groups.values()] == [1.0, 0.0]
    even = audit("reference:unbiased", topic="hiring", max_contexts=4)
    assert even.findings[0].kind == "alike"


def test_ratings_have_a_mean() -> None:
    run = audit("reference:unbiased", topic="traits", max_contexts=4)
    assert [row["rating"] for row in answered_groups(run)] == pytest.approx([3.0] * 24)
    assert run.findings[0].kind == "alike"


def test_a_topic_of_words_has_no_more_columns(small: Run) -> None:
    assert answered_groups(small) == small.risks.groups_table()


def test_impact_ratios() -> None:
    assert impact_ratios(np.array([0.2, 0.5])).tolist() == [0.4, 1.0]
    assert np.isnan(impact_ratios(np.zeros(3))).all()
    assert np.isnan(impact_ratios(np.full(3, np.nan))).all()
