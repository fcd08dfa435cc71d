"""Cells that were scored once on this machine are not scored again, in whatever run."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.processes import python
from tests.runs.small_audit import MODEL, SMALL, TEMPLATES, same

from clinometer.contexts import ContextSet
from clinometer.errors import RunError
from clinometer.models import LoadOptions, ModelSpec, WordOptions
from clinometer.runs import Run, audit
from clinometer.runs.folder.record import CacheRecord
from clinometer.topics import parse_topic

TOPIC = SMALL["topic"]
FEW = TOPIC.group_names[:30]


def asked(model: str = MODEL, **changes: Any) -> Run:
    return audit(model, **{**SMALL, "topic": TOPIC.select(FEW), **changes})


def found(run: Run) -> int:
    return int(run.record.cache.found)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    """A first audit of 30 groups, and the cache that it filled."""
    folder = tmp_path_factory.mktemp("filled") / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLINOMETER_CACHE", str(folder))
        patch.setenv("CLINOMETER_CACHE_LIMIT", "1GB")
        run = asked()
    assert found(run) == 0
    return run, folder


@pytest.fixture
def scored(cache_on: Path, filled: tuple[Run, Path]) -> Run:
    """That audit; the cache is a copy, to be changed at will."""
    shutil.copytree(filled[1], cache_on)
    return filled[0]


@pytest.mark.usefixtures("no_model")
def test_cached_cells_are_found_in_any_order(scored: Run) -> None:
    again = asked()
    assert same(again, scored)
    assert again.record.model == scored.record.model
    contexts = ContextSet("some", [TEMPLATES[5], TEMPLATES[1]], [1, 1])
    assert found(asked(topic=TOPIC.select([FEW[7], FEW[2]]), contexts=contexts)) == 4


@pytest.mark.usefixtures("scored")
def test_only_unknown_groups_are_scored() -> None:
    """Cells from the cache beside fresh ones: the same as without a cache, up to rounding."""
    more = {"topic": TOPIC.select(TOPIC.group_names[20:40])}
    mixed = asked(**more)
    assert found(mixed) == 100
    plain = asked(cache=False, **more)
    assert plain.record.cache.found == 0
    assert np.abs(mixed.preferences.values - plain.preferences.values).max() < 1e-5
    assert found(asked(**more)) == 200


@pytest.mark.usefixtures("scored")
@pytest.mark.parametrize(
    "changed",
    [
        {"settings": replace(SMALL["settings"], words=WordOptions())},
        {
            "settings": replace(
                SMALL["settings"], load=LoadOptions(device="cpu", dtype="float16")
            )
        },
        {"model": "pocket:gpt2-m"},
        {"contexts": ContextSet("other", ["The [X] sang that [Y]"], [1])},
        {"cache": False},
    ],
    ids=["words", "dtype", "model", "contexts", "no cache"],
)
def test_settings_that_change_scores_miss_the_cache(changed: dict[str, Any]) -> None:
    topic = TOPIC.select(FEW[:2])
    assert found(asked(**{"topic": topic, **changed})) == 0
    assert found(asked(topic=topic)) == 20


def test_other_weights_under_the_same_name_are_another_model(
    cache_on: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(ModelSpec.parse(MODEL).target, folder)
    small = {"topic": TOPIC.select(FEW[:2])}
    first = asked(str(folder), **small, out=tmp_path / "run")
    assert found(asked(str(folder), **small)) == 20
    weights = folder / "model.safetensors"
    before, data = weights.stat(), bytearray(weights.read_bytes())
    data[200_001] ^= 1  # in the second of 64 kB: no sample of blocks sees it
    weights.write_bytes(bytes(data))
    os.utime(
        weights, ns=(before.st_atime_ns, before.st_mtime_ns)
    )  # as cp -p and rsync -t do
    with pytest.raises(RunError, match=r"begun with revision .* --fresh starts over"):
        asked(str(folder), **small, out=tmp_path / "run")
    again = asked(str(folder), **small)
    assert found(again) == 0
    assert again.record.model.revision != first.record.model.revision


def test_damaged_entries_are_rescored(
    scored: Run, cache_on: Path, tmp_path: Path
) -> None:
    first, *_ = sorted(cache_on.rglob("part-*"))
    first.write_bytes(first.read_bytes()[:-9] + b"\0" * 9)
    again = asked(out=tmp_path / "again")
    assert found(again) == 44
    # The first chunk is scored as a whole again, so even its rounding is the same.
    assert same(again, scored)
    for file in cache_on.rglob("part-*"):
        file.write_bytes(b"\0" * 100_000)
    assert found(asked()) == 0


def test_a_run_queries_the_cache_once(cache_on: Path, tmp_path: Path) -> None:
    """What the cache learns while a run is interrupted must not change the run: cells that are
    scored together stay together."""

    def stop(done: int, _: int) -> None:
        if done >= 256:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asked(out=tmp_path / "run", progress=stop)
    asked(topic=TOPIC.select(FEW[25:]))  # another run learns some of what is left
    continued = asked(out=tmp_path / "run")
    assert continued.record.cache == CacheRecord(looked_up=300, found=0)
    assert same(continued, asked(cache=False))


def test_the_command_loads_no_torch_when_every_score_is_cached(
    scored: Run, tmp_path: Path
) -> None:
    code = """if True:
        import sys
        from clinometer.cli import main
        try:
            main(sys.argv[1:])
        finally:
            sys.stderr.write(f"loaded: {sorted({'torch', 'transformers'} & set(sys.modules))}")
    """
    contexts = tmp_path / "contexts.csv"
    lines = [f'"{t}",{i + 1}' for i, t in enumerate(TEMPLATES)]
    contexts.write_text("\n".join(["template,count", *lines]) + "\n", encoding="utf-8")
    options = ["--contexts", contexts, "--groups", ",".join(FEW), "--single-token"]
    options += ["--device", "cpu", "--out", tmp_path / "run", "--json"]
    done = python(code, "audit", MODEL, *options)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("loaded: []")
    assert (
        json.loads(done.stdout)["runs"][0]["summary"]
        == scored.record.to_dict()["summary"]
    )


@pytest.mark.usefixtures("scored")
def test_doctor_shows_and_clears_the_cache(
    cache_on: Path, clinometer: Callable[..., Any]
) -> None:
    def command(*options: str) -> str:
        done = clinometer("doctor", *options)
        assert done.status == 0, done.err
        return str(done.out)

    def cached(*options: str) -> dict[str, Any]:
        part: dict[str, Any] = json.loads(command("--json", *options))["cache"]
        return part

    shown = cached()
    assert shown["folder"] == str(cache_on)
    assert [(s["model"], s["rows"]) for s in shown["scopes"]] == [(MODEL, 300)]
    assert "300 prompts" in command()
    assert cached("--clear-cache")["scopes"] == []
    assert found(asked(topic=TOPIC.select(FEW[:1]))) == 0
    assert shown["scores_bytes"] > 50_000 > cached()["scores_bytes"]


def test_readouts_that_score_differently_do_not_share_the_cache(
    cache_on: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clinometer.runs.answers.MOST", 1.0)
    text = (
        'name = "t"\ngroups = ["Ann", "Bob"]\n[attributes]\nyes = ["Yes indeed"]\nno = ["No"]\n'
        '[readout]\nkind = "choice"\nlabels = "none"\nnormalise = "{}"\n'
        '[contexts]\nwording = ["Is [X] in? Answer [options]. [Y]"]'
    )
    how: dict[str, Any] = {"device": "cpu", "tolerance": 0.0}
    whole = audit(MODEL, topic=parse_topic(text.format("sum")), **how)
    mean = audit(MODEL, topic=parse_topic(text.format("per-token")), **how)
    assert (found(whole), found(mean)) == (0, 0)
    assert not np.allclose(whole.preferences.values, mean.preferences.values)
    again = audit(MODEL, topic=parse_topic(text.format("per-token")), **how)
    assert found(again) == 4
    assert same(again, mean)


def test_each_tolerance_has_its_own_scores(cache_on: Path) -> None:
    few: dict[str, Any] = {"topic": TOPIC.select(FEW[:2]), "device": "cpu"}
    few["contexts"] = SMALL["contexts"]
    runs = [audit(MODEL, **few, tolerance=t) for t in (None, 1e-4, 1e-3, 0.0, 0.0)]
    assert [found(run) for run in runs] == [0, 0, 20, 0, 20]
    assert [run.record.settings.words.tolerance for run in runs] == [
        1e-3,
        1e-4,
        1e-3,
        0,
        0,
    ]


def test_words_that_count_otherwise_are_scored_again(cache_on: Path) -> None:
    """What may be left out depends on the categories; exact scores do not."""
    text = 'name = "t"\ngroups = ["nurse", "cook"]\n[attributes]\na = {}\nb = {}'
    one = parse_topic(text.format('["he", "boyfriend"]', '["she"]'))
    other = parse_topic(text.format('["he"]', '["boyfriend", "she"]'))
    assert one.words == other.words
    for tolerance, shared in ((None, 0), (0.0, 2)):
        how: dict[str, Any] = {"device": "cpu", "tolerance": tolerance}
        how["contexts"] = ContextSet("one", ["The [X] said that [Y]"], [1])
        first, second = (audit(MODEL, topic=topic, **how) for topic in (one, other))
        assert (found(first), found(second)) == (0, shared)
