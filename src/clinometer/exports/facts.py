"""What every format says about a run: its measures in words, and what they rest on."""

from __future__ import annotations

from clinometer.display.numbers import MEASURES, SYMBOLS, between, counted
from clinometer.errors import RunError
from clinometer.runs import Run
from clinometer.statistics.estimate import Estimate

#: What each measure is, for readers who know nothing of the framework.
DESCRIPTIONS = {
    "R": "Discrimination risk: how far the answers are from the reference on average. 0 is always "
    "the reference, 1 always the same extreme.",
    "R_bias": "Bias risk: the component of R that remains when contexts are averaged, a steady "
    "lean.",
    "R_volatility": "Volatility risk: the rest of R, a lean that changes from one context to the "
    "next.",
}
NAMES = {
    "R": "Discrimination risk R",
    "R_bias": f"Bias risk {SYMBOLS['R_bias']}",
    "R_volatility": f"Volatility risk {SYMBOLS['R_volatility']}",
}
#: The limits of the numbers; wherever there is room for a sentence.
CAUTION = (
    "The numbers describe probabilities of words for these groups in these contexts; they do not "
    "say that a model is fair or unfair in use."
)


def estimates(run: Run) -> dict[str, Estimate]:
    """The three risks of a finished run."""
    if run.record.summary is None:
        raise RunError(f"{run.model}: the run has no summary; audit it again")
    return {name: run.risks.summary[name] for name in MEASURES}


def basis(run: Run) -> str:
    """What the numbers rest on, in a sentence."""
    record = run.record
    groups = counted(len(run.risks.groups), "group")
    contexts = counted(run.risks.n_contexts, "context")
    return (
        f"{record.topic.title or record.topic.name}: {groups} in {contexts} of "
        f"{record.contexts.name}, {run.risks.n_eff:,.1f} effective."
    )


def interval_words(estimate: Estimate) -> str:
    """95 % interval 0.31–0.40, or that there is no interval and why.

    >>> interval_words(Estimate(0.4, 0.3, 0.5, 0.95))
    '95 % interval 0.300–0.500'
    >>> interval_words(Estimate(0.4))
    'no interval'
    """
    if estimate.low is None or estimate.high is None or estimate.level is None:
        return "no interval" + (f" ({estimate.note})" if estimate.note else "")
    return f"{100 * estimate.level:g} % interval {between(estimate.low, estimate.high)}"


def flat_metrics(run: Run) -> dict[str, float]:
    """Risks and the ends of their intervals under names of letters, for trackers of metrics.

    >>> from clinometer import audit
    >>> metrics = flat_metrics(audit("reference:random"))
    >>> metrics["R"], metrics["R_volatility"], metrics["n_contexts"]
    (1.0, 1.0, 20.0)
    """
    metrics = {}
    for name, estimate in estimates(run).items():
        metrics[name] = estimate.value
        if estimate.low is not None and estimate.high is not None:
            metrics |= {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return {**metrics, "n_contexts": float(run.risks.n_contexts), "n_eff": run.risks.n_eff}


def flat_settings(run: Run) -> dict[str, str]:
    """How a run was made, as texts."""
    record = run.record
    return {
        "model": record.model.id,
        "model_kind": record.model.kind,
        "model_revision": record.model.revision,
        "dtype": record.model.dtype,
        "topic": record.topic.name,
        "topic_sha256": record.topic.sha256,
        "contexts": record.contexts.name,
        "contexts_sha256": record.contexts.sha256,
        "population": record.settings.population,
        "level": str(record.settings.level),
        "seed": str(record.settings.seed),
        "clinometer": record.versions.get("clinometer", ""),
    }
