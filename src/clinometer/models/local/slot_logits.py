"""Run a transformers model and project only chosen positions to the vocabulary.

The projection to the vocabulary is a large part of a small model's work (a fifth for SmolLM2) and
all of its peak memory; we read one or a few positions of each row. A hook in front of the output
layer picks those positions, so anything a model does after its output layer (soft-capping, a bias,
a scale) still happens.
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from clinometer.models.local.batches import out_of_memory
from clinometer.models.tokens.word_tokens import END_OF_WORD
from clinometer.storage.cache_folder import cache_folder

#: Marker instead of a log-probability (which is never above 0): all logits were equal.
SILENT = torch.inf
_log = logging.getLogger("clinometer.models")


class SlotProjection:
    """Calls `model` and returns logits [N, vocabulary] at (row, position) pairs."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.head = model.get_output_embeddings()
        self.compiled = self.refused = False
        self.wanted = True

    def compile_layers(self, **how: Any) -> None:
        """Have the layers compiled when the first batch comes that asks for it. They share their
        code, so that one graph serves them all, and PyTorch keeps it for the next process: in our
        cache, since its own folder in /tmp may be another user's, and the code there is run."""
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder() / "compiled"))
        stacks = [m for m in self.model.modules() if isinstance(m, torch.nn.ModuleList)]
        for layer in max(stacks, key=len, default=()):
            layer.compile(dynamic=True, **how)
            self.compiled = True

    def __call__(
        self, rows: Tensor, positions: Tensor, *, packed: bool = False, **inputs: Any
    ) -> tuple[Tensor, Any]:
        """Logits at the given positions, and the model's full output (for its cache). `packed`
        says that these are packs, of which few shapes come: kernels may be planned. Compiled layers
        are used for packs without a cache, which would be another graph for each layer."""
        picked = False

        def pick(_module: Any, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            nonlocal picked
            picked = True
            return (args[0][rows, positions].unsqueeze(0), *args[1:])

        hook = self.head.register_forward_pre_hook(pick) if self.head is not None else None
        try:
            with light_kernels(planned=packed):
                output = self._run(inputs, compiled=packed and not inputs["use_cache"])
        finally:
            if hook is not None:
                hook.remove()
        logits = output.logits
        return (logits[0] if picked else logits[rows, positions]), output

    def _run(self, inputs: dict[str, Any], *, compiled: bool) -> Any:
        if not self.compiled:
            return self.model(**inputs)
        if compiled and self.wanted and not self.refused:
            try:
                return self.model(**inputs)
            except Exception as error:  # no compiler on this machine, or a layer it cannot take
                if out_of_memory(error):
                    raise
                told = " ".join(str(error).split())[:160]
                _log.warning("layers are not compiled: %s: %s", type(error).__name__, told)
                self.refused = True
        with torch.compiler.set_stance("force_eager"):
            return self.model(**inputs)


@contextlib.contextmanager
def light_kernels(*, planned: bool = False) -> Iterator[None]:
    """Compute with kernels that need no planning.

    On ARM processors, multiply matrices without oneDNN. There it plans each product again, 0.7 ms
    each (measured on an aarch64 server): forty times the work of a small layer, and a few per cent
    of a large one.

    On GPUs, attend without cuDNN, unless it may be `planned`: few shapes come. It plans each once,
    40 ms and up to a second for the first (measured on an H200), and is at most 5 % faster then.
    """
    products: Any = torch.backends.mkldnn
    attention: Any = torch.backends.cuda
    arm = platform.machine() in {"aarch64", "arm64"}
    before = products.enabled, attention.cudnn_sdp_enabled()
    products.enabled = before[0] and not arm
    attention.enable_cudnn_sdp(before[1] and planned)
    try:
        yield
    finally:
        products.enabled = before[0]
        attention.enable_cudnn_sdp(before[1])


def read_log_probs(logits: Tensor, wanted: Tensor, boundary: Tensor | None = None) -> Tensor:
    """Log-probabilities [N, W] of the wanted tokens, in float32 for any dtype of the model.

    END_OF_WORD among the wanted tokens reads the joint probability of the `boundary` tokens. Where
    a row's logits are one and the same number over the whole vocabulary the answer is SILENT, which
    `check_values` refuses.
    """
    least, most = torch.aminmax(logits, dim=-1, keepdim=True)
    values, total = logits.float(), torch.zeros((), device=logits.device)
    if values.is_cuda:  # one kernel over the vocabulary in place of five
        values = torch.log_softmax(values, dim=-1)
    else:  # there that kernel adds one by one, and is off by 1e-4 over 262,144 tokens
        total = torch.logsumexp(values, dim=-1, keepdim=True)
    found = torch.gather(values, 1, wanted.clamp(min=0)) - total
    if boundary is not None:
        some = torch.logsumexp(values[:, boundary], dim=-1, keepdim=True) - total
        found = torch.where(wanted == END_OF_WORD, some, found)
    # Checking this on a GPU would make the CPU wait for the result.
    elif wanted.device.type == "cpu" and bool((wanted == END_OF_WORD).any()):
        raise ValueError("END_OF_WORD needs a reader with boundary tokens")
    return found.masked_fill(least == most, SILENT)
