"""Turn prompts and words into queries about heads, and the answers back into scores of prompts.

The same steps serve every causal model, wherever it runs; only the backend that answers differs.
`Rows` is the plain one: one row per head and continuation, for any model that scores tokens after a
path of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clinometer.errors import ContextError
from clinometer.models.protocol import WordScores
from clinometer.models.scoring.chain_rule import Ask, WordQuery, expand
from clinometer.models.scoring.continuations import (
    Answers,
    AskedContinuations,
    Continuations,
    Heads,
)
from clinometer.models.scoring.word_scorer import WordScorer
from clinometer.models.tokens import END_OF_WORD, Tokens, Trie, WordList
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray
from clinometer.topics import Prompt

#: Nodes after the slot that are listed at once; the list takes about 200 bytes per node.
_LISTED = 1_000_000


#: Log-probabilities of the wanted tokens after each path of tokens.
Follow = Callable[[Sequence[Tokens], Sequence[Tokens]], list[FloatArray]]


@dataclass(frozen=True)
class Rest:
    """A text after the slot behind every word.

    asked [N]        the nodes from each word's end on
    steps [V, len]   for each word, the nodes of the text's tokens behind it
    """

    tree: Continuations
    asked: BoolArray
    steps: IntArray

    @classmethod
    def of(cls, rest: Tokens, words: Sequence[Tokens]) -> Rest:
        trie = Trie.of([word + rest for word in words])
        number = {prefix: n for n, prefix in enumerate(trie.prefix)}
        steps = np.array(
            [[number[word + rest[: k + 1]] for k in range(len(rest))] for word in words]
        )
        asked = np.zeros(len(trie.prefix), dtype=bool)
        asked[np.array(trie.parent)[steps]] = True
        return cls(Continuations(trie), asked, steps)


class Job:
    """Prompts that agree in having text after the slot or none, and the words asked of them.

    heads          token sequences before the slot, sorted, without duplicates
    longest        tokens in the longest row that the model will read
    looks_below    whether anything beyond the heads' own next token is queried
    """

    def __init__(self, reader: WordScorer, prompts: Sequence[Prompt], words: WordList) -> None:
        self.reader, self.prompts, self.words = reader, prompts, words
        texts = {text: i for i, text in enumerate(dict.fromkeys(p.before for p in prompts))}
        tokens = reader.head_tokens(list(texts))
        for ids, text in zip(tokens, texts, strict=True):
            if not ids:
                prompt = next(p for p in prompts if p.before == text)
                raise ContextError(
                    f"{reader.info.name} has no BOS token, so nothing can be scored before "
                    f"the first word of {prompt.fill('[Y]')!r}: use a template with text before [Y]"
                )
        self.heads, row = Heads.of(tokens)
        of_text = np.fromiter((texts[p.before] for p in prompts), np.int64, len(prompts))
        self._head = row[of_text]
        #: prompts in the order of their heads
        self._order = np.argsort(self._head, kind="stable")
        starts = np.searchsorted(self._head[self._order], np.arange(len(self.heads)))
        self._first_prompt = self._order[starts]
        ends = (END_OF_WORD,) if reader.options.end_of_word else ()
        self.tree = Continuations(Trie.of([s + ends for s in words.sequences]))
        self.reads_on = bool(prompts[0].after)
        self._rests: list[Rest] = []
        self._rest = np.zeros(len(prompts), dtype=np.int64)
        rest_lengths = self._read_rests() if self.reads_on else np.zeros(len(prompts), np.int64)
        self.looks_below = self.reads_on or self.tree.depth > 1
        # The last token of a path is predicted, never read.
        longest_word = max(len(s) for s in words.sequences) + len(ends)
        lengths = self.heads.lengths[self._head] + longest_word + rest_lengths - 1
        worst = int(lengths.argmax())
        self.longest = int(lengths[worst])
        reader.check_length(self.longest, prompts[worst])

    def _read_rests(self) -> IntArray:
        """Number the texts after the slot; returns the tokens of each prompt's text."""
        first: dict[str, Prompt] = {}
        for prompt in self.prompts:
            first.setdefault(prompt.after, prompt)
        rests = [self.reader.after_tokens(prompt) for prompt in first.values()]
        self._rests = [Rest.of(rest, self.words.sequences) for rest in rests]
        number = {text: i for i, text in enumerate(first)}
        self._rest = np.array([number[prompt.after] for prompt in self.prompts])
        return np.array([len(rest) for rest in rests])[self._rest]

    def score(
        self, answers: Answers, start: int, stop: int, *, upper: Answers | None = None
    ) -> WordScores:
        """Score the prompts whose heads are rows start to stop, in the order of their heads.

        `upper` gives upper bounds where `answers` are lower ones; it is queried afterwards.
        """
        # What follows the slot can favour any word by any factor, so no bound holds there.
        tolerance = 0.0 if self.reads_on else self.reader.options.effective_tolerance
        found = expand(
            [self.tree.trie],
            stop - start,
            self._asker(answers, start, stop),
            tolerance=tolerance,
            counts=self.words.counts,
            ask_upper=None if upper is None else self._asker(upper, start, stop),
        )
        first, last = np.searchsorted(self._head[self._order], [start, stop])
        members = self._order[first:last]
        head = self._head[members] - start
        found = found.take(head)
        if self.reads_on:
            lower = found.log_probs + self._log_prob_after(answers, members, head)
            most = found.log_upper
            if upper is not None and most is not None:
                most = most + self._log_prob_after(upper, members, head)
            return WordScores(lower, found.log_coverage, found.skipped, most)
        return found

    def _asker(self, answers: Answers, start: int, stop: int) -> Ask:
        everyone = np.arange(stop - start)
        children = [np.array(kids, dtype=np.int64) for kids in self.tree.trie.children]

        def ask(questions: Sequence[WordQuery]) -> list[FloatArray]:
            if not questions:
                return []
            nodes = np.zeros((len(self.tree), len(everyone)), dtype=bool)
            for q in questions:
                nodes[q.node, q.prompts] = True
            (found,) = answers.ask([AskedContinuations(self.tree, everyone, nodes)])
            tables = [found[np.ix_(children[q.node], q.prompts)].T for q in questions]
            for q, table in zip(questions, tables, strict=True):
                numbers = self._first_prompt[start + q.prompts]
                self.reader.check_values(table, self.prompts, numbers)
            return tables

        return ask

    def _log_prob_after(self, answers: Answers, members: IntArray, head: IntArray) -> FloatArray:
        """log p(text after the slot | prompt, word) [P, words]."""
        total = np.zeros((len(members), len(self.words.sequences)))
        for group in self._by_rest(members):
            parts = []
            for number, here in group:
                rest = self._rests[number]
                nodes = np.repeat(rest.asked[:, None], len(here), axis=1)
                parts.append(AskedContinuations(rest.tree, head[here], nodes))
            for (number, here), found in zip(group, answers.ask(parts), strict=True):
                values = np.moveaxis(found[self._rests[number].steps], 2, 0)
                table = values.reshape(len(here), -1)
                self.reader.check_values(table, self.prompts, members[here])
                total[here] = values.sum(axis=2)
        return total

    def _by_rest(self, members: IntArray) -> Iterator[list[tuple[int, IntArray]]]:
        """Places of the members with the same text after the slot, in groups that fit in memory.

        Texts are shuffled (always in the same way), so that each group uses every pack and no pack
        waits for another.
        """
        numbers = np.unique(self._rest[members])
        group: list[tuple[int, IntArray]] = []
        size = 0
        for number in np.random.default_rng(0).permutation(numbers).tolist():
            here = np.flatnonzero(self._rest[members] == number)
            size += len(here) * len(self._rests[number].tree)
            group.append((number, here))
            if size > _LISTED:
                yield group
                group, size = [], 0
        if group:
            yield group

    def score_in_rows(self, follow: Follow, upper: Follow | None = None) -> WordScores:
        """Score all prompts, one row per head and continuation."""
        bounds = None if upper is None else Rows(upper, self.heads)
        part = self.score(Rows(follow, self.heads), 0, len(self.heads), upper=bounds)
        return self.joined([part])

    def joined(self, parts: Sequence[WordScores]) -> WordScores:
        """Scores of all prompts in their own order."""
        back = np.empty_like(self._order)
        back[self._order] = np.arange(len(back))
        return WordScores.joined(parts).take(back)


class Rows:
    """Plain rows: one row per head and continuation."""

    def __init__(self, follow: Follow, heads: Heads, start: int = 0) -> None:
        self.follow, self.heads, self.start = follow, heads, start

    def ask(self, parts: Sequence[AskedContinuations]) -> list[FloatArray]:
        places = [tuple(map(np.ravel, np.nonzero(part.nodes))) for part in parts]
        paths: list[Tokens] = []
        wanted: list[Tokens] = []
        for part, (nodes, columns) in zip(parts, places, strict=True):
            trie = part.tree.trie
            children = [trie.child_tokens(n) for n in range(len(part.tree))]
            paths += [
                self.head(h) + trie.prefix[n]
                for n, h in zip(nodes.tolist(), part.heads[columns].tolist(), strict=True)
            ]
            wanted += [children[n] for n in nodes.tolist()]
        values = iter(self.follow(paths, wanted))
        answers = [part.blank() for part in parts]
        for part, (nodes, columns), found in zip(parts, places, answers, strict=True):
            for n, column in zip(nodes.tolist(), columns.tolist(), strict=True):
                found[list(part.tree.trie.children[n]), column] = next(values)
        return answers

    def head(self, row: int) -> Tokens:
        """The tokens of a head, numbered from `start` on."""
        return self.heads.path(self.start + row)
