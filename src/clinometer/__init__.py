"""Clinometer: how far a language model leans, and how much its leaning swings with context.

>>> import clinometer as cm
>>> cm.decompose([[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]])
RiskReport(R 0.200, bias 0.000, volatility 0.200; 1 group, 3 contexts)

Importing the package loads nothing else; each part loads when its name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clinometer.contexts import ContextSet, load_contexts
    from clinometer.gate.decision import assert_not_worse
    from clinometer.measure import (
        Comparison,
        Estimate,
        Preferences,
        RiskReport,
        decompose,
        estimate_risks,
    )
    from clinometer.reliability import (
        ReliabilityRun,
        ReliabilitySettings,
        Statement,
        load_statements,
        read_variants,
        score_reliability,
    )
    from clinometer.reliability.check import Check, check
    from clinometer.report import write_report

    # From their own modules: mypy takes `clinometer.runs.audit` for the module otherwise.
    from clinometer.runs import AuditSettings, Run, read_table
    from clinometer.runs.audit import audit
    from clinometer.runs.compare import compare
    from clinometer.topics import Topic, load_topic

__version__ = "0.2.0.dev0"

_LAZY = {
    "AuditSettings": "clinometer.runs",
    "Check": "clinometer.reliability.check",
    "Comparison": "clinometer.measure",
    "ContextSet": "clinometer.contexts",
    "Estimate": "clinometer.measure",
    "Preferences": "clinometer.measure",
    "ReliabilityRun": "clinometer.reliability",
    "ReliabilitySettings": "clinometer.reliability",
    "RiskReport": "clinometer.measure",
    "Run": "clinometer.runs",
    "Statement": "clinometer.reliability",
    "Topic": "clinometer.topics",
    "assert_not_worse": "clinometer.gate.decision",
    "audit": "clinometer.runs",
    "check": "clinometer.reliability.check",
    "compare": "clinometer.runs",
    "decompose": "clinometer.measure",
    "estimate_risks": "clinometer.measure",
    "load_contexts": "clinometer.contexts",
    "load_statements": "clinometer.reliability",
    "load_topic": "clinometer.topics",
    "read_table": "clinometer.runs",
    "read_variants": "clinometer.reliability",
    "score_reliability": "clinometer.reliability",
    "write_report": "clinometer.report",
}

__all__ = [
    "AuditSettings",
    "Check",
    "Comparison",
    "ContextSet",
    "Estimate",
    "Preferences",
    "ReliabilityRun",
    "ReliabilitySettings",
    "RiskReport",
    "Run",
    "Statement",
    "Topic",
    "__version__",
    "assert_not_worse",
    "audit",
    "check",
    "compare",
    "decompose",
    "estimate_risks",
    "load_contexts",
    "load_statements",
    "load_topic",
    "read_table",
    "read_variants",
    "score_reliability",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'clinometer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
