"""Questions instead of sentences: the answers are scored, or sampled replies are read.

A reply's first words are its answer, so the exact probability of an option is that of its label or
text where the reply begins: after the question for a base model, at the start of the assistant's
turn for a chat model. Everything else the model could write there is `other`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import ModelError, SettingsError
from clinometer.models.generation.sampled import SampledScorer, shares
from clinometer.models.options import LoadOptions
from clinometer.models.protocol import ModelInfo, Scorer, WordReport, WordScores
from clinometer.readouts.protocol import Readout
from clinometer.readouts.replies import UNREAD
from clinometer.readouts.tables import ReadoutTable
from clinometer.topics import Prompt, Topic

#: Kinds of models that fill gaps in a text and cannot reply to one.
_FILL_GAPS = ("masked", "permutation")


@dataclass(frozen=True)
class ReadoutQuery:
    """What the answers of a topic are: its readout and its categories with their words."""

    topic: str
    table: ReadoutTable
    attributes: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, topic: Topic) -> ReadoutQuery | None:
        """Of a topic of questions; None where words are scored at a slot."""
        if topic.readout is None:
            return None
        return cls(topic.name, topic.readout, dict(topic.attributes))

    def check(self, load: LoadOptions) -> None:
        """Refuse settings under which the topic cannot be asked, before a model is opened."""
        if not self.table.exact and load.sampled is None:
            raise SettingsError(
                f"topic {self.topic!r}: its readout {self.table.kind!r} reads whole replies; add "
                "--sampled 20, replies per question"
            )


class ReplyScorer:
    """A scorer of words as a scorer of answers to questions; `reader` reads sampled replies."""

    def __init__(
        self, scorer: Scorer, query: ReadoutQuery, *, chat: bool, reader: Readout | None = None
    ) -> None:
        if scorer.info.kind in _FILL_GAPS:
            raise ModelError(
                f"{scorer.info.name}: a {scorer.info.kind} model fills gaps and cannot answer the "
                f"questions of topic {query.topic!r}; use a causal, chat or served model"
            )
        self.scorer, self.query, self.chat = scorer, query, chat
        self._reader = reader

    @property
    def info(self) -> ModelInfo:
        return self.scorer.info

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """Labels are checked when they are scored; texts as any other words."""
        if self._reader is not None or self.query.table.label_style != "none":
            return WordReport(tokens={word: (word,) for word in words})
        report = self.scorer.word_report(words, space=space and not self.chat)
        self._check(report)
        return report

    def usage(self) -> dict[str, int]:
        return self.scorer.usage()

    def close(self) -> None:
        self.scorer.close()

    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: NDArray[np.float64] | None = None,
    ) -> WordScores:
        """Scores with a column for each word of the topic, in any order of the options."""
        if self._reader is not None and isinstance(self.scorer, SampledScorer):
            return self._read(self._reader, self.scorer, prompts, words)
        alike: dict[tuple[str, ...], list[int]] = {}
        for i, prompt in enumerate(prompts):
            answers = () if prompt.shown is None else prompt.shown.answers
            alike.setdefault(tuple(sorted({*answers} - {""})), []).append(i)
        parts = [self._exact([prompts[i] for i in at], texts) for texts, at in alike.items()]
        return WordScores.joined(parts).take(np.argsort(np.concatenate(list(alike.values()))))

    # --- exact ------------------------------------------------------------------------------------

    def _exact(self, prompts: Sequence[Prompt], texts: tuple[str, ...]) -> WordScores:
        """Prompts with the same answers, in any order."""
        if self.chat:  # the reply opens the assistant's turn
            prompts = [replace(prompt, space=False) for prompt in prompts]
        found = self.scorer.score(prompts, texts)
        report = self.scorer.word_report(texts, space=prompts[0].space)
        self._check(report)
        scale = np.ones(len(texts))
        if self.query.table.normalisation == "per-token":
            scale = 1.0 / np.array([len(report.tokens[text]) for text in texts])
        number = {text: i for i, text in enumerate(texts)}
        answers = [() if p.shown is None else p.shown.answers for p in prompts]
        columns = np.array([[number.get(text, -1) for text in row] for row in answers])
        upper = found.log_upper
        return replace(
            found,
            log_probs=_placed(found.log_probs * scale, columns),
            log_upper=None if upper is None else _placed(upper * scale, columns),
        )

    def _check(self, report: WordReport) -> None:
        for text in report.unwritable:
            raise ModelError(
                f"{self.info.name}: its tokenizer cannot write the option {text!r}; "
                "give it another text"
            )
        for text, same in report.same_tokens.items():
            advice = (
                'write normalise = "sum" in [readout]'
                if self.query.table.normalisation == "first-token"
                else "give the options other texts"
            )
            raise ModelError(
                f"{self.info.name}: the options {same!r} and {text!r} begin with the same "
                f"tokens; {advice}"
            )

    # --- sampled ----------------------------------------------------------------------------------

    def _read(
        self,
        reader: Readout,
        scorer: SampledScorer,
        prompts: Sequence[Prompt],
        words: Sequence[str],
    ) -> WordScores:
        return read_replies(reader, self.query.attributes, prompts, words, scorer.replies(prompts))


def read_replies(
    reader: Readout,
    attributes: Mapping[str, tuple[str, ...]],
    prompts: Sequence[Prompt],
    words: Sequence[str],
    replies: Sequence[tuple[str, ...]],
) -> WordScores:
    """Shares of the categories among the replies; each in the column of its first word."""
    first = _first_columns(attributes, words)
    shown = [p.shown for p, row in zip(prompts, replies, strict=True) for _ in row if p.shown]
    said = [text for row in replies for text in row]
    read = iter(reader.read(said, shown))
    counts = np.zeros((len(prompts), len(words)))
    unread = np.zeros((len(prompts), len(UNREAD)))
    codes = list(UNREAD)
    for i, row in enumerate(replies):
        for _ in row:
            category = next(read)
            if category >= 0:
                counts[i, first[category]] += 1
            else:
                unread[i, codes.index(category)] += 1
    return shares(counts, replies, unread)


def _placed(values: NDArray[np.float64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Scores of the answers [P, A] in the columns of the topic's words [P, V]; -1: none."""
    padded = np.concatenate([values, np.full((len(values), 1), -np.inf)], axis=1)
    return np.take_along_axis(padded, columns, axis=1)


def _first_columns(attributes: Mapping[str, tuple[str, ...]], words: Sequence[str]) -> list[int]:
    """The column of each category's first word."""
    place = {word: i for i, word in enumerate(words)}
    return [place[texts[0]] for texts in attributes.values()]
