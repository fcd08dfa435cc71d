"""What is read of an HTTP response: its body, within limits, and the code of an error."""

from __future__ import annotations

import re
from typing import Any

from clinometer.models.client.failures import FailedAttempt
from clinometer.storage.untrusted import parse_json

MOST_REPLY = 32 << 20
"""Bytes of a reply; the log-probabilities of a long prompt are some hundred kilobytes."""

_CODE = re.compile(r"(?=.{1,40}\Z)[A-Z]?[a-z]+(?:[A-Z][a-z]+|[_.-][a-z0-9]+|[0-9]+)*")
"""What an error code or type looks like (context_length_exceeded, BadRequestError); anything else
may be a sentence, or the prompt in disguise."""


async def read_body(response: Any) -> bytes:
    """Return the raw body of a response; a compressed one may expand a thousandfold."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise FailedAttempt("compressed_reply")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MOST_REPLY:
            raise FailedAttempt("reply_too_large")
    return bytes(body)


def error_code(content: bytes) -> str:
    """Return ": " and the server's error code, if it is a single word and not a sentence; else "".

    >>> error_code(b'{"error": {"message": "In Paris the nurse said", "code": "bad_request"}}')
    ': bad_request'
    """
    try:
        answer = parse_json(content)
        if isinstance(answer, list):
            answer = answer[0]
        error = answer["error"]
        codes = (error.get("code"), error.get("type"))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return ""
    for code in codes:
        if isinstance(code, str) and _CODE.fullmatch(code):
            return f": {code}"
    return ""
