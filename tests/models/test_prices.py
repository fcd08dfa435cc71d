"""What hosted models cost: a table with its source, and what the table does not know."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest
from tests.present import present

from clinometer.models.prices import Price, price_of
from clinometer.models.providers import PROVIDERS


@pytest.fixture(autouse=True)
def resource(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_BASE_URL", "https://resource.openai.azure.com/openai/v1")


def test_a_version_has_the_price_of_its_model_unless_it_has_another() -> None:
    latest = present(price_of("azure/gpt-4o", None))
    assert price_of("azure/gpt-4o-2024-11-20", None) == latest
    older = present(price_of("azure/gpt-4o-2024-05-13", None))
    assert older.of(1e6, 0) == 2 * latest.of(1e6, 0)
    assert price_of("anthropic/claude-sonnet-4-5-20250929", None) == price_of(
        "anthropic/claude-sonnet-4-5", None
    )


@pytest.mark.parametrize(
    "name",
    [
        "openai/gpt-4o-mystery",
        "openai/gpt-4o-2024",
        "openai/source",
        "smollm2",
        "openai:http://localhost:8080#gpt-4o",
    ],
)
def test_what_the_table_does_not_know_has_no_price(name: str) -> None:
    assert price_of(name, None) is None
    assert price_of(name, "2.5") == Price(2.5, 2.5, "--price")


def test_a_gateway_on_this_machine_has_no_list_price(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:4000/v1")
    assert price_of("openai/gpt-4o", None) is None


def test_every_price_is_one_and_the_source_is_said() -> None:
    table = tomllib.loads(
        (files("clinometer.models") / "prices.toml").read_text(encoding="utf-8")
    )
    source = table.pop("source")
    assert table.keys() == PROVIDERS.keys()
    for provider, models in table.items():
        for model, (read, written) in models.items():
            assert 0 < read <= written < 1000, model
            found = price_of(f"{provider}/{model}", None)
            assert found == Price(read, written, f"{source}, in USD")
