"""A server: its address and key, requests to it, and which model it serves.

Requests are sent as fast as the server allows (`Pace`), with retries, a budget, and usage counts.

Nothing here logs. Errors name the server, the status and the server's error code, never its
messages: a server may repeat key or prompt in any form. What it says is read for the parameter that
it refuses (`ChatEndpoint`), and then dropped. Replies are limited in size, depth and total time,
and are never decompressed.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import hashlib
import json
import math
import os
import random
import re
import time
import weakref
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from clinometer.errors import ModelError, ModelNotFound, SettingsError
from clinometer.extras import require
from clinometer.models.background import EventLoop
from clinometer.models.options import ServerOptions
from clinometer.models.providers import (
    PROVIDERS,
    Price,
    Provider,
    hosted,
    is_loopback,
    parts_of_address,
)
from clinometer.storage.untrusted import parse_json

_FIRST_WINDOW = 4.0
#: Answers that take this many times as long as the fastest say that the server is busy.
_BUSY = 2.5
#: What every answer adds to the window.
_GROWTH = 0.1
#: After a refusal: the share of the rate that got through, and the seconds back to all of it.
_BELOW, _BACK_S = 0.97, 8.0
#: How far past what is sent the rate may grow, and a rate that may always be tried again.
_PAST, _SEEN = 1.5, 0.5
#: The slowest rate: one request a minute.
_SLOWEST = 1 / 60
#: Requests from which a rate is measured.
_MEASURED = 400
#: The pause after a refusal: the time of this many requests, at most this many seconds.
_HOLD, _HOLD_S = 10, 1.0
#: While nothing gets through: the shortest pause and the longest; each is twice the one before.
_LEAST_HOLD_S, _LONGEST_HOLD_S = 0.1, 5.0
#: A turn that comes late by less than this is made up for.
_LATE_S = 0.1


class Pace:
    """When the next request may begin: as fast as the server allows, found out from its refusals.

    A window limits how many requests are on their way: it begins small, grows with every answer,
    and stops growing once answers take longer for it. A rate limits how many begin in a second: it
    follows what got through between two refusals (429).

    A refusal says that the allowance is used up at this moment. So what got through between two of
    them is what the server gave meanwhile, no matter how much it saves up for a burst. After a
    refusal nothing is sent for a moment, so that a limit that has changed shows in the next refusal
    instead of in dozens; then the rate begins a little below, grows slowly past it, and faster the
    longer no refusal comes.
    """

    def __init__(self, most: int, *, steady: bool = False) -> None:
        """`steady`: all of `most` from the first, and refusals are only waited out: for a server
        that sets no limit on the rate."""
        self.most, self._steady = most, steady
        self.window = float(most) if steady else min(_FIRST_WINDOW, float(most))
        self._flying = 0
        self._gate, self._freed = asyncio.Lock(), asyncio.Event()
        self._next = 0.0
        self._fastest = math.inf
        #: when the last requests began, from the last refusal on
        self._begun: deque[float] = deque(maxlen=_MEASURED)
        #: the rate that got through before the last refusal, when that was, and the pause after it
        self._limit: float | None = None
        self._since = self._hold = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """One request, when it may begin; first come, first served. Gives the time."""
        async with self._gate:
            while self._flying >= int(self.window):
                self._freed.clear()
                await self._freed.wait()
            while (wait := self._next - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            now, rate = time.monotonic(), self.rate()
            if rate is not None:
                self._next = max(self._next, now - _LATE_S) + 1.0 / rate
            self._begun.append(now)
            self._flying += 1
        try:
            yield now
        finally:
            self._flying -= 1
            self._freed.set()

    def rate(self) -> float | None:
        """Requests a second that may begin; None while nothing limits them."""
        if self._limit is None:
            return None
        now = time.monotonic()
        grown = self._limit * (
            _BELOW + (1 - _BELOW) * ((now - self._since) / _BACK_S) ** 3
        )
        # A rate that is not used says nothing about the limit; a slow one is hardly seen.
        used = min(grown, _PAST * self._sent(now) + _SEEN)
        return max(used, self._limit * _BELOW, _SLOWEST)

    def _sent(self, until: float) -> float:
        """Requests a second since the last refusal, as far as they are remembered."""
        if not self._begun or until <= self._begun[0]:
            return 0.0
        between = sum(at < until for at in self._begun) - 1
        return between / max(until - self._begun[0], 0.1)

    def answered(self, begun: float) -> None:
        """The request that began then was answered."""
        seconds = time.monotonic() - begun
        self._fastest = min(self._fastest, seconds)
        if seconds < _BUSY * self._fastest + 0.05:
            self.window = min(self.window + _GROWTH, float(self.most))
        elif self.window > _FIRST_WINDOW:
            self.window -= _GROWTH / 2

    def refused(self, begun: float, pause: float | None) -> None:
        """The request that began then came too early; `pause` is how long the server wants."""
        now = time.monotonic()
        if pause:
            self._next = max(self._next, now + min(pause, 60.0))
        if (
            self._steady or begun < self._since
        ):  # sent before the last refusal was known
            return
        through, rate = self._sent(begun), self.rate()
        if rate is None:
            self._limit = max(through, _FIRST_WINDOW)
        elif through:
            self._limit = min(max(through, rate / 2), rate)
        if through and self._limit:
            self._hold = min(_HOLD / self._limit, _HOLD_S)
        else:
            self._hold = min(max(2 * self._hold, _LEAST_HOLD_S), _LONGEST_HOLD_S)
        self._next = max(self._next, now + self._hold)
        self._since = now
        self._begun.clear()
        self._begun.append(now)
        self.window = max(self.window * 0.9, 1.0)


# --- The address and its key ----------------------------------------------------------------------


#: The key for any server.
KEY_VARIABLE = "CLINOMETER_API_KEY"

#: Signs of a secret, so that it is looked for in replies; a short word may be any word.
_FEWEST_SIGNS, _LONGER_THAN_WORDS = 4, 8


class Key:
    """Secrets that no repr, traceback or file shows; `headers` carry them."""

    def __init__(self, *secrets: str, headers: Mapping[str, str]) -> None:
        self._secrets, self.headers = secrets, dict(headers)

    def __repr__(self) -> str:
        return "Key(…)"

    def hidden(self, said: Any) -> Any:
        """What a server says, as it was read, without the secrets that it repeats."""
        if isinstance(said, dict):
            return {
                self.hidden(name): self.hidden(value) for name, value in said.items()
            }
        if isinstance(said, list):
            return [self.hidden(value) for value in said]
        for secret in self._secrets if isinstance(said, str) else ():
            is_word = (
                secret.isalpha()
                and secret.islower()
                and len(secret) < _LONGER_THAN_WORDS
            )
            if len(secret) >= _FEWEST_SIGNS and not is_word:
                said = said.replace(secret, "[key]")
        return said


@dataclass(frozen=True)
class Address:
    """`base` ends with the version (…/v1); `root` is everything before it. `provider` is set for a
    hosted model (openai/NAME).

    >>> Address.parse("http://127.0.0.1:8080#smol")
    Address(base='http://127.0.0.1:8080/v1', model='smol', key=None)
    >>> Address.parse("https://host.example/api/v1/#org/model").base
    'https://host.example/api/v1'
    """

    base: str
    model: str | None
    key: Key | None = field(default=None)
    provider: Provider | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, target: str) -> Address:
        if named := hosted(target):
            provider, model = named
            base = provider.address()
            parts = parts_of_address(base)
            if parts is None or parts.username:
                raise ModelNotFound(
                    f"{provider.name.upper()}_BASE_URL: expected an http or https address without "
                    f"a user or password, found {_without_secrets(base)!r}"
                )
            key = key_for(parts.scheme, parts.hostname or "", provider.key_header)
            return cls(base, model, key, provider)
        parts = parts_of_address(target)
        if parts is None:
            raise ModelNotFound(
                f"model 'openai:{_without_secrets(target)}': expected openai:URL#MODEL with an "
                "http or https address, such as openai:http://127.0.0.1:8080#smollm2"
            )
        if parts.username or parts.password or parts.query:
            raise ModelNotFound(
                f"model 'openai:{_without_secrets(target)}': an address with a user, password or "
                f"query would end up in files; put the key into the environment as {KEY_VARIABLE}"
            )
        path = parts.path.rstrip("/")
        if path.rsplit("/", 1)[-1] not in ("v1", "v2", "v3"):
            path += "/v1"
        base = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        return cls(
            base, parts.fragment or None, key_for(parts.scheme, parts.hostname or "")
        )

    @property
    def root(self) -> str:
        return self.base.rsplit("/", 1)[0]


def key_for(scheme: str, host: str, header: str = "") -> Key | None:
    """The key that the environment has for a server: the one for any, or a provider's, which no
    other host sees; in a header of its own, or as a bearer token. None if there is none, or if it
    would travel in the clear to another machine.

    Only addresses that the user typed come here: a file cannot have one asked (`Allowed`).
    """
    if scheme != "https" and not is_loopback(host):
        return None
    own = (one.key_variable for one in PROVIDERS.values() if one.owns(host))
    for name in (KEY_VARIABLE, *own):
        value = (os.environ.get(name) or "").strip()
        if value and not (value.isascii() and value.isprintable()):
            raise SettingsError(
                f"{name}: expected letters, digits and signs of ASCII, found others; copy the key "
                "again"
            )
        if value:
            bearer = {"Authorization": f"Bearer {value}"}
            return Key(value, headers={header: value} if header else bearer)
    return None


def _without_secrets(target: str) -> str:
    """The address without user, password and query.

    >>> _without_secrets("https://me:secret@host/v1?key=secret#m")
    'https://…@host/v1?…#m'
    """
    try:
        parts = urlsplit(target)
    except ValueError:
        return "…"
    netloc = (
        "…@" + parts.netloc.rpartition("@")[2] if "@" in parts.netloc else parts.netloc
    )
    query = "…" if parts.query else ""
    return urlunsplit((parts.scheme, netloc, parts.path, query, parts.fragment))


T = TypeVar("T")
# --- Requests -------------------------------------------------------------------------------------


Body = Mapping[str, Any]

#: Attempts at one request before giving up; a server that answers other requests may fail one
#: this often by bad luck.
_ATTEMPTS = 5
_MOST_ATTEMPTS = 50
#: Until a server has answered once, it is more likely down than busy.
_FIRST_ATTEMPTS = 4
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 20.0
#: A longer Retry-After is a mistake.
_LONGEST_PAUSE = 600.0
#: Tokens of one request: a count beyond any context window is not one.
_MOST_TOKENS = 100_000_000
#: Bytes of a reply; the log-probabilities of a long prompt are some hundred kilobytes.
MOST_REPLY = 32 << 20
#: Bytes of a refusal that are read.
_MOST_SAID = 8192
#: What an error code or type looks like (context_length_exceeded, BadRequestError); anything else
#: may be a sentence, or the prompt in disguise.
_CODE = re.compile(r"(?=.{1,40}\Z)[A-Z]?[a-z]+(?:[A-Z][a-z]+|[_.-][a-z0-9]+|[0-9]+)*")


#: What the name of a model looks like.
_NAME = re.compile(r"[\w./:@+-]{1,80}")
#: What httpx's errors are called here.
_TRANSPORT = {
    "ConnectError": "no_connection",
    "RemoteProtocolError": "broken_off",
    "ApplicationRaised": "raised",
}
#: Statuses of a server that wants a key, or another one.
NO_ACCESS = (401, 403)


class BudgetReached(ModelError):
    """The budget of requests or tokens is spent; scores so far are stored."""


class RequestRefused(ModelError):
    """The server refused (4xx, 501): retrying would not help. `said` is what it answered, to be
    read by the chat endpoint and never shown."""

    def __init__(self, message: str, status: int, said: str = "") -> None:
        super().__init__(message)
        self.status, self.said = status, said


class Unsupported(ModelError):
    """The server does not offer what an exact score needs: its chat endpoint may serve instead."""


class WrongReply(Exception):
    """An invalid reply; raised by the readers of replies, and retried."""


class Missing(WrongReply):
    """A valid reply that lacks what was requested: the server may not support it."""


class _Failed(Exception):
    """A temporary failure of one attempt; `pause` is the server's Retry-After."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.pause = reason, pause


@dataclass(frozen=True)
class TokenCount:
    """Tokens read and written, and how many of them are our own count."""

    read: int
    written: int
    estimated: int = 0


class _Unbilled(_Failed):
    """A failure of a request that did not reach the server, or came too early."""


#: What usage always has.
_ALWAYS = ("requests", "retried", "tokens", "tokens_read", "tokens_written")


def _usage(tokens: TokenCount) -> dict[str, int]:
    named = {"tokens_read": tokens.read, "tokens_written": tokens.written}
    named["tokens"] = tokens.read + tokens.written
    return named | ({"tokens_estimated": tokens.estimated} if tokens.estimated else {})


#: Bytes of a token in common text; hardly any text has longer ones on average.
_BYTES, _MOST_BYTES = 3.6, 8.0
#: Names of the most tokens of a reply.
LENGTHS = ("max_tokens", "max_completion_tokens")
#: Where texts are that count, in requests and in replies.
_TEXTS = (
    "messages",
    "system",
    "prompt",
    "content",
    "text",
    "reasoning",
    "reasoning_content",
)


def most_tokens(body: Any) -> TokenCount:
    """What a request may cost at most, by our own count; nothing where no text is written."""
    if not isinstance(body, dict):
        return TokenCount(0, 0)
    lengths = [n for name in LENGTHS if isinstance(n := body.get(name), int)]
    written = max(lengths, default=0) * int(body.get("n", 1))
    read = math.ceil(_size(body) / _BYTES) if written else 0
    return TokenCount(read, written, read + written)


def tokens_of(body: Any, reply: Any) -> TokenCount:
    """Tokens read and written, hidden ones too, as the server counts them; by our own count where
    it does not.

    >>> tokens_of({"prompt": "How?"}, {"usage": {"input_tokens": 5, "output_tokens": 2}})
    TokenCount(read=5, written=2, estimated=0)
    >>> asked = {"prompt": "a" * 360, "max_tokens": 50}
    >>> tokens_of(asked, {"usage": {"prompt_tokens": -3}, "text": "b" * 36})
    TokenCount(read=100, written=10, estimated=110)
    """
    usage = reply.get("usage") if isinstance(reply, dict) else None

    def number(*names: str) -> int:
        values = (usage.get(name) for name in names) if isinstance(usage, dict) else ()
        return next((v for v in values if type(v) is int and 0 <= v <= _MOST_TOKENS), 0)

    read = number("prompt_tokens", "input_tokens")
    total = number("total_tokens") or read + number(
        "completion_tokens", "output_tokens"
    )
    if not most_tokens(body).written:
        return TokenCount(read, max(total - read, 0))
    counts, estimated = [], 0
    for told, size in ((read, _size(body)), (max(total - read, 0), _size(reply))):
        counts.append(told if told >= size / _MOST_BYTES else math.ceil(size / _BYTES))
        estimated += counts[-1] if counts[-1] != told else 0
    return TokenCount(counts[0], counts[1], estimated)


def _size(said: Any, *, counts: bool = False) -> float:
    """Bytes of the texts in a request or a reply; a number in place of a text is a token."""
    if isinstance(said, dict):
        named = ((k, v) for k, v in said.items() if "logprobs" not in k)
        return sum(_size(v, counts=counts or k in _TEXTS) for k, v in named)
    if isinstance(said, list):
        return sum(_size(value, counts=counts) for value in said)
    if isinstance(said, str):
        return len(said.encode("utf-8", "replace")) if counts else 0.0
    return _BYTES if counts and type(said) is int else 0.0


#: Most requests at a time to a server that is not a hosted one.
_OWN = 8


class Client:
    """One server, called from synchronous code; a separate thread keeps the connections.

    It counts the requests and tokens of what errors call `place`, and stops at the budget. A
    server's count is not believed where there is none, or less than what was sent and received
    needs at least; and what reached it may be billed, whatever came back.
    """

    def __init__(
        self,
        address: Address,
        options: ServerOptions,
        price: Price | None = None,
        *,
        transport: Any = None,
        parse: Callable[[bytes], Any] = parse_json,
    ) -> None:
        require("asking a server", "httpx")
        import httpx

        self.place, self.options, self.price = f"server {address.base}", options, price
        self.used: Counter[str] = Counter()
        #: what earlier attempts have paid, the dearest request, and what may come of those that
        #: are on their way
        self.paid_before = self._dearest = 0.0
        self.flying: list[TokenCount] = []
        self._landed = asyncio.Event()
        self.halted = False
        #: called before a request is sent: a kill may come
        self.note: Callable[[], None] = lambda: None
        self.address, self._httpx, self._parse = address, httpx, parse
        self._last_answer: float | None = None
        #: who answered, by address
        self._models: dict[str, str] = {}
        #: While probing what the server supports, an incomplete reply counts as an answer.
        self.probing = False
        self._loop = EventLoop()
        # A compressed reply may expand a thousandfold.
        headers = {"Accept-Encoding": "identity"}
        provider = address.provider
        if provider is not None:
            headers |= provider.headers
        if address.key:
            headers |= address.key.headers
        # A local server has few threads and sets no limit on the rate.
        hosted = provider is not None or transport is not None
        most = options.concurrency if hosted else min(options.concurrency, _OWN)
        self._http = httpx.AsyncClient(
            timeout=options.timeout,
            headers=headers,
            limits=httpx.Limits(max_connections=most, max_keepalive_connections=most),
            verify=httpx.create_ssl_context(),
            transport=transport,
            # A proxy that the environment names sees no request to this machine, nor its key.
            trust_env=not is_loopback(urlsplit(address.base).hostname or ""),
        )
        self._pace = Pace(most, steady=not hosted)
        self.close = weakref.finalize(self, self._loop.stop, self._http.aclose)

    def halt(self) -> None:
        """Send nothing more; what is on its way arrives."""
        self.halted = True

    def usage(self) -> dict[str, int]:
        """Requests sent, retries of them, and tokens, with what may come of those on their way."""
        used = Counter(dict.fromkeys(_ALWAYS, 0))
        for counted in (self.used, *map(_usage, self.flying)):
            used.update(counted)
        return dict(used)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run asynchronous work from synchronous code."""
        return self._loop.run(work)

    async def send(
        self, method: str, url: str, body: Body | None, read: Callable[[Any], T]
    ) -> T:
        """Send until `read` accepts a reply."""
        begun, tries = time.monotonic(), 0
        while True:
            tries += 1
            try:
                return await self._once(method, url, body, read)
            except _Failed as failure:
                if self._is_hopeless(failure, tries, begun):
                    raise ModelError(
                        f"{self.place}: no usable answer in {tries} attempts; the last: "
                        f"{failure.reason}. Scores so far are kept; rerun the same command to "
                        "resume"
                    ) from None
                self.used.update(("retried", f"retried_{failure.reason}"))
                wait = self._wait(failure, tries)
            await asyncio.sleep(wait)

    async def _once(
        self, method: str, url: str, body: Body | None, read: Callable[[Any], T]
    ) -> T:
        billed = most = most_tokens(body)  # whatever comes back, unless we know better
        async with self._pace.turn() as begun:
            while not self._spend(most):
                self._landed.clear()
                await self._landed.wait()
            try:
                reply = await self._reply(method, url, body, begun)
                billed = tokens_of(body, reply)
                accepted = self._accepted(url, reply, read)
                self._pace.answered(begun)
                return accepted
            except (RequestRefused, ModelNotFound, _Unbilled):
                billed = TokenCount(0, 0)
                raise
            finally:
                self.flying.remove(most)
                self._dearest = max(self._dearest, self._cost(billed))
                self.used.update(_usage(billed))
                self._landed.set()

    def _cost(self, tokens: TokenCount) -> float:
        return 0.0 if self.price is None else self.price.of(tokens.read, tokens.written)

    def _spend(self, most: TokenCount) -> bool:
        """Count a request of at most so many tokens, if one is left; False while those on their way
        may use up the rest."""
        if self.halted:
            raise ModelError(f"{self.place}: stopped; rerun the same command to resume")
        for waited_for in ([], self.flying):
            if over := self._over(most, waited_for):
                if waited_for:
                    return False
                raise BudgetReached(f"{self.place}: stopped at {over}")
        self.used["requests"] += 1
        self.flying.append(most)
        self.note()
        return True

    def _over(self, most: TokenCount, flying: list[TokenCount]) -> str | None:
        """The limit that one more request could exceed beside those that are flying."""
        used = TokenCount(self.used["tokens_read"], self.used["tokens_written"])
        paid, budget = self.paid_before + self._cost(used), self.options.budget
        may_cost = sum(
            max(self._cost(tokens), self._dearest) for tokens in (most, *flying)
        )
        if budget is not None and paid + may_cost > budget:
            about = "about " if self.used["tokens_estimated"] else ""
            return (
                f"{about}{paid:.2f} of the budget of {budget:g}; what was paid for is kept: rerun "
                "the same command with a larger --budget to resume"
            )
        for name in ("requests", "tokens"):
            limit = getattr(self.options, f"max_{name}")
            if limit is not None and self.used[name] >= limit:
                return (
                    f"the budget of {limit} {name}; scores so far are kept: rerun the same "
                    "command to resume with a new budget"
                )
        return None

    async def _reply(
        self, method: str, url: str, body: Body | None, begun: float
    ) -> Any:
        """What the server says."""
        try:
            async with (
                asyncio.timeout(self.options.timeout),  # httpx limits each chunk only
                self._http.stream(method, url, json=body) as response,
            ):
                content = await _whole(response)
        except (self._httpx.TimeoutException, TimeoutError):
            raise _Failed("timeout") from None
        except self._httpx.TransportError as error:
            reason = _TRANSPORT.get(type(error).__name__, "connection")
            raise (_Unbilled if reason == "no_connection" else _Failed)(
                reason
            ) from None
        status = response.status_code
        if status in (408, 429) or (status >= 500 and status != 501):
            if b"insufficient_quota" in content:  # no pause will bring credit
                raise self._refusal(status, content, body)
            pause = retry_after(response.headers.get("retry-after"))
            if status in (429, 529) or pause is not None:  # others are no limit
                patient = pause is not None and pause <= self.options.patience
                self._pace.refused(begun, pause if patient else None)
            raise (_Unbilled if status in (429, 529) else _Failed)(
                f"status_{status}", pause
            )
        if status != 200:
            raise self._refusal(status, content, body)
        try:
            reply = self._parse(content)
        except ValueError:
            raise _Failed("not_json") from None
        return self._hidden(reply)

    def _hidden(self, said: Any) -> Any:
        return self.address.key.hidden(said) if self.address.key else said

    def _accepted(self, url: str, reply: Any, read: Callable[[Any], T]) -> T:
        """What is read in a reply."""
        try:
            value = read(reply)
        except Missing:
            if self.probing:
                raise
            raise _Failed("wrong_reply") from None
        except Exception:  # any failure of a reader means that the reply is invalid
            raise _Failed("wrong_reply") from None
        self._check_same_model(url, reply)
        self._last_answer = time.monotonic()
        return value

    def _check_same_model(self, url: str, reply: Any) -> None:
        """Refuse an answer of another model than the first of this address: a run is of one."""
        name = reply.get("model") if isinstance(reply, dict) else None
        if not isinstance(name, str):
            return
        first = self._models.setdefault(url, name)
        if name != first:
            both = (n if _NAME.fullmatch(n) else "another" for n in (first, name))
            raise ModelError(
                f"{self.place}: expected answers of one model, found {' and then '.join(both)}. "
                "Scores so far are kept; ask for one by its full name, in another --out"
            )

    def _wait(self, failure: _Failed, tries: int) -> float:
        """Seconds until the next attempt."""
        if failure.pause is not None:
            return failure.pause * random.uniform(1.0, 1.1)  # noqa: S311  (no secret)
        longest = min(_LONGEST_WAIT, self.options.patience / _ATTEMPTS)
        backoff = min(longest, _FIRST_WAIT * 2.0 ** min(tries - 1, 20))
        return backoff * random.uniform(0.5, 1.5)  # noqa: S311

    def _is_hopeless(self, failure: _Failed, tries: int, begun: float) -> bool:
        """Whether an attempt more would be one too many, of a request that began then."""
        if (failure.pause or 0.0) > self.options.patience or tries >= _MOST_ATTEMPTS:
            return True
        if self._last_answer is None and tries >= _FIRST_ATTEMPTS:
            return True
        silence = time.monotonic() - max(self._last_answer or 0.0, begun)
        enough = tries >= _ATTEMPTS or failure.reason == "timeout"
        return bool(enough and silence > self.options.patience)

    def _refusal(self, status: int, content: bytes, body: Body | None) -> ModelError:
        code, where = self._hidden(_code_of(content)), self.place
        said = content[:_MOST_SAID].decode("utf-8", "replace")
        if status in NO_ACCESS:
            key = "with the key given" if self.address.key else "without a key"
            own = self.address.provider
            names = (
                KEY_VARIABLE if own is None else f"{own.key_variable} or {KEY_VARIABLE}"
            )
            then = f"set {names} in the environment"
            if self.address.key is None and self.address.base.startswith("http:"):
                then += "; to another machine it is sent over https only"
            return RequestRefused(
                f"{where}: refused {key} (status {status}): {then}", status, said
            )
        if status == 404 and body is not None and "model" in body:
            return ModelNotFound(f"{where}: has no such model or endpoint (404){code}")
        return RequestRefused(
            f"{where}: answered with status {status}{code}", status, said
        )


async def _whole(response: Any) -> bytes:
    """The raw body of a reply."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _Failed("compressed_reply")
    data = bytearray()
    async for piece in response.aiter_raw():
        data += piece
        if len(data) > MOST_REPLY:
            raise _Failed("reply_too_large")
    return bytes(data)


def _code_of(content: bytes) -> str:
    """The server's error code, if it is a single word and not a sentence.

    >>> _code_of(b'{"error": {"message": "In Paris the nurse said", "code": "bad_request"}}')
    ': bad_request'
    """
    try:
        plain = parse_json(content)
        error = (plain[0] if isinstance(plain, list) else plain)["error"]
        codes = (error.get("code"), error.get("type"))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return ""
    found = (code for code in codes if isinstance(code, str) and _CODE.fullmatch(code))
    return next((f": {code}" for code in found), "")


def retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header, a number or a date; None for one of years, a mistake.

    >>> [retry_after(said) for said in ("2", "-5", "nan")]
    [2.0, 0.0, 0.0]
    >>> {retry_after(said) for said in ("soon", None, "1e9", "Fri, 31 Dec 9999 23:59:59 GMT")}
    {None}
    """
    seconds = math.inf
    try:
        seconds = float(value or "")
    except ValueError:
        with contextlib.suppress(ValueError, OverflowError):
            if when := email.utils.parsedate_tz(value):
                seconds = email.utils.mktime_tz(when) - time.time()
    return None if seconds > _LONGEST_PAUSE else max(0.0, seconds)


def served_model(client: Client, name: str) -> dict[str, Any]:
    """The server's description of the model requested, or of its only one."""
    wanted = client.address.model
    if client.address.provider is not None and wanted:
        return {"id": wanted}  # a provider's list lacks its short names
    try:
        url = f"{client.address.base}/models"
        read = client.send(
            "GET", url, None, lambda reply: [*map(_entry, reply["data"])]
        )
        served = client.run(read)
    except RequestRefused as error:
        if error.status not in (404, 405, 501) or wanted is None:
            raise
        return {"id": wanted}
    if wanted is None and len(served) == 1:
        return served[0]
    for entry in served:
        if wanted is not None and wanted in (entry["id"], Path(entry["id"]).name):
            return entry
    if (
        wanted is not None
        and len(served) == 1
        and served[0].get("owned_by") == "llamacpp"
    ):
        return served[0]  # llama.cpp serves one model under any name
    known = ", ".join(Path(e["id"]).name for e in served[:8]) or "none"
    raise ModelNotFound(
        f"model {name!r}: the server has {known}; write openai:URL#MODEL with one of them"
    )


def _entry(plain: Any) -> dict[str, Any]:
    """A model as a server lists it; fields that should be numbers but are not are left out."""
    entry = dict(plain, id=str(plain["id"]))
    meta = entry.get("meta")
    entry["meta"] = meta if isinstance(meta, dict) else None
    meta = entry["meta"] or {}
    for holder, name in ((entry, "max_model_len"), (meta, "n_ctx"), (meta, "n_params")):
        if name in holder and not (type(holder[name]) is int and holder[name] > 0):
            holder[name] = None
    return entry


def digest(served: dict[str, Any]) -> str:
    """A digest of the server's description of the model, as far as it stays the same from one
    start to the next: all that we can know about the weights."""
    stable = {
        k: served.get(k)
        for k in ("owned_by", "root", "meta", "max_model_len", "parent")
    }
    stable["id"] = Path(served["id"]).name
    text = json.dumps(stable, sort_keys=True)
    return f"server-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
