"""The harnesses themselves are in an environment of their own: `make test-harnesses` runs what
needs them, `make test` the rest."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = []
if find_spec("inspect_ai") is None:
    collect_ignore += [f"inspect/test_{name}.py" for name in ("task", "task_llama")]
if find_spec("lm_eval") is None:
    collect_ignore += ["lm_eval/test_harness.py"]
