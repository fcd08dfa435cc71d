"""Tiltmeter: how far a language model leans, and how much its leaning swings with context.

>>> import tiltmeter as tm
>>> report = tm.decompose([[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]])
>>> round(report.R.value, 6), round(report.R_bias.value, 6), round(report.R_volatility.value, 6)
(0.2, 0.0, 0.2)

Importing the package loads nothing else; each part loads when its name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiltmeter.contexts import ContextSet, load_contexts
    from tiltmeter.measure import Estimate, RiskReport, bootstrap, compare, decompose
    from tiltmeter.reliability import (
        ReliabilityRun,
        ReliabilitySettings,
        Statement,
        score_reliability,
    )
    from tiltmeter.reliability.check import (
        Check,
        check,
    )
    from tiltmeter.runs import AuditSettings, Preferences, Run, audit, read_table
    from tiltmeter.topics import Topic, load_topic

__version__ = "0.1.0"

_LAZY = {
    "AuditSettings": "tiltmeter.runs",
    "Check": "tiltmeter.reliability.check",
    "ContextSet": "tiltmeter.contexts",
    "Estimate": "tiltmeter.measure",
    "Preferences": "tiltmeter.runs",
    "ReliabilityRun": "tiltmeter.reliability",
    "ReliabilitySettings": "tiltmeter.reliability",
    "RiskReport": "tiltmeter.measure",
    "Run": "tiltmeter.runs",
    "Statement": "tiltmeter.reliability",
    "Topic": "tiltmeter.topics",
    "audit": "tiltmeter.runs",
    "bootstrap": "tiltmeter.measure",
    "check": "tiltmeter.reliability.check",
    "compare": "tiltmeter.measure",
    "decompose": "tiltmeter.measure",
    "load_contexts": "tiltmeter.contexts",
    "load_topic": "tiltmeter.topics",
    "read_table": "tiltmeter.runs",
    "score_reliability": "tiltmeter.reliability",
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
    raise AttributeError(f"module 'tiltmeter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
