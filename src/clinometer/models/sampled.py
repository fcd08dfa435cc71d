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
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from clinometer.errors import ContextError
from clinometer.models.background import settled
from clinometer.models.options import SampleOptions
from clinometer.models.protocol import ModelBase, ModelInfo, WordReport, WordScores
from clinometer.readouts.protocol import (
    EMPTY,
    OTHER,
    REFUSAL,
    unread,
    without_opening,
    without_question,
)
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.reply_log import ReplyLog
from clinometer.topics import Prompt

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


@dataclass(frozen=True)
class Recogniser:
    """Which word of a list does a sampled text start with?

    >>> rules = Recogniser.of(("he", "she", "her", "her own"))
    >>> said = (" she left", "The nurse said that He's late", "hero", " her own", "I'm sorry, but")
    >>> [rules.read(text, "The nurse said that") for text in said]
    [1, 0, -1, 3, -2]
    """

    pattern: re.Pattern[str]
    number: dict[str, int]

    @classmethod
    def of(cls, words: Sequence[str], *, space: bool = True) -> Recogniser:
        return _recogniser(tuple(words), space)

    def read(self, text: str, before: str) -> int:
        """The index of the word, or OTHER, REFUSAL or EMPTY."""
        rest = without_opening(without_question(text, before))
        found = self.pattern.match(rest)
        return self.number[found[0].casefold()] if found else unread(rest)


@lru_cache(maxsize=64)
def _recogniser(words: tuple[str, ...], space: bool) -> Recogniser:
    number: dict[str, int] = {}
    for i, word in enumerate(words):
        number.setdefault(word.casefold(), i)
    longest_first = sorted(number, key=len, reverse=True)
    end = r"(?!\w)" if space else ""
    pattern = re.compile(f"(?:{'|'.join(map(re.escape, longest_first))}){end}", re.IGNORECASE)
    return Recogniser(pattern, number)


class Backend(Protocol):
    """What writes the replies: a client of a server, or a model."""

    def usage(self) -> dict[str, int]: ...

    def close(self) -> None: ...


class SampledScorer(ModelBase, ABC):
    """Scores a model by sampling from it; `notes` say how the prompts are presented to it."""

    def __init__(
        self, backend: Backend, info: ModelInfo, options: SampleOptions, *notes: str
    ) -> None:
        sampling = f"{options.replies} replies a prompt at temperature {options.temperature:g}"
        self.info = replace(info, kind="sampled", notes=(*info.notes, sampling, *notes))
        self.backend, self.options = backend, options

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
        for prompt in prompts:
            if prompt.after:
                raise ContextError(
                    f"{self.info.name}: a sampled model continues the text from the slot and "
                    "cannot read the text after it: use templates that end with [Y]"
                )
            if not prompt.before:
                raise ContextError(
                    f"{self.info.name}: a sampled model needs text before the slot: use "
                    "templates that do not begin with [Y]"
                )
        return tuple(map(tuple, self.draw([p.before for p in prompts])))

    def usage(self) -> dict[str, int]:
        return self.backend.usage()

    def close(self) -> None:
        self.backend.close()


def word_report(words: Sequence[str]) -> WordReport:
    """Words are recognised in text, so every word can be scored, but two that differ only in case
    cannot be distinguished."""
    first: dict[str, str] = {}
    same = {}
    for word in words:
        if word.casefold() in first:
            same[word] = first[word.casefold()]
        first.setdefault(word.casefold(), word)
    return WordReport(tokens={w: (w,) for w in words}, same_tokens=same)


def counted(
    prompts: Sequence[Prompt], words: Sequence[str], draws: Sequence[tuple[str, ...]]
) -> WordScores:
    """Shares of the words among the samples of each prompt."""
    counts = np.zeros((len(prompts), len(words)))
    for i, (prompt, texts) in enumerate(zip(prompts, draws, strict=True)):
        rules = Recogniser.of(words, space=prompt.space)
        for text in texts:
            number = rules.read(text, prompt.before)
            if number >= 0:
                counts[i, number] += 1
    return shares(counts, draws)


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
    found = {"replies": 0, "replies_words": 0, "replies_refusals": 0, "replies_other": 0}
    for prompt, texts in zip(prompts, draws, strict=True):
        rules = Recogniser.of(words, space=prompt.space)
        for text in texts:
            number = rules.read(text, prompt.before)
            names = {OTHER: "replies_other", EMPTY: "replies_other", REFUSAL: "replies_refusals"}
            name = names.get(number, "replies_words")
            found[name] += 1
            found["replies"] += 1
    return found


# --- Replies over a network: asked for one by one, kept as they arrive ----------------------------


class AskedBackend(Protocol):
    """What runs the requests, and can be stopped."""

    def run(self, work: Any) -> Any: ...

    def halt(self) -> None: ...

    def usage(self) -> dict[str, int]: ...

    def close(self) -> None: ...


class AskingSampler(SampledScorer):
    """Asks for replies, several at a time, and never twice for one that is in the log."""

    blocks_at_once = 32

    def __init__(
        self, backend: AskedBackend, info: ModelInfo, options: SampleOptions, *notes: str
    ) -> None:
        super().__init__(backend, info, options, *notes)
        self.backend: AskedBackend = backend
        self.log: ReplyLog | None = None
        #: replies in one request
        self.at_once = 1
        #: whether what is refused is known, so that many requests may be sent
        self.learnt = False
        self._first = threading.Lock()

    def keep(self, log: ReplyLog) -> None:
        self.log = log

    def halt(self) -> None:
        self.backend.halt()

    def close(self) -> None:
        if self.log is not None:
            self.log.close()
        super().close()

    @abstractmethod
    async def ask(self, text: str, number: int, n: int) -> list[str]:
        """Replies number, number + 1, … to a text: n of them, or fewer, and then it is called
        again for the others."""

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        first: list[list[str]] = []
        with self._first:  # one request alone learns what is refused
            if not self.learnt:
                first = [self.backend.run(self._draw(texts[0]))]
                self.learnt = True
        rest = [self._draw(text) for text in texts[len(first) :]]
        found: list[list[str]] = self.backend.run(settled(rest, self.backend.halt))
        return [*first, *found]

    async def _draw(self, text: str) -> list[str]:
        found: dict[int, str] = {}
        if self.log is not None:
            known = ((i, self.log.get(text, i)) for i in range(self.options.replies))
            found = {i: reply for i, reply in known if isinstance(reply, str)}
        while missing := [i for i in range(self.options.replies) if i not in found]:
            size = self.at_once
            batches = [missing[i : i + size] for i in range(0, len(missing), size)]
            if not self.learnt:
                batches = batches[:1]
            await settled([self._batch(text, one, found) for one in batches], self.backend.halt)
            self.learnt = self.learnt or bool(found)
        return [found[i] for i in range(self.options.replies)]

    async def _batch(self, text: str, numbers: list[int], found: dict[int, str]) -> None:
        replies = await self.ask(text, numbers[0], len(numbers))
        for number, reply in zip(numbers, replies, strict=False):
            if self.log is not None:
                self.log.put(text, number, reply)
            found[number] = reply
