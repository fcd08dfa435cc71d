"""What requests use and cost: tokens as the server counts them or as we do; and the budget.

A server's count is not believed where there is none, or less than what was sent and received needs
at least; and what reached it may be billed, whatever came back.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clinometer.models.options import ServerOptions
from clinometer.models.prices import Price

LENGTHS = ("max_tokens", "max_completion_tokens")
"""Names of the most tokens of a reply, in requests."""

_READ = ("prompt_tokens", "input_tokens")
"""Names of the tokens that were read, in the usage that a server tells."""

_WRITTEN = ("completion_tokens", "output_tokens")
"""Names of the tokens that were written, in the usage that a server tells."""

_TEXTS = (
    "messages",
    "system",
    "prompt",
    "content",
    "text",
    "reasoning",
    "reasoning_content",
)
"""Where texts are that count, in requests and in replies."""

_MAX_TOKENS = 100_000_000
"""Tokens of one request: a count beyond any context window is not one."""

_BYTES_PER_TOKEN = 3.6
"""Bytes of a token in common text."""

_MAX_BYTES_PER_TOKEN = 8.0
"""Hardly any text has longer tokens on average."""

_ALWAYS_COUNTED = ("requests", "retried", "tokens", "tokens_read", "tokens_written")
"""What usage always has."""


@dataclass(frozen=True)
class TokenCount:
    """Tokens read and written, and how many of them are our own count."""

    read: int
    written: int
    estimated: int = 0

    def named(self) -> dict[str, int]:
        """Return the counts by their names in the usage of a run."""
        names = {
            "tokens_read": self.read,
            "tokens_written": self.written,
            "tokens": self.read + self.written,
        }
        if self.estimated:
            names["tokens_estimated"] = self.estimated
        return names


NO_TOKENS = TokenCount(0, 0)
"""What a request costs that is not billed."""


def most_tokens(body: Any) -> TokenCount:
    """Return what a request may cost at most, by our own count; 0 where no text is written."""
    if not isinstance(body, dict):
        return NO_TOKENS
    lengths = [body[name] for name in LENGTHS if isinstance(body.get(name), int)]
    written = max(lengths, default=0) * int(body.get("n", 1))
    if not written:
        return NO_TOKENS
    read = math.ceil(_bytes_of_texts(body) / _BYTES_PER_TOKEN)
    return TokenCount(read, written, read + written)


def tokens_of(body: Any, reply: Any) -> TokenCount:
    """Return the tokens read and written, hidden ones too, as the server counts them.

    Where it does not count, or counts fewer than the texts need, our own count stands in.

    >>> tokens_of({"prompt": "How?"}, {"usage": {"input_tokens": 5, "output_tokens": 2}})
    TokenCount(read=5, written=2, estimated=0)
    >>> body = {"prompt": "a" * 360, "max_tokens": 50}
    >>> tokens_of(body, {"usage": {"prompt_tokens": -3}, "text": "b" * 36})
    TokenCount(read=100, written=10, estimated=110)
    """
    usage = reply.get("usage") if isinstance(reply, dict) else None
    if not isinstance(usage, dict):
        usage = {}
    told_read = _first_count(usage, _READ)
    total = _first_count(usage, ("total_tokens",))
    if total == 0:
        total = told_read + _first_count(usage, _WRITTEN)
    told_written = max(total - told_read, 0)
    if not most_tokens(body).written:
        return TokenCount(told_read, told_written)
    read = _plausible(told_read, _bytes_of_texts(body))
    written = _plausible(told_written, _bytes_of_texts(reply))
    estimated = 0
    if read != told_read:
        estimated += read
    if written != told_written:
        estimated += written
    return TokenCount(read, written, estimated)


def _first_count(usage: dict[str, Any], names: Sequence[str]) -> int:
    """Return the first count of these names that is one, or 0."""
    for name in names:
        count = usage.get(name)
        if type(count) is int and 0 <= count <= _MAX_TOKENS:
            return count
    return 0


def _plausible(count: int, size: float) -> int:
    """Return a server's count for texts of so many bytes, or ours where it is too small."""
    if count >= size / _MAX_BYTES_PER_TOKEN:
        return count
    return math.ceil(size / _BYTES_PER_TOKEN)


def _bytes_of_texts(content: Any, *, is_text: bool = False) -> float:
    """Return the bytes of the texts in a request or a reply.

    A number in place of a text is a token. `is_text`: the content stands where texts count.
    """
    if isinstance(content, dict):
        total = 0.0
        for name, value in content.items():
            if "logprobs" not in name:
                total += _bytes_of_texts(value, is_text=is_text or name in _TEXTS)
        return total
    if isinstance(content, list):
        return sum(_bytes_of_texts(value, is_text=is_text) for value in content)
    if not is_text:
        return 0.0
    if isinstance(content, str):
        return len(content.encode("utf-8", "replace"))
    return _BYTES_PER_TOKEN if type(content) is int else 0.0


class Meter:
    """Requests and tokens used so far, what they cost, and whether one more request may be paid.

    A judge's meter runs `beside` that of the model whose replies it reads: each counts its own
    requests at its own price, and both together stay within the limits.
    """

    def __init__(
        self,
        options: ServerOptions,
        price: Price | None,
        *,
        beside: Meter | None = None,
    ) -> None:
        self.options = options
        self.price = price
        self.turn: threading.Lock = threading.Lock() if beside is None else beside.turn
        """Held while a request is counted: a judge is asked by another thread."""
        self.together: list[Meter] = [] if beside is None else beside.together
        """The meters that stay within the limits together, this one among them."""
        self.together.append(self)
        self.used: Counter[str] = Counter()
        self.in_flight: list[TokenCount] = []
        """What may come of the requests that are on their way, at most."""
        self.paid_before = 0.0
        """What earlier attempts have paid."""
        self._dearest = 0.0
        """What the dearest request has cost."""

    def usage(self) -> dict[str, int]:
        """Return requests, retries of them, and tokens, with what may come of those in flight."""
        total = Counter(dict.fromkeys(_ALWAYS_COUNTED, 0))
        with self.turn:
            total.update(self.used)
            for most in self.in_flight:
                total.update(most.named())
        return dict(total)

    def begin(self, most: TokenCount) -> None:
        """Count a request that may cost so many tokens; the caller holds `turn`."""
        self.used["requests"] += 1
        self.in_flight.append(most)

    def end(self, most: TokenCount, billed: TokenCount) -> None:
        """Count what a request that has ended is billed for, instead of the most it could be."""
        with self.turn:
            self.in_flight.remove(most)
            self._dearest = max(self._dearest, self._cost(billed))
            self.used.update(billed.named())

    def retried(self, reason: str) -> None:
        """Count an attempt more, and why."""
        with self.turn:
            self.used.update(("retried", f"retried_{reason}"))

    def _cost(self, tokens: TokenCount) -> float:
        """Return the price of tokens; 0 where it is not known."""
        return 0.0 if self.price is None else self.price.of(tokens.read, tokens.written)

    def _paid(self) -> float:
        """Return what requests have cost that have ended."""
        used = TokenCount(self.used["tokens_read"], self.used["tokens_written"])
        return self.paid_before + self._cost(used)

    def _may_cost(self, requests: Sequence[TokenCount]) -> float:
        """Return what requests may cost at most."""
        return sum(max(self._cost(tokens), self._dearest) for tokens in requests)

    def limit_reached(self, most: TokenCount, *, with_in_flight: bool) -> str | None:
        """Return the limit that one more request could exceed, if any.

        Also because of those in flight, or whatever these come to cost.
        """
        budget = self.options.budget
        paid = sum(meter._paid() for meter in self.together)
        may_cost = self._may_cost([most])
        if with_in_flight:
            may_cost += sum(meter._may_cost(meter.in_flight) for meter in self.together)
        used: Counter[str] = Counter()
        for meter in self.together:
            used.update(meter.used)
        if budget is not None and paid + may_cost > budget:
            about = "about " if used["tokens_estimated"] else ""
            return (
                f"{about}{paid:.2f} of the budget of {budget:g}; what was paid for is kept: rerun "
                "the same command with a larger --budget to resume"
            )
        limits = {
            "requests": self.options.max_requests,
            "tokens": self.options.max_tokens,
        }
        for name, limit in limits.items():
            if limit is not None and used[name] >= limit:
                return (
                    f"the budget of {limit} {name}; scores so far are kept: rerun the same "
                    "command to resume with a new budget"
                )
        return None
