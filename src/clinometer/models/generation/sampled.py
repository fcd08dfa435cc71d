"""Models that are only drawn from: words are counted in what they write.

The counts take the place of probabilities: log_probs holds log(count / draws), and coverage is the
share of draws in which any word was recognised. Counting is noise, and J counts noise as risk, so
runs of sampled models are corrected for it (`measure.sampled`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from clinometer.errors import ContextError
from clinometer.models.generation.recognise import OTHER, REFUSAL, Recogniser
from clinometer.models.options import SampleOptions, WordOptions
from clinometer.models.protocol import ModelInfo, WordReport, WordScores
from clinometer.topics import Prompt


class Sampler(Protocol):
    """Whatever writes on from a text."""

    def draw(self, texts: Sequence[str], options: SampleOptions) -> list[list[str]]:
        """`options.draws` continuations of each text."""

    def notes(self) -> tuple[str, ...]:
        """How the texts are put to the model."""

    def usage(self) -> dict[str, int]:
        """As that of a scorer."""
        return {}

    def close(self) -> None:
        """As that of a scorer."""
        return


class SampledScorer:
    """A model asked by drawing."""

    def __init__(
        self,
        sampler: Sampler,
        info: ModelInfo,
        *,
        options: SampleOptions,
        words: WordOptions,
    ) -> None:
        drawn = f"{options.draws} draws a prompt at temperature {options.temperature:g}"
        self.info = replace(info, kind="sampled", notes=(*info.notes, drawn, *sampler.notes()))
        self.sampler, self.options = sampler, options

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """Words are read from text, so that each can be told; two that differ in capitals alone
        cannot be told apart."""
        first: dict[str, str] = {}
        same = {}
        for word in words:
            if word.casefold() in first:
                same[word] = first[word.casefold()]
            first.setdefault(word.casefold(), word)
        return WordReport(tokens={w: (w,) for w in words}, same_tokens=same)

    def score(self, prompts: Sequence[Prompt], words: Sequence[str]) -> WordScores:
        for prompt in prompts:
            if prompt.after:
                raise ContextError(
                    f"{self.info.name}: a model that is drawn from writes on from the slot and "
                    "cannot read what stands after it: use templates that end with [Y]"
                )
            if not prompt.before:
                raise ContextError(
                    f"{self.info.name}: a model that is drawn from needs text before the slot: use "
                    "templates that do not begin with [Y]"
                )
        drawn = self.sampler.draw([p.before for p in prompts], self.options)
        return counted(prompts, words, [tuple(row) for row in drawn])

    def usage(self) -> dict[str, int]:
        return self.sampler.usage()

    def close(self) -> None:
        self.sampler.close()


def counted(
    prompts: Sequence[Prompt], words: Sequence[str], draws: Sequence[tuple[str, ...]]
) -> WordScores:
    """Shares of the words in the draws of each prompt."""
    counts = np.zeros((len(prompts), len(words)))
    for i, (prompt, texts) in enumerate(zip(prompts, draws, strict=True)):
        rules = Recogniser.of(words, space=prompt.space)
        for text in texts:
            number = rules.read(text, prompt.before)
            if number >= 0:
                counts[i, number] += 1
    n = np.array([len(texts) for texts in draws])
    with np.errstate(divide="ignore"):
        return WordScores(
            log_probs=np.log(counts / n[:, None]),
            log_coverage=np.log(counts.sum(axis=1) / n),
            skipped=np.zeros(len(prompts)),
            draws=tuple(draws),
        )


def outcomes(
    prompts: Sequence[Prompt], words: Sequence[str], draws: Sequence[tuple[str, ...]]
) -> dict[str, int]:
    """How many draws began with a word, how many were refusals, how many something else."""
    found = {"draws": 0, "draws_words": 0, "draws_refusals": 0, "draws_other": 0}
    for prompt, texts in zip(prompts, draws, strict=True):
        rules = Recogniser.of(words, space=prompt.space)
        for text in texts:
            number = rules.read(text, prompt.before)
            name = {OTHER: "draws_other", REFUSAL: "draws_refusals"}.get(number, "draws_words")
            found[name] += 1
            found["draws"] += 1
    return found
