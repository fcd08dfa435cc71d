"""Base class of all models that score words, wherever they run; needs no torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clinometer.display.text import brief
from clinometer.errors import ContextError, ModelError
from clinometer.models.options import WordOptions
from clinometer.models.protocol import ModelInfo, Scorer, WordReport, WordScores
from clinometer.models.tokens import WordList, head_tokens
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.topics import Prompt


class WordScorer(Scorer):
    """Tokenises words, and groups prompts that can be scored together.

    chat          what the chat template writes before the assistant's turn; None: no template
    length_limit  maximum context length in tokens; None if unlimited or unknown
    """

    def __init__(
        self,
        tokenizer: Any,
        info: ModelInfo,
        *,
        options: WordOptions | None = None,
        chat: str | None = None,
        length_limit: int | None = None,
    ) -> None:
        self.tokenizer, self.info, self.chat = tokenizer, info, chat
        self.options = options or WordOptions()
        self.length_limit = length_limit
        self._words: dict[tuple[tuple[str, ...], bool, bool], WordList] = {}

    @abstractmethod
    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        """Score prompts that agree in `space` and in having text before and after the slot or none.

        Columns are those of `words.columns`.
        """

    def score(
        self, prompts: Sequence[Prompt], words: Sequence[str], counts: FloatArray | None = None
    ) -> WordScores:
        """Log-probability of every word at the slot of every prompt."""
        alike: dict[tuple[bool, bool, bool], list[int]] = {}
        for i, p in enumerate(prompts):
            alike.setdefault((p.space, not p.before, not p.after), []).append(i)

        def parts() -> Iterator[tuple[IntArray, WordScores]]:
            for (space, opening, _), members in alike.items():
                listed = self.word_list(words, space=space, opening=opening)
                some = [prompts[i] for i in members]
                scores = self.score_batch(some, listed.counted(counts))
                yield np.array(members), scores.widened(listed.columns, len(words))

        return WordScores.scattered(parts(), len(prompts))

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        return self.word_list(words, space=space).report

    def word_list(self, words: Sequence[str], *, space: bool, opening: bool = False) -> WordList:
        """The words as tokens: after a space, without one, or at the start of the text."""
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

    def head_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens before the slot, with the model's BOS token but no EOS token."""
        return head_tokens(self.tokenizer, texts, chat=self.chat)

    def check_values(self, values: FloatArray, prompts: Sequence[Prompt], asked: IntArray) -> None:
        """Refuse numbers that no language model returns, of the prompts `asked` (one a row). None
        is named here: they were sent to a server, and no message may repeat them."""
        if np.isnan(values).any() or (values > 0).any():
            raise ModelError(f"{self.info.name}: expected log-probabilities, found another number")

    def check_length(self, length: int, prompt: Prompt) -> None:
        if self.length_limit is not None and length > self.length_limit:
            raise ContextError(
                f"{self.info.name} reads at most {self.length_limit} tokens, found {length} in the "
                f"prompt {brief(prompt.before)!r}: shorten the template"
            )
