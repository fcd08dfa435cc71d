"""Base class of all models that score words, wherever they run; needs no torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import ContextError, ModelError
from clinometer.models.options import WordOptions
from clinometer.models.protocol import ModelInfo, WordReport, WordScores
from clinometer.models.tokens.word_tokens import Tokens, WordList, continuation_tokens
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt


class WordScorer(ABC):
    """Tokenises words, and groups prompts that can be scored together."""

    def __init__(
        self, tokenizer: Any, info: ModelInfo, *, options: WordOptions | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.info = info
        self.options = options or WordOptions()
        self._words: dict[tuple[tuple[str, ...], bool, bool], WordList] = {}

    @abstractmethod
    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        """Score prompts that agree in `space` and in having text before and after the slot or none.

        Columns are those of `words.columns`.
        """

    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None = None,
    ) -> WordScores:
        """Log-probability of every word at the slot of every prompt."""
        keys = [(p.space, not p.before, not p.after) for p in prompts]
        kinds = set(keys)
        if len(kinds) == 1:
            return self._score_kind(prompts, words, counts, *kinds.pop())
        alike: dict[tuple[bool, bool, bool], list[int]] = {}
        for i, key in enumerate(keys):
            alike.setdefault(key, []).append(i)
        parts = [
            self._score_kind([prompts[i] for i in members], words, counts, *key)
            for key, members in alike.items()
        ]
        return WordScores.joined(parts).take(np.argsort(np.concatenate(list(alike.values()))))

    def _score_kind(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None,
        space: bool,
        opening: bool,
        _ending: bool,
    ) -> WordScores:
        """Scores of similar prompts, with a column for every word, scored or not."""
        asked = self.word_list(words, space=space, opening=opening)
        found = self.score_batch(prompts, asked.counted(counts))
        if len(asked.columns) == len(words):
            return found
        widen = partial(_widened, columns=asked.columns, width=len(words))
        upper = None if found.log_upper is None else widen(found.log_upper)
        return replace(found, log_probs=widen(found.log_probs), log_upper=upper)

    def usage(self) -> dict[str, int]:
        return {}

    def close(self) -> None:  # noqa: B027  (a local model has nothing to release)
        pass

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
                first_token=self.options.first_token,
            )
            if not self._words[key].sequences:
                raise ModelError(f"{self.info.name}: its tokenizer can write none of the words")
        return self._words[key]

    def after_tokens(self, prompt: Prompt) -> Tokens:
        """Tokens of the text after the slot, as they continue a word."""
        return continuation_tokens(self.tokenizer, prompt.after) if prompt.after else ()

    @property
    @abstractmethod
    def length_limit(self) -> int | None:
        """Maximum context length in tokens; None if unlimited or unknown."""

    def check_length(self, length: int, prompt: Prompt) -> None:
        limit = self.length_limit
        if limit is not None and length > limit:
            raise ContextError(
                f"{self.info.name} reads at most {limit} tokens, found {length} in the prompt "
                f"{shorten(prompt.before)!r}: shorten the template"
            )


def _widened(values: FloatArray, columns: Sequence[int], width: int) -> FloatArray:
    """Insert columns without probability for words that are not scored."""
    whole = np.full((len(values), width), -np.inf)
    whole[:, list(columns)] = values
    return whole


def shorten(text: str, limit: int = 60) -> str:
    """A prompt as one short line, for messages."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


class ChosenPrompts(Sequence[Prompt]):
    """A lazy view of some prompts, resolved only when one has to be named."""

    def __init__(self, prompts: Sequence[Prompt], chosen: NDArray[np.signedinteger[Any]]) -> None:
        self._prompts, self._chosen = prompts, chosen

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, index: Any) -> Any:
        return self._prompts[int(self._chosen[index])]
