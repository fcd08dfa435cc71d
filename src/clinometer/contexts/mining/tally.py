"""The result of one piece of the corpus: templates with counts, and rules with dropped counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clinometer.contexts.mining.decision import Decision
from clinometer.display.plain import Plain


@dataclass
class Tally(Plain):
    """Counts that add up to the same, however the work is divided and ordered."""

    templates: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)

    def take(self, decisions: Iterable[Decision]) -> None:
        """Count the decisions on one sentence; a template counts once per sentence."""
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

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tally:
        """Read what `to_dict` wrote."""
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
