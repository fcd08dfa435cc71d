"""Time and cost of a list of models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.bridges.test_replies import imported, rows, written
from tests.command import Clinometer, refused


def test_a_hosted_model_needs_no_rate_and_says_what_it_costs(
    clinometer: Clinometer,
) -> None:
    planned = (
        "plan",
        "--precision",
        "0.05",
        "--topic",
        "hiring",
        "--model",
        "openai/gpt-4.1",
    )
    found = json.loads(clinometer(*planned, "--price", "1", "--json").out)["hosted"]
    (one,) = found
    assert one["model"] == "openai/gpt-4.1"
    assert (
        "at most 8,400 replies (840 cells)" in one["says"]
    )  # 35 contexts, 24 people, 10 replies
    read, written = (float(n.replace(",", "")) for n in one["says"].split()[7:12:4])
    assert one["cost"] == pytest.approx((read + written) / 1e6)
    assert "openai/gpt-4.1: at most 8,400 replies" in clinometer(*planned).out


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models that score three groups in eight contexts, four times each."""
    folder = tmp_path_factory.mktemp("scored")
    imported(
        written(folder / "replies.csv", rows(("calm", "loud"))), out=folder / "runs"
    )
    return folder / "runs"


def test_repeated_replies_plan_one_model_or_tell_two_apart(
    clinometer: Clinometer, scored: Path
) -> None:
    one = ("plan", scored / "loud")
    two = (*one, scored / "calm")
    alone = json.loads(clinometer(*one, "--detect", "0.3", "--json").out)
    both = json.loads(clinometer(*two, "--detect", "0.3", "--json").out)
    assert [part["model"] for part in both["parts"]] == ["loud", "calm"]
    for a, b in zip(alone["plans"], both["plans"], strict=True):
        assert b["contexts"] > a["contexts"]  # the noise of two models
        assert b["requests"] == 2 * 3 * b["replies"] * b["contexts"]
        assert 0.2 < b["finds"] <= 0.3
    paid = json.loads(clinometer(*two, "--requests", "600", "--json").out)["plans"]
    assert all(plan["requests"] <= 600 for plan in paid)
    assert (
        "difference of steady leans of 0.3" in clinometer(*two, "--detect", "0.3").out
    )
    assert "Best use of them" in clinometer(*two, "--requests", "600").out


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--precision", "0.1", "--set", "levle=0.9"), "did you mean level?"),
        (
            ("--precision", "0.1", "--set", "level=9"),
            "level: expected a number above 0",
        ),
        (("--precision", "0.1", "--requests", "100"), "expected either --detect"),
        ((), "expected --precision, --detect, --requests or --protocol"),
        (
            ("--detect", "0.1", "--requests", "9"),
            "either --detect, what should be found, or --requests, what can be paid",
        ),
        (("--requests", "5"), "at least 6, two contexts for each group, found 5"),
        (("--detect", "0.1", "--price", "2"), "expected runs that counted tokens"),
    ],
)
def test_plans_that_cannot_be_made_are_one_line(
    clinometer: Clinometer, scored: Path, asked: tuple[str, ...], words: str
) -> None:
    refused(clinometer("plan", scored / "calm", *asked), words)
