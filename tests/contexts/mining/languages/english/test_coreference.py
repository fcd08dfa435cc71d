"""The coreference decision on GUM, as benchmarks/coreference.py measures it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.english.coreference.confidence import Reference
from clinometer.contexts.mining.languages.english.coreference.dependency_paths import clause_link
from clinometer.contexts.mining.languages.english.coreference.resolvers import (
    Clusters,
    open_resolver,
)
from clinometer.contexts.mining.languages.english.parse import Parser
from clinometer.errors import MissingExtra

BENCHMARK = Path(__file__).resolve().parents[5] / "benchmarks" / "coreference.py"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return Parser()


def test_precision_on_gum(shared_data: Path, parser: Parser) -> None:
    spec = importlib.util.spec_from_file_location("coreference_benchmark", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = benchmark
    spec.loader.exec_module(benchmark)
    found = benchmark.measure_gum(parser, shared_data / "parsing" / "gum", [])
    assert found["precision"] >= 0.90
    assert found["accepted"] >= 10
    assert found["recall"] >= 0.2


def test_a_cluster_resolver_can_be_plugged_in(parser: Parser) -> None:
    """fastcoref itself is not here; what it answers is, as clusters of character spans."""
    parsed = next(parser.parse_words([["The", "nurse", "said", "that", "she", "left", "."]]))
    link = clause_link(parsed.doc[4])
    together = SimpleNamespace(get_clusters=lambda as_strings: [[(0, 9), (20, 23)]])
    apart = SimpleNamespace(get_clusters=lambda as_strings: [[(0, 9)]])
    accepts = Clusters(SimpleNamespace(predict=lambda texts: [together]))
    assert accepts(link, parsed, frozenset()) == Reference("mention of the same cluster", 1.0)
    with pytest.raises(Dropped, match="not in one cluster"):
        Clusters(SimpleNamespace(predict=lambda texts: [apart]))(link, parsed, frozenset())


def test_a_missing_resolver_names_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="fastcoref"):
        open_resolver("fastcoref")
