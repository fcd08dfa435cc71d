"""Settings that are declared once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, fields

import pytest

from clinometer.errors import SettingsError
from clinometer.ranges import COUNT
from clinometer.settings import check_settings, option, option_of


@dataclass(frozen=True)
class Tea:
    cups: int | None = option(None, help="Cups to make.", allowed=COUNT, panel="Kitchen")
    kind: str | None = option(None, help="Kind of tea.", choices=("green", "black"))
    note: str = ""


@pytest.mark.parametrize("tea", [Tea(), Tea(cups=1, kind="green", note="hot")])
def test_what_is_allowed_or_not_set_passes(tea: Tea) -> None:
    check_settings(tea)


@pytest.mark.parametrize(
    ("tea", "message"),
    [
        (Tea(cups=0), "cups: expected a whole number of at least 1, found 0"),
        (Tea(kind="red"), "kind: expected one of green, black; found 'red'"),
    ],
)
def test_what_is_not_allowed_is_named(tea: Tea, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        check_settings(tea)
    assert str(error.value) == message


def test_a_plain_field_is_no_option() -> None:
    about = [option_of(one) for one in fields(Tea)]
    assert about[0] is not None
    assert (about[0].help, about[0].panel) == ("Cups to make.", "Kitchen")
    assert about[2] is None


def test_reading_the_settings_keeps_the_command_line_light() -> None:
    code = "import sys, clinometer.cli.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "scipy.stats", "torch", "transformers"} & set(done.stdout.split())
