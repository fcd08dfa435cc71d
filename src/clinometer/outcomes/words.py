"""Words at a gap of a sentence: which category of words a model writes for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clinometer.display.numbers import percent
from clinometer.findings.finding import UNDECIDED, Finding
from clinometer.findings.phrases import listed
from clinometer.measure import Estimate
from clinometer.outcomes.facts import Facts
from clinometer.outcomes.outcome import Outcome


@dataclass(frozen=True, eq=False)
class WordOutcome(Outcome):
    """Shares of categories of words, none better than another."""

    def headline(self, facts: Facts) -> Finding:
        return leans(facts)

    def question(self, topic: str) -> str:
        gendered = topic.startswith("Gender")
        words = "a gendered word" if gendered else "one of these words"
        return f"When it writes {words}, which one?"


def leans(facts: Facts) -> Finding:
    """Return to which words a model leans, for how many groups, and the extremes."""
    names = facts.report.categories
    name_in_sentence = dict(zip(names, facts.words, strict=True))
    if len(names) == 2:
        among = facts.clear or facts.seen
        leaning = Counter(facts.leans[x].favoured for x in among)
        category = max(names, key=lambda name: leaning[name])
    else:
        risks = np.where(np.isnan(facts.report.r), -np.inf, facts.report.r)
        furthest = int(np.argmax(risks))
        among = [furthest]
        category = facts.leans[furthest].favoured or names[0]
    share = name_in_sentence[category]
    tally = facts.tally(name_in_sentence)
    groups = facts.extremes(facts.shares[:, names.index(category)], among)
    return facts.finding(
        "leans",
        _leaning(facts, tally, groups, share),
        facts.sure,
        tally=tally,
        groups=groups,
        words={"share": share},
    )


def _leaning(
    facts: Facts, tally: Mapping[str, int], groups: Mapping[str, Estimate], share: str
) -> str:
    """Return the sentence of a lean: to which side, for how many, and the extremes."""
    total = len(facts.seen)
    many = facts.nouns.many
    named = _extremes(groups, share, alone=total == 1)
    whom = next(iter(groups)) if total == 1 else f"any of {total} {many}"
    if facts.sure == "cannot tell":
        return f"{facts.basis} cannot tell which way {facts.who} leans for {whom} ({named})."
    clearly = "" if facts.exact else " clearly"
    sides = {side: n for side, n in tally.items() if side != UNDECIDED}
    if not sides:
        for_none = f"for none of {total} {many}"
        if total == 1:
            for_none = f"to neither for {whom}"
        return f"{facts.who} leans{clearly} {for_none} ({named}){facts.whole}."
    if total == 1:
        directions = [f"to {side} for {whom}" for side in sides]
        undecided = ""
    else:
        directions = [f"to {side} for {n}" for side, n in sides.items()]
        directions[0] += f" of {total} {many}"
        undecided = facts.undecided(tally, "even" if facts.exact else UNDECIDED)
    reference = ""
    if facts.preferences.reference is not None:
        reference = f" from {facts.reference},"
    return (
        f"{facts.who} leans{clearly}{reference} {listed(directions)} ({named}){undecided}"
        f"{facts.whole}."
    )


def _extremes(groups: Mapping[str, Estimate], share: str, *, alone: bool) -> str:
    """Return the extremes in brackets: "nurse 90 %, plumber 20 % female words"."""
    if alone:
        shares = [percent(number.value) for number in groups.values()]
        return f"{', '.join(shares)} {share}"
    shares = [f"{name} {percent(number.value)}" for name, number in groups.items()]
    furthest = "furthest: " if len(shares) == 1 else ""
    return f"{furthest}{', '.join(shares)} {share}"
