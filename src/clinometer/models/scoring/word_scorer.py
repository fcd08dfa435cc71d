"""Models that score words, wherever they run: their base class, and for the causal ones how prompts
and words become queries about heads, and the answers scores of prompts; only the backend that
answers differs. Needs no torch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from clinometer.display.text import brief
from clinometer.errors import ContextError, ModelError
from clinometer.models.options import WordOptions
from clinometer.models.protocol import ModelInfo, Scorer, WordReport, WordScores
from clinometer.models.scoring.chain_rule import Ask, expand
from clinometer.models.tokens import Tokens, Trie, WordList, continuations, head_tokens
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray
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
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None = None,
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

    def word_list(
        self, words: Sequence[str], *, space: bool, opening: bool = False
    ) -> WordList:
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
                raise ModelError(
                    f"{self.info.name}: its tokenizer can write none of the words"
                )
        return self._words[key]

    def head_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens before the slot, with the model's BOS token but no EOS token."""
        return head_tokens(self.tokenizer, texts, chat=self.chat)

    def check_values(
        self, values: FloatArray, prompts: Sequence[Prompt], asked: IntArray
    ) -> None:
        """Refuse numbers that no language model returns, of the prompts `asked` (one a row). None
        is named here: they were sent to a server, and no message may repeat them."""
        if np.isnan(values).any() or (values > 0).any():
            raise ModelError(
                f"{self.info.name}: expected log-probabilities, found another number"
            )

    def check_length(self, length: int, prompt: Prompt) -> None:
        if self.length_limit is not None and length > self.length_limit:
            raise ContextError(
                f"{self.info.name} reads at most {self.length_limit} tokens, found {length} in the "
                f"prompt {brief(prompt.before)!r}: shorten the template"
            )


# --- Causal models: queries about heads ----------------------------------------------------------


#: Nodes after the slot that are listed at once; the list takes about 200 bytes per node.
_LISTED = 1_000_000


#: Padding in the table of heads, past the end of a sequence.
NOTHING = -1


@dataclass(frozen=True)
class Heads:
    """Distinct token sequences in lexicographic order.

    tokens [H, T]   padded with NOTHING
    lengths [H]
    shared [H]      leading tokens in common with the row before (0 for the first)
    """

    tokens: IntArray
    lengths: IntArray
    shared: IntArray

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> tuple[Heads, IntArray]:
        """Sort and merge; also returns the row of each given sequence.

        >>> heads, row = Heads.of([(1, 5, 7), (1, 5, 6), (1, 5, 7)])
        >>> heads.tokens.tolist(), heads.shared.tolist(), row.tolist()
        ([[1, 5, 6], [1, 5, 7]], [0, 2], [1, 0, 1])
        """
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        table = np.full((len(sequences), int(lengths.max(initial=0))), NOTHING)
        flat = np.fromiter(chain.from_iterable(sequences), np.int64, int(lengths.sum()))
        table[np.arange(table.shape[1]) < lengths[:, None]] = flat
        order = np.lexsort(table.T[::-1])
        table, lengths = table[order], lengths[order]
        equal = np.cumprod(table[1:] == table[:-1], axis=1)
        shared = np.concatenate([[0], equal.sum(axis=1)])[: len(table)]
        first = np.ones(len(table), dtype=bool)
        first[1:] = shared[1:] < table.shape[1]
        row = np.empty(len(table), dtype=np.int64)
        row[order] = np.cumsum(first) - 1
        return cls(table[first], lengths[first], shared[first]), row

    def __len__(self) -> int:
        return len(self.lengths)

    def path(self, row: int) -> Tokens:
        """The tokens of one head."""
        return tuple(self.tokens[row, : self.lengths[row]].tolist())

    def cut(self, start: int, *, nodes: int, packs: int) -> list[int]:
        """Where the next packs begin and end: boundaries of at most `packs` packs from row `start`,
        each of at most `nodes` tree nodes (or of one head that is longer).

        Packs of a batch are as wide as the widest of them, so the last heads are spread evenly.
        """
        total = np.cumsum(self.lengths - self.shared)
        left = int(total[-1] - total[start] + self.lengths[start])
        if left < nodes * packs:
            # Each pack repeats what its first head shares with the pack before.
            left += (left // nodes) * int(self.lengths[start:].max())
            nodes = min(nodes, -(-left // -(-left // nodes)))
        bounds = [start]
        while len(bounds) <= packs and bounds[-1] < len(self):
            at = bounds[-1]
            # The first head of a pack brings all of its tokens, the others what they do not share.
            room = nodes - self.lengths[at] + total[at]
            bounds.append(max(at + 1, int(np.searchsorted(total, room, side="right"))))
        return bounds


@dataclass(frozen=True)
class AskedContinuations:
    """Which nodes of a tree of continuations are queried after which heads.

    heads [H]       rows of the heads
    nodes [N, H]    true where the tokens after this node are queried
    """

    tree: Trie
    heads: IntArray
    nodes: BoolArray

    def blank(self) -> FloatArray:
        """An answer without values [N, H]: log p(the node's token | head, the nodes above it)."""
        return np.full(self.nodes.shape, -np.inf)


#: One answer [N, H] per part, of which the children of queried nodes have a value.
Answers = Callable[[Sequence[AskedContinuations]], list[FloatArray]]
#: Log-probabilities of the wanted tokens after each path of tokens.
Follow = Callable[[Sequence[Tokens], Sequence[Tokens]], list[FloatArray]]


@dataclass(frozen=True)
class Rest:
    """A text after the slot behind every word.

    asked [N]        the nodes from each word's end on
    steps [V, len]   for each word, the nodes of the text's tokens behind it
    """

    tree: Trie
    asked: BoolArray
    steps: IntArray

    @classmethod
    def of(cls, rest: Tokens, words: Sequence[Tokens]) -> Rest:
        tree = Trie.of([word + rest for word in words])
        number = {prefix: n for n, prefix in enumerate(tree.prefix)}
        steps = np.array(
            [[number[word + rest[: k + 1]] for k in range(len(rest))] for word in words]
        )
        asked = np.zeros(len(tree.prefix), dtype=bool)
        asked[tree.parent[steps]] = True
        return cls(tree, asked, steps)


class Job:
    """Prompts that agree in having text after the slot or none, and the words asked of them.

    heads          token sequences before the slot, sorted, without duplicates
    longest        tokens in the longest row that the model will read
    looks_below    whether anything beyond the heads' own next token is queried
    """

    def __init__(
        self, reader: WordScorer, prompts: Sequence[Prompt], words: WordList
    ) -> None:
        self.reader, self.prompts, self.words = reader, prompts, words
        texts = {
            text: i for i, text in enumerate(dict.fromkeys(p.before for p in prompts))
        }
        tokens = reader.head_tokens(list(texts))
        for ids, text in zip(tokens, texts, strict=True):
            if not ids:
                prompt = next(p for p in prompts if p.before == text)
                raise ContextError(
                    f"{reader.info.name} has no BOS token, so nothing can be scored before "
                    f"the first word of {prompt.fill('[Y]')!r}: use a template with text before [Y]"
                )
        self.heads, row = Heads.of(tokens)
        of_text = np.fromiter(
            (texts[p.before] for p in prompts), np.int64, len(prompts)
        )
        self._head = row[of_text]
        #: prompts in the order of their heads
        self._order = np.argsort(self._head, kind="stable")
        starts = np.searchsorted(self._head[self._order], np.arange(len(self.heads)))
        self._first_prompt = self._order[starts]
        self.tree = Trie.of(words.sequences)
        self.reads_on = bool(prompts[0].after)
        self.looks_below = self.reads_on or len(self.tree.inner) > 1
        # The texts after the slot, each once, and which one a prompt has.
        number = {
            text: i for i, text in enumerate(dict.fromkeys(p.after for p in prompts))
        }
        self._rest = np.array([number[p.after] for p in prompts])
        rests = continuations(reader.tokenizer, list(number)) if self.reads_on else [()]
        self._rests = [
            Rest.of(rest, words.sequences) for rest in rests if self.reads_on
        ]
        # The last token of a path is predicted, never read.
        longest_word = max(len(s) for s in words.sequences)
        rest_lengths = np.array([len(rest) for rest in rests])[self._rest]
        lengths = self.heads.lengths[self._head] + longest_word + rest_lengths - 1
        worst = int(lengths.argmax())
        self.longest = int(lengths[worst])
        reader.check_length(self.longest, prompts[worst])

    def score(
        self, answers: Answers, start: int, stop: int, *, upper: Answers | None = None
    ) -> tuple[IntArray, WordScores]:
        """The prompts whose heads are rows start to stop, and their scores.

        `upper` gives upper bounds where `answers` are lower ones; it is queried afterwards.
        """
        # What follows the slot can favour any word by any factor, so no bound holds there.
        tolerance = 0.0 if self.reads_on else self.reader.options.effective_tolerance
        found = expand(
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
        found = found.take(head)
        if self.reads_on:
            lower = found.log_probs + self._log_prob_after(answers, members, head)
            most = found.log_upper
            if upper is not None and most is not None:
                most = most + self._log_prob_after(upper, members, head)
            found = WordScores(lower, found.log_coverage, found.skipped, most)
        return members, found

    def _asker(self, answers: Answers, start: int, stop: int) -> Ask:
        everyone = np.arange(stop - start)

        def ask(asked: Sequence[BoolArray]) -> list[FloatArray]:
            (found,) = answers([AskedContinuations(self.tree, everyone, asked[0])])
            read = np.where(self.tree.below(asked[0]), found, 0.0)
            self.reader.check_values(
                read.T, self.prompts, self._first_prompt[start:stop]
            )
            return [found]

        return ask

    def _log_prob_after(
        self, answers: Answers, members: IntArray, head: IntArray
    ) -> FloatArray:
        """log p(text after the slot | prompt, word) [P, words]."""
        total = np.zeros((len(members), len(self.words.sequences)))
        for group in self._by_rest(members):
            parts = []
            for number, here in group:
                rest = self._rests[number]
                nodes = np.repeat(rest.asked[:, None], len(here), axis=1)
                parts.append(AskedContinuations(rest.tree, head[here], nodes))
            for (number, here), found in zip(group, answers(parts), strict=True):
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
            size += len(here) * len(self._rests[number].asked)
            group.append((number, here))
            if size > _LISTED:
                yield group
                group, size = [], 0
        if group:
            yield group

    def score_in_rows(self, follow: Follow, upper: Follow | None = None) -> WordScores:
        """Score all prompts, one row per head and continuation."""
        bounds = None if upper is None else Rows(upper, self.heads).ask
        part = self.score(
            Rows(follow, self.heads).ask, 0, len(self.heads), upper=bounds
        )
        return WordScores.scattered([part], len(self.prompts))


class Rows:
    """Plain rows: one row per head and continuation, for any model that scores tokens after a path
    of tokens."""

    def __init__(self, follow: Follow, heads: Heads, start: int = 0) -> None:
        self.follow, self.heads, self.start = follow, heads, start

    def ask(self, parts: Sequence[AskedContinuations]) -> list[FloatArray]:
        asked = [
            (k, n, column)
            for k, part in enumerate(parts)
            for n, column in np.argwhere(part.nodes).tolist()
        ]
        paths = [
            self.head(parts[k].heads[c]) + parts[k].tree.prefix[n] for k, n, c in asked
        ]
        wanted = [parts[k].tree.child_tokens(n) for k, n, _ in asked]
        answers = [part.blank() for part in parts]
        for (k, n, column), values in zip(
            asked, self.follow(paths, wanted), strict=True
        ):
            answers[k][list(parts[k].tree.children[n]), column] = values
        return answers

    def head(self, row: int) -> Tokens:
        """The tokens of a head, numbered from `start` on."""
        return self.heads.path(self.start + row)
