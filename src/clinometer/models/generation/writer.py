"""Models that generate text: a conversation in, replies out.

A scorer rates given words; a writer chooses its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

from clinometer.models.protocol import ModelInfo

#: (role, what was said); roles are user and assistant in turn, after system if there is one.
Turn = tuple[str, str]


class Writer(Protocol):
    """Protocol for models that reply to a conversation."""

    info: ModelInfo

    def write(
        self,
        turns: Sequence[Turn],
        *,
        n: int = 1,
        temperature: float = 1.0,
        seed: int = 0,
        length: int = 128,
    ) -> list[str]:
        """n one-line replies of at most `length` tokens; temperature 0 decodes greedily.

        Everything after the first line that contains a word is dropped.
        """


def seed_for(seed: int, *names: str | int) -> int:
    """A seed for one question or sample, independent of what was queried before it.

    >>> seed_for(0, "a", 1) == seed_for(0, "a", 1) != seed_for(0, "a", 2)
    True
    """
    key = "\0".join(map(str, (seed, *names))).encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:4]) >> 1


def first_line(answer: str) -> str:
    """The first line of a reply: models tend to explain themselves in the following ones.

    >>> first_line("\\n\\n The nurse.\\nNote: …")
    'The nurse.'
    """
    return next((line.strip() for line in answer.splitlines() if line.strip()), "")


def transcript(turns: Sequence[Turn]) -> str:
    """A conversation as plain text, for models without a chat template.

    >>> transcript([("user", "Hello."), ("assistant", "Yes?"), ("user", "Go.")])
    'User: Hello.\\n\\nAssistant: Yes?\\n\\nUser: Go.\\n\\nAssistant:'
    """
    return "\n\n".join(
        f"{role.capitalize()}: {said}" for role, said in (*turns, ("assistant", ""))
    )[:-1]
