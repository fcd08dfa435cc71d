"""Notes under the table of an audit."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.made import made_run

from clinometer.cli.audit_output import notes


@pytest.mark.parametrize(("contexts", "small"), [(12, True), (40, False)])
def test_contexts_that_are_too_few_to_measure_with_are_named(
    tmp_path: Path, contexts: int, small: bool
) -> None:
    run = made_run(tmp_path / "run", groups=4, contexts=contexts, model="m", orders=2)
    assert (run.risks.n_eff < 30) == small
    said = [line for line in notes(run) if "too small to measure with" in line]
    assert len(said) == small
    if small:
        assert "such as --contexts wikipedia" in said[0]
        assert f"worth {run.risks.n_eff:.0f} even ones" in said[0]
