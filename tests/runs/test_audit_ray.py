"""An audit on a cluster of two nodes, one of which is killed, gives the numbers of this machine."""

from __future__ import annotations

import json
from pathlib import Path

from tests.components import needs
from tests.processes import python
from tests.runs.small_audit import same

from clinometer.runs import Run

pytestmark = needs("ray")

CODE = """
import json, sys
from tests.runs.small_audit import MODEL, SMALL
from tests.processes import two_nodes
from clinometer.execution.ray import WorkerResources
from clinometer.errors import ClinometerError
from clinometer.runs import audit

cluster, second = two_nodes()
seen = []
def kill(done, of):
    seen.append(done)
    if len(seen) == 2:
        cluster.remove_node(second, allow_graceful=False)

one_cpu = WorkerResources(cpus=1)
audit(MODEL, out=sys.argv[1], executor="ray", resources=one_cpu, progress=kill, **SMALL)
try:
    audit("./no-such-model", executor="ray", **SMALL)
except ClinometerError as error:
    refused = str(error)
print(json.dumps({"seen": seen, "refused": refused, "torch": "torch" in sys.modules}))
"""


def test_losing_a_node_changes_no_number(tmp_path: Path, small: Run) -> None:
    done = python(CODE, tmp_path / "run")
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["seen"][0] == 0
    assert told["seen"][-1] == 1000
    assert "no such folder" in told["refused"]
    assert not told["torch"]  # the model was opened by workers only
    assert same(Run.load(tmp_path / "run"), small)
