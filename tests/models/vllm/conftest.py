"""vLLM itself, its CPU build from PyPI, in the environment that `make test` sets up beside ours."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.processes import free_port, model_server

PYTHON = Path(sys.prefix) / "vllm" / "bin" / "python"
#: One gigabyte for its cache of keys, and no processor of its own: tests run beside it.
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    cache = str(tmp_path_factory.mktemp("cache"))
    return {**os.environ, **ENVIRONMENT, "VLLM_CACHE_ROOT": cache}


@pytest.fixture(scope="session")
def smol_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 with wishes of its own for how it is sampled, which a server would follow."""
    from clinometer.models.catalog.weights import embedded_gguf, folder_of_gguf

    folder = tmp_path_factory.mktemp("models") / "smol"
    folder.mkdir()
    for file in folder_of_gguf(embedded_gguf()).iterdir():
        (folder / file.name).symlink_to(file)
    wishes = folder / "generation_config.json"
    wishes.unlink()
    wishes.write_text(json.dumps({"temperature": 0.1, "top_k": 1, "repetition_penalty": 5.0}))
    return folder


@pytest.fixture(scope="session")
def vllm_server(smol_folder: Path, environment: dict[str, str]) -> Iterator[str]:
    port = free_port()
    command = [
        *(PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", smol_folder),
        *("--host", "127.0.0.1", "--port", port),
        *("--dtype", "float32", "--enforce-eager", "--max-model-len", "512"),
        # On a CPU vLLM 0.32 dies of seeded prompts that it reads in more than one step.
        *("--max-num-batched-tokens", "16384"),
    ]
    log = smol_folder.parent / "server.log"
    with model_server(command, port=port, log=log, env=environment) as url:
        yield url
