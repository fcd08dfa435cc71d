"""clinometer plan: the contexts, time and cost of an audit, and a protocol of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from clinometer import settings as ranges
from clinometer.cli import options
from clinometer.cli.limits import FAIL_ABOVE, check_measured, parse_limits
from clinometer.cli.printing import print_json, print_rows, sentence
from clinometer.display.numbers import counted, percent
from clinometer.errors import SettingsError
from clinometer.measure import planning
from clinometer.models.providers import hosted
from clinometer.runs import AuditSettings, Run, compare
from clinometer.runs.protocol import PLANNED, Protocol
from clinometer.runs.settings import estimate_cost, find_contexts, resolve
from clinometer.settings import option, values_from_texts, with_settings

#: What --set takes: the settings that a protocol fixes.
_PLANNED_KEYS = options.keys_of_settings(AuditSettings, PLANNED)


def plan_command(
    pilots: list[Path] | None = options.argument(
        "[RUN [RUN]]",
        "A finished run to learn the spread from, or two in the same contexts for --detect. Of "
        "runs with repeated replies: contexts and replies that find a steady lean as large as "
        "--detect, or of two what tells the models apart by as much.",
        None,
    ),
    *,
    precision: float | None = option(
        None,
        help="Contexts at which the intervals of R, Rᵇ and Rᵛ extend no further than ± this.",
        allowed=ranges.POSITIVE,
    ),
    detect: float | None = option(
        None,
        help="Plan to detect a difference of this size between models.",
        allowed=ranges.POSITIVE,
    ),
    requests: int | None = option(
        None,
        help="Of runs with repeated replies: what this many requests in all can find.",
        allowed=ranges.COUNT,
    ),
    topic: str = options.TOPIC,
    contexts: str | None = options.CONTEXTS,
    groups: str | None = options.GROUPS,
    models: list[str] | None = option(
        None,
        "--model",
        help="A model that will be audited: of a hosted one the cost is shown. May be repeated.",
    ),
    changes: list[str] | None = option(
        None,
        "--set",
        help="KEY=VALUE: a setting of the audit that is planned, such as level=0.9, "
        "max_contexts=200; fail_on=high: what --fail-above compares. May be repeated.",
        keys=_PLANNED_KEYS,
    ),
    protocol: Path | None = option(
        None,
        help="Write the plan to this file: models, topic and contexts (with sha256), limits. "
        "clinometer audit --protocol FILE follows it.",
    ),
    fail_above: list[str] | None = FAIL_ABOVE,
    power: float = option(
        planning.POWER,
        help="Share of tests that should find the difference.",
        allowed=ranges.LEVEL,
        advanced=True,
    ),
    price: float | None = option(
        None,
        help="Price of a million tokens, if the pilot used a server or a model is hosted.",
        allowed=ranges.POSITIVE,
        advanced=True,
    ),
    json_output: bool = options.JSON,
) -> None:
    """Plan an audit: contexts needed for a precision, or to detect a difference; time and cost.

    From a pilot run, or from a guess at the spread between contexts. --protocol writes down what
    will be asked, measured and decided; the run and its report say what was not as planned.
    """
    # What --set says: the end of an interval that limits compare, and the settings.
    texts, end = changes or [], "fail_on="
    fail_on = [text.removeprefix(end) for text in texts if text.startswith(end)] or [
        "low"
    ]
    others = [text for text in texts if not text.startswith(end)]
    given = values_from_texts(AuditSettings, others, PLANNED, where="--set")
    settings = with_settings(AuditSettings(), given)
    names = models or []
    chosen = options.topic_of(topic, groups)
    runs = [Run.load(path) for path in pilots or []]
    estimate: dict[str, Any] = {}
    if protocol is None and not any((precision, detect, requests)):
        raise SettingsError(
            "plan: expected --precision, --detect, --requests or --protocol, found none"
        )
    if len(runs) > 2:
        raise SettingsError(f"plan: expected at most two pilot runs, found {len(runs)}")
    replies = requests is not None or (
        detect is not None and precision is None and _repeated(runs)
    )
    if replies:
        if requests is not None and (precision is not None or detect is not None):
            raise SettingsError(
                "plan: expected either --detect, what should be found, or --requests, what can be "
                "paid"
            )
        estimate = _of_replies(runs, detect, requests, settings.level, power, price)
    elif precision is not None or detect is not None:
        estimate = _of_contexts(runs, len(chosen), settings, precision, detect, power)
        cells = estimate["cells"]
        tokens = estimate["tokens"]
        estimate["cost"] = (
            None if price is None or tokens is None else tokens / 1e6 * price
        )
        priced = {} if price is None else {"price": f"{price:g}"}
        estimate["hosted"] = []
        for name in filter(hosted, names):
            audit = resolve(priced, chosen, contexts, model=name)
            cost = estimate_cost(name, chosen, audit.source, audit.settings.load)
            if cost is not None:
                part = cost.part(cells / cost.cells)
                about = {"model": name, "cost": part.money, "says": part.sentence()}
                estimate["hosted"].append(about)
    if protocol is not None:
        check_measured(
            parse_limits(fail_above, fail_on[-1]),
            relative=isinstance(chosen.reference, str),
            sampled=settings.load.sampled is not None,
        )
        if not names:
            raise SettingsError(
                "--protocol: expected the models that will be audited, --model"
            )
        Protocol.new(
            names,
            (topic, chosen),
            (contexts, find_contexts(chosen, contexts)),
            settings,
            groups=groups,
            fail_above=fail_above or [],
            fail_on=fail_on[-1],
        ).write(protocol)
    if json_output:
        print_json(estimate | ({} if protocol is None else {"protocol": str(protocol)}))
        return
    if replies:
        _print_replies(estimate, detect)
    else:
        for line in _lines(estimate) if estimate else []:
            sentence(line)
    if protocol is not None:
        sentence(f"Wrote {protocol}. Next: clinometer audit --protocol {protocol}")


def _repeated(runs: list[Run]) -> bool:
    """Whether these are runs whose replies were repeated: their dice are known."""
    splits = [run.record.components for run in runs]
    return bool(splits) and all(s is not None and s.dice is not None for s in splits)


def _of_replies(
    runs: list[Run],
    detect: float | None,
    requests: int | None,
    level: float,
    power: float,
    price: float | None,
) -> dict[str, Any]:
    """Contexts and replies that show a steady lean, or tell two models apart, by the components of
    their runs."""
    if not runs:
        raise SettingsError(
            "--requests: expected a run with repeated replies, found none"
        )
    known = []
    for run in runs:
        if (split := run.record.components) is None:
            raise SettingsError(
                f"--requests: expected a run of counted replies, found none in {run.path}; import "
                "some (clinometer import replies), or audit with --replies"
            )
        known.append(split)
    plans = planning.plan_replies(
        *known, find=detect, requests=requests, level=level, power=power
    )
    each = None
    if price is not None:  # by the tokens that the runs counted
        tokens = sum(run.record.usage.get("tokens", 0) for run in runs)
        answers = [run.preferences.answers for run in runs]
        if not tokens:
            raise SettingsError(
                "--price: expected runs that counted tokens, found none"
            )
        answered = sum(float(np.nansum(a)) for a in answers if a is not None)
        each = tokens / answered / 1e6 * price
    return {
        "power": power,
        "groups": len(known[0].groups),
        "parts": [
            {
                "model": run.model,
                **dict(zip(("lean", "swing", "dice"), split.parts, strict=True)),
            }
            for run, split in zip(runs, known, strict=True)
        ],
        "plans": [
            vars(plan) | {"cost": each and each * plan.requests} for plan in plans
        ],
    }


def _print_replies(planned: dict[str, Any], detect: float | None) -> None:
    parts, plans = planned["parts"], planned["plans"]
    two = len(parts) > 1
    what = "a difference of steady leans" if two else "a steady lean"
    what = f"{what} of {detect:g}" if detect is not None else what
    title = f"To find {what} in {percent(planned['power'])} of audits of {planned['groups']} groups"
    sentence(f"{title}{' and two models' if two else ''}:")
    forms = {"replies": "d", "contexts": ",", "requests": ",", "finds": ".3f"}
    if plans[0]["cost"] is not None:
        forms["cost"] = ",.2f"
    rows = [[f"{plan[key]:{form}}" for key, form in forms.items()] for plan in plans]
    print_rows("", [*forms], rows, words=())
    for part in parts:
        said = "lean {lean:.3f}, swing {swing:.3f}, dice {dice:.3f}".format_map(part)
        sentence(f"Variance in {part['model']}: {said}.")
    best = min(
        plans, key=lambda plan: plan["finds"] if detect is None else plan["requests"]
    )
    sentence(
        f"{'Fewest requests' if detect is not None else 'Best use of them'}: "
        f"{counted(best['contexts'], 'context')} with "
        f"{'1 reply' if best['replies'] == 1 else '{replies} replies'.format_map(best)} each; one "
        "reply alone does not tell dice from swing."
    )


def _of_contexts(
    pilots: list[Run],
    groups: int,
    settings: AuditSettings,
    precision: float | None,
    detect: float | None,
    power: float,
) -> dict[str, Any]:
    """How many contexts are needed, and what they can tell."""
    one, level = (
        planning.Spread(planning.SPREAD, "a guess, without a pilot"),
        settings.level,
    )
    if pilots:
        how = {**pilots[0].record.settings.inference(), "level": level}
        one = planning.Spread.of_report(pilots[0].preferences.estimate(**how))
        groups = len(pilots[0].preferences.groups)
    pair = (
        planning.Spread.of_comparison(compare(*pilots))
        if len(pilots) == 2
        else one.unpaired()
    )
    needed: dict[str, int] = {}
    if precision is not None:
        needed["precision"] = planning.contexts_for_precision(
            one, precision, level=level
        )
    if detect is not None:
        needed["detect"] = planning.contexts_to_detect(
            pair, detect, level=level, power=power
        )
    n = max(needed.values())
    total, tokens = n, None
    if pilots:
        report, record = pilots[0].risks, pilots[0].record
        # A pilot says how many of its contexts bring one effective one, and how many tokens a
        # server counted per cell.
        total = math.ceil(n * max(1.0, report.n_contexts / max(report.n_eff, 1.0)))
        used, scored = record.usage.get("tokens"), record.counts.get("cells", 0)
        tokens = round(used / scored * total * groups) if used and scored else None
    return {
        "effective_contexts": n,
        "contexts": total,
        "cells": total * groups,
        "for": needed,
        "spread": {"value": one.sd, "from": one.source},
        "spread_of_differences": {"value": pair.sd, "from": pair.source},
        "half_width": planning.detectable(one, n, level=level, power=0.5),
        "detectable": planning.detectable(pair, n, level=level, power=power),
        "power": power,
        "level": level,
        "tokens": tokens,
    }


def _lines(plan: dict[str, Any]) -> list[str]:
    level = f"{100 * plan['level']:g} %"
    groups = plan["cells"] // plan["contexts"]
    one, pair = plan["spread"], plan["spread_of_differences"]
    lines = [
        f"{plan['effective_contexts']:,} effective contexts ({plan['contexts']:,} contexts, "
        f"{plan['cells']:,} cells of {groups} groups).",
        f"They give {level} intervals within ±{plan['half_width']:.3f}, and find a difference of "
        f"{plan['detectable']:.3f} between two models in {percent(plan['power'])} of comparisons.",
        f"Spread between contexts: {one['value']:.3f} ({one['from']}); of differences: "
        f"{pair['value']:.3f} ({pair['from']}).",
    ]
    if plan["tokens"] is not None:
        cost = (
            ""
            if plan["cost"] is None
            else f", {plan['cost']:,.2f} in the currency of --price"
        )
        lines.append(f"Server: about {plan['tokens']:,} tokens per model{cost}.")
    lines += [f"{model['model']}: {model['says']}." for model in plan["hosted"]]
    lines.append("Near parity the bias and volatility risks need about a quarter more.")
    return lines
