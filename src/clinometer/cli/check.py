"""clinometer reliability check: does a sentence need more context, and where?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clinometer import settings as ranges
from clinometer.cli.help import opt
from clinometer.cli.limits import below, fail
from clinometer.cli.options import set_option, set_settings
from clinometer.cli.printing import print_json
from clinometer.cli.printing import sentence as sentence_of_results
from clinometer.display.numbers import between, risk
from clinometer.reliability.check import Check, check
from clinometer.reliability.findings import NOT_VALIDATED
from clinometer.reliability.variants import VariantSettings

#: What --set may change.
KEYS = ("filler", "temperature", "seed", "device")
#: Questions that one person can be asked at a time, and fills that are shown of each.
_ASKED = 3
_MEANING = (
    "Higher COBIAS is more reliable: so the paper's Table 2 and people's judgements read it "
    "(docs/reliability.md). Only large models, with versions by a large model, have been shown to "
    "agree with people."
)


def check_command(
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="One sentence, in quotes.")],
    target: Annotated[
        list[str] | None, opt("A term in the sentence that names the group; may be repeated.")
    ] = None,
    points: Annotated[str | None, opt("The sentence with your own blanks (___).")] = None,
    model: Annotated[
        str | None, opt("A model that proposes blanks and versions.", unset="rules and filler")
    ] = None,
    score_with: Annotated[
        list[str] | None, opt("A scoring model; may be repeated.", unset="pocket:bert")
    ] = None,
    n: Annotated[int, opt("Number of versions.", "-n", "--versions", allowed=ranges.COUNT)] = 12,
    values: Annotated[list[str] | None, set_option(VariantSettings, *KEYS)] = None,
    fail_below: Annotated[
        float | None, opt("Exit with status 1 if COBIAS is lower.", allowed=ranges.SHARE)
    ] = None,
    json_output: Annotated[
        bool, opt("Print one JSON object (docs/check.schema.json).", "--json")
    ] = False,
) -> None:
    """Does a sentence need more context, and where? Suggests clarifying questions.

    COBIAS as printed: higher is more reliable.
    """
    settings = set_settings(VariantSettings(), values, KEYS)
    asked: dict[str, Any] = {
        "model": model,
        "filler": settings.filler,
        "models": score_with or ("pocket:bert",),
        "n": n,
        "temperature": settings.temperature,
        "seed": settings.seed,
        "load": settings.load,
    }
    found = check(sentence, targets=target or (), points=points, **asked)
    if json_output:
        print_json(found.to_dict())
    else:
        _print(found)
    if fail_below is not None:
        fail(below("COBIAS", found.cobias, fail_below))


def _print(found: Check) -> None:
    out = sentence_of_results
    out(f"{found.points}   (blanks by {found.proposer})")
    for blank in found.blanks:
        such = ", ".join(blank.fills[:_ASKED]) or "nothing suits"
        out(f"{blank.question}  such as: {such}", indent="  ")
    score = found.cobias
    if score is not None:
        ends = between(score.low, score.high, to=" to ")
        interval = f" (95 % interval {ends})" if ends else ""
        out(
            f"COBIAS {risk(score.value)}{interval}, stability {risk(1 - score.value)}, "
            f"context variance {found.cv:.2f} over {len(found.versions)} versions"
        )
    out("Ask: " + " ".join(found.questions[:_ASKED]))
    out(_MEANING)
    out(NOT_VALIDATED.text)
