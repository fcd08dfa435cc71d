"""What the pieces of a corpus hold: counts that add up, however the work is divided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from clinometer.contexts.mining.languages import Decision


@dataclass
class SourceCounts:
    """How many articles a source has, and what is damaged in it."""

    articles: int
    damage: dict[str, int]


@dataclass(frozen=True)
class MergedTemplate:
    """A template with its near-duplicates."""

    text: str
    """The most frequent form."""

    count: int
    """How often any form occurs."""

    articles: int
    """In how many articles."""


@dataclass
class Part:
    """What a piece holds: counts that add up to the same, however the work is divided."""

    read: int = 0
    """Articles with candidate sentences; in a sample, all."""

    sentences: int = 0
    """Sentences that were parsed."""

    templates: Counter[str] = field(default_factory=Counter)
    """Occurrences of each template."""

    rules: Counter[str] = field(default_factory=Counter)
    """How many candidates each rule dropped."""

    articles: dict[str, list[int]] = field(default_factory=dict)
    """The articles that each template occurs in, by their index in the sample."""

    confidences: Counter[str] = field(default_factory=Counter)
    """Occurrences by confidence, in hundredths; only of links that have one."""

    def count(self, decisions: Iterable[Decision], article: int = 0) -> None:
        """Count the decisions on one sentence; a template counts once per sentence."""
        templates = set()
        for decision in decisions:
            template = decision.template
            if template is None:
                self.rules[decision.rule] += 1
            elif template not in templates:
                templates.add(template)
                self._count_template(template, article, decision.confidence)

    def _count_template(
        self, template: str, article: int, confidence: float | None
    ) -> None:
        self.templates[template] += 1
        articles = self.articles.setdefault(template, [])
        if article not in articles[-1:]:  # sentences come article by article
            articles.append(article)
        if confidence is not None:
            hundredths = round(100 * confidence) / 100
            self.confidences[f"{hundredths:.2f}"] += 1

    def add(self, part: Part) -> None:
        """Add another piece; an article in both is one article."""
        self.read += part.read
        self.sentences += part.sentences
        self.templates.update(part.templates)
        self.rules.update(part.rules)
        self.confidences.update(part.confidences)
        for template, articles in part.articles.items():
            self.articles.setdefault(template, []).extend(articles)

    def merged(self, key: Callable[[str], str]) -> list[MergedTemplate]:
        """Return the templates, near-duplicates as one, most frequent first.

        Templates with the same key are near-duplicates; ties are in alphabetical order.

        >>> part = Part(templates=Counter({"took a job": 1, "took the job": 2, "left": 1}))
        >>> [(t.text, t.count) for t in part.merged(lambda text: text.split()[0])]
        [('took the job', 3), ('left', 1)]
        """
        forms: dict[str, list[str]] = {}
        for template in self.templates:
            forms.setdefault(key(template), []).append(template)
        templates = [self._merge(same) for same in forms.values()]
        return sorted(templates, key=lambda t: (-t.count, t.text))

    def _merge(self, forms: list[str]) -> MergedTemplate:
        articles: set[int] = set()
        for form in forms:
            articles.update(self.articles.get(form, ()))
        return MergedTemplate(
            text=min(forms, key=lambda form: (-self.templates[form], form)),
            count=sum(self.templates[form] for form in forms),
            articles=len(articles),
        )
