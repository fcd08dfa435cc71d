"""Words as the harness scored them: each alone, so that a longer one counts in a shorter one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clinometer.models import LoadOptions, WordReport, WordScores
from clinometer.models.tokens.local_tokenizer import local_tokenizer
from clinometer.models.tokens.word_tokens import WordList
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt


class HarnessWords:
    """The words of a topic, by a tokenizer or as far as texts tell.

    Without a tokenizer, a word of several ("her own") is known to begin with a shorter one ("her");
    whether "grandson" begins with the tokens of "grand" is not.

    >>> words = HarnessWords(("her", "her own", "he"))
    >>> words.report.prefixes
    {'her': ('her own',)}
    """

    def __init__(
        self, words: Sequence[str], *, tokenizer: str | None = None, space: bool = True
    ) -> None:
        self.words = tuple(words)
        if tokenizer is None:
            longer = {word: _nearest(word, words) for word in words}
            self.report = WordReport(
                tokens={word: (word,) for word in words},
                prefixes={word: found for word, found in longer.items() if found},
            )
        else:
            loaded = local_tokenizer(tokenizer, LoadOptions())
            self.report = WordList(loaded, words, space=space).report

    def scores(self, log_probs: FloatArray, prompts: Sequence[Prompt]) -> WordScores:
        """[P, V] log-likelihoods of the harness as scores of "this word and no longer one".

        Where text follows the slot, the harness has scored each word with that text: such events
        exclude each other as they are.
        """
        column = {word: i for i, word in enumerate(self.words)}
        out = np.array(log_probs, dtype=np.float64)
        out[:, [column[word] for word in self.report.left_out]] = -np.inf
        inside = {word for longer in self.report.prefixes.values() for word in longer}
        top = [i for word, i in column.items() if word not in inside]
        with np.errstate(divide="ignore"):
            coverage = np.log(np.minimum(np.exp(out[:, top]).sum(axis=1), 1.0))
        ends = np.array([not prompt.after for prompt in prompts])
        for word, longer in self.report.prefixes.items():
            i, others = column[word], [column[other] for other in longer]
            rest = np.exp(log_probs[:, i]) - np.exp(log_probs[:, others]).sum(axis=1)
            with np.errstate(divide="ignore"):
                out[ends, i] = np.log(np.maximum(rest, 0.0))[ends]
        return WordScores(log_probs=out, log_coverage=coverage, skipped=np.zeros(len(out)))


def _nearest(word: str, words: Sequence[str]) -> tuple[str, ...]:
    """Listed words that begin with this one and a space, and with no longer listed one."""
    longer = [w for w in words if w.startswith(f"{word} ")]
    return tuple(w for w in longer if not any(w.startswith(f"{other} ") for other in longer))
