"""Small trained language models of every kind, as folders for transformers' Auto classes.

>>> "bert" in names()
True
>>> folder("bert").name
'bert'
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["folder", "names"]

_HERE = Path(__file__).parent
_ORDER = (
    "bert",
    "gpt2-s",
    "gpt2-m",
    "gpt2-l",
    "t5",
    "xlnet",
    "gpt2-m-toxic",
    "gpt2-m-aligned",
)
_WEIGHTS = ("model.safetensors", "adapter_model.safetensors")


def names() -> tuple[str, ...]:
    """Names of the models that this installation holds, whole models first."""
    return tuple(name for name in _ORDER if _is_there(name))


def folder(name: str) -> Path:
    """Folder of a model, ready for `from_pretrained`.

    `gpt2-m-toxic` and `gpt2-m-aligned` are adapters in the format of the library peft; their
    configuration names the folder of their base, `../gpt2-m`. Raises KeyError, with the known
    names, for a name that is not there.
    """
    if not _is_there(name):
        raise KeyError(
            f"pocket model: expected one of {', '.join(names())}; found {name!r}"
        )
    return _HERE / name


def _is_there(name: str) -> bool:
    return name in _ORDER and any((_HERE / name / file).is_file() for file in _WEIGHTS)
