"""Every provider speaks a wire format that is there, and each format translates."""

from __future__ import annotations

from typing import Any

import pytest

from clinometer.models.providers import PROVIDERS
from clinometer.models.server.wire.formats import WIRE_FORMATS

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi"},
    ],
    "max_tokens": 8,
    "seed": 1,
}


def test_every_provider_speaks_a_known_format() -> None:
    assert {provider.wire for provider in PROVIDERS.values()} <= WIRE_FORMATS.keys()


def test_openai_takes_our_own_names() -> None:
    assert WIRE_FORMATS["openai"].request(BODY) == BODY


def test_anthropic_takes_the_system_message_beside_the_others() -> None:
    assert WIRE_FORMATS["anthropic"].request(BODY) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 8,
        "system": "Be kind.",
    }


@pytest.mark.parametrize(
    ("wire", "reply"),
    [
        (
            "openai",
            {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]},
        ),
        ("anthropic", {"content": [], "stop_reason": "max_tokens"}),
    ],
)
def test_a_reply_cut_off_before_anything_was_said_is_none(
    wire: str, reply: dict[str, Any]
) -> None:
    assert WIRE_FORMATS[wire].replies(reply, 1) == [None]
