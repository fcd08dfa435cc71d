"""audit --precision: drawn round by round, the same after a kill, honest where it stops."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.preferences import labelled, pair
from tests.present import present
from tests.runs.small_audit import FORKS

from clinometer.contexts import ContextSet
from clinometer.errors import RunError, SettingsError
from clinometer.models import LoadOptions, ModelInfo
from clinometer.runs import AuditSettings, Run, audit, compare
from clinometer.runs.cells import CellGrid
from clinometer.runs.folder.record import RunRecord, new_record
from clinometer.runs.precision import SequentialSample, precision_sentence
from clinometer.statistics.estimate import Estimate
from clinometer.topics import load_topic

TOPIC = load_topic("gender").select(["nurse", "engineer", "teacher"])
VERBS = [
    "said",
    "stated",
    "felt",
    "wrote",
    "added",
    "knew",
    "hoped",
    "claimed",
    "noted",
    "argued",
    "thought",
    "believed",
]
PLACES = ["here", "there", "today", "once", "then", "later", "again"]
#: 84 contexts, Zipf weights.
CONTEXTS = ContextSet(
    "many",
    [f"The [X] {verb} {place} that [Y]" for verb in VERBS for place in PLACES],
    [1000 // (1 + i) + 1 for i in range(len(VERBS) * len(PLACES))],
    extra={"predicate": [verb for verb in VERBS for _ in PLACES]},
)
MODEL = "pocket:gpt2-s"


def precise(target: float, **more: Any) -> AuditSettings:
    return AuditSettings(precision=target, replicates=200, **more)


def width(found: Estimate) -> float:
    return present(found.high) - present(found.low)


def look(sample: SequentialSample, settings: AuditSettings, scale: float) -> SequentialSample:
    """What a model whose p varies with the context would give."""
    rng = np.random.default_rng(0)
    known = dict(zip(CONTEXTS.templates, rng.beta(5, 5, (len(CONTEXTS), 4)), strict=True))
    p = 0.5 + scale * (np.array([known[t] for t in sample.contexts.templates]).T - 0.5)
    preferences = labelled(
        pair(p),
        contexts=sample.contexts.ids,
        context_weights=np.array(sample.contexts.counts),
        sampling=sample.contexts.sampling,
    )
    return sample.evaluate(preferences, settings)


def test_samples_are_nested_and_keep_their_cells() -> None:
    settings = precise(1e-6)
    sample = look(SequentialSample.begin(CONTEXTS, settings, None), settings, 1.0)
    assert len(sample.contexts) == sample.looks[0].draws == 30
    larger = sample.extend(settings)
    first = CellGrid(TOPIC, sample.contexts, 7, sample.rounds)
    second = CellGrid(TOPIC, larger.contexts, 7, larger.rounds)
    assert larger.contexts.templates[: len(sample.contexts)] == sample.contexts.templates
    cells = range(len(first))
    assert first.prompts(cells) == second.prompts(cells)
    chunks = list(second.chunks())
    assert chunks[: len(list(first.chunks()))] == list(first.chunks())
    assert [i for chunk in chunks for i in chunk] == list(range(len(second)))
    x, c = second.places(np.arange(len(second)))
    assert len(set(zip(x.tolist(), c.tolist(), strict=True))) == len(second)


def test_an_audit_stops_when_the_intervals_are_narrow_enough() -> None:
    settings = precise(0.05)
    sample = look(SequentialSample.begin(CONTEXTS, settings, None), settings, 0.2)
    assert sample.reached
    assert sample.next_size is None
    assert max(present(sample.looks[-1].half_widths).values()) <= 0.05
    unsure = look(SequentialSample.begin(CONTEXTS, settings, None), settings, 1.0)
    assert not unsure.reached
    assert unsure.next_size is not None
    assert 37 < unsure.next_size <= 84


def test_an_audit_stops_at_the_ceiling_or_the_whole_set() -> None:
    low = precise(1e-6, max_contexts=40)
    sample = look(SequentialSample.begin(CONTEXTS, low, None), low, 1.0).extend(low)
    sample = look(sample, low, 1.0)
    assert sample.looks[-1].draws == 40
    assert sample.next_size is None
    assert not sample.reached
    said = precision_sentence(present(sample.precision(low)))
    assert "not reached with 40 contexts" in said
    assert "--max-contexts" in said
    free = precise(1e-6)
    sample = SequentialSample.begin(CONTEXTS, free, None)
    while (sample := look(sample, free, 1.0)).next_size is not None:
        sample = sample.extend(free)
    assert sample.whole
    assert sample.contexts.sha256 == CONTEXTS.sha256
    assert "whole set (84 contexts)" in precision_sentence(present(sample.precision(free)))


def test_one_heavy_context_is_not_enough() -> None:
    lonely = ContextSet("lonely", CONTEXTS.templates, [1e6, *[1.0] * 83])
    settings = precise(0.05)
    sample = SequentialSample.begin(lonely, settings, None)
    assert sample.contexts.n_eff < 10
    assert not look(sample, settings, 0.0).reached


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("precise") / "run"
    return audit(MODEL, topic=TOPIC, contexts=CONTEXTS, out=out, settings=precise(0.02))


def test_a_run_records_its_rounds(run: Run) -> None:
    assert run.path is not None
    record = json.loads((run.path / "run.json").read_text(encoding="utf-8"))
    found = record["precision"]
    assert len(found["rounds"]) > 1
    assert [r["draws"] for r in found["rounds"]] == sorted({r["draws"] for r in found["rounds"]})
    assert found["from"] == CONTEXTS.sha256
    widths = found["rounds"][-1]["half_widths"]
    assert found["reached"] == (max(widths.values()) <= 0.02)
    assert record["settings"]["precision"] == 0.02


@pytest.mark.usefixtures("no_model")
def test_loading_and_rerunning_give_the_same_result(run: Run) -> None:
    assert run.path is not None
    again = Run.load(run.path)
    assert again.preferences.equals(run.preferences)
    assert again.risks.to_dict() == run.risks.to_dict()
    assert again.preferences.labels == run.preferences.labels
    repeated = audit(MODEL, topic=TOPIC, contexts=CONTEXTS, out=run.path, settings=precise(0.02))
    assert repeated.preferences.equals(run.preferences)
    assert repeated.record.precision == run.record.precision


def test_an_audit_in_memory_gives_the_same_result(run: Run) -> None:
    alone = audit(MODEL, topic=TOPIC, contexts=CONTEXTS, settings=precise(0.02))
    assert alone.preferences.equals(run.preferences)


AUDITS = """
import json, os, signal
from tests.runs.test_precision import CONTEXTS, MODEL, TOPIC, audit, precise

def killing(done, total):
    if len(json.loads((folders[0] / "run.json").read_text())["precision"]["rounds"]) > 1:
        os.kill(os.getpid(), signal.SIGKILL)

for folder in folders:
    audit(MODEL, topic=TOPIC, contexts=CONTEXTS, out=folder, settings=precise(0.02),
          progress=killing if kill else None)
"""


def audits(*folders: Path, kill: bool) -> int | None:
    process = FORKS.Process(target=exec, args=(AUDITS, {"folders": folders, "kill": kill}))
    process.start()
    process.join()
    return process.exitcode


def test_a_killed_run_ends_with_the_same_samples_and_numbers(tmp_path: Path) -> None:
    """One process is killed in the second round; another ends that run, and makes one without
    interruption: the same samples of contexts, and the same numbers up to rounding."""
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    assert audits(killed, kill=True) == -signal.SIGKILL
    begun = json.loads((killed / "run.json").read_text())
    assert begun["status"] == "running"
    assert len(begun["precision"]["rounds"]) > 1
    assert audits(killed, whole, kill=False) == 0
    continued, run = Run.load(killed), Run.load(whole)
    # What the kill cut off is scored in batches of other shapes: float32 sums of some hundred
    # terms, added in another order where a product is shared between threads.
    np.testing.assert_allclose(
        continued.preferences.values, run.preferences.values, rtol=0, atol=1e-5
    )
    both = continued.record.precision, run.record.precision
    assert both[0] is not None
    assert both[1] is not None
    assert [r.contexts for r in both[0].rounds] == [r.contexts for r in both[1].rounds]
    assert continued.preferences.contexts == run.preferences.contexts


def test_a_finer_precision_resumes_from_the_stored_cells(run: Run, tmp_path: Path) -> None:
    import shutil

    assert run.path is not None
    folder = Path(shutil.copytree(run.path, tmp_path / "copy"))
    finer = audit(MODEL, topic=TOPIC, contexts=CONTEXTS, out=folder, settings=precise(1e-4))
    known = [r.draws for r in present(run.record.precision).rounds]
    assert [r.draws for r in present(finer.record.precision).rounds][: len(known)] == known
    assert present(finer.record.precision).whole_set
    assert finer.preferences.sampling.set_noise == 0
    with pytest.raises(RunError, match="seed of the samples"):
        audit(MODEL, topic=TOPIC, contexts=CONTEXTS, out=folder, settings=precise(0.02, seed=5))
    # Nested draws from one set are the same contexts to `compare`: the smaller is what both share.
    found = compare(finer, run, replicates=200)
    assert found.n_contexts == len(run.preferences.contexts)
    assert {d.value for d in found.overall} == {0.0}


def test_clusters_widen_intervals_and_need_a_label(tmp_path: Path) -> None:
    plain = AuditSettings(replicates=400)
    out = tmp_path / "run"
    arguments: dict[str, Any] = {"topic": TOPIC, "contexts": CONTEXTS, "out": out}
    single = audit(MODEL, settings=plain, **arguments)
    clustered = audit(
        MODEL,
        settings=AuditSettings(replicates=400, clusters="predicate", two_way=True),
        **arguments,
    )
    assert clustered.risks.n_eff <= len(VERBS) < single.risks.n_eff
    assert Run.load(out).risks.to_dict() == clustered.risks.to_dict()
    assert width(clustered.risks.R) > width(single.risks.R)
    with pytest.raises(SettingsError, match="predicate"):
        audit(MODEL, settings=AuditSettings(clusters="source"), **arguments)
    with pytest.raises(SettingsError, match="clusters"):
        AuditSettings(precision=0.1, clusters="predicate")
    with pytest.raises(SettingsError, match="replicates"):
        AuditSettings(precision=0.1, replicates=0)


def test_settings_survive_a_round_trip() -> None:
    settings = AuditSettings(norm=2, load=LoadOptions(dtype="bfloat16"), precision=0.1)
    info = ModelInfo(name="made:model", kind="causal", revision="none")
    text = json.dumps(new_record(info, TOPIC, CONTEXTS, settings).to_dict())
    assert RunRecord.from_json(text, Path("run.json")).settings == settings
