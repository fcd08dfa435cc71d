"""Models that reply: sampled, and the words in their replies counted.

Counts replace probabilities: log_probs contains log(count / samples), and coverage is the share of
samples in which any word was recognised. Counting adds noise, which J takes for risk, so risks are
bracketed over the replies (`measure.evidence`).
"""

from __future__ import annotations

import hashlib
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from clinometer.errors import ContextError
from clinometer.models.options import SampleOptions
from clinometer.models.protocol import ModelInfo, Scorer, WordReport, WordScores
from clinometer.readouts.reply import (
    EMPTY,
    OTHER,
    REFUSAL,
    unread,
    without_opening,
    without_question,
)
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt

IN_TEMPLATE = "scored inside its chat template"
"""A note of models that are asked inside their chat template."""


def seed_for(seed: int, *names: str | int) -> int:
    """Return a seed for one question or sample, independent of what was queried before it.

    >>> seed_for(0, "a", 1) == seed_for(0, "a", 1) != seed_for(0, "a", 2)
    True
    """
    key = "\0".join(map(str, (seed, *names))).encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:4]) >> 1


def first_line(answer: str) -> str:
    """Return the first line of a reply: models tend to explain themselves in the following ones.

    >>> first_line("\\n\\n The nurse.\\nNote: …")
    'The nurse.'
    """
    for line in answer.splitlines():
        if line.strip():
            return line.strip()
    return ""


def recognised(
    text: str, words: tuple[str, ...], before: str, *, space: bool = True
) -> int:
    """Return which word of a list a sampled text starts with, by its index.

    OTHER, REFUSAL or EMPTY where it starts with none.

    >>> words = ("he", "she", "her", "her own")
    >>> texts = (" she left", "The nurse said that He's late", "hero", " her own", "I'm sorry, but")
    >>> [recognised(text, words, "The nurse said that") for text in texts]
    [1, 0, -1, 3, -2]
    """
    pattern, index = _any_of(words, space)
    answer = without_opening(without_question(text, before))
    word = pattern.match(answer)
    if word is None:
        return unread(answer)
    return index[word[0].casefold()]


@lru_cache(maxsize=64)
def _any_of(
    words: tuple[str, ...], space: bool
) -> tuple[re.Pattern[str], dict[str, int]]:
    """Return a pattern of all words, and the index of each."""
    index: dict[str, int] = {}
    for i, word in enumerate(words):
        index.setdefault(word.casefold(), i)
    longest_first = sorted(index, key=len, reverse=True)
    alternatives = "|".join(map(re.escape, longest_first))
    end = r"(?!\w)" if space else ""
    return re.compile(f"(?:{alternatives}){end}", re.IGNORECASE), index


class SampledScorer(Scorer):
    """Scores a model by sampling from it; `notes` say how the prompts are presented to it."""

    def __init__(self, info: ModelInfo, options: SampleOptions, *notes: str) -> None:
        sampling = (
            f"{options.replies} replies a prompt at temperature {options.temperature:g}"
        )
        self.info = replace(info, kind="sampled", notes=(*info.notes, sampling, *notes))
        self.options = options

    @abstractmethod
    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        """Sample `options.replies` continuations of each text."""

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        return word_report(words)

    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None = None,
    ) -> WordScores:
        return counted(prompts, words, self.generate(prompts))

    def generate(self, prompts: Sequence[Prompt]) -> tuple[tuple[str, ...], ...]:
        """Return what the model writes on from each prompt."""
        check_continued(self.info.name, prompts)
        replies = self.draw([prompt.before for prompt in prompts])
        return tuple(tuple(texts) for texts in replies)


def check_continued(name: str, prompts: Sequence[Prompt]) -> None:
    """Refuse prompts that a reply cannot continue: the slot has to be their end and not all."""
    if any(prompt.after or not prompt.before for prompt in prompts):
        raise ContextError(
            f"{name}: a reply continues the text before the slot and cannot read what is after it: "
            "use templates that end with [Y] and do not begin with it"
        )


def word_report(words: Sequence[str]) -> WordReport:
    """Return a report in which every word can be scored, since words are recognised in text.

    Two that differ only in case cannot be distinguished.
    """
    first: dict[str, str] = {}
    same_tokens: dict[str, str] = {}
    for word in words:
        first_spelling = first.setdefault(word.casefold(), word)
        if first_spelling != word:
            same_tokens[word] = first_spelling
    return WordReport(tokens={word: (word,) for word in words}, same_tokens=same_tokens)


def counted(
    prompts: Sequence[Prompt], words: Sequence[str], draws: Sequence[tuple[str, ...]]
) -> WordScores:
    """Return the shares of the words among the samples of each prompt."""
    counts = np.zeros((len(prompts), len(words)))
    for i, word_indices in enumerate(_read(prompts, words, draws)):
        for word_index in word_indices:
            if word_index >= 0:
                counts[i, word_index] += 1
    return shares(counts, draws)


def _read(
    prompts: Sequence[Prompt], words: Sequence[str], draws: Sequence[tuple[str, ...]]
) -> Iterator[list[int]]:
    """Yield what the samples of each prompt start with, as `recognised` has it."""
    for prompt, texts in zip(prompts, draws, strict=True):
        yield [
            recognised(text, tuple(words), prompt.before, space=prompt.space)
            for text in texts
        ]


def shares(
    counts: FloatArray,
    draws: Sequence[tuple[str, ...]],
    unread: FloatArray | None = None,
) -> WordScores:
    """Return scores from how many of the samples of each prompt count for each word [P, V]."""
    n = np.array([len(texts) for texts in draws])
    with np.errstate(divide="ignore"):
        return WordScores(
            log_probs=np.log(counts / n[:, None]),
            log_coverage=np.log(counts.sum(axis=1) / n),
            skipped=np.zeros(len(counts)),
            draws=tuple(draws),
            unread=unread,
        )


def outcomes(
    prompts: Sequence[Prompt], words: Sequence[str], draws: Sequence[tuple[str, ...]]
) -> dict[str, int]:
    """Return how many samples start with a word, are refusals, and are anything else."""
    numbers: Counter[int] = Counter()
    for word_indices in _read(prompts, words, draws):
        numbers.update(word_indices)
    return {
        "replies": numbers.total(),
        "replies_words": sum(n for index, n in numbers.items() if index >= 0),
        "replies_refusals": numbers[REFUSAL],
        "replies_other": numbers[OTHER] + numbers[EMPTY],
    }
