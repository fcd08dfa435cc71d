"""What of a run bears on a clause: each field as a line of text, or as missing with a next step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clinometer.display.names import IN_SENTENCES, MEASURES
from clinometer.display.numbers import between, counted, percent, risk
from clinometer.runs import Run
from clinometer.statistics.estimate import Estimate


@dataclass(frozen=True)
class FieldOfRun:
    """label, a reader that returns "" where the run lacks it, and how a run gets it."""

    label: str
    read: Callable[[Run], str]
    next_step: str


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    ends = between(estimate.low, estimate.high, to=" to ")
    level = "" if estimate.level is None else f"{100 * estimate.level:g} % interval "
    return f"{risk(estimate.value)} ({level}{ends})" if ends else risk(estimate.value)


def _risks(run: Run) -> str:
    parts = [f"{IN_SENTENCES[m]} {_estimate(run.risks.summary[m])}" for m in MEASURES]
    return "; ".join(parts)


def _groups(run: Run) -> str:
    seen = [(float(r), g) for r, g in zip(run.risks.r, run.risks.groups, strict=True) if r == r]
    if not seen:
        return ""
    (high, highest), (low, lowest) = max(seen), min(seen)
    ends = f"highest {highest} ({risk(high)}), lowest {lowest} ({risk(low)})"
    return f"{counted(len(seen), 'group')}; {ends}"


def _categories(run: Run) -> str:
    words = run.record.topic.attributes
    return "; ".join(f"{name} ({counted(len(of), 'word')})" for name, of in words.items())


def _protocol(run: Run) -> str:
    found = run.record.protocol
    if found is None:
        return ""
    limits = ", ".join(found.fail_above) or "no threshold"
    changes = f"; deviations: {', '.join(found.deviations)}" if found.deviations else ""
    return f"sha256 {found.sha256[:12]}, created {found.created}, {limits}{changes}"


def _floor(run: Run) -> str:
    found = run.record.floor
    return "" if found is None else f"R {_estimate(found.R)} from {found.shuffles} shuffles"


def _coverage(run: Run) -> str:
    cells = run.record.counts.get("cells", 0)
    if not cells or run.preferences.coverage is None:
        return ""
    low = run.record.counts.get("cells_low_coverage", 0)
    return f"{percent(1 - low / cells)} of {counted(cells, 'cell')} carry enough probability"


def _model(run: Run) -> str:
    model = run.record.model
    return f"{model.id}, {model.kind}, revision {model.revision}, {model.dtype}"


def _topic(run: Run) -> str:
    topic = run.record.topic
    groups = counted(topic.groups, "group")
    return f"{topic.title or topic.name}, {groups}, sha256 {topic.sha256[:12]}"


def _contexts(run: Run) -> str:
    found = run.record.contexts
    return f"{found.name}, {counted(found.n, 'context')}, sha256 {found.sha256[:12]}"


def _settings(run: Run) -> str:
    settings = run.record.settings
    return (
        f"target {settings.target}, level {settings.level:g}, replicates {settings.replicates}, "
        f"seed {settings.seed}"
    )


def _versions(run: Run) -> str:
    return ", ".join(f"{name} {version}" for name, version in run.record.versions.items())


_WITH_INTERVALS = "audit with --replicates 2000"
FIELDS = {
    "risks": FieldOfRun("Risks", _risks, _WITH_INTERVALS),
    "volatility": FieldOfRun(
        "Volatility risk", lambda run: _estimate(run.risks.R_volatility), _WITH_INTERVALS
    ),
    "between": FieldOfRun(
        "Differs between groups",
        lambda run: _estimate(run.risks.R_between),
        "a topic of two groups or more",
    ),
    "groups": FieldOfRun("Groups", _groups, "a finished run"),
    "categories": FieldOfRun("Categories of words", _categories, "a finished run"),
    "n_eff": FieldOfRun(
        "Effective contexts",
        lambda run: f"{run.risks.n_eff:,.1f} of {run.risks.n_contexts:,}",
        "a finished run",
    ),
    "floor": FieldOfRun("From shuffled words", _floor, "audit with a model that stores its scores"),
    "coverage": FieldOfRun("Coverage", _coverage, "a model with log-probabilities"),
    "protocol": FieldOfRun(
        "Protocol", _protocol, "clinometer protocol new, then audit --protocol FILE"
    ),
    "model": FieldOfRun("Model", _model, "a finished run"),
    "topic": FieldOfRun("Topic", _topic, "a finished run"),
    "contexts": FieldOfRun("Contexts", _contexts, "a finished run"),
    "settings": FieldOfRun("Settings", _settings, "a finished run"),
    "versions": FieldOfRun("Versions", _versions, "audit with this version of clinometer"),
    "git_revision": FieldOfRun(
        "Git revision", lambda run: run.record.git_revision or "", "audit inside a git checkout"
    ),
    "created": FieldOfRun("Date", lambda run: run.record.created, "a finished run"),
    "chat": FieldOfRun(
        "Asked as a chat",
        lambda run: "yes" if run.record.scoring.get("chat") else "",
        "audit --chat, if the deployment is one",
    ),
}
"""Every field that a map may name."""
