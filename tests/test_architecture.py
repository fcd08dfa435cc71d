"""The house stays as it is drawn: layers, light imports, honest exports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import LONG

import clinometer

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "clinometer"

#: Rooms by the layers of ARCHITECTURE.md. Higher ones may import lower ones; rooms of one layer may
#: not import each other, except for the pairs in MEET.
LAYERS = {
    room: int(layer)
    for layer, rooms in re.findall(
        r"^\| (\d) \| ([^|]+) \|",
        (TESTS.parent / "ARCHITECTURE.md").read_text("utf-8"),
        re.M,
    )
    for room in re.findall(r"`(\w+)`", rooms)
} | {"__main__": 10}
MEET = {("readouts", "storage")}
#: The only imports of a higher layer, each inside one method, so that `run.write_report(…)`,
#: `run.plot()` and `run.view()` stand where people look for them: (importing module, method) ->
#: imported package.
UPWARD = {
    ("clinometer.runs.run", "Run.write_report"): "clinometer.report",
    ("clinometer.runs.run", "Run.plot"): "clinometer.report",
    ("clinometer.runs.run", "Run.view"): "clinometer.web",
}
TYPES = "TYPE_CHECKING"
#: Tests of the project, of another package, and attacks on all of this one: of no single module.
ABOUT_THE_WHOLE = {
    "test_action",
    "test_api",
    "test_architecture",
    "test_benchmarks",
    "test_ci",
    "test_components",
    "test_docs",
}
ABOUT_THE_WHOLE |= {"test_supply", "test_wheels", "pocket", "security"}


def dotted(path: Path) -> str:
    names = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


FILES = {dotted(path): path for path in SOURCE.rglob("*.py")}


def imports(path: Path, *, types: bool = True) -> set[str]:
    """Every module that a file imports, inside functions too, apart from those in UPWARD; without
    `types` only those that are imported when the code runs."""
    upward = {
        package for (module, _), package in UPWARD.items() if module == dotted(path)
    }
    return {
        module
        for where, module in imports_by_function(path)
        if module not in upward and (types or where != TYPES)
    }


def imports_by_function(path: Path) -> set[tuple[str, str]]:
    """(function, module that it imports) of a file; the function is "" at the top of the file, and
    TYPES for imports that serve type checking alone."""
    pairs: set[tuple[str, str]] = set()

    def visit(node: ast.AST, where: str) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == TYPES:
            where = TYPES
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            where = f"{where}.{node.name}".removeprefix(".")
        elif isinstance(node, ast.Import):
            pairs.update((where, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                pairs.add((where, submodule if submodule in FILES else node.module))
        for child in ast.iter_child_nodes(node):
            visit(child, where)

    visit(ast.parse(path.read_text(encoding="utf-8")), "")
    return pairs


def breach(module: str, imported: str) -> bool:
    """Whether one module of ours may not import another."""
    ours, room, *_ = f"{imported}..".split(".")
    layer = module.split(".")[1]
    if ours != "clinometer" or room in ("", layer) or (layer, room) in MEET:
        return False
    return LAYERS[room] >= LAYERS[layer]


def test_no_room_imports_a_higher_one() -> None:
    assert breach("clinometer.measure.risk", "clinometer.runs")
    assert breach("clinometer.topics.load", "clinometer.contexts.load")
    assert not breach("clinometer.runs.run", "clinometer.models")
    upward = {
        (module, where): name
        for module, path in FILES.items()
        for where, name in imports_by_function(path)
        if module != "clinometer" and breach(module, name)
    }
    types = {pair for pair in upward if pair[1] == TYPES}
    assert {module for module, _ in types} <= {module for module, _ in UPWARD}
    assert {pair: name for pair, name in upward.items() if pair not in types} == UPWARD


#: The rooms of models, each of which imports only those before it.
ROOMS_OF_MODELS = (
    *(
        "background",
        "event_loop",
        "providers",
        "prices",
        "options",
        "client",
        "protocol",
        "whole_texts",
        "catalog",
        "tokens",
        "scoring",
    ),
    *(
        "sampled",
        "asking",
        "local",
        "server",
        "application",
        "open",
        "replies",
        "likelihood",
        "embeddings",
    ),
)


def test_no_room_of_models_imports_a_later_one() -> None:
    package = "clinometer.models."
    order = {room: place for place, room in enumerate(ROOMS_OF_MODELS)}
    upward = {
        (module.removeprefix(package), name.removeprefix(package))
        for module, path in FILES.items()
        if module.startswith(package)
        for name in imports(path)
        if name.startswith(package)
        and order[name.split(".")[2]] > order[module.split(".")[2]]
    }
    assert upward == set()


def cycle(imports: dict[str, set[str]]) -> list[str]:
    """Some files that import each other in a circle; empty when there are none."""
    left = {name: set(others) for name, others in imports.items()}
    while done := [name for name, others in left.items() if not others & left.keys()]:
        for name in done:
            del left[name]
    return sorted(left)


def test_there_are_no_import_cycles() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [
        "a",
        "b",
        "c",
        "d",
    ]
    graph = {name: imports(path, types=False) - {name} for name, path in FILES.items()}
    assert cycle(graph) == []
    graph["clinometer.runs.run"] |= set(UPWARD.values())  # ARCHITECTURE.md says so
    assert "clinometer.runs.run" in cycle(graph)


def test_class_names_are_unique() -> None:
    homes: dict[str, list[str]] = {}
    for path in FILES.values():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def mirrored(test: Path) -> bool:
    """Whether a test is about a module or package in the same folder of the source: test_x.py, or
    test_x_aspect.py; or the folder that it lies in is named after a module."""
    relative = test.relative_to(TESTS)
    if relative.parts[0].removesuffix(".py").startswith(tuple(ABOUT_THE_WHOLE)):
        return True
    folder = SOURCE / relative.parent
    if folder.with_suffix(".py").is_file():
        return True
    about = test.stem.removeprefix("test_")
    there = {path.stem for path in folder.iterdir()} if folder.is_dir() else set()
    return any(about == name or about.startswith(f"{name}_") for name in there)


def test_every_long_test_is_there() -> None:
    """A renamed test would otherwise slip into `make test`."""
    for prefix in LONG:
        file, _, name = prefix.partition("::")
        paths = list(TESTS.parent.glob(f"{file}*"))
        assert paths, prefix
        assert f"def {name}" in "".join(
            path.read_text(encoding="utf-8") for path in paths
        ), prefix


def test_every_test_mirrors_a_source_file() -> None:
    assert not mirrored(TESTS / "measure" / "test_no_such_module.py")
    strays = [path for path in TESTS.rglob("test_*.py") if not mirrored(path)]
    assert [str(path.relative_to(TESTS)) for path in strays] == []


@pytest.mark.parametrize("room", ["measure", "statistics"])
def test_mathematics_depends_on_numpy_and_scipy_only(room: str) -> None:
    allowed = {"numpy", "scipy", "clinometer"} | set(sys.stdlib_module_names)
    for path in (SOURCE / room).rglob("*.py"):
        extra = (
            {"statsmodels"} if path.name == "regression.py" else set()
        )  # which is an extra
        assert {name.split(".")[0] for name in imports(path)} <= allowed | extra, path


def quantiles(path: Path) -> set[str]:
    """Quantile functions of the normal and of Student's distribution that a file names."""
    functions = {"stdtrit", "ndtri", "ndtri_exp", "NormalDist"}
    functions |= {"norm.ppf", "norm.isf", "t.ppf", "t.isf"}
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            names |= {node.attr, ".".join(ast.unparse(node).split(".")[-2:])}
    return names & functions


def test_ends_of_intervals_are_computed_in_one_place() -> None:
    reach = SOURCE / "statistics" / "intervals" / "reach.py"
    assert quantiles(reach) == {"ndtri", "stdtrit"}
    elsewhere = [path for path in FILES.values() if path != reach and quantiles(path)]
    assert [str(path.relative_to(SOURCE)) for path in elsewhere] == []


@pytest.mark.parametrize(
    ("packages", "more"),
    [
        ("measure topics contexts models", {"pandas", "pyarrow", "rich", "fastapi"}),
        ("cli.audit cli.imports cli.compare", {"pandas", "fastapi"}),
    ],
    ids=["library", "commands"],
)
def test_import_is_light(packages: str, more: set[str]) -> None:
    """No torch, spaCy or plotting, and not even pandas, before somebody needs them."""
    names = ", ".join(f"clinometer.{package}" for package in packages.split())
    code = f"import sys, clinometer, {names}; clinometer.Estimate; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"torch", "transformers", "spacy", "vl_convert", "matplotlib"}
    assert not set(done.stdout.split()) & (
        heavy | more | {"scipy.stats", "scipy.optimize"}
    )


def test_every_exported_name_exists_and_no_other() -> None:
    """Those of rooms are checked by ruff; ours are looked up when they are used."""
    assert len(set(clinometer.__all__)) == len(clinometer.__all__)
    assert all(getattr(clinometer, name) is not None for name in clinometer.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = clinometer.nonsense  # type: ignore[attr-defined]  # on purpose
