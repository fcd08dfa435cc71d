"""What Inspect's providers are sent."""

from __future__ import annotations

from clinometer.models.inspect import asked_text


def test_conversations_are_given_an_instruction() -> None:
    assert asked_text("A man", "vllm-completions") == "A man"
    assert asked_text("A man", "anthropic").startswith("Continue this text")
    assert asked_text("Is it so?", "anthropic", question=True) == "Is it so?"
