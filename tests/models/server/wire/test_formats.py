"""Every provider speaks a wire format that is there, and each format translates."""

from __future__ import annotations

from typing import Any

import pytest

from clinometer.models.client.usage import most_tokens
from clinometer.models.providers import PROVIDERS
from clinometer.models.server.request import CONTENT
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


@pytest.mark.parametrize("wire", WIRE_FORMATS)
def test_what_a_request_may_cost_is_known(wire: str) -> None:
    """Where not: `client/usage.py` lacks its name of the length or of a text."""
    most = most_tokens(WIRE_FORMATS[wire].request(BODY))
    assert most.written == BODY["max_tokens"]
    assert most.read > 0


@pytest.mark.parametrize("wire", WIRE_FORMATS)
def test_a_prompt_is_content_and_no_parameter_that_run_json_shows(wire: str) -> None:
    """Where not: `CONTENT` in `server/request.py` lacks its name of the messages."""
    request = WIRE_FORMATS[wire].request(BODY)
    parameters = {k: v for k, v in request.items() if k not in CONTENT}
    for message in BODY["messages"]:
        assert message["content"] not in str(parameters)


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
