"""A function of the user's, asked like a model.

It runs in threads of its own: whatever it raises, prints or waits for stays there.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast

import httpx

from clinometer.errors import ModelNotFound
from clinometer.models.application.sampler import (
    Application,
    ApplicationRequest,
    as_text,
)
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.client.address import Address
from clinometer.models.client.client import Client
from clinometer.models.event_loop import EventLoop
from clinometer.models.options import LoadOptions
from clinometer.topics.conversation import messages_of, record_of

Function = Callable[[Any], Any]

_ADDRESS = "http://application"
"""The address of requests that no network sees."""


def open_function(spec: ModelSpec, load: LoadOptions) -> Application:
    """Import the function that was named on the command line, to be called in this process."""
    with ExitStack() as around:
        # It may print, close what it prints to, and change folders, when it is imported and later;
        # our output and our files are where they were.
        stderr = cast("TextIO", Uncloseable(sys.stderr))
        around.enter_context(redirect_stdout(stderr))
        around.enter_context(redirect_stderr(stderr))
        around.enter_context(chdir(Path.cwd()))
        event_loop = EventLoop()
        around.callback(event_loop.stop)
        transport = FunctionTransport(_function(spec), event_loop)
        client = Client(Address(_ADDRESS, None), load.server, transport=transport)

        def request(text: str) -> ApplicationRequest:
            record = record_of(text)
            content = messages_of(text) if record is None else record
            return ApplicationRequest("POST", client.address.base, content)

        return Application(
            "a function, called in this process",
            client,
            request,
            as_text,
            transport.why,
            around.pop_all(),
        )


class Uncloseable:
    """A stream that an application may write to and cannot close, because it is ours."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def close(self) -> None:
        """Do nothing: the stream is used after the application."""


def _function(spec: ModelSpec) -> Function:
    """Return the function that was named on the command line.

    Its module may be one of the current folder too.
    """
    module, _, name = spec.target.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        function: Function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ModelNotFound(
            f"model {spec.name!r}: expected app:package.module:function; {error}; run the command "
            "in the folder of the module, or put it on PYTHONPATH"
        ) from error
    except BaseException as error:
        # Importing runs the user's code, which may also exit.
        raise ModelNotFound(
            f"model {spec.name!r}: importing {module} raised {_type_and_line(error)}; correct the "
            "module"
        ) from error
    if not callable(function):
        raise ModelNotFound(f"model {spec.name!r}: expected a function, found {name!r}")
    return function


class ApplicationRaised(httpx.TransportError):
    """The function raised: no sign that it is busy, and it is asked as fast as before."""


class FunctionTransport(httpx.AsyncBaseTransport):
    """A transport of httpx that calls a function instead of an address."""

    def __init__(self, function: Function, event_loop: EventLoop) -> None:
        self.function = function
        self.event_loop = event_loop
        """The loop of what the function awaits, which may stand still."""
        self.error: BaseException | None = None
        """What the last call raised."""
        self.argument = "a record of fields"
        """What the function is called with, in words."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        content = json.loads(request.content)
        if isinstance(content, list):
            self.argument = "a list of messages, each with role and content"
        result = await _call(self.function, content, self.event_loop)
        self.error = result.error
        if result.error is not None:
            # Any failure of the application is temporary, or repeats.
            raise ApplicationRaised("")
        reply = json.dumps(result.value).encode()
        return httpx.Response(200, stream=httpx.ByteStream(reply))

    def why(self) -> str:
        """Return what the last call raised, in words, or ""."""
        if self.error is None:
            return ""
        raised = _type_and_line(self.error)
        return f"the application raised {raised}; it was given {self.argument}"


@dataclass(frozen=True)
class CallResult:
    """What a function returned, or what it raised, which may be what would end a program."""

    value: Any
    error: BaseException | None = None


async def _call(function: Function, content: Any, event_loop: EventLoop) -> CallResult:
    """Return what a function says, as text.

    It has a thread, which does not keep the program from ending; what it awaits runs in a loop of
    its own.
    """
    future: Future[CallResult] = Future()
    future.set_running_or_notify_cancel()  # a call that was given up still ends

    def call() -> None:
        try:
            value = function(content)
            if not inspect.isawaitable(value):
                value = as_text(value)
            result = CallResult(value)
        except BaseException as error:
            result = CallResult(None, error)
        future.set_result(result)

    threading.Thread(target=call, daemon=True).start()
    result = await asyncio.wrap_future(future)
    if not inspect.isawaitable(result.value):
        return result
    awaiting = asyncio.run_coroutine_threadsafe(_await(result.value), event_loop.loop)
    return await asyncio.wrap_future(awaiting)


async def _await(work: Awaitable[Any]) -> CallResult:
    """Return what asynchronous work says, as text."""
    try:
        return CallResult(as_text(await work))
    except BaseException as error:
        return CallResult(None, error)


def _type_and_line(error: BaseException) -> str:
    """Return an exception by type and line; its message may repeat a prompt or a secret."""
    kind = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return kind
    last = frames[-1]
    return f"{kind} ({Path(last.filename).name}, line {last.lineno})"
