"""Every provider of hosted models has a stand-in that tests it, prices, and a row in the docs."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

from tests.models.server.providers import KINDS

from clinometer.models.providers import PROVIDERS

ROOT = Path(__file__).resolve().parents[2]


def test_every_provider_has_a_stand_in() -> None:
    stand_ins = {kind.name.partition("/")[0] for kind in KINDS.values()}
    assert PROVIDERS.keys() <= stand_ins


def test_every_provider_has_prices() -> None:
    table = files("clinometer.models") / "prices.toml"
    assert PROVIDERS.keys() <= tomllib.loads(table.read_text("utf-8")).keys()


def test_every_provider_has_a_row_in_the_docs() -> None:
    page = (ROOT / "docs" / "servers.md").read_text("utf-8")
    for provider in PROVIDERS.values():
        assert f"| `{provider.name}/" in page
        assert f"`{provider.key_variable}`" in page
