"""clinometer reliability check: does a sentence need more context, and where?"""

from __future__ import annotations

from typing import Annotated

import typer

from clinometer import settings as ranges
from clinometer.cli.help import opt
from clinometer.cli.limits import FAIL_BELOW_ON, below, fail
from clinometer.cli.options import DEVICE, SEED, derived
from clinometer.cli.printing import console, print_json
from clinometer.display.numbers import between
from clinometer.measure import Estimate
from clinometer.models import LoadOptions
from clinometer.reliability.check import Check, check
from clinometer.reliability.variants import VariantSettings
from clinometer.reliability.variants.make import DEFAULT_FILLER

#: Questions that one person can be asked at a time.
_ASKED = 3
_MEANING = (
    "A low stability says that added context changes what the scoring models make of the sentence. "
    "The COBIAS paper reads this as missing context; whether people agree is an open question."
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
    filler: Annotated[
        str | None,
        opt(
            "A model that fills blanks.",
            unset=f"the proposing model if it is local, else {DEFAULT_FILLER}",
        ),
    ] = None,
    score_with: Annotated[
        list[str] | None, opt("A scoring model; may be repeated.", unset="pocket:bert")
    ] = None,
    n: Annotated[
        int | None,
        opt(
            "Number of versions.",
            "-n",
            "--versions",
            allowed=ranges.COUNT,
            unset="12, down to 4 for long sentences",
        ),
    ] = None,
    temperature: Annotated[
        float, derived(VariantSettings, "temperature")
    ] = VariantSettings.temperature,
    seed: SEED = VariantSettings.seed,
    device: DEVICE = LoadOptions.device,
    fail_below: Annotated[
        float | None, opt("Exit with status 1 if the stability is lower.", allowed=ranges.SHARE)
    ] = None,
    fail_on: FAIL_BELOW_ON = "high",
    json_output: Annotated[
        bool, opt("Print one JSON object (docs/check.schema.json).", "--json")
    ] = False,
) -> None:
    """Does a sentence need more context, and where? Suggests clarifying questions.

    stability = 1 - COBIAS: 1 if context changes nothing for the scoring models.
    """
    found = check(
        sentence,
        targets=target or (),
        points=points,
        model=model,
        filler=filler,
        models=score_with or ("pocket:bert",),
        n=n,
        temperature=temperature,
        seed=seed,
        load=LoadOptions(device=device),
    )
    if json_output:
        print_json(found.to_dict())
    else:
        out = console()
        out.print(f"{found.points}   (blanks by {found.proposer})", soft_wrap=True)
        for blank in found.by_weight:
            share = "–" if blank.share is None else f"{blank.share:.0%}"
            such = ", ".join(blank.fills[:3]) or "nothing suits"
            line = f"  {share:>4}  {blank.question}  such as: {such}"
            out.print(line, soft_wrap=True)
        if len(found.blanks) > 1 and found.matters_most is None:
            out.print(
                f"Which of these matters most cannot be told from {len(found.versions)} versions."
            )
        if found.stability is not None:
            ends = between(found.stability_low, found.stability_high, to=" to ")
            interval = f" (95 % interval {ends})" if ends else ""
            out.print(
                f"stability {found.stability:.3f}{interval}, COBIAS {found.cobias:.3f}, "
                f"context variance {found.cv:.2f} over {len(found.versions)} versions",
                markup=False,
            )
        out.print("Ask: " + " ".join(found.questions[:_ASKED]), soft_wrap=True)
        out.print(_MEANING, soft_wrap=True)
        out.print(found.standing, soft_wrap=True)
    if fail_below is not None:
        fail(below("stability", _stability(found), fail_below, fail_on))


def _stability(found: Check) -> Estimate | None:
    value, low, high = found.stability, found.stability_low, found.stability_high
    if value is None or low is None or high is None:
        return None if value is None else Estimate(value)
    return Estimate(value, min(low, value), max(high, value), 0.95, "versions")
