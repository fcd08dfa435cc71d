"""Keys stay where they are, and an address that is none is one line."""

from __future__ import annotations

import json

import pytest
from tests.command import Clinometer

from clinometer.errors import ModelNotFound
from clinometer.models.client.address import Address, Key


@pytest.mark.parametrize("key", ["sk-abc/def", "k3y-7ab", "süß-1234"])
def test_a_key_is_hidden_however_it_is_written(key: str) -> None:
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in key)
    for written in (json.dumps(key)[1:-1], escaped, key.replace("/", "\\/")):
        reply = json.loads(
            f'{{"choices": [{{"text": "It is {written}."}}], "{written}": 1}}'
        )
        hidden = str(Key(key, headers={}).hidden(reply))
        assert key not in hidden
        assert "[key]" in hidden


def test_a_traceback_does_not_show_a_key(
    clinometer: Clinometer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLINOMETER_APP_KEY", "s3cret-of-app")
    shown = clinometer("audit", "nothing:s3cret-of-app", "--debug")
    assert "Traceback" in shown.err
    assert (
        "s3cret" not in shown.err.partition("clinometer:")[0].split("ModelNotFound")[0]
    )


@pytest.mark.parametrize(
    "target",
    [
        *(
            "http://127.0.0.1:99999#m",
            "http://127.0.0.1:-1#m",
            "http://[::1#m",
            "http://#m",
        ),
        *(
            "ftp://x",
            "nonsense",
            "http://me:secret@host/v1#m",
            "http://host/v1?key=secret#m",
        ),
    ],
)
def test_an_address_that_is_none_is_one_line(target: str) -> None:
    with pytest.raises(
        ModelNotFound, match=r"^model 'openai:.*: (expected|an address)"
    ) as caught:
        Address.parse(target)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
