"""Two Ray nodes count as one process does, also when one of them dies."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path

from tests.components import needs
from tests.contexts.mining.conftest import assert_same_sets
from tests.processes import python

from clinometer.contexts.mining import MineSettings, mine

pytestmark = needs("ray")

CODE = """
    import sys
    from tests.processes import two_nodes
    from clinometer.contexts.mining import MineSettings, mine, run
    from clinometer.topics import load_topic

    cluster, second = two_nodes()
    run.PIECE = 5
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


def test_losing_a_node_changes_nothing(
    corpus: Callable[..., Path], gender: MineSettings, tmp_path: Path
) -> None:
    path = corpus(60)
    mine([path], tmp_path / "one.csv", gender, name="same")
    done = python(textwrap.dedent(CODE), path, tmp_path / "ray.csv")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split()[-1] == "dead"
    assert json.loads((tmp_path / "ray.json").read_bytes())["articles"]["mined"] == 60
    assert_same_sets(tmp_path, "one", "ray")
