"""What the four kinds of transformers models share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from tiltmeter.errors import ContextError, ModelError
from tiltmeter.models.base import ModelInfo, WordReport, WordScores
from tiltmeter.models.expand import Expanded
from tiltmeter.models.options import WordOptions
from tiltmeter.models.project import SlotProjection
from tiltmeter.models.rows import BatchSize
from tiltmeter.models.trie import Tokens
from tiltmeter.models.words import WordList, continuation_tokens, tokens_that_end_a_word
from tiltmeter.topics import Prompt


class TransformerScorer(ABC):
    """A transformers model with its tokenizer, ready to be asked."""

    kind: ClassVar[str]
    #: Tokens in a batch that fill a GPU; a CPU works best within its caches.
    gpu_batch_tokens: ClassVar[int] = 65_536

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        info: ModelInfo,
        *,
        options: WordOptions | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.info = info
        self.options = options or WordOptions()
        self.device = next(model.parameters()).device
        self.project = SlotProjection(model)
        #: Threads that take turns, so that a GPU never waits for what comes before and after it.
        self.threads = 3 if self.device.type == "cuda" else 1
        default = self.gpu_batch_tokens if self.device.type == "cuda" else 1_024
        self.batch_size = BatchSize(batch_tokens or default)
        self._words: dict[tuple[tuple[str, ...], bool, bool], WordList] = {}
        self._boundary: torch.Tensor | None = None
        self.prepare()

    def prepare(self) -> None:  # noqa: B027  (not every kind has something to do)
        """Refuse a tokenizer that lacks what this kind is asked with; called once, at the end."""

    @staticmethod
    @abstractmethod
    def auto_class(transformers: Any) -> Any:
        """The library's class that loads this kind."""

    @abstractmethod
    def score_alike(self, prompts: Sequence[Prompt], words: WordList) -> Expanded:
        """Score prompts that agree in `space` and in having text before and after the slot or none.

        Columns are those of `words.columns`.
        """

    def score(self, prompts: Sequence[Prompt], words: Sequence[str]) -> WordScores:
        """Log-probability of every word at the slot of every prompt."""
        alike: dict[tuple[bool, bool, bool], list[int]] = {}
        for i, key in enumerate([(p.space, not p.before, not p.after) for p in prompts]):
            alike.setdefault(key, []).append(i)
        if len(alike) == 1:
            return self._score_kind(prompts, words, *next(iter(alike)))
        scores = WordScores(
            log_probs=np.empty((len(prompts), len(words))),
            log_coverage=np.empty(len(prompts)),
            skipped=np.empty(len(prompts)),
        )
        for key, members in alike.items():
            found = self._score_kind([prompts[i] for i in members], words, *key)
            scores.log_probs[members] = found.log_probs
            scores.log_coverage[members] = found.log_coverage
            scores.skipped[members] = found.skipped
        return scores

    def _score_kind(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        space: bool,
        opening: bool,
        _ending: bool,
    ) -> WordScores:
        """Prompts that are alike, with a column for every word, asked or not."""
        asked = self.word_list(words, space=space, opening=opening)
        found = self.score_alike(prompts, asked)
        log_probs = found.log_probs
        if len(asked.columns) < len(words):
            log_probs = np.full((len(prompts), len(words)), -np.inf)
            log_probs[:, list(asked.columns)] = found.log_probs
        return WordScores(log_probs, found.log_coverage, found.skipped)

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        return self.word_list(words, space=space).report

    def word_list(self, words: Sequence[str], *, space: bool, opening: bool = False) -> WordList:
        """The words as tokens: after a space, without one, or at the opening of the text."""
        key = (tuple(words), space, opening)
        if key not in self._words:
            self._words[key] = WordList(
                self.tokenizer,
                words,
                space=space,
                opening=opening,
                single_token=self.options.single_token,
            )
            if not self._words[key].sequences:
                raise ModelError(f"{self.info.name}: its tokenizer can write none of the words")
        return self._words[key]

    @property
    def boundary(self) -> torch.Tensor | None:
        """Ids of the tokens that end a word before them; only looked up when they are needed."""
        if not self.options.end_of_word:
            return None
        if self._boundary is None:
            ids = tokens_that_end_a_word(self.tokenizer)
            self._boundary = torch.tensor(ids, device=self.device)
        return self._boundary

    def after_tokens(self, prompt: Prompt) -> Tokens:
        """Tokens of the text after the slot, as they continue a word."""
        return continuation_tokens(self.tokenizer, prompt.after) if prompt.after else ()

    @cached_property
    def length_limit(self) -> int | None:
        """The most tokens the model reads; None where positions are relative and unlimited."""
        limit = getattr(self.model.config, "max_position_embeddings", None)
        if limit is None or limit <= 0:
            return None
        for module in self.model.modules():
            table = getattr(module, "position_embeddings", None)
            if isinstance(table, torch.nn.Embedding) and table.padding_idx is not None:
                # RoBERTa and its kin count positions from after the padding token's number.
                return int(table.num_embeddings - table.padding_idx - 1)
        return int(limit)

    def check_length(self, length: int, prompt: Prompt) -> None:
        limit = self.length_limit
        if limit is not None and length > limit:
            raise ContextError(
                f"{self.info.name} reads at most {limit} tokens, found {length} in the prompt "
                f"{shorten(prompt.before)!r}: shorten the template"
            )

    def check_values(self, values: NDArray[np.float64], prompts: Sequence[Prompt]) -> None:
        """Refuse what no language model would answer."""
        fine = np.isfinite(values) & (values < 1.0)
        if not fine.all():
            row = int(np.flatnonzero(~fine.all(axis=1))[0])
            prompt = prompts[row]
            if (values[row] >= 1.0).any():
                raise ModelError(
                    f"{self.info.name} gave every token of its vocabulary the same value at the "
                    f"prompt {shorten(prompt.before)!r}: check its weights"
                )
            raise ModelError(
                f"{self.info.name} answered with a number that is not finite at the prompt "
                f"{shorten(prompt.before)!r}: try --dtype float32, or check its weights"
            )


def shorten(text: str, limit: int = 60) -> str:
    """One line that names a prompt without printing a page of it."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
