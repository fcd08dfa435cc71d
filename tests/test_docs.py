"""The documentation is true: pages exist, commands run, and the reference is whole and the
commands' own; the notebooks in examples/ are those of the tutorials. Every block of code works:

- Commands, in any block or notebook cell, are parsed by the commands' own parsers.
- Python blocks of pages run, page by page, in a folder with two runs and the package's samples.
  Audits ask a small model about two groups in four contexts, regardless of what the page says.
- Topics, JSON and YAML are read by what reads them.
- Notebooks run as a whole in `make docs`; here they are compiled.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import typer
import yaml
from tests.command import every_command
from tests.present import loaded
from tests.report.made import made_run

import clinometer as cm
from clinometer import measure
from clinometer.samples import write_samples

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
#: Every page that somebody wrote; those in docs/generated are made from other files.
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
PAGES = [page for page in PAGES if "generated" not in page.parts]
PARSERS = {" ".join(path): command for path, command in every_command()}
EACH_PAGE = pytest.mark.parametrize(
    "page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix()
)


@EACH_PAGE
def test_links_resolve_and_names_of_the_package_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), target
    for name in re.findall(r"\bcm\.([A-Za-z_]\w*)", text):
        assert hasattr(cm, name), name


def test_the_names_of_measure_are_in_its_pages() -> None:
    pages = ("measure.md", "inference.md", "compare.md")
    text = "".join((DOCS / name).read_text(encoding="utf-8") for name in pages)
    for name in measure.__all__:
        assert hasattr(measure, name)
        assert f"`{name}" in text, f"{name} is in none of {pages}"


def test_every_page_of_the_reference_is_in_its_index() -> None:
    index = (DOCS / "reference" / "index.md").read_text("utf-8")
    for package in loaded(DOCS / "extensions" / "public_names.py").PACKAGES:
        assert f"generated/api/{package}\n" in index


def test_the_page_of_commands_is_made_from_them_and_each_has_an_example() -> None:
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert written == loaded(DOCS / "build_cli.py").page(), (
        "run: python docs/build_cli.py"
    )
    examples = tomllib.loads((DOCS / "command_examples.toml").read_text("utf-8"))
    assert set(examples) == set(PARSERS), (
        "docs/command_examples.toml, then docs/build_cli.py"
    )


def test_notebooks_are_made_from_the_tutorials() -> None:
    builder = loaded(DOCS / "build_notebooks.py")
    made = {
        s.stem: builder.notebook(s) for s in builder.SOURCES if builder.is_notebook(s)
    }
    written = {
        path.stem: path.read_text("utf-8") for path in ROOT.glob("examples/*.ipynb")
    }
    assert written == made, "run: python docs/build_notebooks.py"


# --- blocks of code -------------------------------------------------------------------------------


class Block(NamedTuple):
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """Fenced blocks, and indented ones that start with a command."""
    text = page.read_text("utf-8")
    fence = re.compile(r"^(`{3,})(\S*)[^\n]*\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
    for match in fence.finditer(text):
        yield Block(match[2], match[3])
    for match in re.finditer(
        r"^    \$? ?(clinometer .*)$", fence.sub("", text), re.MULTILINE
    ):
        yield Block("sh", match[1] + "\n")


def commands(block: Block) -> Iterator[list[str]]:
    """The commands of a block as words, without pipes, redirections and comments."""
    for line in block.text.replace("\\\n", " ").splitlines():
        found = re.match(
            r"(?:!|\$ )?(?:[A-Z_]+=\S+ |timeout \S+ \S+ )*(clinometer .*)", line.strip()
        )
        if found is None:
            continue
        lexer = shlex.shlex(found[1], posix=True, punctuation_chars=";|&<>")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in lexer:
            if set(word) <= set(";|&<>"):
                if ">" in word and words[-1] == "2":  # 2>/dev/null
                    words.pop()
                break
            words.append(word)
        yield words


def parsed(words: list[str]) -> str:
    """The name of the command; an option that it lacks, or that is required, is an error."""
    for length in (3, 2):
        name = " ".join(words[1:length])
        if name in PARSERS:
            command = PARSERS[name]
            context = typer.Context(command, info_name=name)
            given, rest, _ = command.make_parser(context).parse_args(words[length:])
            missing = [
                p.name
                for p in command.params
                if p.required and not given.get(p.name or "")
            ]
            if missing or rest:
                raise typer.BadParameter(f"{name}: missing {missing}, too many {rest}")
            return name
    raise typer.BadParameter(f"no such command: {' '.join(words)}")


@EACH_PAGE
def test_commands_have_the_options_they_use(page: Path) -> None:
    for block in blocks(page):
        if block.language in ("", "sh", "{code-cell}"):
            for words in commands(block):
                parsed(words)


def test_a_wrong_command_or_option_fails() -> None:
    assert list(
        commands(Block("sh", "$ X=1 clinometer gate a -b c --json | head # x\n"))
    ) == [["clinometer", "gate", "a", "-b", "c", "--json"]]
    for line in (
        "clinometer gte a -b c",
        "clinometer gate a -b c --jsn",
        "clinometer gate --json",
    ):
        with pytest.raises(Exception, match=r"(?i)no such|missing"):
            parsed(shlex.split(line))


def smaller_audit(model: str, *, topic: str = "gender", **settings: Any) -> cm.Run:
    """The same call with a small model, two groups and four contexts."""
    few = cm.load_topic(topic)
    few = few.select(
        few.group_names[:2] if topic != "gender" else ["nurse", "engineer"]
    )
    settings |= {"max_contexts": 4, "device": "cpu"}
    return _AUDIT("pocket:gpt2-s", topic=few, **settings)


_AUDIT = cm.audit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, the samples, and the files that pages tell the reader to save."""
    folder = tmp_path_factory.mktemp("reader")
    for seed, name in enumerate("ab"):
        made_run(folder / "runs" / name, groups=4, contexts=8, model=name, seed=seed)
    write_samples(folder)
    topics = (ROOT / "docs" / "topics.md").read_text("utf-8")
    contexts = (ROOT / "docs" / "contexts.md").read_text("utf-8")
    (folder / "drinks.toml").write_text(
        topics.split("```toml\n")[1].split("```")[0], "utf-8"
    )
    (folder / "drinks.csv").write_text(
        contexts.split("```csv\n")[1].split("```")[0], "utf-8"
    )
    return folder


def prepared() -> dict[str, Any]:
    """What pages call `p`, `counts`, `table` and so on."""
    rng = np.random.default_rng(0)
    p = rng.beta(5, 5, (3, 12))
    p_a = np.stack([p, 1 - p], axis=-1)
    table = {
        "name": ["s", "m", "l"],
        "R_bias": [0.2, 0.3, 0.4],
        "R_volatility": [0.1, 0.1, 0.2],
    }
    return {
        "p": p_a,
        "p_a": p_a,
        "p_b": p_a[:, ::-1],
        "counts": np.arange(12) + 1.0,
        "table": pd.DataFrame(table),
        "out": "sizes.html",
    }


@EACH_PAGE
def test_python_of_a_page_runs(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(cm, "audit", smaller_audit, raising=False)
    names = prepared()
    for block in blocks(page):
        if block.language == "{code-cell}":
            joined = block.text.replace("\\\n", " ")
            plain = re.sub(r"^(:tags:|!|%).*$", "", joined, flags=re.MULTILINE)
            if not block.text.startswith("%%"):
                ast.parse(plain)
        elif block.language == "python":
            exec(compile(block.text, str(page), "exec"), names)  # noqa: S102


@EACH_PAGE
def test_data_of_a_page_is_valid(page: Path, tmp_path: Path) -> None:
    (tmp_path / "applications.csv").write_text(
        "id,job,resume\n1,nurse,Ten years.\n", "utf-8"
    )
    for block in blocks(page):
        if block.language == "toml" and re.search(
            r"^groups|^\[groups\]", block.text, re.MULTILINE
        ):
            text = (
                block.text
                if "name =" in block.text.split("[")[0]
                else f'name = "x"\n{block.text}'
            )
            (tmp_path / "topic.toml").write_text(text, "utf-8")
            assert len(cm.load_topic(tmp_path / "topic.toml"))
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            assert yaml.safe_load(block.text)
