"""What a piece of the corpus gave: templates with counts, and rules with what they dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clinometer.contexts.mining.decision import Decision
from clinometer.display.plain import to_plain


@dataclass
class Tally:
    """Counts that add up: the same whatever the order and the division of the work."""

    templates: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)

    def take(self, decisions: Iterable[Decision]) -> None:
        """Count the decisions on one sentence; a template counts once a sentence."""
        kept = set()
        for decision in decisions:
            if decision.template is None:
                self.rules[decision.rule] += 1
            elif decision.template not in kept:
                kept.add(decision.template)
                self.templates[decision.template] += 1

    def add(self, other: Tally) -> None:
        """Add the counts of another piece."""
        self.templates.update(other.templates)
        self.rules.update(other.rules)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can write it; `from_dict` reads it back."""
        return to_plain(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tally:
        """What `to_dict` wrote."""
        return cls(Counter(data["templates"]), Counter(data["rules"]))


def merged(templates: Mapping[str, int], key: Callable[[str], str]) -> dict[str, int]:
    """Near-duplicates counted as one, under their most frequent form; most frequent first.

    >>> merged({"took a job": 1, "took the job": 2, "left": 1}, lambda t: t.split()[0])
    {'took the job': 3, 'left': 1}
    """
    forms: dict[str, list[tuple[int, str]]] = {}
    for template, count in templates.items():
        forms.setdefault(key(template), []).append((-count, template))
    rows = [(sum(-n for n, _ in found), min(found)[1]) for found in forms.values()]
    return {template: count for count, template in sorted(rows, key=lambda r: (-r[0], r[1]))}
