"""The address of a server, and the key that it may see."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from clinometer.errors import ModelNotFound, SettingsError
from clinometer.models.providers import (
    PROVIDERS,
    Provider,
    hosted,
    is_loopback,
    parts_of_address,
)

KEY_VARIABLE = "CLINOMETER_API_KEY"
"""The variable of the environment with the key for any server."""

_SHORTEST_SECRET = 4
"""Characters from which a secret is looked for in replies."""

_LONGER_THAN_WORDS = 8
"""Characters from which a secret of lower-case letters alone cannot be any word of a reply."""

_VERSIONS = ("v1", "v2", "v3")
"""How the path of an API may end; to others v1 is added."""


class Key:
    """Secrets that no repr, traceback or file shows; `headers` carry them."""

    def __init__(self, *secrets: str, headers: Mapping[str, str]) -> None:
        self._secrets = secrets
        self.headers = dict(headers)

    def __repr__(self) -> str:
        return "Key(…)"

    def hidden(self, reply: Any) -> Any:
        """Return what a server says, as it was read, without the secrets that it repeats."""
        if isinstance(reply, dict):
            return {
                self.hidden(name): self.hidden(value) for name, value in reply.items()
            }
        if isinstance(reply, list):
            return [self.hidden(value) for value in reply]
        if isinstance(reply, str):
            for secret in self._secrets:
                if _is_telling(secret):
                    reply = reply.replace(secret, "[key]")
        return reply


def _is_telling(secret: str) -> bool:
    """Return whether a secret is no short word, which may be any word of a reply."""
    if len(secret) < _SHORTEST_SECRET:
        return False
    like_a_word = secret.isalpha() and secret.islower()
    return not like_a_word or len(secret) >= _LONGER_THAN_WORDS


@dataclass(frozen=True)
class Address:
    """Where a model is asked, by which name, and with which key.

    >>> Address.parse("http://127.0.0.1:8080#smol")
    Address(base='http://127.0.0.1:8080/v1', model='smol', key=None)
    >>> Address.parse("https://host.example/api/v1/#org/model").base
    'https://host.example/api/v1'
    """

    base: str
    """The address up to the version (…/v1), which is its end."""
    model: str | None
    key: Key | None = field(default=None)
    provider: Provider | None = field(default=None, repr=False)
    """The provider of a hosted model (openai/NAME)."""

    @classmethod
    def parse(cls, target: str) -> Address:
        """Return the address of a hosted model (openai/NAME) or of URL#MODEL."""
        provider_and_model = hosted(target)
        if provider_and_model is None:
            return cls._of_url(target)
        return cls._of_provider(*provider_and_model)

    @classmethod
    def _of_provider(cls, provider: Provider, model: str) -> Address:
        base = provider.address()
        parts = parts_of_address(base)
        if parts is None or parts.username:
            raise ModelNotFound(
                f"{provider.name.upper()}_BASE_URL: expected an http or https address without "
                f"a user or password, found {_without_secrets(base)!r}"
            )
        key = key_for(parts.scheme, parts.hostname or "", provider.key_header)
        return cls(base, model, key, provider)

    @classmethod
    def _of_url(cls, target: str) -> Address:
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
        if path.rsplit("/", 1)[-1] not in _VERSIONS:
            path += "/v1"
        base = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        key = key_for(parts.scheme, parts.hostname or "")
        return cls(base, parts.fragment or None, key)

    @property
    def root(self) -> str:
        """Return the address before the version."""
        return self.base.rsplit("/", 1)[0]


def key_for(scheme: str, host: str, header: str = "") -> Key | None:
    """Return the key that the environment has for a server: the one for any, or a provider's.

    No other host sees a provider's key. It travels in a header of its own, or as a bearer token.
    None if there is no key, or if it would travel in the clear to another machine.

    Only addresses that the user typed come here: a file cannot have one asked (`Allowed`).
    """
    if scheme != "https" and not is_loopback(host):
        return None
    variables = [KEY_VARIABLE]
    for provider in PROVIDERS.values():
        if provider.owns(host):
            variables.append(provider.key_variable)
    for variable in variables:
        secret = (os.environ.get(variable) or "").strip()
        if not secret:
            continue
        if not (secret.isascii() and secret.isprintable()):
            raise SettingsError(
                f"{variable}: expected letters, digits and signs of ASCII, found others; copy the "
                "key again"
            )
        if header:
            return Key(secret, headers={header: secret})
        return Key(secret, headers={"Authorization": f"Bearer {secret}"})
    return None


def _without_secrets(target: str) -> str:
    """Return the address without user, password and query.

    >>> _without_secrets("https://me:secret@host/v1?key=secret#m")
    'https://…@host/v1?…#m'
    """
    try:
        parts = urlsplit(target)
    except ValueError:
        return "…"
    netloc = parts.netloc
    if "@" in netloc:
        netloc = "…@" + netloc.rpartition("@")[2]
    query = "…" if parts.query else ""
    return urlunsplit((parts.scheme, netloc, parts.path, query, parts.fragment))
