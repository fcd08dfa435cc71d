"""Shards on datatrove's executors, the local one and Ray's, give what plain commands give."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contexts.mining.conftest import assert_same_sets, text

from clinometer.cluster import Audits, Mining
from clinometer.contexts.mining import MineSettings, mine
from clinometer.errors import ClinometerError
from clinometer.models import open as opening
from clinometer.runs import Run, audit
from clinometer.topics import load_topic

MODELS = ("pocket:gpt2-s", "pocket:bert", "reference:unbiased")
TOPICS = ("gender", "race")


def by_local(pipeline: list[Any], tasks: int, folder: Path) -> None:
    from datatrove.executor import LocalPipelineExecutor

    LocalPipelineExecutor(
        pipeline, tasks=tasks, workers=2, logging_dir=str(folder)
    ).run()


def by_ray(pipeline: list[Any], tasks: int, folder: Path) -> None:
    import ray
    from datatrove.executor.ray import RayPipelineExecutor

    folder.mkdir()  # datatrove logs in a folder of TMPDIR, which may be another user's in /tmp
    own = {"env_vars": {"TMPDIR": str(folder)}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=own)
    try:
        RayPipelineExecutor(
            pipeline,
            tasks=tasks,
            workers=2,
            cpus_per_task=1,
            mem_per_cpu_gb=1,
            logging_dir=str(folder),
        ).run()
    finally:
        ray.shutdown()


EXECUTORS = pytest.mark.parametrize("executor", [by_local, by_ray])


@EXECUTORS
@pytest.mark.filterwarnings("ignore")  # of datatrove and Ray
def test_executors_mine_the_same_bytes(
    tmp_path: Path, executor: Callable[..., None]
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    rows = (json.dumps({"text": text(n)}) for n in range(20))
    corpus.write_text("\n".join(rows), encoding="utf-8")
    settings = MineSettings(topic=load_topic("gender"), sample=None)
    places = [tmp_path / "plain" / "c.csv", tmp_path / "shared" / "c.csv"]
    for place in places:
        place.parent.mkdir()
    mine([corpus], places[0], settings)
    executor([Mining([corpus], places[1], settings)], 3, tmp_path / "logs")
    work = tmp_path / "shared" / "c.csv.mining"
    assert len(list((work / "parts").glob("*.json"))) == 10
    mine([corpus], places[1], settings)
    assert_same_sets(*places)
    assert not work.exists()


@EXECUTORS
@pytest.mark.filterwarnings("ignore")  # of datatrove and Ray
def test_executors_audit_to_the_same_numbers(
    tmp_path: Path, executor: Callable[..., None]
) -> None:
    options: Any = {"max_contexts": 4, "device": "cpu"}
    step = Audits(MODELS, TOPICS, tmp_path / "runs", "wikipedia", options)
    executor([step], 2, tmp_path / "logs")
    runs = [Run.load(folder) for folder in sorted((tmp_path / "runs").iterdir())]
    assert len(runs) == len(MODELS) * len(TOPICS)
    for run in runs:
        topic = run.record.topic.name
        plain = audit(
            run.model, topic=topic, contexts="wikipedia", cache=False, **options
        )
        # Ray gives a task one thread, which adds float32 numbers in another order.
        found, expected = ([one.R.value, one.R_bias.value] for one in (run, plain))
        assert found == pytest.approx(expected, rel=0, abs=1e-7)


def test_a_model_is_loaded_once_for_all_topics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a model that fails is the rank's error, after the others."""
    from clinometer.models.local import load

    loaded: list[str] = []
    real = load.load_transformer

    def counted(spec: Any, *rest: Any, **options: Any) -> Any:
        loaded.append(spec.name)
        return real(spec, *rest, **options)

    monkeypatch.setattr(load, "load_transformer", counted)
    models = ["pocket:none", "pocket:bert", "pocket:gpt2-s", "reference:random"]
    options = {"max_contexts": 2, "device": "cpu"}
    step = Audits(models, TOPICS, tmp_path, "wikipedia", options)
    with pytest.raises(ClinometerError, match="none"):
        step(rank=0, world_size=2)
    assert loaded == ["pocket:gpt2-s"]
    assert len(list(tmp_path.glob("*/run.json"))) == len(TOPICS)
    step(rank=1, world_size=2)
    assert loaded == ["pocket:gpt2-s", "pocket:bert"]
    assert len(list(tmp_path.glob("*/run.json"))) == 3 * len(TOPICS)
    assert opening._loaded is None
