"""The papers' models by table: their names, their kinds, and whether they are available locally."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from clinometer.errors import SettingsError
from clinometer.models.catalog.pretrained import cached


@dataclass(frozen=True)
class ZooEntry:
    """A model of a paper: its name there, its kind, and where it is found."""

    name: str
    kind: str

    id: str
    """A Hugging Face id or a folder."""

    gated: bool = False
    """Access has to be requested."""

    remote_code: bool = False
    """The model ships its own code, which runs only with --allow remote-code."""

    absent: str = ""
    """Why it is not opened: it is not on this machine, and no download was asked for."""


def suites() -> dict[str, str]:
    """Return the suites' names and the tables they come from.

    >>> suites()["bvf-gender"]
    'BVF, Table 1'
    """
    return {name: table["from"] for name, table in _zoo()["suites"].items()}


def suite(name: str) -> tuple[ZooEntry, ...]:
    """Return the models of a suite, in the order of the paper's table.

    >>> [entry.name for entry in suite("bvf-religion")]
    ['BERT', 'GPT-2', 'T5', 'LLaMA2']
    """
    table = _zoo()["suites"].get(name)
    if table is None:
        raise SettingsError(f"suite {name!r}: expected one of {', '.join(suites())}")
    models = _zoo()["models"]
    return tuple(ZooEntry(name=model, **models[model]) for model in table["models"])


def members(name: str, *, download: bool = False) -> tuple[ZooEntry, ...]:
    """Return the models of a suite; with `download` those that are not on this machine may be
    fetched."""
    entries = suite(name)
    if download:
        return entries
    return tuple(entry if at_hand(entry) else _marked(entry) for entry in entries)


def _marked(entry: ZooEntry) -> ZooEntry:
    """Return an entry that says why the model is not opened."""
    access = ", gated: request access from its owner" if entry.gated else ""
    code = ", needs --allow remote-code" if entry.remote_code else ""
    absent = f"not available locally ({entry.id}{access}{code}); --download fetches it"
    return replace(entry, absent=absent)


def at_hand(entry: ZooEntry) -> bool:
    """Return whether a model can be opened without the network: a folder, or in the hub's local
    cache."""
    return Path(entry.id).is_dir() or cached(entry.id)


@cache
def _zoo() -> dict[str, Any]:
    file = files("clinometer.models.catalog").joinpath("suites.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))
