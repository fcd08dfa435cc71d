"""What may go wrong with a request, and what each failure means for the next attempt.

ModelError
├── BudgetReached     nothing more is sent
├── RequestRefused    another attempt would be refused too; another request may pass
└── Unsupported       the server does not offer what is needed
WrongReply            raised by the readers of replies, and retried
└── Missing           the server may not support what was requested
FailedAttempt         temporary: the client tries again
└── UnbilledAttempt   temporary, and certainly not paid
"""

from __future__ import annotations

from clinometer.errors import ModelError

NO_ACCESS = (401, 403)
"""Statuses of a server that wants a key, or another one."""


class BudgetReached(ModelError):
    """The budget of requests or tokens is spent; scores so far are stored."""


class RequestRefused(ModelError):
    """The server refused (4xx, 501): retrying would not help.

    `answer` is what the server said, to be read by the chat endpoint and never shown.
    """

    def __init__(self, message: str, status: int, answer: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.answer = answer


class Unsupported(ModelError):
    """The server does not offer what an exact score needs: its chat endpoint may serve instead."""


class WrongReply(Exception):
    """An invalid reply; raised by the readers of replies, and retried."""


class Missing(WrongReply):
    """A valid reply that lacks what was requested: the server may not support it."""


class FailedAttempt(Exception):
    """A temporary failure of one attempt; `pause` is the server's Retry-After."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pause = pause


class UnbilledAttempt(FailedAttempt):
    """A failure of a request that did not reach the server, or came too early."""
