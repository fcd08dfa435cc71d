"""llama.cpp's own server in a process of its own: `python llama.py MODEL.gguf PORT`.

Prints its address when it listens; ends with its standard input.
"""

from __future__ import annotations

import sys

import torch  # noqa: F401  (it carries OpenMP's library, for systems without one)
import xllamacpp


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.port = int(sys.argv[2])
    params.n_ctx, params.n_parallel = 8192, 8
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201
    sys.stdin.read()


if __name__ == "__main__":
    main()
