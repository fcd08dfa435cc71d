"""Hosted models by name: `openai/NAME`, `anthropic/NAME`, and what they cost.

One table: where a provider is, which of two wire formats it speaks (OpenAI's chat completions or
Anthropic's Messages), and which variable of the environment has its key.
"""

from __future__ import annotations

import ipaddress
import os
import re
import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from urllib.parse import SplitResult, urlsplit

from clinometer.errors import ModelNotFound, SettingsError


@dataclass(frozen=True)
class Provider:
    """A company that answers for money.

    base          its address; "" where every customer has another (Azure)
    key_variable  the variable of the environment with its key
    key_header    how the key is sent; "" for a bearer token
    wire          openai or anthropic
    renamed       parameters that it knows by another name
    headers       what every request to it carries besides the key
    """

    name: str
    base: str
    key_variable: str
    key_header: str = ""
    wire: str = "openai"
    renamed: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def address(self) -> str:
        """The provider's address, or that of a gateway: NAME_BASE_URL in the environment."""
        variable = f"{self.name.upper()}_BASE_URL"
        address = os.environ.get(variable, "").strip() or self.base
        if not address:
            raise ModelNotFound(
                f"{self.name}/NAME: expected the address of the resource in {variable}, such as "
                "https://RESOURCE.openai.azure.com/openai/v1, found none"
            )
        return address.rstrip("/")

    def owns(self, host: str) -> bool:
        """Whether a host is the provider's, so that it may see the provider's key."""
        own = urlsplit(self.base).hostname if self.base else None
        return host == own or (not self.base and host.endswith(_AZURE_HOSTS))


_AZURE_HOSTS = (
    ".openai.azure.com",
    ".services.ai.azure.com",
    ".cognitiveservices.azure.com",
)

PROVIDERS = {
    one.name: one
    for one in (
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
}


def hosted(name: str) -> tuple[Provider, str] | None:
    """The provider and its model, of a name such as openai/gpt-4.1; None for any other name.

    >>> hosted("mistral/mistral-small")[1], hosted("openai-community/gpt2")
    ('mistral-small', None)
    """
    provider, slash, model = name.partition("/")
    return (
        (PROVIDERS[provider], model)
        if slash and model and provider in PROVIDERS
        else None
    )


# --- prices ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Price:
    """Of a million tokens read and a million tokens written; `source` says where it is from."""

    read: float
    written: float
    source: str

    def of(self, read: float, written: float) -> float:
        """What this many tokens cost."""
        return (read * self.read + written * self.written) / 1e6


def given_price(text: str) -> Price:
    """--price as typed: 2.5, or 0.15/0.60 for tokens read and written.

    >>> given_price("0.15/0.6").of(1e6, 1e6)
    0.75
    """
    try:
        numbers = [float(part) for part in text.split("/")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or not all(0 <= n < 1e6 for n in numbers):
        raise SettingsError(
            "--price: expected the price of a million tokens, such as 2.5, or 0.15/0.60 for tokens "
            f"read and written; found {text!r}"
        )
    return Price(numbers[0], numbers[-1], "--price")


#: At the end of a name, the day of one version of a model: gpt-4.1-2025-04-14.
_DAY = re.compile(r"-20\d\d-?\d\d-?\d\d$")


def price_of(name: str, given: str | None) -> Price | None:
    """The price as given, or that of the table for a hosted model; None where it is not known.

    A version of a model that is not in the table has the price of the model.
    """
    if given is not None:
        return given_price(given)
    found = hosted(name)
    if found is None or not is_paid(name):
        return None
    provider, model = found
    listed = tomllib.loads(
        (files(__package__) / "prices.toml").read_text(encoding="utf-8")
    )
    prices: dict[str, tuple[float, float]] = listed.get(provider.name, {})
    price = prices.get(model) or prices.get(_DAY.sub("", model))
    return None if price is None else Price(*price, f"{listed['source']}, in USD")


def is_paid(name: str) -> bool:
    """Whether a model is asked at its provider's address, and not at one of this machine."""
    found = hosted(name)
    return found is not None and not is_loopback(
        urlsplit(found[0].address()).hostname or ""
    )


def parts_of_address(url: str) -> SplitResult | None:
    """The parts of an http or https address; None for what is none.

    >>> parts_of_address("http://host:99999"), parts_of_address("ftp://host")
    (None, None)
    """
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number, or too large
        return None
    return parts if sound else None


def is_loopback(host: str) -> bool:
    """Whether a host is this machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
