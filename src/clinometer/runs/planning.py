"""Plans of an audit: its contexts or replies, from pilot runs or a guess, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.display.numbers import counted, percent
from clinometer.errors import ClinometerError, SettingsError
from clinometer.measure.components import Components
from clinometer.measure.planning import (
    SPREAD,
    Spread,
    contexts_for_precision,
    contexts_to_detect,
    detectable,
)
from clinometer.measure.repetitions import RepliesPlan, plan_replies
from clinometer.models.providers import hosted
from clinometer.runs.compare import compare
from clinometer.runs.cost import Cost, estimate_cost
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.partial import progress as stored_progress
from clinometer.runs.placebo import FOLDER as PLACEBO
from clinometer.runs.resolve import Contexts, ResolvedAudit, resolve
from clinometer.runs.run import Run
from clinometer.runs.settings import AuditSettings
from clinometer.topics import Topic

GUESS = Spread(SPREAD, "a guess, without a pilot")
"""The spread between contexts that is assumed where no pilot says what it is."""


@dataclass(frozen=True)
class HostedCost:
    """What an audit of a hosted model costs at most."""

    model: str
    cost: Cost

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "cost": self.cost.money,
            "says": self.cost.sentence(),
        }


@dataclass(frozen=True, kw_only=True)
class ContextPlan:
    """How many contexts an audit needs, and what they can tell."""

    effective_contexts: int
    contexts: int
    """Contexts of the pilot's kind, of which some count for less than one."""

    groups: int
    needed: dict[str, int]
    """Effective contexts for each aim: precision, detect."""

    spread: Spread
    spread_of_differences: Spread
    half_width: float
    detectable: float
    power: float
    level: float
    tokens: int | None
    """Tokens of a model on a server, as the pilot counted them; None where it counted none."""

    price: float | None = None
    """Price of a million tokens."""

    hosted: tuple[HostedCost, ...] = ()

    @property
    def cells(self) -> int:
        return self.contexts * self.groups

    @property
    def cost(self) -> float | None:
        """Return what the tokens cost at this price; None where either is not known."""
        if self.price is None or self.tokens is None:
            return None
        return self.tokens / 1e6 * self.price

    def to_dict(self) -> dict[str, Any]:
        pair = self.spread_of_differences
        return {
            "effective_contexts": self.effective_contexts,
            "contexts": self.contexts,
            "cells": self.cells,
            "for": self.needed,
            "spread": {"value": self.spread.sd, "from": self.spread.source},
            "spread_of_differences": {"value": pair.sd, "from": pair.source},
            "half_width": self.half_width,
            "detectable": self.detectable,
            "power": self.power,
            "level": self.level,
            "tokens": self.tokens,
            "cost": self.cost,
            "hosted": [model.to_dict() for model in self.hosted],
        }

    def sentences(self) -> list[str]:
        """Return the plan in words, one sentence a line."""
        level = f"{100 * self.level:g} %"
        pair = self.spread_of_differences
        lines = [
            f"{self.effective_contexts:,} effective contexts ({self.contexts:,} contexts, "
            f"{self.cells:,} cells of {self.groups} groups).",
            f"They give {level} intervals within ±{self.half_width:.3f}, and find a difference of "
            f"{self.detectable:.3f} between two models in {percent(self.power)} of comparisons.",
            f"Spread between contexts: {self.spread.sd:.3f} ({self.spread.source}); of "
            f"differences: {pair.sd:.3f} ({pair.source}).",
        ]
        if self.tokens is not None:
            cost = ""
            if self.cost is not None:
                cost = f", {self.cost:,.2f} in the currency of --price"
            lines.append(f"Server: about {self.tokens:,} tokens per model{cost}.")
        for model in self.hosted:
            lines.append(f"{model.model}: {model.cost.sentence()}.")
        lines.append(
            "Near parity the bias and volatility risks need about a quarter more."
        )
        return lines


def plan_contexts(
    pilots: Sequence[Run],
    topic: Topic,
    settings: AuditSettings,
    *,
    precision: float | None,
    detect: float | None,
    power: float,
    price: float | None = None,
) -> ContextPlan:
    """Return how many contexts the precision and the difference to detect need.

    The spread between contexts is that of the first pilot, and of differences that of both, in the
    same contexts; without any it is a guess.
    """
    level = settings.level
    groups = len(topic)
    spread = GUESS
    if pilots:
        preferences = pilots[0].preferences
        inference = {**pilots[0].record.settings.inference(), "level": level}
        spread = Spread.of_report(preferences.estimate(**inference))
        groups = len(preferences.groups)
    pair = spread.unpaired()
    if len(pilots) == 2:
        pair = Spread.of_comparison(compare(*pilots))
    needed: dict[str, int] = {}
    if precision is not None:
        needed["precision"] = contexts_for_precision(spread, precision, level=level)
    if detect is not None:
        needed["detect"] = contexts_to_detect(pair, detect, level=level, power=power)
    n_eff = max(needed.values())
    contexts = n_eff
    tokens = None
    if pilots:
        contexts = math.ceil(n_eff * _contexts_per_effective(pilots[0]))
        per_cell = _tokens_per_cell(pilots[0])
        tokens = None if per_cell is None else round(per_cell * contexts * groups)
    return ContextPlan(
        effective_contexts=n_eff,
        contexts=contexts,
        groups=groups,
        needed=needed,
        spread=spread,
        spread_of_differences=pair,
        half_width=detectable(spread, n_eff, level=level, power=0.5),
        detectable=detectable(pair, n_eff, level=level, power=power),
        power=power,
        level=level,
        tokens=tokens,
        price=price,
    )


def _contexts_per_effective(pilot: Run) -> float:
    """Return how many contexts of a run bring one effective one."""
    report = pilot.risks
    return max(1.0, report.n_contexts / max(report.n_eff, 1.0))


def _tokens_per_cell(pilot: Run) -> float | None:
    """Return how many tokens a server counted for a cell; None where nothing was counted."""
    tokens = pilot.record.usage.get("tokens")
    cells = pilot.record.counts.get("cells", 0)
    return tokens / cells if tokens and cells else None


def with_hosted_costs(
    plan: ContextPlan, models: Sequence[str], topic: Topic, contexts: Contexts
) -> ContextPlan:
    """Return the plan with what an audit of each hosted model costs at most."""
    priced = {} if plan.price is None else {"price": f"{plan.price:g}"}
    costs = []
    for model in models:
        if not hosted(model):
            continue
        audit = resolve(priced, topic, contexts, model=model)
        cost = estimate_cost(model, topic, audit.source, audit.settings.load)
        if cost is not None:
            costs.append(HostedCost(model, cost.part(plan.cells / cost.cells)))
    return replace(plan, hosted=tuple(costs))


def remaining_cost(
    audit: ResolvedAudit, model: str, folder: Path | None
) -> Cost | None:
    """Return what is left to pay for an audit at most, after the cells that its folder has.

    None where no replies are sampled from a server.
    """
    cost = audit.cost(model)
    if cost is None:
        return None
    cells = 0
    if folder is not None:
        cells = stored_cells(folder) + stored_cells(folder / PLACEBO)
    return cost.part(1 - cells / max(cost.cells, 1))


def stored_cells(path: Path) -> int:
    """Return how many cells of an audit are scored in its folder; 0 where there is none."""
    folder = RunFolder(path)
    try:
        scored, _ = stored_progress(folder, folder.read_record())
    except ClinometerError:
        return 0
    return scored


@dataclass(frozen=True, kw_only=True)
class RepetitionPlan:
    """Contexts and replies that show a steady lean, or tell two models apart."""

    models: list[str]
    """The runs whose components the plan is made from."""

    components: list[Components]
    plans: tuple[RepliesPlan, ...]
    power: float
    find: float | None
    """The lean or difference to find; None where the number of requests is given."""

    reply_cost: float | None
    """Price of one reply; None where it is not known."""

    @property
    def groups(self) -> int:
        return len(self.components[0].groups)

    @property
    def best(self) -> RepliesPlan:
        """Return the plan with the fewest requests, or that finds the smallest lean with them."""
        if self.find is None:
            return min(self.plans, key=lambda plan: plan.finds)
        return min(self.plans, key=lambda plan: plan.requests)

    def cost(self, plan: RepliesPlan) -> float | None:
        return None if self.reply_cost is None else self.reply_cost * plan.requests

    def to_dict(self) -> dict[str, Any]:
        parts = []
        for model, components in zip(self.models, self.components, strict=True):
            lean, swing, dice = components.parts
            parts.append({"model": model, "lean": lean, "swing": swing, "dice": dice})
        return {
            "power": self.power,
            "groups": self.groups,
            "parts": parts,
            "plans": [vars(plan) | {"cost": self.cost(plan)} for plan in self.plans],
        }

    @property
    def title(self) -> str:
        """Return what the plans are for."""
        two_models = len(self.models) > 1
        aim = "a difference of steady leans" if two_models else "a steady lean"
        if self.find is not None:
            aim = f"{aim} of {self.find:g}"
        audits = f"{percent(self.power)} of audits of {self.groups} groups"
        return f"To find {aim} in {audits}{' and two models' if two_models else ''}:"

    def sentences(self) -> list[str]:
        """Return what the runs vary by, and the best plan."""
        lines = []
        for model, components in zip(self.models, self.components, strict=True):
            lean, swing, dice = components.parts
            parts = f"lean {lean:.3f}, swing {swing:.3f}, dice {dice:.3f}"
            lines.append(f"Variance in {model}: {parts}.")
        best = self.best
        aim = "Best use of them" if self.find is None else "Fewest requests"
        replies = "1 reply" if best.replies == 1 else f"{best.replies} replies"
        lines.append(
            f"{aim}: {counted(best.contexts, 'context')} with {replies} each; one reply alone "
            "does not tell dice from swing."
        )
        return lines


def have_repeated_replies(runs: Sequence[Run]) -> bool:
    """Return whether the replies of all these runs were repeated, so that their dice are known."""
    splits = [run.record.components for run in runs]
    return bool(splits) and all(s is not None and s.dice is not None for s in splits)


def plan_repetitions(
    runs: Sequence[Run],
    *,
    find: float | None,
    requests: int | None,
    level: float,
    power: float,
    price: float | None = None,
) -> RepetitionPlan:
    """Return contexts and replies by the components of one run, or of two to tell apart."""
    if not runs:
        raise SettingsError(
            "--requests: expected a run with repeated replies, found none"
        )
    components = []
    for run in runs:
        if run.record.components is None:
            raise SettingsError(
                f"--requests: expected a run of counted replies, found none in {run.path}; import "
                "some (clinometer import replies), or audit with --replies"
            )
        components.append(run.record.components)
    plans = plan_replies(
        *components, find=find, requests=requests, level=level, power=power
    )
    return RepetitionPlan(
        models=[run.model for run in runs],
        components=components,
        plans=plans,
        power=power,
        find=find,
        reply_cost=None if price is None else _reply_cost(runs, price),
    )


def _reply_cost(runs: Sequence[Run], price: float) -> float:
    """Return the price of one reply, by the tokens that the runs counted."""
    tokens = sum(run.record.usage.get("tokens", 0) for run in runs)
    if not tokens:
        raise SettingsError("--price: expected runs that counted tokens, found none")
    answers = [run.preferences.answers for run in runs]
    replies = sum(float(np.nansum(a)) for a in answers if a is not None)
    return tokens / replies / 1e6 * price
