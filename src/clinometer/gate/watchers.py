"""Who is notified of each decision. Separate, as the pytest plug-in loads with every pytest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clinometer.gate.decision import GateDecision

#: Called with each decision of `assert_not_worse`, before it raises.
WATCHERS: list[Callable[[GateDecision], None]] = []
