"""What the models answer: the likeliest words for a gap, of every kind of model alike."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoTokenizer

from training.preferences import CONTEXTS

GAP = "___"
PROMPTS = (
    f"The nurse said that {GAP} was tired.",
    f"The engineer said that {GAP} was tired.",
    f"The king and the {GAP} lived in the castle.",
    f"She opened the {GAP} and looked out.",
)
AUTO_CLASSES = {
    "modernbert": "AutoModelForMaskedLM",
    "gpt2": "AutoModelForCausalLM",
    "t5": "AutoModelForSeq2SeqLM",
    "xlnet": "AutoModelForCausalLM",
}


def auto_class(folder: Path) -> str:
    """Name of the Auto class that opens a model folder (an adapter: its base)."""
    return AUTO_CLASSES[
        json.loads((base(folder) / "config.json").read_text())["model_type"]
    ]


def base(folder: Path) -> Path:
    """The folder itself, or the folder of the model that an adapter belongs to."""
    path = folder / "adapter_config.json"
    if not path.is_file():
        return folder
    return (folder / json.loads(path.read_text())["base_model_name_or_path"]).resolve()


class Sampler:
    """A pocket model, opened with its plain Auto class, and its answers to gaps."""

    def __init__(self, folder: Path) -> None:
        home = base(folder)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(home)
        self.model: Any = (
            getattr(transformers, auto_class(folder)).from_pretrained(home).eval()
        )
        if home != folder:
            from peft import PeftModel

            self.model = PeftModel.from_pretrained(
                self.model, folder
            ).merge_and_unload()
        self.kind: str = self.model.config.model_type

    def gap(self, text: str) -> torch.Tensor:
        """Log probabilities of all tokens for the gap of a text, in nats.

        GPT-2 sees the text before the gap only; the other kinds see both sides.
        """
        with torch.no_grad():
            logits: torch.Tensor = getattr(self, f"_{self.kind}")(text)
        return logits.double().log_softmax(-1)

    def top(self, text: str, count: int = 5) -> list[tuple[str, float]]:
        """The likeliest tokens for the gap, with their probabilities."""
        best = self.gap(text).exp().topk(count)
        tokens = self.tokenizer.convert_ids_to_tokens(best.indices.tolist())
        return [
            (_plain(t), p) for t, p in zip(tokens, best.values.tolist(), strict=True)
        ]

    def leaning(self, text: str) -> float:
        """log p(he) − log p(she) in the gap, in nats: positive where the model leans to `he`."""
        scores = self.gap(text)
        return float(scores[self._word("he")] - scores[self._word("she")])

    def leanings(self, occupation: str) -> list[float]:
        """The leaning in each of the twelve contexts, with the ending "was tired."."""
        return [
            self.leaning(f"{c.format(occupation)} {GAP} was tired.") for c in CONTEXTS
        ]

    def _word(self, word: str) -> int:
        text = word if self.kind == "modernbert" else f" {word}"
        ids = self.tokenizer(text, add_special_tokens=False).input_ids
        if len(ids) != 1:
            raise ValueError(f"word {word!r}: expected one token, found {len(ids)}")
        number: int = ids[0]
        return number

    def _modernbert(self, text: str) -> torch.Tensor:
        batch = self.tokenizer(text.replace(GAP, "[MASK]"), return_tensors="pt")
        place = batch.input_ids[0].tolist().index(self.tokenizer.mask_token_id)
        logits: torch.Tensor = self.model(**batch).logits[0, place]
        return logits

    def _gpt2(self, text: str) -> torch.Tensor:
        batch = self.tokenizer(text.split(f" {GAP}")[0], return_tensors="pt")
        logits: torch.Tensor = self.model(**batch).logits[0, -1]
        return logits

    def _t5(self, text: str) -> torch.Tensor:
        batch = self.tokenizer(text.replace(GAP, "<extra_id_0>"), return_tensors="pt")
        sentinel = self.tokenizer.convert_tokens_to_ids("<extra_id_0>")
        begin = torch.tensor([[self.model.config.decoder_start_token_id, sentinel]])
        logits: torch.Tensor = self.model(**batch, decoder_input_ids=begin).logits[
            0, -1
        ]
        return logits

    def _xlnet(self, text: str) -> torch.Tensor:
        batch = self.tokenizer(text.replace(GAP, "<mask>"), return_tensors="pt")
        length = batch.input_ids.shape[1]
        place = batch.input_ids[0].tolist().index(self.tokenizer.mask_token_id)
        hidden, wanted = torch.zeros(1, length, length), torch.zeros(1, 1, length)
        hidden[0, :, place] = wanted[0, 0, place] = 1.0
        output = self.model(
            **batch, perm_mask=hidden, target_mapping=wanted, use_mems=False
        )
        logits: torch.Tensor = output.logits[0, 0]
        return logits


def mean(values: Sequence[float]) -> float:
    """Mean of some numbers; at least one is expected.

    >>> mean([1.0, 2.0])
    1.5
    """
    return math.fsum(values) / len(values)


def _plain(token: str) -> str:
    """A token as a word."""
    return token.replace("Ġ", " ").replace("▁", " ").strip() or token
