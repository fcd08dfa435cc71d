"""Clinometer: how far a language model leans, and how much its leaning swings with context.

>>> import clinometer as cm
>>> report = cm.decompose([[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]])
>>> round(report.R.value, 6), round(report.R_bias.value, 6), round(report.R_volatility.value, 6)
(0.2, 0.0, 0.2)

Importing the package loads nothing else; each part loads when its name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clinometer.contexts import ContextSet, load_contexts
    from clinometer.measure import Estimate, Preferences, RiskReport, bootstrap, compare, decompose
    from clinometer.reliability import (
        ReliabilityRun,
        ReliabilitySettings,
        Statement,
        score_reliability,
    )
    from clinometer.reliability.check import (
        Check,
        check,
    )
    from clinometer.runs import AuditSettings, Run, audit, read_table
    from clinometer.topics import Topic, load_topic

__version__ = "0.2.0.dev0"

_LAZY = {
    "AuditSettings": "clinometer.runs",
    "Check": "clinometer.reliability.check",
    "ContextSet": "clinometer.contexts",
    "Estimate": "clinometer.measure",
    "Preferences": "clinometer.measure",
    "ReliabilityRun": "clinometer.reliability",
    "ReliabilitySettings": "clinometer.reliability",
    "RiskReport": "clinometer.measure",
    "Run": "clinometer.runs",
    "Statement": "clinometer.reliability",
    "Topic": "clinometer.topics",
    "audit": "clinometer.runs",
    "bootstrap": "clinometer.measure",
    "check": "clinometer.reliability.check",
    "compare": "clinometer.measure",
    "decompose": "clinometer.measure",
    "load_contexts": "clinometer.contexts",
    "load_topic": "clinometer.topics",
    "read_table": "clinometer.runs",
    "score_reliability": "clinometer.reliability",
}

__all__ = [
    "AuditSettings",
    "Check",
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
    "audit",
    "bootstrap",
    "check",
    "compare",
    "decompose",
    "load_contexts",
    "load_topic",
    "read_table",
    "score_reliability",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'clinometer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
