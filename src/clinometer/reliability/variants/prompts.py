"""The prompt that asks a language model to fill blanks: Figure 7 of the COBIAS paper."""

from __future__ import annotations

from clinometer.models.generation.writer import Turn


def variants_prompt(points: str) -> list[Turn]:
    """The prompt with the statement and its blanks."""
    return [("user", f"Fill in the blanks with information. Do not modify anything else. {points}")]
