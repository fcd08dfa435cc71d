"""The decision as Markdown: rendered as GitHub renders tables, with names that try to be markup."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from tests.report.made import HOSTILE, made_run

from clinometer.gate.decision import GateDecision, decide, decision_markdown


@pytest.fixture(scope="module")
def decision() -> GateDecision:
    a = made_run(None, groups=3, contexts=30)
    b = made_run(None, groups=3, contexts=30, model="made:other", seed=1)
    return decide(a, b, measures=["R", "R_volatility"])


def rendered(text: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


def test_it_is_a_heading_a_reason_and_a_table(decision: GateDecision) -> None:
    page = rendered(decision_markdown(decision))
    assert f"{decision.verdict}: made:model against made:other</h3>" in page
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page)
    assert len(cells) == 6 * 2
    assert cells[0] == "R"
    assert cells[1] == f"{decision.rows[0].run:.3f}"
    assert cells[5] == decision.rows[0].verdict
    assert "does not say that either model is fair" in page
    assert "<li>" not in page


@pytest.mark.parametrize("name", [*HOSTILE[:4], "a|b", "`x`", "[a](javascript:b)", "line\nline"])
def test_names_are_text(decision: GateDecision, name: str) -> None:
    spoilt = replace(decision, run=name, baseline=name, topic=name, contexts=name, notes=(name,))
    page = rendered(decision_markdown(spoilt))
    tags = set(re.findall(r"<(\w+)", page))
    assert tags <= {"h3", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "sub"}
    assert page.count("<td") == 12
