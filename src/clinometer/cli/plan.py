"""clinometer plan: the contexts, time and cost of an audit, and a protocol of it."""

from __future__ import annotations

from pathlib import Path

from clinometer import settings as ranges
from clinometer.cli import options
from clinometer.cli.limits import FAIL_ABOVE
from clinometer.cli.printing import print_json, print_rows, sentence
from clinometer.errors import SettingsError
from clinometer.gate.limits import Limits
from clinometer.measure.planning import POWER
from clinometer.runs import AuditSettings, Run
from clinometer.runs.planning import (
    ContextPlan,
    RepetitionPlan,
    have_repeated_replies,
    plan_contexts,
    plan_repetitions,
    with_hosted_costs,
)
from clinometer.runs.protocol import PLANNED, Protocol
from clinometer.runs.resolve import find_contexts
from clinometer.settings import option, values_from_texts, with_settings

_PLANNED_KEYS = options.keys_of_settings(AuditSettings, PLANNED)
"""What --set takes: the settings that a protocol fixes."""


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
        POWER,
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
    fail_on, texts = _fail_on(changes or [])
    given = values_from_texts(AuditSettings, texts, PLANNED, where="--set")
    settings = with_settings(AuditSettings(), given)
    names = models or []
    chosen = options.topic_of(topic, groups)
    runs = [Run.load(path) for path in pilots or []]
    if protocol is None and not any((precision, detect, requests)):
        raise SettingsError(
            "plan: expected --precision, --detect, --requests or --protocol, found none"
        )
    if len(runs) > 2:
        raise SettingsError(f"plan: expected at most two pilot runs, found {len(runs)}")
    if requests is not None and (precision is not None or detect is not None):
        raise SettingsError(
            "plan: expected either --detect, what should be found, or --requests, what can be "
            "paid"
        )
    detects_alone = detect is not None and precision is None
    plan: ContextPlan | RepetitionPlan | None = None
    if requests is not None or (detects_alone and have_repeated_replies(runs)):
        plan = plan_repetitions(
            runs,
            find=detect,
            requests=requests,
            level=settings.level,
            power=power,
            price=price,
        )
    elif precision is not None or detect is not None:
        plan = plan_contexts(
            runs,
            chosen,
            settings,
            precision=precision,
            detect=detect,
            power=power,
            price=price,
        )
        plan = with_hosted_costs(plan, names, chosen, contexts)
    if protocol is not None:
        Limits.parse(fail_above, fail_on).check_measured(
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
            fail_on=fail_on,
        ).write(protocol)
    if json_output:
        content = {} if plan is None else plan.to_dict()
        if protocol is not None:
            content["protocol"] = str(protocol)
        print_json(content)
        return
    if plan is not None:
        if isinstance(plan, RepetitionPlan):
            _print_repetitions(plan)
        for line in plan.sentences():
            sentence(line)
    if protocol is not None:
        sentence(f"Wrote {protocol}. Next: clinometer audit --protocol {protocol}")


def _fail_on(changes: list[str]) -> tuple[str, list[str]]:
    """Return the end of an interval that limits compare, as --set says, and its other texts."""
    fail_on = "low"
    texts = []
    for text in changes:
        if text.startswith("fail_on="):
            fail_on = text.removeprefix("fail_on=")
        else:
            texts.append(text)
    return fail_on, texts


def _print_repetitions(plan: RepetitionPlan) -> None:
    """Print how many contexts and requests each number of replies needs."""
    sentence(plan.title)
    headings = ["replies", "contexts", "requests", "finds"]
    if plan.reply_cost is not None:
        headings.append("cost")
    rows = []
    for way in plan.plans:
        row = [
            f"{way.replies:d}",
            f"{way.contexts:,}",
            f"{way.requests:,}",
            f"{way.finds:.3f}",
        ]
        cost = plan.cost(way)
        if cost is not None:
            row.append(f"{cost:,.2f}")
        rows.append(row)
    print_rows("", headings, rows, words=())
