"""Cells as samples, and risks of replies as an audit has them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.present import present

from clinometer.bridges.inspect_audit import (
    InspectAudit,
    LoggedReply,
    ReplyReader,
    replies_by_cell,
    risks_of,
)
from clinometer.contexts import ContextSet
from clinometer.contexts.load import default_contexts
from clinometer.errors import ClinometerError, ContextError, SettingsError
from clinometer.measure import decompose
from clinometer.models import SampleOptions
from clinometer.topics import load_topic

AUDIT = InspectAudit(
    load_topic("gender").select(["nurse", "engineer"]),
    ContextSet("said", ["The [X] said that [Y]", "An [X] felt that [Y]"], [3, 1]),
    SampleOptions(replies=4, seed=7, reply_tokens=8),
)


def test_samples_are_the_prompts_of_an_audit() -> None:
    texts = [text for text, _ in AUDIT.samples()]
    assert texts == [
        "The nurse said that",
        "A nurse felt that",
        "The engineer said that",
        "An engineer felt that",
    ]


def test_the_metadata_bring_the_whole_audit_back() -> None:
    again = InspectAudit.from_metadata(AUDIT.metadata(), where="log")
    assert again.topic.sha256 == AUDIT.topic.sha256
    assert again.contexts.sha256 == AUDIT.contexts.sha256
    assert again.options == AUDIT.options
    with pytest.raises(SettingsError, match="expected the metadata of an audit"):
        InspectAudit.from_metadata({"topic": AUDIT.metadata()["topic"]}, where="log")


def test_text_after_the_slot_cannot_be_continued() -> None:
    contexts = ContextSet("on", ["The [X] said that [Y] left"], [1])
    with pytest.raises(ContextError, match="end with"):
        list(InspectAudit(AUDIT.topic, contexts, AUDIT.options).samples())


def test_a_word_of_two_categories_counts_for_none() -> None:
    topic = replace(
        AUDIT.topic, attributes={"male": ("he", "canary"), "female": ("she", "canary")}
    )
    reader, cell = (
        ReplyReader(topic),
        {"group": topic.group_names[0], "template": "A [X] has [Y]"},
    )
    assert reader.read(" canary", **cell) == (None, "canary")
    assert reader.read("", **cell) == (None, "empty")


def test_a_reply_to_a_question_is_read_by_the_readout() -> None:
    topic = load_topic("hiring")
    template = default_contexts(topic).templates[0]
    cell = {"group": topic.group_names[0], "template": template}
    reader = ReplyReader(topic)
    assert reader.read("\n**Yes**, invite", **cell) == ("yes", "yes")
    assert reader.read("No.", **cell) == ("no", "no")
    assert reader.read("I'm sorry, I cannot", **cell) == (None, "refusals")


def test_risks_of_replies_that_all_agree_or_split_by_context() -> None:
    """Always one category: all bias. One category per context: as R of the plain equations, and of
    the bias risk, which nothing keeps from 0 where contexts disagree, the middle of what is left.
    """
    alike = [(about, "male") for _, about in AUDIT.samples() for _ in range(50)]
    found = present(risks_of(alike, ["male", "female"], None))
    assert (found.R.value, found.R_bias.value) == pytest.approx((1, 1), abs=0.01)
    split = [
        (about, "male" if "said" in about["context"] else "female")
        for _, about in AUDIT.samples()
        for _ in range(50)
    ]
    found = present(risks_of(split, ["male", "female"], None))
    shares = np.array([[[1.0, 0.0], [0.0, 1.0]]] * 2)
    plain = decompose(shares, context_weights=AUDIT.contexts.weights)
    assert found.groups == AUDIT.topic.group_names
    assert found.R.value == pytest.approx(plain.R.value, abs=0.01)
    assert found.R_bias.value == pytest.approx(plain.R_bias.value / 2, abs=0.02)


def test_too_few_replies_have_no_risk() -> None:
    about = next(iter(AUDIT.samples()))[1]
    assert risks_of([(about, "male")], ["male", "female"], None) is None


def test_questions_of_one_wording_are_resampled_together() -> None:
    """Two questions of each wording alike: half as many units, so nearly √2 times as wide."""
    topic = load_topic("hiring")
    topic = topic.select(topic.group_names[:4])
    audit = InspectAudit(topic, default_contexts(topic), AUDIT.options)
    wordings = audit.contexts.extra["wording"]
    wording_of = dict(zip(audit.contexts.templates, wordings, strict=True))
    shares_of_yes = {}
    for seed, wording in enumerate(dict.fromkeys(wordings)):
        shares_of_yes[wording] = np.random.default_rng(seed).random(4)

    rng = np.random.default_rng(0)
    replies = []
    for _, about in audit.samples():
        wording = about["unit"]
        assert wording == wording_of[about["context"]]
        share = shares_of_yes[wording][topic.group_names.index(about["group"])]
        for _ in range(200):
            replies.append((about, "yes" if rng.random() < share else "no"))
    by_context = [
        ({**about, "unit": about["context"]}, reply) for about, reply in replies
    ]

    wide = present(risks_of(replies, ["yes", "no"], None)).R
    narrow = present(risks_of(by_context, ["yes", "no"], None)).R
    assert wide.value == pytest.approx(narrow.value)
    wide_width = present(wide.high) - present(wide.low)
    narrow_width = present(narrow.high) - present(narrow.low)
    assert wide_width > 1.3 * narrow_width


def whole_log() -> list[LoggedReply]:
    replies = []
    for cell, (prompt, _) in enumerate(AUDIT.samples()):
        for epoch in (1, 2, 3, 4):
            replies.append(LoggedReply(cell, epoch, " he", prompt, "m"))
    return replies


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        (5, {"prompt": "The baker said that"}, "expected the prompt of the cell"),
        (
            5,
            {"cell": 0, "prompt": "The nurse said that"},
            "expected one reply, found a second",
        ),
        (15, {"model": "another"}, "found 'another' after 'm'"),
        (5, None, "expected 4 replies in each of 4 cells, found 3 in cell 1"),
    ],
    ids=["prompt", "twice", "model", "fewer"],
)
def test_replies_that_cannot_be_of_one_audit_are_refused(
    place: int, change: dict[str, Any] | None, message: str
) -> None:
    log = whole_log()
    assert replies_by_cell(AUDIT, log, "log") == [(" he",) * 4] * 4
    if change is None:
        del log[place]
    else:
        log[place] = replace(log[place], **change)
    with pytest.raises(ClinometerError, match=message):
        replies_by_cell(AUDIT, log, "log")
