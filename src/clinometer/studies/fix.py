"""A fix of a model, as it is typed, and its control."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clinometer.display.text import brief
from clinometer.errors import SettingsError, closest
from clinometer.findings.phrases import minus
from clinometer.storage.untrusted import folder_name, read_text
from clinometer.studies.framework import data

SYSTEM = "system"
PREFIX = "prefix"
STEER = "steer"
ADAPTED = "adapter"
MODEL = "model"
RUN = "run"

KINDS = {
    SYSTEM: ":FILE",
    PREFIX: ":TEXT",
    STEER: "[:LAYER]",
    ADAPTED: ":FOLDER",
    MODEL: ":NAME",
    RUN: ":FOLDER",
}
"""The kinds of fixes, and what is typed after each."""

PROMPTS = (SYSTEM, PREFIX)
"""The kinds that are words before a question."""

BASE = "base"
"""The label of the model that is fixed."""

MOST_PROMPT = 1 << 20
"""Bytes of a prompt: no model reads a longer one."""

STRENGTHS = (-2, -1, 1, 2)
"""How many times a steering vector is added; 1 moves those who get least to those who get most."""


@dataclass(frozen=True)
class Fix:
    """One thing that is done to a model."""

    name: str
    """Its name in tables."""

    kind: str
    """One of `KINDS`."""

    value: str = ""
    """The text, folder, model or number of a layer."""

    of: str = ""
    """Of a control: the name of the fix."""

    strength: float = 0.0
    """How many times a steering vector is added."""

    @property
    def control_name(self) -> str:
        """Return the name of its control."""
        return f"{self.name}: control"

    @property
    def has_control(self) -> bool:
        """Return whether there is a control: of another model and of a stored run there is none."""
        return self.kind not in (MODEL, RUN)


def read_fix(text: str) -> Fix:
    """Read a fix as it is typed."""
    prompts = data("fixes")["prompts"]
    if text in prompts:
        return Fix(text, SYSTEM, prompts[text]["text"])
    kind, _, value = text.partition(":")
    if kind not in KINDS or (not value.strip() and kind != STEER):
        kinds = [name + more for name, more in KINDS.items()]
        forms = ", ".join([*prompts, *kinds])
        hint = closest(kind, (*prompts, *KINDS))
        raise SettingsError(f"--fix: expected one of {forms}; found {text!r}{hint}")
    if kind == STEER and value and not value.isdecimal():
        raise SettingsError(
            f"--fix: expected steer or steer:LAYER, a number; found {text!r}"
        )
    if kind == SYSTEM:
        return _read_system_prompt(value)
    if kind == PREFIX:
        return Fix(f"“{brief(value, 24)}”", PREFIX, value)
    return Fix(f"{kind} {Path(value).name}".strip(), kind, value)


def _read_system_prompt(file: str) -> Fix:
    """Read the system prompt in a file."""
    text = read_text(
        Path(file), shown=file, kind="text", error=SettingsError, most=MOST_PROMPT
    )
    prompt = text.strip()
    if not prompt:
        raise SettingsError(
            f"--fix system:{file}: expected a prompt, found an empty file; write it there"
        )
    return Fix(f"system {Path(file).stem}", SYSTEM, prompt)


def read_fixes(texts: Sequence[str]) -> list[Fix]:
    """Read fixes as they are typed.

    Results are told apart by the name of their fix: fixes of one short name get a long one, and
    those of one long name are refused.
    """
    fixes = [read_fix(text) for text in texts]
    times = Counter(fix.name for fix in fixes)
    distinct: dict[str, Fix] = {}
    for text, fix in zip(texts, fixes, strict=True):
        if times[fix.name] > 1:
            fix = replace(fix, name=_long_name(text))
        # The control of an adapter has a folder of this name.
        key = folder_name(fix.name) if fix.kind == ADAPTED else fix.name
        if key in distinct:
            raise SettingsError(
                f"--fix: expected each fix once, found {brief(fix.name, 80)!r} twice; "
                "leave one out, or rename its file or folder"
            )
        distinct[key] = fix
    return list(distinct.values())


def _long_name(text: str) -> str:
    """Return the name of a fix with all of its path or text."""
    kind, _, value = text.partition(":")
    return f"“{value}”" if kind == PREFIX else f"{kind} {value}".strip()


def irrelevant(words: int) -> str:
    """Return so many words that say nothing about people."""
    text = data("fixes")["control"]["text"].split()
    repeated = [text[i % len(text)] for i in range(words)]
    return " ".join(repeated).rstrip(".,") + "."


def with_controls(fixes: Sequence[Fix], out: Path) -> list[Fix]:
    """Return each fix and its control; a steering vector at every strength, and as many random
    ones."""
    fixes_and_controls: list[Fix] = []
    for fix in fixes:
        for variant in _variants(fix):
            fixes_and_controls.append(variant)
            if variant.has_control:
                fixes_and_controls.append(_control(variant, out))
    return fixes_and_controls


def _variants(fix: Fix) -> list[Fix]:
    """Return the fix, or the strengths of a steering vector."""
    if fix.kind != STEER:
        return [fix]
    return [
        replace(fix, name=f"{fix.name} × {minus(str(strength))}", strength=strength)
        for strength in STRENGTHS
    ]


def _control(fix: Fix, out: Path) -> Fix:
    """Return what is as large as a fix and has nothing to do with people."""
    value = fix.value
    if fix.kind in PROMPTS:
        value = irrelevant(len(value.split()))
    elif fix.kind == ADAPTED:
        value = str(out / "shuffled" / folder_name(fix.name))
    return replace(fix, name=fix.control_name, of=fix.name, value=value)


def vector_file(out: Path, fix: Fix) -> Path:
    """Return the file of a steering vector in the folder of a study."""
    return out / "steering" / f"{folder_name(fix.name)}.json"
