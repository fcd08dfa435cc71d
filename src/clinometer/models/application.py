"""Applications asked like models: a function of yours, or an address that a file describes.

`app:package.module:function` is called with the messages of a prompt (or the record of a case) and
returns a text. `http:FILE.toml` is sent a request made from a template. Both are asked by the
client of servers, a function through a transport that calls it: retries, timeouts, limits and what
a kill costs are those of any server.

A function runs in threads of its own: whatever it raises, prints or waits for stays there.

The file describes an address and never code. Secrets stand in it by the names of environment
variables, those that begin with CLINOMETER_APP_ or that the user named; they are sent in headers,
and are in no file, error or log.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import re
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, chdir, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clinometer.errors import ModelError, ModelNotFound, SettingsError, first_problem
from clinometer.extras import require
from clinometer.models.asking import AskingSampler
from clinometer.models.catalog.spec import APPLICATION, ModelSource, ModelSpec
from clinometer.models.catalog.weights import revision_of
from clinometer.models.client.address import Address, Key
from clinometer.models.client.client import Client
from clinometer.models.client.failures import NO_ACCESS, RequestRefused
from clinometer.models.event_loop import EventLoop
from clinometer.models.options import LoadOptions, SampleOptions
from clinometer.models.protocol import ModelInfo
from clinometer.models.providers import is_loopback, parts_of_address
from clinometer.storage.untrusted import (
    MOST_RECORD,
    Allowed,
    parse_json,
    parse_toml,
    read_text,
)
from clinometer.topics.conversation import messages_of, record_of

_VARIABLE = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")
_PLACE = re.compile(r"\{(\w+)\}")
#: Of httpx.
_LONGEST_URL = 65_536
#: Headers that carry a secret: their values name a variable.
_SECRET = re.compile(
    r"(?i)(proxy-)?authorization|cookie|.*(api-?key|token|secret|password).*"
)
_HEADER = re.compile(
    r"(?i)(?!(content-length|transfer-encoding)$)[\w!#$%&'*+.^`|~-]+", re.ASCII
)
#: How the variables begin that any file may name.
_OWN_VARIABLE = "CLINOMETER_APP_"


def open_application(spec: ModelSpec, *, load: LoadOptions) -> ApplicationSampler:
    """`app:package.module:function` or `http:FILE.toml`."""
    if load.sampled is None:
        raise SettingsError(
            f"model {spec.name!r}: an application writes replies and has no probabilities; add "
            "--replies 5"
        )
    require("asking an application", "httpx")
    if spec.place is ModelSource.HTTP:
        return _open_address(spec, load, load.sampled)
    return _open_function(spec, load, load.sampled)


class ApplicationSampler(AskingSampler):
    """Asks an application; what it does with temperature, length and seed is its own affair."""

    def __init__(
        self,
        spec: ModelSpec,
        load: LoadOptions,
        options: SampleOptions,
        client: Client,
        what: str,
        request: Callable[[str], tuple[str, str, Any]],
        read: Callable[[Any], str],
        raised: Callable[[], str] = str,
    ) -> None:
        client.place = f"application {spec.name}"
        revision = revision_of(spec, load) or "as called"
        info = ModelInfo(
            spec.name, "server", revision, dtype="served", device=APPLICATION
        )
        super().__init__(client, info, options)
        asked = f"{options.replies} replies a prompt, asked in random order"
        self.info = replace(self.info, notes=(asked, what))
        self._request, self._read, self._raised = request, read, raised
        #: what is put back when it is closed
        self.around = ExitStack()

    def close(self) -> None:
        super().close()
        self.around.close()

    async def ask(self, text: str, number: int, n: int) -> list[str]:
        method, url, body = self._request(text)
        try:
            return [await self.client.send(method, url, body, self._read)]
        except RequestRefused as error:
            if error.status not in NO_ACCESS:
                raise
            raise ModelError(
                f"{self.client.place}: refused the request (status {error.status}); check the "
                "environment variables that its [headers] name"
            ) from None
        except ModelError as error:
            if type(error) is ModelError and (why := self._raised()):
                raise ModelError(f"{error}; {why}") from None
            raise


def _as_text(reply: Any) -> str:
    """What an application says, as the text that a readout reads."""
    if reply is None:
        return ""
    return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)


# --- A function -----------------------------------------------------------------------------------


def _open_function(
    spec: ModelSpec, load: LoadOptions, options: SampleOptions
) -> ApplicationSampler:
    with ExitStack() as around:
        # It may print and change folders, when it is imported and later; our output and our files
        # are where they were.
        around.enter_context(redirect_stdout(sys.stderr))
        around.enter_context(chdir(Path.cwd()))
        loop = EventLoop()
        around.callback(loop.stop)
        transport = _calling(_function(spec), loop)
        client = Client(
            Address("http://application", None), load.server, transport=transport
        )

        def request(text: str) -> tuple[str, str, Any]:
            record = record_of(text)
            return (
                "POST",
                client.address.base,
                messages_of(text) if record is None else record,
            )

        what = "a function, called in this process"
        sampler = ApplicationSampler(
            spec, load, options, client, what, request, _as_text, transport.why
        )
        sampler.around = around.pop_all()
        return sampler


def _function(spec: ModelSpec) -> Callable[[Any], Any]:
    """The function that was named on the command line; a module of the current folder too."""
    module, _, name = spec.target.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        function: Callable[[Any], Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ModelNotFound(
            f"model {spec.name!r}: expected app:package.module:function; {error}; run the command "
            "in the folder of the module, or put it on PYTHONPATH"
        ) from error
    except (
        BaseException
    ) as error:  # importing runs the user's code, which may also exit
        raise ModelNotFound(
            f"model {spec.name!r}: importing {module} raised {_where(error)}; correct the module"
        ) from error
    if not callable(function):
        raise ModelNotFound(f"model {spec.name!r}: expected a function, found {name!r}")
    return function


def _calling(function: Callable[[Any], Any], loop: EventLoop) -> Any:
    """A transport of httpx that calls the function instead of an address."""
    import httpx

    class ApplicationRaised(httpx.TransportError):
        """No sign that the application is busy: it is asked as fast as before."""

    class FunctionTransport(httpx.AsyncBaseTransport):
        error: BaseException | None = None
        given = "a record of fields"

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            asked = json.loads(request.content)
            if isinstance(asked, list):
                self.given = "a list of messages, each with role and content"
            said, self.error = await _called(function, asked, loop)
            if (
                self.error is not None
            ):  # any failure of the application is temporary, or repeats
                raise ApplicationRaised("")
            return httpx.Response(
                200, stream=httpx.ByteStream(json.dumps(said).encode())
            )

        def why(self) -> str:
            if self.error is None:
                return ""
            return f"the application raised {_where(self.error)}; it was given {self.given}"

    return FunctionTransport()


#: What a function says, or what it raises, which may be what would end a program.
Outcome = tuple[Any, BaseException | None]


async def _called(
    function: Callable[[Any], Any], asked: Any, its_loop: EventLoop
) -> Outcome:
    """The outcome of a function, as text. It has a thread, which does not keep the program from
    ending; what it awaits runs in a loop of its own, which may stand still."""
    returned: Future[Outcome] = Future()
    returned.set_running_or_notify_cancel()  # a call that was given up still ends

    def call() -> None:
        outcome: Outcome
        try:
            result = function(asked)
            outcome = (
                result if inspect.isawaitable(result) else _as_text(result),
                None,
            )
        except BaseException as error:
            outcome = (None, error)
        returned.set_result(outcome)

    async def awaited(work: Awaitable[Any]) -> Outcome:
        try:
            return _as_text(await work), None
        except BaseException as error:
            return None, error

    threading.Thread(target=call, daemon=True).start()
    result, error = await asyncio.wrap_future(returned)
    if not inspect.isawaitable(result):
        return result, error
    return await asyncio.wrap_future(
        asyncio.run_coroutine_threadsafe(awaited(result), its_loop.loop)
    )


def _where(error: BaseException) -> str:
    """An exception by type and line; its message may repeat a prompt or a secret."""
    frames = traceback.extract_tb(error.__traceback__)
    at = (
        f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
        if frames
        else ""
    )
    return f"{type(error).__name__}{at}"


# --- An address -----------------------------------------------------------------------------------


class HttpFile(BaseModel):
    """How an application is asked over HTTP.

    address  http or https; secrets travel over https only, except to this machine
    method   of the request
    headers  {NAME} is an environment variable
    body     sent as JSON, with {messages}, {prompt} (the last message), {record} or a {field} of
             the record in place; without one, {"messages": …} or the record itself
    reply    where the reply stands in the answer: names and numbers with dots between them; "" for
             all of it
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    address: str
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, str] = {}
    body: Annotated[dict[str, Any], Field(min_length=1)] | None = None
    reply: str = ""

    @classmethod
    def read(cls, path: Path) -> HttpFile:
        """The file; what is wrong with it is one line."""
        text = read_text(
            path, shown=str(path), kind=".toml", error=SettingsError, most=MOST_RECORD
        )
        try:
            return cls.model_validate(parse_toml(text))
        except ValidationError as error:
            problem = first_problem(error, lambda place: cls.model_fields)
            raise SettingsError(f"{path}: {problem}") from None
        except ValueError as error:
            raise SettingsError(f"{path}: expected TOML: {error}") from None

    def key(self, where: str, allowed: Allowed) -> Key:
        """The headers with what the environment has in place of the variables."""
        parts = parts_of_address(self.address)
        if (
            parts is None
            or not self.address.isprintable()
            or len(self.address) > _LONGEST_URL
        ):
            raise SettingsError(
                f"{where}: address: expected http or https, found another address"
            )
        if parts.username or parts.password:
            raise SettingsError(
                f"{where}: address: expected no user and password; put them into [headers] as "
                'Authorization = "Basic {VARIABLE}"'
            )
        safe = parts.scheme == "https" or is_loopback(parts.hostname or "")
        secrets: dict[str, str] = {}
        for name, value in self.headers.items():
            if not _HEADER.fullmatch(name) or not (
                value.isascii() and value.isprintable()
            ):
                raise SettingsError(
                    "headers: expected ASCII signs, and no length or encoding of the body, found "
                    f"{name!r}"
                )
            place, variables = f"{where}: headers.{name}", _VARIABLE.findall(value)
            if variables and not safe:
                raise SettingsError(
                    f"{place}: secrets travel over https only; use an https address"
                )
            if not variables and _SECRET.fullmatch(name):
                raise SettingsError(
                    f"{place}: expected the name of an environment variable in braces, such as "
                    '"Bearer {MY_APP_KEY}", found the value itself; set the variable instead'
                )
            for variable in variables:
                secrets[variable] = _secret(place, allowed, variable)
        headers = {
            name: _VARIABLE.sub(lambda match: secrets[match[1]], value)
            for name, value in self.headers.items()
        }
        return Key(*secrets.values(), headers=headers)

    def filled(self, text: str) -> Any:
        """The body for a prompt."""
        record, values = record_of(text), dict[str, Any]()
        if record is not None:
            values = {**record, "record": record}
        else:
            messages = messages_of(text)
            values = {"messages": messages, "prompt": messages[-1]["content"]}
        if self.body is not None:
            return _filled(self.body, values)
        return {"messages": values["messages"]} if record is None else record


def _open_address(
    spec: ModelSpec, load: LoadOptions, options: SampleOptions
) -> ApplicationSampler:
    file = HttpFile.read(Path(spec.target))
    key = file.key(spec.target, load.allowed)
    client = Client(Address(file.address, None, key), load.server, parse=_json_or_text)

    def request(text: str) -> tuple[str, str, Any]:
        return file.method, file.address, file.filled(text)

    def read(answer: Any) -> str:
        for name in file.reply.split(".") if file.reply else ():
            answer = answer[int(name)] if isinstance(answer, list) else answer[name]
        return _as_text(answer)

    what = "an application behind an address"
    return ApplicationSampler(spec, load, options, client, what, request, read)


def _secret(where: str, allowed: Allowed, name: str) -> str:
    """What the environment has of a variable that a file may name."""
    if not name.startswith(_OWN_VARIABLE) and name not in allowed.variables:
        raise SettingsError(
            f"{where}: {name} may be a key for someone else; call it {_OWN_VARIABLE}{name}, or add "
            f"--allow env:{name} if this address may see it"
        )
    value = os.environ.get(name, "").strip()
    if not value:
        raise SettingsError(
            f"{where}: the environment has no {name}; set it and run again"
        )
    if not (value.isascii() and value.isprintable()):
        raise SettingsError(
            f"{where}: expected ASCII signs in {name}; copy the value again"
        )
    return value


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with every {name} in place; alone in a text it is the value itself."""
    if isinstance(template, dict):
        return {key: _filled(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, values) for value in template]
    if not isinstance(template, str):  # TOML has dates, JSON has none
        return template if isinstance(template, int | float) else str(template)
    if (whole := _PLACE.fullmatch(template)) and whole[1] in values:
        return values[whole[1]]

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise SettingsError(
                f"body: expected {', '.join(f'{{{name}}}' for name in values)}; found {match[0]}; "
                "messages have {messages} and {prompt}, records {record} and their fields"
            )
        return _as_text(values[match[1]])

    return _PLACE.sub(value, template)


def _json_or_text(content: bytes) -> Any:
    try:
        return parse_json(content)
    except ValueError:
        return content.decode()
