"""Which models are worth asking, and the word when they are not."""

from __future__ import annotations

import pytest

from clinometer.models.catalog import hub
from clinometer.reliability.validation_status import LARGE, SMALL, scoring_models


def test_auto_takes_what_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "hub_reachable", lambda: False)
    monkeypatch.setattr(hub, "cached", lambda name: False)
    models, warning = scoring_models(["auto"])
    assert models == list(SMALL)
    assert "agree little with people" in warning
    monkeypatch.setattr(hub, "cached", lambda name: name == LARGE[0])
    models, warning = scoring_models(["pocket:bert", "auto"])
    assert models == ["pocket:bert", LARGE[0]]
    assert LARGE[1] in warning
    monkeypatch.setattr(hub, "hub_reachable", lambda: True)
    assert scoring_models(["auto"]) == (list(LARGE), "")
    assert scoring_models(["pocket:bert"]) == (["pocket:bert"], "")
    monkeypatch.setattr(hub, "hub_reachable", lambda: False)
    assert scoring_models(["paper", "pocket:bert"]) == ([*LARGE, "pocket:bert"], "")
