"""Settings that are checked against what they were declared with."""

from __future__ import annotations

from typing import Any

import pytest

from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings


@pytest.mark.parametrize(
    "wrong", [{"seed": -1}, {"level": 0}, {"level": 95}, {"max_contexts": 0}]
)
def test_the_library_refuses_what_the_command_line_refuses(
    wrong: dict[str, Any],
) -> None:
    with pytest.raises(SettingsError, match=f"^{next(iter(wrong))}: expected"):
        AuditSettings(**wrong)
