"""A run in Weights & Biases, written offline and read back with W&B's own message types."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.command import Clinometer
from tests.processes import until
from tests.report.made import made_run
from wandb.proto import wandb_internal_pb2

#: What the other library warns of in its own code.
pytestmark = pytest.mark.filterwarnings("ignore")

_BLOCK = 32768


def records(file: Path) -> Iterator[Any]:
    """Messages of a .wandb file: a LevelDB log after a header of seven bytes."""
    data, at, whole = file.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if _BLOCK - at % _BLOCK < 7:  # the rest of a block is padding
            at += _BLOCK - at % _BLOCK
            continue
        size, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        if kind == 0:
            break
        whole += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # a whole record, or its last fragment
            yield wandb_internal_pb2.Record.FromString(whole)
            whole = b""


def test_wandb_has_settings_and_risks(clinometer: Clinometer, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", groups=4, contexts=60, replicates=100)
    done = clinometer(
        "export", "wandb", tmp_path / "run", "--offline", "--project", "bias", "--out", tmp_path
    )
    assert done.status == 0, done.err
    assert "wandb sync" in done.out
    (file,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    # W&B's own process writes it, and is not done when `finish` returns; the command waits for it
    # at its end, but here it runs inside the test.
    until(lambda: any(one.WhichOneof("record_type") == "exit" for one in records(file)))
    summary, config, projects = {}, {}, set()
    for one in records(file):
        kind = one.WhichOneof("record_type")
        if kind == "summary":
            summary.update({u.key or u.nested_key[0]: json.loads(u.value_json)
                            for u in one.summary.update})  # fmt: skip
        if kind == "run":
            projects.add(one.run.project)
            config.update({u.key: json.loads(u.value_json) for u in one.run.config.update})
    assert projects == {"bias"}
    assert summary["R"] == run.risks.R.value
    assert summary["R_bias_high"] == run.risks.R_bias.high
    assert config["topic_sha256"] == run.record.topic.sha256
