"""Replies of servers with anything wrong in them: a score that can be one, or one line."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.models.server.standin import Standin
from tests.security.fuzzing import budget, spoiled
from tests.security.hostile_server import HostileServer, body
from tests.security.test_servers import PROMPT, WORDS, score

from clinometer.errors import ModelError
from clinometer.models.server import client as client_module
from clinometer.models.server import reply as reply_module
from clinometer.models.server.client import _code_of, _tokens_of
from clinometer.storage.untrusted import parse_json

#: How each reader is called, and the abilities of a server whose reply it reads.
READERS = {
    "list": (reply_module.first_place, ("logprobs",)),
    "ids": (reply_module.first_place, ("logprobs", "names-ids")),
    "echo": (lambda reply: reply_module.echoed(reply, 3), ("logprobs", "echo")),
    "prompt": (lambda reply: reply_module.of_prompt(reply, (1, 2, 3)), ("prompt-logprobs",)),
    "texts": (lambda reply: reply_module.texts(reply, 4, 8), ("logprobs",)),
}


@cache
def honest(*abilities: str) -> dict[str, Any]:
    """What a server with these abilities answers."""
    server = Standin(*abilities)
    try:
        asked = {
            "model": "toy", "prompt": [1, 2, 3], "max_tokens": 1, "logprobs": 5, "temperature": 0,
            "echo": True, "prompt_logprobs": 1, "return_tokens_as_token_ids": True,
        }  # fmt: skip
        return dict(server.complete(asked)[1])
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("reader", READERS)
@budget(60)
@given(data=st.data())
def test_a_fuzzed_reply_gives_log_probabilities_or_is_wrong(
    reader: str, data: st.DataObject
) -> None:
    """As the client reads it: what is not JSON within limits is refused before a reader sees it,
    and a reader may raise anything, which the client takes for a wrong reply."""
    read, abilities = READERS[reader]
    content = data.draw(spoiled(honest(*abilities)))
    assert "\n" not in _code_of(content)
    try:
        reply = parse_json(content)
    except ValueError:
        return
    assert all(0 <= n < 1 << 63 for n in _tokens_of(reply))
    try:
        found = read(reply)
    except Exception:  # as in the client
        return
    for value in _numbers(found):
        assert value <= 0.0


def _numbers(found: Any) -> list[float]:
    if isinstance(found, reply_module.Listed):
        return [*found.by_id.values(), *found.by_text.values(), found.written[1]]
    return [value for value in found if isinstance(value, float)]


@settings(budget(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), where=st.sampled_from(["/models", "/tokenize", "/completions"]))
def test_a_server_with_fuzzed_replies_is_believed_or_refused_in_one_line(
    data: st.DataObject, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_FIRST_WAIT", 0.001)
    monkeypatch.setattr(client_module, "_LONGEST_WAIT", 0.002)
    sound: dict[str, Any] = {
        "/models": {"data": [{"id": "toy", "meta": {"n_params": 5}, "created": 3}]},
        "/tokenize": {"tokens": [1, 2], "count": 2, "max_model_len": 9},
        "/completions": honest("logprobs", "token-ids", "names-ids"),
    }
    server = HostileServer()
    server.attacks[where] = body(data.draw(spoiled(sound[where])))
    line, found = "", None
    try:
        found = score(server)
    except ModelError as error:
        line = str(error)
    finally:
        server.stop()
    assert "\n" not in line.strip()
    if found is not None:
        assert found.log_probs.shape == (len(PROMPT), len(WORDS))
        assert np.exp(found.log_probs).sum() <= 1.01  # NaN is not
