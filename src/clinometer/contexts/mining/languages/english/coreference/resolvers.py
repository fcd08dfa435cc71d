"""Coreference resolvers by name: the rules, or an installed neural resolver."""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.english.coreference.confidence import Reference
from clinometer.contexts.mining.languages.english.coreference.rules import Resolver, by_rules
from clinometer.errors import SettingsError
from clinometer.extras import require

if TYPE_CHECKING:
    from clinometer.contexts.mining.languages.english.coreference.dependency_paths import Link
    from clinometer.contexts.mining.languages.english.parse import Parsed

RESOLVERS = ("rules", "fastcoref")


@lru_cache(maxsize=4)
def open_resolver(name: str) -> Resolver:
    """The resolver of this name."""
    if name == "rules":
        return by_rules
    if name != "fastcoref":
        raise SettingsError(f"resolver: expected one of {', '.join(RESOLVERS)}, found {name!r}")
    require("--resolver fastcoref", "fastcoref")
    from fastcoref import FCoref

    return Clusters(FCoref(device="cpu"))


class Clusters:
    """A model that returns clusters of mentions, as fastcoref does: [(begin, end), …] each."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __call__(self, link: Link, parsed: Parsed, persons: Set[str]) -> Reference:
        """Accept if subject and word are in one cluster; the subject must contain a mention.

        The model says no probability: the confidence is 1."""
        text = parsed.doc.text
        answer = self._model.predict(texts=[text])[0]
        for cluster in answer.get_clusters(as_strings=False):
            if _holds(cluster, link.subject.idx) and _holds(cluster, link.y.idx):
                return Reference("mention of the same cluster", 1.0)
        raise Dropped("not in one cluster")


def _holds(cluster: list[tuple[int, int]], at: int) -> bool:
    return any(begin <= at < end for begin, end in cluster)
