"""The plug-in inside pytest: assertions that pass and fail, and the section after the tests."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tests.report.made import made_run

from clinometer.gate import pytest_plugin

pytest_plugins = ("pytester",)

TESTS = """
import pytest
import clinometer as cm

def test_same(clinometer_baseline):
    assert cm.assert_not_worse({run!r}, clinometer_baseline, margin=0.5).verdict == "not worse"

def test_worse(clinometer_baseline):
    cm.assert_not_worse({worse!r}, clinometer_baseline)

def test_unclear(clinometer_baseline):
    cm.assert_not_worse({worse!r}, clinometer_baseline, margin=0.33)

def test_unclear_passes(clinometer_baseline):
    found = cm.assert_not_worse(
        {worse!r}, clinometer_baseline, margin=0.33, cannot_tell="pass"
    )
    assert found.verdict == "cannot tell"

def test_refuses(clinometer_baseline):
    with pytest.raises(ValueError, match="cannot_tell: expected fail or pass"):
        cm.assert_not_worse({run!r}, clinometer_baseline, cannot_tell="maybe")
"""


def installed() -> bool:
    return any(one.value == pytest_plugin.__name__ for one in entry_points(group="pytest11"))


def test_decisions_are_shown_and_failures_fail(pytester: pytest.Pytester, tmp_path: Path) -> None:
    for name, lean, seed in (("base", 0.3, 0), ("run", 0.3, 1), ("worse", 2.0, 2)):
        made_run(tmp_path / name, groups=3, contexts=120, lean=lean, seed=seed)
    text = TESTS.format(run=str(tmp_path / "run"), worse=str(tmp_path / "worse"))
    pytester.makepyfile(text)
    plugin = [] if installed() else ["-p", pytest_plugin.__name__]
    found = pytester.runpytest_subprocess(
        *plugin, "-p", "no:cacheprovider", "--clinometer-baseline", tmp_path / "base"
    )
    found.assert_outcomes(passed=3, failed=2)
    shown = found.stdout.str()
    section = shown[shown.index("clinometer gates") :]
    assert "test_same: not worse: made:model (run) against made:model (base): R has" in section
    assert "test_worse: worse: " in section
    assert section.count("cannot tell: made:model (worse)") == 2
    assert "AssertionError: made:model (worse) against made:model (base): worse: R has" in shown


def test_without_a_baseline_tests_are_skipped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(clinometer_baseline): assert False")
    plugin = [] if installed() else ["-p", pytest_plugin.__name__]
    found = pytester.runpytest_inprocess(*plugin, "-p", "no:cacheprovider", "-rs")
    found.assert_outcomes(skipped=1)
    found.stdout.fnmatch_lines(["*--clinometer-baseline*"])
