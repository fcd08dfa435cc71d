"""Time and cost of a list of models."""

from __future__ import annotations

import json
from typing import Any

import pytest

ASKED = ("plan", "--effective", "200", "--model", "small=1200", "--model", "hub/big=a=24")


def test_time_and_cost_of_each_model_and_of_all(clinometer: Any) -> None:
    shown = clinometer(*ASKED, "--workers", "4", "--hourly", "3.6", "--json")
    assert shown.status == 0
    found = json.loads(shown.out)
    assert found["cells"] == 200 * 120
    assert found["models"] == [
        {"model": "small", "seconds": 20.0, "cost": pytest.approx(0.02)},
        {"model": "hub/big=a", "seconds": 1000.0, "cost": pytest.approx(1.0)},
    ]
    assert found["models_seconds"] == pytest.approx(1020 / 4)
    assert found["models_cost"] == pytest.approx(1.02)
    said = clinometer(*ASKED, "--workers", "4", "--hourly", "3.6").out
    assert "small: 20 s on one machine, 0.02 in the currency of --hourly." in said
    assert "All 2 models on 4 machines: at least 4 min, 1.02." in said
    assert "models on" not in clinometer("plan", "--effective", "200").out


@pytest.mark.parametrize("given", ["small", "=12", "small=0", "small=fast", "small=inf", "small="])
def test_a_text_without_a_rate_is_refused(clinometer: Any, given: str) -> None:
    shown = clinometer("plan", "--effective", "200", "--model", given)
    assert shown.status == 2
    assert "--model: expected NAME=RATE" in shown.err


def test_a_hosted_model_needs_no_rate_and_says_what_it_costs(clinometer: Any) -> None:
    planned = ("plan", "--effective", "35", "--topic", "hiring", "--model", "openai/gpt-4.1")
    found = json.loads(clinometer(*planned, "--price", "1", "--json").out)["hosted"]
    (one,) = found
    assert one["model"] == "openai/gpt-4.1"
    assert "at most 8,400 replies (840 cells)" in one["says"]  # 35 contexts, 24 people, 10 replies
    read, written = (float(n.replace(",", "")) for n in one["says"].split()[7:12:4])
    assert one["cost"] == pytest.approx((read + written) / 1e6)
    assert "openai/gpt-4.1: at most 8,400 replies" in clinometer(*planned).out
