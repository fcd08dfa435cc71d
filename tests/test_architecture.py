"""The house stays as it is drawn: layers, light imports, honest exports."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "clinometer"

#: Higher numbers may import lower ones; siblings of one layer may not import each other, except
#: for the pairs in MEET.
LAYERS = {
    "errors": 0,
    "ranges": 0,
    "extras": 0,
    "atomic": 1,
    "cache": 1,
    "cache_place": 1,
    "cluster": 1,
    "parts": 1,
    "notebook": 1,
    "result_folder": 1,
    "samples": 2,
    "measure": 1,
    "topics": 2,
    "contexts": 2,
    "models": 2,
    "reliability": 3,
    "runs": 3,
    "machine": 3,
    "studies": 4,
    "report": 4,
    "web": 5,
    "cli": 5,
    "__main__": 6,
}
#: A missing extra, or a number out of range, is an error; models know what a Prompt is and the
#: miner what a Topic is, and nothing else of topics; parts are written atomically, and the cache
#: has its place; results show
#: themselves in a notebook; the commands start the pages; studies draw with the charts of reports.
MEET = {
    ("extras", "errors"),
    ("models", "topics"),
    ("ranges", "errors"),
    ("parts", "atomic"),
    ("result_folder", "atomic"),
    ("result_folder", "parts"),
    ("cache", "cache_place"),
    ("measure", "notebook"),
    ("cli", "web"),
    ("contexts", "topics"),
    ("studies", "report"),
}


def modules() -> list[Path]:
    return sorted(p for p in SOURCE.rglob("*.py") if p.name != "__init__.py" or p.parent != SOURCE)


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Every module a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
    return found


def breach(layer: str, imported: str) -> bool:
    if imported == layer:
        return False
    if LAYERS[imported] < LAYERS[layer]:
        return False
    return (layer, imported) not in MEET


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_lower_layer_imports_a_higher_one(path: Path) -> None:
    layer = layer_of(path)
    assert layer in LAYERS, f"{layer}: give the new package a layer"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "clinometer" or len(parts) < 2:
            continue
        assert not breach(layer, parts[1]), f"{path.relative_to(SOURCE)} imports {name}"


def test_the_rule_finds_a_breach() -> None:
    assert breach("measure", "runs")
    assert breach("topics", "contexts")
    assert not breach("runs", "models")


@pytest.mark.parametrize("path", sorted((SOURCE / "measure").glob("*.py")), ids=lambda p: p.name)
def test_measure_depends_on_numpy_and_scipy_only(path: Path) -> None:
    allowed = {"numpy", "scipy", "clinometer"} | set(sys.stdlib_module_names)
    assert {name.split(".")[0] for name in imports(path)} <= allowed


def test_import_is_light() -> None:
    """No torch, spaCy or plotting, and not even pandas, before somebody needs them."""
    code = (
        "import sys, clinometer, clinometer.topics, clinometer.contexts, clinometer.models;"
        "print(' '.join(sorted(m for m in sys.modules if '.' not in m)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    heavy = {"torch", "transformers", "spacy", "altair", "matplotlib", "pandas", "pyarrow", "rich"}
    assert not loaded & heavy


@pytest.mark.parametrize(
    "module",
    ["clinometer"] + [f"clinometer.{p.parent.name}" for p in sorted(SOURCE.glob("*/__init__.py"))],
)
def test_every_exported_name_exists(module: str) -> None:
    package = importlib.import_module(module)
    assert len(set(package.__all__)) == len(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    import clinometer

    with pytest.raises(AttributeError, match="nonsense"):
        _ = clinometer.nonsense  # type: ignore[attr-defined]
