"""What hosted models cost: the price as given on the command line, or that of the table."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from urllib.parse import urlsplit

from clinometer.errors import SettingsError
from clinometer.models.providers import hosted, is_loopback

_DAY = re.compile(r"-20\d\d-?\d\d-?\d\d$")
"""At the end of a name, the day of one version of a model: gpt-4.1-2025-04-14."""

_TOKENS_PER_PRICE = 1e6
"""Prices are those of a million tokens."""


@dataclass(frozen=True)
class Price:
    """The price of a million tokens read and of a million tokens written."""

    read: float
    written: float
    source: str
    """Where the price is from."""

    def of(self, read: float, written: float) -> float:
        """Return what this many tokens cost."""
        return (read * self.read + written * self.written) / _TOKENS_PER_PRICE


def given_price(text: str) -> Price:
    """Return --price as typed: 2.5, or 0.15/0.60 for tokens read and written.

    >>> given_price("0.15/0.6").of(1e6, 1e6)
    0.75
    """
    try:
        prices = [float(part) for part in text.split("/")]
    except ValueError:
        prices = []
    if len(prices) not in (1, 2) or not all(0 <= price < 1e6 for price in prices):
        raise SettingsError(
            "--price: expected the price of a million tokens, such as 2.5, or 0.15/0.60 for tokens "
            f"read and written; found {text!r}"
        )
    return Price(prices[0], prices[-1], "--price")


def price_of(name: str, typed: str | None) -> Price | None:
    """Return the price as typed, or that of the table for a hosted model; None where it is unknown.

    A version of a model that is not in the table has the price of the model.
    """
    if typed is not None:
        return given_price(typed)
    provider_and_model = hosted(name)
    if provider_and_model is None or not is_paid(name):
        return None
    provider, model = provider_and_model
    table_file = files(__package__) / "prices.toml"
    table = tomllib.loads(table_file.read_text(encoding="utf-8"))
    prices: dict[str, tuple[float, float]] = table.get(provider.name, {})
    price = prices.get(model) or prices.get(_DAY.sub("", model))
    if price is None:
        return None
    read, written = price
    return Price(read, written, f"{table['source']}, in USD")


def is_paid(name: str) -> bool:
    """Return whether a model is asked at its provider's address, and not at one of this machine."""
    provider_and_model = hosted(name)
    if provider_and_model is None:
        return False
    provider, _ = provider_and_model
    host = urlsplit(provider.address()).hostname or ""
    return not is_loopback(host)
