"""Hosted models by name: `openai/NAME`, `anthropic/NAME`, and where they are asked.

One table: where a provider is, which wire format it speaks (`models/server/wire`), and which
variable of the environment has its key.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from clinometer.errors import ModelNotFound

_AZURE_HOSTS = (
    ".openai.azure.com",
    ".services.ai.azure.com",
    ".cognitiveservices.azure.com",
)
"""How the hosts end that Azure gives its customers."""


@dataclass(frozen=True)
class Provider:
    """A company that answers for money."""

    name: str
    base: str
    """Its address; "" where every customer has another (Azure)."""
    key_variable: str
    """The variable of the environment with its key."""
    key_header: str = ""
    """How the key is sent; "" for a bearer token."""
    wire: str = "openai"
    """The name of its wire format."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Parameters that it knows by another name."""
    headers: dict[str, str] = field(default_factory=dict)
    """What every request to it carries besides the key."""

    def address(self) -> str:
        """Return the provider's address, or that of a gateway: NAME_BASE_URL in the environment."""
        variable = f"{self.name.upper()}_BASE_URL"
        address = os.environ.get(variable, "").strip() or self.base
        if not address:
            raise ModelNotFound(
                f"{self.name}/NAME: expected the address of the resource in {variable}, such as "
                "https://RESOURCE.openai.azure.com/openai/v1, found none"
            )
        return address.rstrip("/")

    def owns(self, host: str) -> bool:
        """Return whether a host is the provider's, so that it may see the provider's key."""
        if not self.base:
            return host.endswith(_AZURE_HOSTS)
        return host == urlsplit(self.base).hostname


_ALL_PROVIDERS = (
    Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    Provider(
        "anthropic",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        key_header="x-api-key",
        wire="anthropic",
        headers={"anthropic-version": "2023-06-01"},
    ),
    Provider("azure", "", "AZURE_OPENAI_API_KEY", key_header="api-key"),
    Provider(
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        renamed={"seed": "random_seed"},
    ),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
    ),
)

PROVIDERS = {provider.name: provider for provider in _ALL_PROVIDERS}
"""Every provider by its name."""

HOSTED_NAMES = ", ".join(f"{name}/NAME" for name in PROVIDERS)
"""How hosted models are typed, in help texts and errors."""


def hosted(name: str) -> tuple[Provider, str] | None:
    """Return the provider and its model, of a name such as openai/gpt-4.1; None for another name.

    >>> hosted("mistral/mistral-small")[1], hosted("openai-community/gpt2")
    ('mistral-small', None)
    """
    provider, _, model = name.partition("/")
    if not model or provider not in PROVIDERS:
        return None
    return PROVIDERS[provider], model


def parts_of_address(url: str) -> SplitResult | None:
    """Return the parts of an http or https address; None for what is none.

    >>> parts_of_address("http://host:99999"), parts_of_address("ftp://host")
    (None, None)
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # a port that is no number, or too large
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return None
    return parts


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
