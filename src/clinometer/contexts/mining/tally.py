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
    """Counts that add up to the same, however the work is divided and ordered.

    templates    occurrences of each template
    rules        what each rule dropped
    articles     the articles that each template was seen in, by their index in the sample
    confidences  occurrences by confidence, in hundredths; only of links that have one
    sure         the sum of these, by template
    """

    templates: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    articles: dict[str, list[int]] = field(default_factory=dict)
    confidences: Counter[str] = field(default_factory=Counter)
    sure: Counter[str] = field(default_factory=Counter)

    def take(self, decisions: Iterable[Decision], article: int = 0) -> None:
        """Count the decisions on one sentence; a template counts once per sentence."""
        kept = set()
        for decision in decisions:
            template = decision.template
            if template is None:
                self.rules[decision.rule] += 1
            elif template not in kept:
                kept.add(template)
                self.templates[template] += 1
                seen = self.articles.setdefault(template, [])
                if article not in seen[-1:]:  # sentences come article by article
                    seen.append(article)
                if decision.confidence is not None:
                    hundredths = round(100 * decision.confidence)
                    self.confidences[f"{hundredths / 100:.2f}"] += 1
                    self.sure[template] += hundredths

    def add(self, other: Tally) -> None:
        """Add the counts of another piece; an article in both is one article."""
        self.templates.update(other.templates)
        self.rules.update(other.rules)
        self.confidences.update(other.confidences)
        self.sure.update(other.sure)
        for template, seen in other.articles.items():
            self.articles.setdefault(template, []).extend(seen)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tally:
        """Read what `to_dict` wrote."""
        return cls(
            Counter(data["templates"]),
            Counter(data["rules"]),
            {template: list(map(int, seen)) for template, seen in data["articles"].items()},
            Counter(data["confidences"]),
            Counter(data["sure"]),
        )


@dataclass(frozen=True)
class Found:
    """A template with its near-duplicates: occurrences, articles, and their mean confidence."""

    count: int
    articles: int
    confidence: float | None


def merged(tally: Tally, key: Callable[[str], str]) -> dict[str, Found]:
    """Near-duplicates counted as one, under their most frequent form; most frequent first.

    >>> tally = Tally(Counter({"took a job": 1, "took the job": 2, "left": 1}))
    >>> found = merged(tally, lambda t: t.split()[0])
    >>> {template: each.count for template, each in found.items()}
    {'took the job': 3, 'left': 1}
    """
    forms: dict[str, list[tuple[int, str]]] = {}
    for template, count in tally.templates.items():
        forms.setdefault(key(template), []).append((-count, template))
    rows = []
    for same in forms.values():
        templates = [template for _, template in same]
        count = -sum(n for n, _ in same)
        seen = {article for t in templates for article in tally.articles.get(t, ())}
        sure = sum(tally.sure[t] for t in templates)
        mean = round(sure / (100 * count), 3) if sure else None
        rows.append((min(same)[1], Found(count, len(seen), mean)))
    return dict(sorted(rows, key=lambda row: (-row[1].count, row[0])))
