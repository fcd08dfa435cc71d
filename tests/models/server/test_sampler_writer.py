"""A real server writes answers, and a statement's blanks are asked of it like of any model."""

from __future__ import annotations

from clinometer.models.catalog.open import open_writer
from clinometer.reliability import Statement
from clinometer.reliability.blanks import PointSettings, propose_points


def test_a_server_answers_requests(llama: str) -> None:
    writer = open_writer(f"openai:{llama}#smollm2")
    turns = [("user", "Say hello. Answer in one short sentence.")]
    first = writer.write(turns, temperature=0, length=12)
    assert len(first) == 1
    assert first[0].strip()
    assert "\n" not in first[0]
    assert len(writer.write(turns, n=3, temperature=1.0, seed=1, length=6)) == 3


def test_a_server_proposes_blanks(llama: str) -> None:
    settings = PointSettings(model=f"openai:{llama}#smollm2", attempts=1)
    statement = Statement(id="a", text="The nurse is tired.")
    row = propose_points([statement], settings=settings).rows[0]
    assert len(row["answers"]) == 1
    assert row["context_points"].replace("___ ", "").replace(" ___", "") == statement.text
