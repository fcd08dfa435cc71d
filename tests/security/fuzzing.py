"""A fuzzer is a reader of something that Hypothesis has spoiled: it reads it, or it says in one
line why not."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from clinometer.errors import ClinometerError

#: Draws something with a few things wrong in it, and reads it in an empty folder.
Reader = Callable[[st.DataObject, Path], object]

#: Values as they are written in a file; some are no JSON.
RAW = (
    "null", "true", "0", "-1", "1e999", "-1e999", "NaN", "Infinity", "9" * 50, "0.5", '""', '"x"',
    '"\\ud800"', '"\\u0000"', '"\\u202e"', '"<b>"', "[]", "{}", "[[]]", '"' + "y" * 3000 + '"',
    '{"a":' * 70 + "1" + "}" * 70,
)  # fmt: skip
#: Keys that a mutation may add, besides those of the record itself.
KEYS = ("", "kind", "__proto__", "a" * 300, "schema_version", "id", "\ud800")


def budget(examples: int) -> settings:
    """So many examples; benchmarks/fuzz.py has more of them."""
    times = int(os.environ.get("CLINOMETER_FUZZ", "1"))
    # What is found is read from the example; to explain it by others takes minutes.
    phases = [phase for phase in Phase if phase is not Phase.explain]
    return settings(max_examples=examples * times, phases=phases)


def fuzzer(examples: int) -> Callable[[Reader], Callable[[], None]]:
    """A test that a reader survives so many examples: no error but one of ours, of one line."""

    def decorate(read: Reader) -> Callable[[], None]:
        @budget(examples)
        @given(data=st.data())
        def test(data: st.DataObject) -> None:
            with tempfile.TemporaryDirectory() as name:
                try:
                    read(data, Path(name))
                except ClinometerError as error:
                    one_line(error)

        test.__name__, test.__qualname__ = read.__name__, read.__qualname__
        test.__doc__, test.__module__ = read.__doc__, read.__module__
        return test

    return decorate


def one_line(error: ClinometerError) -> None:
    assert str(error)
    assert "\n" not in str(error).strip()


@st.composite
def spoiled(draw: st.DrawFn, sound: Any) -> bytes:
    """`sound` as JSON, with one to four values replaced, removed, added or moved, and sometimes
    bytes cut out or put in."""
    value = copy.deepcopy(sound)
    raw: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        container, key = _place(draw, value)
        how = draw(st.sampled_from(("raw", "raw", "raw", "drop", "copy", "add")))
        if how == "drop":
            del container[key]
        elif how == "copy":
            container[key] = copy.deepcopy(draw(st.sampled_from(list(_values(value)))))
        elif how == "add" and isinstance(container, dict):
            container[draw(st.sampled_from(KEYS))] = container[key]
        else:
            raw.append(draw(st.sampled_from(RAW)))
            container[key] = f"@@{len(raw) - 1}@@"
        if not value:
            break
    text = json.dumps(value)
    for number, written in enumerate(raw):
        text = text.replace(f'"@@{number}@@"', written)
    content = bytearray(text.encode())
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(content)))
        content[at : at + draw(st.integers(0, 30))] = draw(st.binary(max_size=8))
    return bytes(content)


def _place(draw: st.DrawFn, value: Any) -> tuple[Any, Any]:
    """A container inside `value` that is not empty, and a key of it."""
    inside = [one for one in _values(value) if isinstance(one, dict | list) and one]
    container = draw(st.sampled_from(inside))
    keys = (
        list(container) if isinstance(container, dict) else list(range(len(container)))
    )
    return container, draw(st.sampled_from(keys))


def _values(value: Any) -> Any:
    yield value
    inside = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else ()
    )
    for one in inside:
        yield from _values(one)
