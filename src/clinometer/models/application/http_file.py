"""An application behind an address, which a file describes.

The file describes an address and never code. Secrets stand in it by the names of environment
variables, those that begin with CLINOMETER_APP_ or that the user named; they are sent in headers,
and are in no file, error or log.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clinometer.errors import SettingsError, first_problem
from clinometer.models.application.sampler import (
    Application,
    ApplicationRequest,
    as_text,
)
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.client.address import Address, Key
from clinometer.models.client.client import Client
from clinometer.models.options import LoadOptions
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
"""The name of an environment variable in the value of a header."""

_PLACE = re.compile(r"\{(\w+)\}")
"""A place in the template of a body."""

_LONGEST_URL = 65_536
"""The longest address that httpx takes."""

_SECRET_HEADER = re.compile(
    r"(?i)(proxy-)?authorization|cookie|.*(api-?key|token|secret|password).*"
)
"""Names of headers that carry a secret: their values name a variable."""

_HEADER = re.compile(
    r"(?i)(?!(content-length|transfer-encoding)$)[\w!#$%&'*+.^`|~-]+", re.ASCII
)
"""Names that a header may have."""

_OWN_VARIABLE = "CLINOMETER_APP_"
"""How the variables begin that any file may name."""


class HttpFile(BaseModel):
    """How an application is asked over HTTP."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    address: str
    """http or https; secrets travel over https only, except to this machine."""
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, str] = {}
    """Headers of the request; {NAME} is an environment variable."""
    body: Annotated[dict[str, Any], Field(min_length=1)] | None = None
    """Sent as JSON, with {messages}, {prompt} (the last message), {record} or a {field} of the
    record in place; without one, {"messages": …} or the record itself."""
    reply: str = ""
    """Where the reply stands in the answer: names and numbers with dots between them; "" for all of
    it."""

    @classmethod
    def read(cls, path: Path) -> HttpFile:
        """Read the file; what is wrong with it is one line."""
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

    def key(self, file: str, allowed: Allowed) -> Key:
        """Return the headers with what the environment has in place of the variables."""
        parts = self._checked_address(file)
        secure = parts.scheme == "https" or is_loopback(parts.hostname or "")
        secrets: dict[str, str] = {}
        for name, value in self.headers.items():
            _check_header(name, value)
            place = f"{file}: headers.{name}"
            variables = _VARIABLE.findall(value)
            if variables and not secure:
                raise SettingsError(
                    f"{place}: secrets travel over https only; use an https address"
                )
            if not variables and _SECRET_HEADER.fullmatch(name):
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

    def _checked_address(self, file: str) -> SplitResult:
        """Return the parts of the address, which has no user and no password."""
        parts = parts_of_address(self.address)
        sound = self.address.isprintable() and len(self.address) <= _LONGEST_URL
        if parts is None or not sound:
            raise SettingsError(
                f"{file}: address: expected http or https, found another address"
            )
        if parts.username or parts.password:
            raise SettingsError(
                f"{file}: address: expected no user and password; put them into [headers] as "
                'Authorization = "Basic {VARIABLE}"'
            )
        return parts

    def filled(self, text: str) -> Any:
        """Return the body for a prompt."""
        record = record_of(text)
        values: dict[str, Any]
        if record is not None:
            if self.body is None:
                return record
            values = {**record, "record": record}
        else:
            messages = messages_of(text)
            if self.body is None:
                return {"messages": messages}
            values = {"messages": messages, "prompt": messages[-1]["content"]}
        return _filled(self.body, values)

    def text_of(self, answer: Any) -> str:
        """Return the reply that stands in an answer."""
        if self.reply:
            for name in self.reply.split("."):
                answer = answer[int(name)] if isinstance(answer, list) else answer[name]
        return as_text(answer)


def open_address(spec: ModelSpec, load: LoadOptions) -> Application:
    """Read the file that describes the address, and the secrets that it names."""
    file = HttpFile.read(Path(spec.target))
    key = file.key(spec.target, load.allowed)
    client = Client(Address(file.address, None, key), load.server, parse=_json_or_text)

    def request(text: str) -> ApplicationRequest:
        return ApplicationRequest(file.method, file.address, file.filled(text))

    note = "an application behind an address"
    return Application(note, client, request, file.text_of)


def _check_header(name: str, value: str) -> None:
    """Refuse headers that are none, and those that say what the body is."""
    printable = value.isascii() and value.isprintable()
    if not _HEADER.fullmatch(name) or not printable:
        raise SettingsError(
            "headers: expected ASCII signs, and no length or encoding of the body, found "
            f"{name!r}"
        )


def _secret(place: str, allowed: Allowed, variable: str) -> str:
    """Return what the environment has of a variable that a file may name."""
    if not variable.startswith(_OWN_VARIABLE) and variable not in allowed.variables:
        raise SettingsError(
            f"{place}: {variable} may be a key for someone else; call it "
            f"{_OWN_VARIABLE}{variable}, or add --allow env:{variable} if this address may see it"
        )
    value = os.environ.get(variable, "").strip()
    if not value:
        raise SettingsError(
            f"{place}: the environment has no {variable}; set it and run again"
        )
    if not (value.isascii() and value.isprintable()):
        raise SettingsError(
            f"{place}: expected ASCII signs in {variable}; copy the value again"
        )
    return value


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return the template with every {name} in place; alone in a text it is the value itself."""
    if isinstance(template, dict):
        return {key: _filled(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, values) for value in template]
    if isinstance(template, int | float):
        return template
    if not isinstance(template, str):  # TOML has dates, JSON has none
        return str(template)
    whole = _PLACE.fullmatch(template)
    if whole and whole[1] in values:
        return values[whole[1]]

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise SettingsError(
                f"body: expected {', '.join(f'{{{name}}}' for name in values)}; found {match[0]}; "
                "messages have {messages} and {prompt}, records {record} and their fields"
            )
        return as_text(values[match[1]])

    return _PLACE.sub(value, template)


def _json_or_text(content: bytes) -> Any:
    try:
        return parse_json(content)
    except ValueError:
        return content.decode()
