"""What a language model is told when it is asked to fill blanks: Figure 7 of the COBIAS paper."""

from __future__ import annotations

from clinometer.models.generation.writer import Turn


def variants_prompt(points: str) -> list[Turn]:
    """The request, and the statement with its blanks."""
    return [("user", f"Fill in the blanks with information. Do not modify anything else. {points}")]
