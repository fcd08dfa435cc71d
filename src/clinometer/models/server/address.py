"""The address of a server, and its key."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from clinometer.errors import ModelNotFound

#: The key for any server.
KEY_VARIABLE = "CLINOMETER_API_KEY"
#: The key for api.openai.com alone: it is never sent anywhere else.
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
_OPENAI_HOST = "api.openai.com"


class Key:
    """A secret that no repr, traceback or file shows."""

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Key(…)"

    def header(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._value}"}


@dataclass(frozen=True)
class Address:
    """`base` ends with the version (…/v1); `root` is everything before it.

    >>> Address.parse("http://127.0.0.1:8080#smol")
    Address(base='http://127.0.0.1:8080/v1', model='smol', key=None)
    >>> Address.parse("https://host.example/api/v1/#org/model").base
    'https://host.example/api/v1'
    """

    base: str
    model: str | None
    key: Key | None = field(default=None)

    @classmethod
    def parse(cls, target: str) -> Address:
        parts = urlsplit(target)
        if parts.scheme not in ("http", "https") or not parts.hostname:
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
        return cls(base, parts.fragment or None, _key_for(parts.hostname))

    @property
    def root(self) -> str:
        return self.base.rsplit("/", 1)[0]


def _key_for(host: str) -> Key | None:
    value = os.environ.get(KEY_VARIABLE)
    if not value and host == _OPENAI_HOST:
        value = os.environ.get(OPENAI_KEY_VARIABLE)
    return Key(value.strip()) if value and value.strip() else None


def _without_secrets(target: str) -> str:
    """The address without user, password and query.

    >>> _without_secrets("https://me:secret@host/v1?key=secret#m")
    'https://…@host/v1?…#m'
    """
    parts = urlsplit(target)
    netloc = "…@" + parts.netloc.rpartition("@")[2] if "@" in parts.netloc else parts.netloc
    query = "…" if parts.query else ""
    return urlunsplit((parts.scheme, netloc, parts.path, query, parts.fragment))
