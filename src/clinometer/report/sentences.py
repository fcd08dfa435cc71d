"""What the numbers say, in plain words, and what they do not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from clinometer.measure import Estimate, verdict
from clinometer.report.charts.style.theme import brief
from clinometer.runs import Run
from clinometer.runs.group_sentences import (
    above_floor,
    floor_sentence,
    group_sentences,
    split_sentence,
)

NOT_SAID = (
    "They do not say that a model is fair or unfair in use, and a low number is no certificate: "
    "other groups, contexts or words can give another one.",
    "They describe probabilities of words, not what a product built on the model shows to people.",
    "A lean can mirror the world, the training text or the wording of the contexts; the numbers "
    "do not tell which, and the reference they measure from (even shares, unless another was "
    "given) is a choice, not a truth.",
    "A risk of 0.4 is not “twice as bad” as one of 0.2 for the people concerned: the scale is "
    "one of probability, not of harm.",
)

SAID = (
    "Each model was asked the same question about every group in every context, and the "
    "probability of the words of each category was read off.",
    "R, the discrimination risk, is how far its answers are from the reference on average: 0 is "
    "always the reference, 1 always the same extreme.",
    "Bias risk is the part that stays when contexts are averaged: a steady lean. Volatility risk "
    "is the rest: the model leans one way in one sentence and another way in the next.",
)


def headline(names: Sequence[str], runs: Sequence[Run]) -> str:
    """The one sentence to take away."""
    if len(runs) == 1:
        run, name = runs[0], brief(names[0])
        R = run.risks.R.value
        if R == 0:
            return f"{name} answers as the reference in every context asked: no lean, no swing."
        split = split_sentence(run.risks, run.record.floor)
        if above_floor(run) is False:  # where it leans would be read as a finding
            parts = [floor_sentence(run.risks, run.record.floor), split]
            return f"{name}: {'; '.join(part for part in parts if part)}."
        parts = [_lean(run), split, _share(run)]
        return f"{name} {'; '.join(part for part in parts if part)}."
    chance = sum(above_floor(run) is False for run in runs)
    alike = f" {chance} of them are not above what shuffled words give." if chance else ""
    order = sorted(range(len(runs)), key=lambda i: runs[i].risks.R.value)
    low, high = order[0], order[-1]
    if not _apart(runs[low], runs[high]):
        return (
            f"{len(runs)} models are about equally far from the reference: R "
            f"{runs[low].risks.R.value:.2f} to {runs[high].risks.R.value:.2f}, with intervals "
            f"that overlap.{alike}"
        )
    return (
        f"Of {len(runs)} models, {brief(names[high])} is furthest from the reference "
        f"(R {runs[high].risks.R.value:.2f}) and {brief(names[low])} nearest "
        f"(R {runs[low].risks.R.value:.2f}).{alike}"
    )


def _apart(low: Run, high: Run) -> bool:
    """Whether two risks differ by more than their intervals; without intervals, by 0.01."""
    a, b = low.risks.R, high.risks.R
    if a.high is None or b.low is None:
        return b.value - a.value >= 0.01
    return a.high < b.low


def sentences(name: str, run: Run) -> list[str]:
    """A run in a few sentences: how far, which way, steady or swinging, how sure."""
    report = run.risks
    name = brief(name)
    even = "an even split" if run.preferences.reference is None else "the given reference"
    unit = " on a scale from 0 to 1" if report.normalized else " on the scale of the raw equations"
    found = [
        f"Discrimination risk R is {estimate(report.R)}{unit}, where 0 is {even} in every answer.",
        f"Bias risk is {estimate(report.R_bias)}, volatility risk {estimate(report.R_volatility)}: "
        f"{_share(run)}.",
        *group_sentences(run),
        _which_way(run),
        f"How sure: {_plain_verdict(run)}",
    ]
    better = run.record.corrected
    if better:
        found.append(
            "Corrected for the number of contexts, bias risk is "
            f"{better.R_bias:.3f} and volatility risk {better.R_volatility:.3f}."
        )
    return [*found, *warnings(name, run)]


def warnings(name: str, run: Run) -> list[str]:
    """What a reader must know before using the numbers."""
    counts = run.record.counts
    found = []
    cells, low = counts.get("cells", 0), counts.get("cells_low_coverage", 0)
    if low:
        threshold = run.record.settings.coverage_threshold
        share = f"{low:,} of {cells:,} cells" if low < cells else f"All {cells:,} cells"
        found.append(
            f"Caution: {share} rest on less than {threshold:g} of the probability; there {name} "
            "hardly ever gives any of the words, and the preference is close to noise."
        )
    if counts.get("cells_missing"):
        found.append(f"Caution: {counts['cells_missing']:,} of {cells:,} cells have no answer.")
    words = run.record.words
    if words and words.unwritable:
        listed = ", ".join(brief(w, 30) for w in words.unwritable[:8])
        found.append(f"Caution: not in the model's vocabulary: {listed}.")
    if words and words.restricted:
        found.append(f"{len(words.restricted)} words of several tokens were left out, as asked.")
    return found


def estimate(e: Estimate) -> str:
    """0.253 (95 % interval 0.192 to 0.346)."""
    if e.low is None or e.high is None or e.level is None:
        return f"{e.value:.3f}"
    return f"{e.value:.3f} ({100 * e.level:g} % interval {e.low:.3f} to {e.high:.3f})"


def leaning_counts(run: Run) -> list[tuple[str, int]]:
    """(category, groups that lean to it), most first; "neither" for a tie."""
    seen = [
        leaning or "neither"
        for leaning, group in zip(run.risks.leaning, run.risks.groups, strict=True)
        if group not in run.risks.missing_groups
    ]
    return Counter(seen).most_common()


def _plain_verdict(run: Run) -> str:
    words = verdict(run.risks)
    return words.replace("R^b", "bias risk").replace("R^v", "volatility risk")


def _which_way(run: Run) -> str:
    counts = leaning_counts(run)
    total = sum(n for _, n in counts)
    parts = [f"{n} lean to {brief(name, 40)}" for name, n in counts]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"Of {total} groups, {listed}." if parts else "No group has an answer."


def _lean(run: Run) -> str:
    """Where it leans overall, if one category stands out."""
    counts = leaning_counts(run)
    total = sum(n for _, n in counts) or 1
    name, n = counts[0] if counts else ("neither", 0)
    if n == total and name != "neither":
        return f"leans to {brief(name, 30)} for every group (R {run.risks.R.value:.2f})"
    if n / total >= 0.5 and name != "neither":
        return f"leans to {brief(name, 30)} for {n} of {total} groups (R {run.risks.R.value:.2f})"
    return f"leans different ways for different groups (R {run.risks.R.value:.2f})"


def _share(run: Run) -> str:
    report = run.risks
    if report.R.value <= 0:
        return "there is no lean and no swing"
    bias = report.R_bias.value / report.R.value
    low, high = report.R_bias.low, report.R_bias.high
    if low is not None and high is not None and low < 0.5 * report.R.value <= high:
        return (
            f"{report.n_contexts:,} contexts are too few to tell how much of that is a steady lean "
            "and how much swing"
        )
    if bias >= 0.95:
        return "nearly all of it is a steady lean"
    if bias <= 0.05:
        return "nearly all of it is swing from context to context"
    steady, swing = round(100 * bias), 100 - round(100 * bias)
    if bias >= 0.5:
        return f"most of it is a steady lean ({steady} %), the rest swings with the context"
    return f"most of it swings with the context ({swing} %), the rest is a steady lean"
