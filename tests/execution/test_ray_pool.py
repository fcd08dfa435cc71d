"""The pool on a real cluster: two nodes on this machine, one of which dies.

Ray runs in a process of its own, as it leaves threads and sockets behind.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest
from tests.components import needs
from tests.processes import python

from clinometer.errors import SettingsError
from clinometer.execution.ray import WorkerResources

pytestmark = needs("ray")

BEGIN = """
    import json, os, signal, sys, time
    import ray
    from tests.processes import two_nodes
    from clinometer.execution.ray import WorkerResources, Pool
    from clinometer.errors import ClusterError, MissingExtra, ModelError, ClinometerError

    cluster, second = two_nodes()
"""
A_NODE_DIES = """
        def make():
            def work(block):
                time.sleep(0.05)
                return block * block, os.getpid(), ray.get_runtime_context().get_node_id()
            return work

        with Pool(make, resources=WorkerResources(cpus=1)) as pool:
            results, nodes, asked, last = {}, set(), [], None

            def blocks():  # until both nodes have worked and the death of one is noticed
                while last is None or len(asked) < last or pool.lost == 0:
                    asked.append(len(asked))
                    yield asked[-1]

            for block, (square, pid, node) in pool.map(blocks()):
                results[block] = square
                nodes.add(node)
                if len(nodes) == 2 and last is None:
                    cluster.remove_node(second, allow_graceful=False)
                    last = len(asked) + 10
            again = dict(pool.map([5]))
        # One worker at a time, none at all, and a generator.
        with Pool(make, resources=WorkerResources(cpus=1, workers=1)) as pool_of_one:
            one = sorted(block for block, _ in pool_of_one.map(iter(range(7))))
            none = list(pool_of_one.map([]))
        dies = [results == {i: i * i for i in asked}, len(nodes), pool.lost, again[5][0], one, none]
"""
ERRORS = """
        def tell(make, block=0, **need):
            try:
                with Pool(make, resources=WorkerResources(**{"cpus": 1, **need})) as pool:
                    return list(pool.map([block]))
            except ClinometerError as error:
                return [type(error).__name__, str(error)]

        def no_model():
            raise ModelError("model 'x': no such file")

        def no_extra():
            raise MissingExtra("asking needs torch: pip install 'x[models]'")

        def wrong():
            return lambda block: 1 / block

        def deadly():
            return lambda block: os.kill(os.getpid(), signal.SIGKILL)

        def stillborn():
            os.kill(os.getpid(), signal.SIGKILL)

        errors = [tell(no_model), tell(no_extra), tell(wrong), tell(wrong, block=4), tell(deadly),
                  tell(stillborn), tell(wrong, cpus=64)]
"""
END = "print(json.dumps({'errors': errors, 'dies': dies}))"


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What happened on one cluster of two nodes of one core each: errors first, then a death."""
    done = python("\n".join(textwrap.dedent(code) for code in (BEGIN, ERRORS, A_NODE_DIES, END)))
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_losing_a_node_loses_no_block(found: dict[str, Any]) -> None:
    assert found["dies"] == [True, 2, 1, 25, list(range(7)), []]


def test_errors_reach_the_caller_and_hopeless_blocks_are_abandoned(found: dict[str, Any]) -> None:
    no_model, no_extra, wrong, right, deadly, stillborn, too_big = found["errors"]
    assert no_model == ["ModelError", "model 'x': no such file"]
    assert no_extra[0] == "MissingExtra"
    assert "pip install" in no_extra[1]
    assert wrong[0] == "ClusterError"
    assert "failed 3 times" in wrong[1]
    assert right == [[4, 0.25]]
    assert "failed 3 times" in deadly[1]
    assert "died before they could begin" in stillborn[1]
    assert "needs 64 CPUs" in too_big[1]


@pytest.mark.parametrize("wrong", [{"cpus": 0}, {"workers": 0}, {"gpus": -1}])
def test_invalid_resource_needs_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        WorkerResources(**wrong)
