"""Counts of pieces add up."""

from __future__ import annotations

from clinometer.contexts.mining.languages.shared import Decision
from clinometer.contexts.mining.work_folder import PART, Part, Tally, TemplateCount


def decision(template: str, confidence: float | None = None) -> Decision:
    return Decision("", template, "", "", confidence)


def test_pieces_in_any_order_add_up_to_the_whole() -> None:
    sentences = [(0, "a", 0.9), (0, "a", 0.8), (1, "a", 0.8), (1, "the", 0.95), (2, "b", None)]
    whole, one, two = Tally(), Tally(), Tally()
    for at, (article, template, sure) in enumerate(sentences):
        whole.take([decision(template, sure)], article)
        (one if at % 2 else two).take([decision(template, sure)], article)
    stored = PART.dump_json(Part(articles=1, sentences=2, tally=two))
    one.add(PART.validate_json(stored).tally)
    expected = {"a": TemplateCount(4, 2), "b": TemplateCount(1, 1)}
    for tally in (whole, one):
        assert tally.merged(lambda t: "a" if t == "the" else t) == expected
        assert tally.confidences == {"0.90": 1, "0.80": 2, "0.95": 1}
