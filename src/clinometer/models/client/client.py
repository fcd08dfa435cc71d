"""Requests to one server: sent as fast as it allows, with retries, a budget, and usage counts.

Nothing here logs. Errors name the server, the status and the server's error code, never its
messages: a server may repeat key or prompt in any form. What it says is read for the parameter that
it refuses (`models/server/refusals.py`), and then dropped. Replies are limited in size, depth and
total time, and are never decompressed.
"""

from __future__ import annotations

import asyncio
import re
import time
import weakref
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from clinometer.errors import ModelError, ModelNotFound
from clinometer.extras import require
from clinometer.models.client.address import KEY_VARIABLE, Address
from clinometer.models.client.failures import (
    NO_ACCESS,
    BudgetReached,
    FailedAttempt,
    Missing,
    RequestRefused,
    UnbilledAttempt,
)
from clinometer.models.client.pace import Pace
from clinometer.models.client.response import error_code, read_body
from clinometer.models.client.retries import is_hopeless, retry_after, seconds_to_wait
from clinometer.models.client.usage import (
    NO_TOKENS,
    Meter,
    TokenCount,
    most_tokens,
    tokens_of,
)
from clinometer.models.event_loop import EventLoop
from clinometer.models.options import ServerOptions
from clinometer.models.prices import Price
from clinometer.models.providers import is_loopback
from clinometer.storage.untrusted import parse_json

T = TypeVar("T")
Body = Mapping[str, Any]

_LOCAL_REQUESTS = 8
"""Most requests at a time to a server that is not a hosted one."""

_MOST_REFUSAL = 8192
"""Bytes of a refusal that are read."""

_MODEL_NAME = re.compile(r"[\w./:@+-]{1,80}")
"""What the name of a model looks like."""

_LOOK_AGAIN_S = 1.0
"""Seconds until a request that waits for the budget looks again: one of the client beside it may
have ended."""

_TOO_EARLY = (429, 529)
"""Statuses of a server that wants requests later; such a request is not billed."""

_TRANSPORT_ERRORS = {
    "ConnectError": "no_connection",
    "RemoteProtocolError": "broken_off",
    "ApplicationRaised": "raised",
}
"""What httpx's errors are called here."""


class Client:
    """One server, called from synchronous code; a separate thread keeps the connections.

    It counts the requests and tokens of what errors call `place`, and stops at the budget, which is
    one with that of the client `beside` it.
    """

    def __init__(
        self,
        address: Address,
        options: ServerOptions,
        price: Price | None = None,
        *,
        beside: Client | None = None,
        transport: Any = None,
        parse: Callable[[bytes], Any] = parse_json,
    ) -> None:
        require("asking a server", "httpx")
        import httpx

        self.address = address
        self.options = options
        self.place = f"server {address.base}"
        self.meter: Meter = Meter(
            options, price, beside=None if beside is None else beside.meter
        )
        self.halted = False
        self.before_request: Callable[[], None] = lambda: None
        """Called before a request is sent: a kill may come."""
        self.probing = False
        """While probing what the server supports, an incomplete reply counts as an answer."""
        self._httpx = httpx
        self._parse = parse
        self._request_ended = asyncio.Event()
        self._last_answer: float | None = None
        self._models: dict[str, str] = {}
        """The model that answered first, by address."""
        self._event_loop = EventLoop()
        # A local server has few threads and sets no limit on the rate.
        hosted = address.provider is not None or transport is not None
        connections = options.concurrency
        if not hosted:
            connections = min(connections, _LOCAL_REQUESTS)
        self._pace = Pace(connections, steady=not hosted)
        self._http = httpx.AsyncClient(
            timeout=options.timeout,
            headers=_headers(address),
            limits=httpx.Limits(
                max_connections=connections, max_keepalive_connections=connections
            ),
            verify=httpx.create_ssl_context(),
            transport=transport,
            # A proxy that the environment names sees no request to this machine, nor its key.
            trust_env=not is_loopback(urlsplit(address.base).hostname or ""),
        )
        self.close = weakref.finalize(self, self._event_loop.stop, self._http.aclose)

    def halt(self) -> None:
        """Send nothing more; what is on its way arrives."""
        self.halted = True

    def usage(self) -> dict[str, int]:
        """Return requests, retries of them, and tokens, with what may come of those in flight."""
        return self.meter.usage()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run asynchronous work from synchronous code."""
        return self._event_loop.run(work)

    async def send(
        self, method: str, url: str, body: Body | None, read: Callable[[Any], T]
    ) -> T:
        """Send until `read` accepts a reply; return what it reads."""
        start = time.monotonic()
        attempts = 0
        while True:
            attempts += 1
            try:
                return await self._attempt(method, url, body, read)
            except FailedAttempt as failure:
                hopeless = is_hopeless(
                    failure,
                    attempts=attempts,
                    start=start,
                    last_answer=self._last_answer,
                    patience=self.options.patience,
                )
                if hopeless:
                    raise ModelError(
                        f"{self.place}: no usable answer in {attempts} attempts; the last: "
                        f"{failure.reason}. Scores so far are kept; rerun the same command to "
                        "resume"
                    ) from None
                self.meter.retried(failure.reason)
                wait = seconds_to_wait(failure, attempts, self.options.patience)
            await asyncio.sleep(wait)

    async def _attempt(
        self, method: str, url: str, body: Body | None, read: Callable[[Any], T]
    ) -> T:
        """Send once, when pace and budget allow it; return what `read` reads in the reply."""
        most = most_tokens(body)
        billed = most  # whatever comes back, unless we know better
        async with self._pace.turn() as start:
            while not self._spend(most):
                self._request_ended.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_AGAIN_S):
                        await self._request_ended.wait()
            try:
                reply = await self._reply(method, url, body, start)
                billed = tokens_of(body, reply)
                value = self._accepted(url, reply, read)
                self._pace.answered(start)
                return value
            except (RequestRefused, ModelNotFound, UnbilledAttempt):
                billed = NO_TOKENS
                raise
            finally:
                self.meter.end(most, billed)
                self._request_ended.set()

    def _spend(self, most: TokenCount) -> bool:
        """Count a request of at most so many tokens, if the budget has room for it.

        False while those in flight may use up the budget: the request may be sent when they have
        cost less. An error where the budget is spent already.
        """
        if self.halted:
            raise ModelError(f"{self.place}: stopped; rerun the same command to resume")
        with self.meter.turn:
            limit = self.meter.limit_reached(most, with_in_flight=False)
            if limit is not None:
                raise BudgetReached(f"{self.place}: stopped at {limit}")
            if self.meter.limit_reached(most, with_in_flight=True) is not None:
                return False
            self.meter.begin(most)
        self.before_request()
        return True

    async def _reply(
        self, method: str, url: str, body: Body | None, start: float
    ) -> Any:
        """Return what the server says to a request that began at `start`."""
        try:
            async with (
                asyncio.timeout(self.options.timeout),  # httpx limits each chunk only
                self._http.stream(method, url, json=body) as response,
            ):
                content = await read_body(response)
        except (self._httpx.TimeoutException, TimeoutError):
            raise FailedAttempt("timeout") from None
        except self._httpx.TransportError as error:
            reason = _TRANSPORT_ERRORS.get(type(error).__name__, "connection")
            if reason == "no_connection":
                raise UnbilledAttempt(reason) from None
            raise FailedAttempt(reason) from None
        if response.status_code != 200:
            raise self._failure(response, content, body, start)
        try:
            reply = self._parse(content)
        except ValueError:
            raise FailedAttempt("not_json") from None
        return self._hidden(reply)

    def _failure(
        self, response: Any, content: bytes, body: Body | None, start: float
    ) -> Exception:
        """Return what a status other than 200 means: another attempt later, or a refusal."""
        status = response.status_code
        temporary = status in (408, 429) or (status >= 500 and status != 501)
        out_of_credit = b"insufficient_quota" in content  # which no pause will bring
        if not temporary or out_of_credit:
            return self._refusal(status, content, body)
        pause = retry_after(response.headers.get("retry-after"))
        too_early = status in _TOO_EARLY
        if too_early or pause is not None:  # other failures are no limit
            patient = pause is not None and pause <= self.options.patience
            self._pace.refused(start, pause if patient else None)
        if too_early:
            return UnbilledAttempt(f"status_{status}", pause)
        return FailedAttempt(f"status_{status}", pause)

    def _refusal(self, status: int, content: bytes, body: Body | None) -> ModelError:
        """Return the error for a status that another attempt would bring again."""
        answer = content[:_MOST_REFUSAL].decode("utf-8", "replace")
        if status in NO_ACCESS:
            message = f"{self.place}: refused {self._about_key(status)}"
            return RequestRefused(message, status, answer)
        code = self._hidden(error_code(content))
        if status == 404 and body is not None and "model" in body:
            return ModelNotFound(
                f"{self.place}: has no such model or endpoint (404){code}"
            )
        message = f"{self.place}: answered with status {status}{code}"
        return RequestRefused(message, status, answer)

    def _about_key(self, status: int) -> str:
        """Return the words that say which key was refused and what to do."""
        key = "with the key given" if self.address.key else "without a key"
        variables = KEY_VARIABLE
        if self.address.provider is not None:
            variables = f"{self.address.provider.key_variable} or {KEY_VARIABLE}"
        advice = f"set {variables} in the environment"
        if self.address.key is None and self.address.base.startswith("http:"):
            advice += "; to another machine it is sent over https only"
        return f"{key} (status {status}): {advice}"

    def _hidden(self, reply: Any) -> Any:
        """Return what the server says without the key that it may repeat."""
        if self.address.key is None:
            return reply
        return self.address.key.hidden(reply)

    def _accepted(self, url: str, reply: Any, read: Callable[[Any], T]) -> T:
        """Return what is read in a reply; one that cannot be read is asked for again."""
        try:
            value = read(reply)
        except Missing:
            if self.probing:
                raise
            raise FailedAttempt("wrong_reply") from None
        except Exception:  # any failure of a reader means that the reply is invalid
            raise FailedAttempt("wrong_reply") from None
        self._check_same_model(url, reply)
        self._last_answer = time.monotonic()
        return value

    def _check_same_model(self, url: str, reply: Any) -> None:
        """Refuse an answer of another model than the first of this address: a run is of one."""
        name = reply.get("model") if isinstance(reply, dict) else None
        if not isinstance(name, str):
            return
        first = self._models.setdefault(url, name)
        if name == first:
            return
        raise ModelError(
            f"{self.place}: expected answers of one model, found {_shown_name(first)} and then "
            f"{_shown_name(name)}. Scores so far are kept; ask for one by its full name, in "
            "another --out"
        )


def _headers(address: Address) -> dict[str, str]:
    """Return what every request carries."""
    headers = {"Accept-Encoding": "identity"}  # a compressed reply may be huge
    if address.provider is not None:
        headers |= address.provider.headers
    if address.key is not None:
        headers |= address.key.headers
    return headers


def _shown_name(name: str) -> str:
    """Return the name of a model, or "another" for what may be a sentence."""
    return name if _MODEL_NAME.fullmatch(name) else "another"
