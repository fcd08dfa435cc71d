"""Models that reply: sampled, and the words in their replies counted.

Counts replace probabilities: log_probs contains log(count / samples), and coverage is the share of
samples in which any word was recognised. Counting adds noise, which J takes for risk, so risks are
bracketed over the replies (`measure.evidence`).

Replies that are asked for over a network are kept as they arrive.
"""

from __future__ import annotations

import hashlib
import re
import threading
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from clinometer.errors import ContextError
from clinometer.models.background import together
from clinometer.models.options import SampleOptions
from clinometer.models.protocol import ModelInfo, Scorer, WordReport, WordScores
from clinometer.readouts.readers import (
    EMPTY,
    OTHER,
    REFUSAL,
    unread,
    without_opening,
    without_question,
)
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt

if TYPE_CHECKING:
    from clinometer.models.client import Client

#: A note of models that are asked inside their chat template.
IN_TEMPLATE = "scored inside its chat template"


def seed_for(seed: int, *names: str | int) -> int:
    """A seed for one question or sample, independent of what was queried before it.

    >>> seed_for(0, "a", 1) == seed_for(0, "a", 1) != seed_for(0, "a", 2)
    True
    """
    key = "\0".join(map(str, (seed, *names))).encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:4]) >> 1


def first_line(answer: str) -> str:
    """The first line of a reply: models tend to explain themselves in the following ones.

    >>> first_line("\\n\\n The nurse.\\nNote: …")
    'The nurse.'
    """
    return next((line.strip() for line in answer.splitlines() if line.strip()), "")


def recognised(
    text: str, words: tuple[str, ...], before: str, *, space: bool = True
) -> int:
    """Which word of a list a sampled text starts with, by its index, or OTHER, REFUSAL or EMPTY.

    >>> words = ("he", "she", "her", "her own")
    >>> said = (" she left", "The nurse said that He's late", "hero", " her own", "I'm sorry, but")
    >>> [recognised(text, words, "The nurse said that") for text in said]
    [1, 0, -1, 3, -2]
    """
    pattern, number = _any_of(words, space)
    rest = without_opening(without_question(text, before))
    word = pattern.match(rest)
    return number[word[0].casefold()] if word else unread(rest)


@lru_cache(maxsize=64)
def _any_of(
    words: tuple[str, ...], space: bool
) -> tuple[re.Pattern[str], dict[str, int]]:
    """A pattern of all words, and the index of each."""
    number: dict[str, int] = {}
    for i, word in enumerate(words):
        number.setdefault(word.casefold(), i)
    longest_first = sorted(number, key=len, reverse=True)
    end = r"(?!\w)" if space else ""
    each = "|".join(map(re.escape, longest_first))
    return re.compile(f"(?:{each}){end}", re.IGNORECASE), number


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
        """What the model writes on from each prompt."""
        check_continued(self.info.name, prompts)
        return tuple(map(tuple, self.draw([p.before for p in prompts])))


def check_continued(name: str, prompts: Sequence[Prompt]) -> None:
    """Refuse prompts that a reply cannot continue: the slot has to be their end and not all."""
    if any(prompt.after or not prompt.before for prompt in prompts):
        raise ContextError(
            f"{name}: a reply continues the text before the slot and cannot read what is after it: "
            "use templates that end with [Y] and do not begin with it"
        )


def word_report(words: Sequence[str]) -> WordReport:
    """Words are recognised in text, so every word can be scored, but two that differ only in case
    cannot be distinguished."""
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(word.casefold(), word)
    same = {
        word: first[word.casefold()] for word in words if first[word.casefold()] != word
    }
    return WordReport(tokens={w: (w,) for w in words}, same_tokens=same)


def counted(
    prompts: Sequence[Prompt], words: Sequence[str], draws: Sequence[tuple[str, ...]]
) -> WordScores:
    """Shares of the words among the samples of each prompt."""
    counts = np.zeros((len(prompts), len(words)))
    for i, numbers in enumerate(_read(prompts, words, draws)):
        for number in numbers:
            counts[i, number] += number >= 0
    return shares(counts, draws)


def _read(
    prompts: Sequence[Prompt], words: Sequence[str], draws: Sequence[tuple[str, ...]]
) -> Iterator[list[int]]:
    """What the samples of each prompt start with, as `recognised` has it."""
    for prompt, texts in zip(prompts, draws, strict=True):
        yield [
            recognised(t, tuple(words), prompt.before, space=prompt.space)
            for t in texts
        ]


def shares(
    counts: FloatArray,
    draws: Sequence[tuple[str, ...]],
    unread: FloatArray | None = None,
) -> WordScores:
    """Scores from how many of the samples of each prompt count for each word [P, V]."""
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
    """Number of samples that start with a word, that are refusals, and that are anything else."""
    numbers = Counter(chain.from_iterable(_read(prompts, words, draws)))
    return {
        "replies": numbers.total(),
        "replies_words": sum(n for number, n in numbers.items() if number >= 0),
        "replies_refusals": numbers[REFUSAL],
        "replies_other": numbers[OTHER] + numbers[EMPTY],
    }


# --- Replies over a network: asked for one by one, kept as they arrive ----------------------------


class AskingSampler(SampledScorer):
    """Asks for replies, several at a time, and never twice for one that is in the log."""

    blocks_at_once = 32

    def __init__(
        self, client: Client, info: ModelInfo, options: SampleOptions, *notes: str
    ) -> None:
        super().__init__(info, options, *notes)
        self.client: Client = client
        #: replies in one request
        self.at_once = 1
        #: whether what is refused is known, so that many requests may be sent
        self.learnt = False
        self._first = threading.Lock()

    @abstractmethod
    async def ask(self, text: str, number: int, n: int) -> list[str]:
        """Replies number, number + 1, … to a text: n of them, or fewer, and then it is called
        again for the others."""

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        first: list[list[str]] = []
        with self._first:  # one request alone learns what is refused
            if not self.learnt:
                first = [self.client.run(self._draw(texts[0]))]
                self.learnt = True
        rest = [self._draw(text) for text in texts[len(first) :]]
        return [*first, *self.client.run(together(rest, self.client.halt))]

    async def _draw(self, text: str) -> list[str]:
        wanted = range(self.options.replies)
        kept = [None if self.log is None else self.log.get(text, i) for i in wanted]
        replies = {i: reply for i, reply in enumerate(kept) if isinstance(reply, str)}
        while missing := [i for i in wanted if i not in replies]:
            size = self.at_once
            batches = [missing[i : i + size] for i in range(0, len(missing), size)]
            if not self.learnt:
                batches = batches[:1]
            await together(
                [self._batch(text, some, replies) for some in batches], self.client.halt
            )
            self.learnt = self.learnt or bool(replies)
        return [replies[i] for i in wanted]

    async def _batch(
        self, text: str, numbers: list[int], replies: dict[int, str]
    ) -> None:
        new = await self.ask(text, numbers[0], len(numbers))
        for number, reply in zip(numbers, new, strict=False):
            if self.log is not None:
                self.log.put(text, number, reply)
            replies[number] = reply
