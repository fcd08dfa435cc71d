"""Deferred modules are imported at their first use, and nothing else tells that they were not."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import new_class
from typing import Any

import pytest

from clinometer.deferred import deferred

HEAVY = """
class Thing:
    size = 3
TABLE = {"a": 1}
def double(x):
    return 2 * x
def disable(function, recursive=True):
    def marked(*arguments):
        return ("marked", function(*arguments))
    return marked
"""
USER = """
import heavy_things
from heavy_things import TABLE, Thing, disable, double
from heavy_things.below import deep
from typing import Optional

def takes(one: Thing | None, other: Optional[Thing] = None) -> "int | Thing":
    return isinstance(one, (Thing, str))

@disable
def plain(x):
    return x
"""


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that imports names of a package which has not been imported."""
    (tmp_path / "heavy_things").mkdir()
    (tmp_path / "heavy_things" / "__init__.py").write_text(HEAVY)
    (tmp_path / "heavy_things" / "below.py").write_text("def deep():\n    return 'deep'\n")
    (tmp_path / "user_of_heavy.py").write_text(USER)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("heavy_things", "heavy_things.below", "user_of_heavy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with deferred("heavy_things"):
        return importlib.import_module("user_of_heavy")


def imported() -> bool:
    return "heavy_things" in sys.modules


def test_naming_a_module_does_not_import_it(user: Any) -> None:
    assert not imported()
    assert not user.takes(3)
    assert user.takes("text")
    assert user.plain(3) == 3  # a mark for a compiler that is not there
    assert not imported()


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda user: user.double(4), 8),
        (lambda user: user.deep(), "deep"),
        (lambda user: user.TABLE["a"], 1),
        (lambda user: list(user.TABLE), ["a"]),
        (lambda user: "a" in user.TABLE, True),
        (lambda user: user.TABLE == {"a": 1}, False),  # unknown until it is imported
        (lambda user: bool(user.TABLE), True),
        (lambda user: user.heavy_things.Thing.size, 3),
        (lambda user: vars(new_class("Own", (user.Thing,)).__base__)["size"], 3),
        (lambda user: user.takes(user.Thing()), True),
        (lambda user: issubclass(type(user.Thing()), user.Thing), True),
        (lambda user: (user.double(1), user.plain(3))[1], ("marked", 3)),
    ],
)
def test_using_it_imports_it(user: Any, use: Callable[[Any], Any], expected: Any) -> None:
    assert use(user) == expected
    assert imported() or expected is False


def test_the_next_import_finds_the_real_module(user: Any) -> None:
    real = importlib.import_module("heavy_things")
    assert real.double(2) == 4
    assert user.Thing == real.Thing
    assert isinstance(real.Thing(), user.Thing)


def test_what_is_imported_already_is_not_replaced() -> None:
    with deferred("json"):
        import json
    assert json.loads("3") == 3


def test_what_is_not_installed_is_still_missing() -> None:
    with deferred("no_such_module_anywhere"), pytest.raises(ImportError):
        importlib.import_module("no_such_module_anywhere")


def test_a_model_loads_without_compiler_and_computes_with_it_later() -> None:
    code = """if True:
        import sys
        from clinometer.models import open_model
        model = open_model("pocket:gpt2-s").model
        heavy = {"torch._dynamo", "torch.distributed.tensor", "sympy", "accelerate",
                 "scipy.optimize", "pandas"} & set(sys.modules)
        assert not heavy, heavy
        import torch, torch._dynamo, torch.distributed.tensor
        ids = torch.tensor([[1, 2, 3]])
        with torch.inference_mode():
            plain = model(ids).logits
            compiled = torch.compile(model, backend="eager")(ids).logits
        assert torch.equal(plain, compiled)
        assert len(model.generate(ids, max_new_tokens=2, do_sample=False)[0]) == 5
    """
    subprocess.run([sys.executable, "-c", code], check=True)
