"""An audit on a cluster of two nodes, one of which is killed, gives the numbers of this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from small_audit import same
from tests.components import needs

from tiltmeter.runs import Run

pytestmark = needs("ray")

CODE = """
import json, os, sys
from ray.cluster_utils import Cluster
from small_audit import MODEL, SMALL
from tiltmeter.cluster import Need
from tiltmeter.errors import TiltmeterError
from tiltmeter.runs import audit

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
second = cluster.add_node(num_cpus=1)
os.environ["RAY_ADDRESS"] = cluster.address

seen = []
def kill(done, of):
    seen.append(done)
    if len(seen) == 2:
        cluster.remove_node(second, allow_graceful=False)

audit(MODEL, out=sys.argv[1], executor="ray", need=Need(cpus=1), progress=kill, **SMALL)
try:
    audit("./no-such-model", executor="ray", **SMALL)
except TiltmeterError as error:
    refused = str(error)
print(json.dumps({"seen": seen, "refused": refused, "torch": "torch" in sys.modules}))
"""


def test_a_node_that_dies_changes_no_number(tmp_path: Path, small: Run) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, tmp_path / "run"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["seen"][0] == 0
    assert told["seen"][-1] == 1000
    assert "no such folder" in told["refused"]
    assert not told["torch"]  # the model was opened by workers only
    assert same(Run.load(tmp_path / "run"), small)
