"""Models that score words, wherever they run: their base class, and for the causal ones how prompts
and words become queries about heads, and the answers scores of prompts; only the backend that
answers differs. Needs no torch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clinometer.display.text import brief
from clinometer.errors import ContextError, ModelError
from clinometer.models.options import WordOptions
from clinometer.models.protocol import ModelInfo, Scorer, WordReport, WordScores
from clinometer.models.scoring.chain_rule import Ask, expand
from clinometer.models.scoring.heads import (
    Answers,
    AskedContinuations,
    Follow,
    Heads,
    Rest,
    Rows,
)
from clinometer.models.tokens import Trie, WordList, continuations, head_tokens
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray
from clinometer.topics import Prompt

_LISTED = 1_000_000
"""Nodes after the slot that are listed at once; the list takes about 200 bytes per node."""


class WordScorer(Scorer):
    """Tokenises words, and groups prompts that can be scored together."""

    chat: str | None
    """What the chat template writes before the assistant's turn; None: no template."""

    length_limit: int | None
    """Maximum context length in tokens; None if unlimited or unknown."""

    def __init__(
        self,
        tokenizer: Any,
        info: ModelInfo,
        *,
        options: WordOptions | None = None,
        chat: str | None = None,
        length_limit: int | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.info = info
        self.chat = chat
        self.options = options or WordOptions()
        self.length_limit = length_limit
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
        """Return the log-probability of every word at the slot of every prompt."""
        members_of_kind: dict[tuple[bool, bool, bool], list[int]] = {}
        for i, prompt in enumerate(prompts):
            kind = (prompt.space, not prompt.before, not prompt.after)
            members_of_kind.setdefault(kind, []).append(i)

        def parts() -> Iterator[tuple[IntArray, WordScores]]:
            for (space, opening, _), members in members_of_kind.items():
                word_list = self.word_list(words, space=space, opening=opening)
                alike = [prompts[i] for i in members]
                scores = self.score_batch(alike, word_list.counted(counts))
                yield np.array(members), scores.widened(word_list.columns, len(words))

        return WordScores.scattered(parts(), len(prompts))

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        return self.word_list(words, space=space).report

    def word_list(
        self, words: Sequence[str], *, space: bool, opening: bool = False
    ) -> WordList:
        """Return the words as tokens: after a space, without one, or at the start of the text."""
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
                raise ModelError(
                    f"{self.info.name}: its tokenizer can write none of the words"
                )
        return self._words[key]

    def head_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens before the slot, with the model's BOS token but no EOS token."""
        return head_tokens(self.tokenizer, texts, chat=self.chat)

    def check_values(
        self, values: FloatArray, prompts: Sequence[Prompt], rows: IntArray
    ) -> None:
        """Refuse numbers that no language model returns, of the prompts `rows` (one a row).

        None is named here: they were sent to a server, and no message may repeat them.
        """
        if np.isnan(values).any() or (values > 0).any():
            raise ModelError(
                f"{self.info.name}: expected log-probabilities, found another number"
            )

    def check_length(self, length: int, prompt: Prompt) -> None:
        """Refuse a prompt of more tokens than the model reads."""
        if self.length_limit is not None and length > self.length_limit:
            raise ContextError(
                f"{self.info.name} reads at most {self.length_limit} tokens, found {length} in the "
                f"prompt {brief(prompt.before)!r}: shorten the template"
            )


class Job:
    """Prompts that agree in having text after the slot or none, and the words asked of them."""

    heads: Heads
    """Token sequences before the slot, sorted, without duplicates."""

    longest: int
    """Tokens in the longest row that the model will read."""

    reads_on: bool
    """Whether there is text after the slot."""

    looks_below: bool
    """Whether anything beyond the heads' own next token is queried."""

    def __init__(
        self, reader: WordScorer, prompts: Sequence[Prompt], words: WordList
    ) -> None:
        self.reader = reader
        self.prompts = prompts
        self.words = words
        self.heads, self._head = self._tokenised_heads()
        # Prompts in the order of their heads.
        self._order = np.argsort(self._head, kind="stable")
        starts = np.searchsorted(self._head[self._order], np.arange(len(self.heads)))
        self._first_prompt = self._order[starts]
        self.tree = Trie.of(words.sequences)
        self.reads_on = bool(prompts[0].after)
        self.looks_below = self.reads_on or len(self.tree.inner) > 1
        # The texts after the slot, each once, and which one a prompt has.
        afters = list(dict.fromkeys(prompt.after for prompt in prompts))
        number = {text: i for i, text in enumerate(afters)}
        self._rest = np.array([number[prompt.after] for prompt in prompts])
        self._rests: list[Rest] = []
        rest_lengths = np.zeros(len(afters), dtype=np.int64)
        if self.reads_on:
            rests = continuations(reader.tokenizer, afters)
            self._rests = [Rest.of(rest, words.sequences) for rest in rests]
            rest_lengths = np.array([len(rest) for rest in rests])
        # The last token of a path is predicted, never read.
        longest_word = max(len(tokens) for tokens in words.sequences)
        head_lengths = self.heads.lengths[self._head]
        lengths = head_lengths + longest_word + rest_lengths[self._rest] - 1
        worst = int(lengths.argmax())
        self.longest = int(lengths[worst])
        reader.check_length(self.longest, prompts[worst])

    def _tokenised_heads(self) -> tuple[Heads, IntArray]:
        """Return the heads, and the row of each prompt's head among them."""
        texts = list(dict.fromkeys(prompt.before for prompt in self.prompts))
        tokens = self.reader.head_tokens(texts)
        for text, token_ids in zip(texts, tokens, strict=True):
            if not token_ids:
                self._refuse_head(text)
        heads, row_of_text = Heads.of(tokens)
        number = {text: i for i, text in enumerate(texts)}
        befores = (number[prompt.before] for prompt in self.prompts)
        return heads, row_of_text[np.fromiter(befores, np.int64, len(self.prompts))]

    def _refuse_head(self, text: str) -> None:
        """Raise for a text before the slot that has no tokens."""
        prompt = next(prompt for prompt in self.prompts if prompt.before == text)
        raise ContextError(
            f"{self.reader.info.name} has no BOS token, so nothing can be scored before "
            f"the first word of {prompt.fill('[Y]')!r}: use a template with text before [Y]"
        )

    def score(
        self, answers: Answers, start: int, stop: int, *, upper: Answers | None = None
    ) -> tuple[IntArray, WordScores]:
        """Return the prompts whose heads are rows start to stop, and their scores.

        `upper` gives upper bounds where `answers` are lower ones; it is queried afterwards.
        """
        # What follows the slot can favour any word by any factor, so no bound holds there.
        tolerance = 0.0 if self.reads_on else self.reader.options.effective_tolerance
        of_heads = expand(
            [self.tree],
            stop - start,
            self._asker(answers, start, stop),
            tolerance=tolerance,
            counts=self.words.counts,
            ask_upper=None if upper is None else self._asker(upper, start, stop),
        )
        first, last = np.searchsorted(self._head[self._order], [start, stop])
        members = self._order[first:last]
        head = self._head[members] - start
        scores = of_heads.take(head)
        if not self.reads_on:
            return members, scores
        log_probs = scores.log_probs + self._log_prob_after(answers, members, head)
        log_upper = scores.log_upper
        if upper is not None and log_upper is not None:
            log_upper = log_upper + self._log_prob_after(upper, members, head)
        return members, WordScores(
            log_probs, scores.log_coverage, scores.skipped, log_upper
        )

    def _asker(self, answers: Answers, start: int, stop: int) -> Ask:
        heads = np.arange(stop - start)
        prompts = self._first_prompt[start:stop]

        def ask(queries: Sequence[BoolArray]) -> list[FloatArray]:
            (nodes,) = queries
            (answer,) = answers([AskedContinuations(self.tree, heads, nodes)])
            values = np.where(self.tree.below(nodes), answer, 0.0)
            self.reader.check_values(values.T, self.prompts, prompts)
            return [answer]

        return ask

    def _log_prob_after(
        self, answers: Answers, members: IntArray, head: IntArray
    ) -> FloatArray:
        """Return log p(text after the slot | prompt, word) [P, words]."""
        total = np.zeros((len(members), len(self.words.sequences)))
        for group in self._by_rest(members):
            parts = []
            for number, places in group:
                rest = self._rests[number]
                nodes = np.repeat(rest.asked[:, None], len(places), axis=1)
                parts.append(AskedContinuations(rest.tree, head[places], nodes))
            for (number, places), answer in zip(group, answers(parts), strict=True):
                values = np.moveaxis(answer[self._rests[number].steps], 2, 0)
                table = values.reshape(len(places), -1)
                self.reader.check_values(table, self.prompts, members[places])
                total[places] = values.sum(axis=2)
        return total

    def _by_rest(self, members: IntArray) -> Iterator[list[tuple[int, IntArray]]]:
        """Yield places of the members with the same text after the slot, in groups that fit in
        memory.

        Texts are shuffled (always in the same way), so that each group uses every pack and no pack
        waits for another.
        """
        rest_of_member = self._rest[members]
        numbers = np.unique(rest_of_member)
        group: list[tuple[int, IntArray]] = []
        size = 0
        for number in np.random.default_rng(0).permutation(numbers).tolist():
            places = np.flatnonzero(rest_of_member == number)
            group.append((number, places))
            size += len(places) * len(self._rests[number].asked)
            if size > _LISTED:
                yield group
                group = []
                size = 0
        if group:
            yield group

    def score_in_rows(self, follow: Follow, upper: Follow | None = None) -> WordScores:
        """Score all prompts, one row per head and continuation."""
        lower_rows = Rows(follow, self.heads)
        upper_answers = None if upper is None else Rows(upper, self.heads).ask
        part = self.score(lower_rows.ask, 0, len(self.heads), upper=upper_answers)
        return WordScores.scattered([part], len(self.prompts))
