"""Two Ray nodes count as one process does, also when one of them dies."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from tests.components import needs

from tiltmeter.contexts.mining import MineSettings, mine

pytestmark = needs("ray")

CODE = """
    import os, sys
    from ray.cluster_utils import Cluster
    from tiltmeter.contexts.mining import MineSettings, mine, read
    from tiltmeter.topics import load_topic

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = cluster.add_node(num_cpus=1)
    os.environ["RAY_ADDRESS"] = cluster.address
    read.PIECE = 5
    alive = True

    def progress(stage, done, total):
        global alive
        if stage == "parsing" and done == 3 and alive:
            alive = False
            cluster.remove_node(second, allow_graceful=False)

    mine([sys.argv[1]], sys.argv[2], MineSettings(topic=load_topic("gender")), name="same",
         executor="ray", progress=progress)
    print("dead" if not alive else "alive")
"""


def test_a_node_that_dies_changes_nothing(
    corpus: Callable[..., Path], gender: MineSettings, tmp_path: Path
) -> None:
    path = corpus(60)
    mine([path], tmp_path / "one.csv", gender, name="same")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CODE), str(path), str(tmp_path / "ray.csv")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split()[-1] == "dead"
    assert json.loads((tmp_path / "ray.json").read_bytes())["articles"]["mined"] == 60
    for ending in (".csv", ".json"):
        one, ray = (tmp_path / f"{n}{ending}" for n in ("one", "ray"))
        assert one.read_bytes() == ray.read_bytes()
