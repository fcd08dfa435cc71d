"""Log-likelihoods of whole texts: pseudo for masked models, conditional for causal ones.

A masked model reads one copy of the text per token, with that token hidden, and predicts it; the
sum over tokens is the pseudo-log-likelihood (Salazar et al. 2020). A causal model reads the text
once and predicts each token from those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from clinometer.errors import ModelError, SettingsError
from clinometer.models.background import prefetch
from clinometer.models.local.base import Batch, fetch, read_log_probs, to_device
from clinometer.models.local.causal import CausalScorer
from clinometer.models.local.masked import MaskedScorer, PermutationScorer
from clinometer.models.protocol import Scorer
from clinometer.models.whole_texts import (
    NOTHING_TO_SCORE,
    TOO_LONG,
    MarkedText,
    TextOptions,
    TextScores,
)
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class EncodedTexts:
    """N tokens of T texts.

    ids [N]         token ids
    starts [T + 1]  where each text begins
    special [N]     special tokens around the text
    target [N]      tokens that overlap a target term
    word_end [N]    index of the last token of the same word
    """

    ids: IntArray
    starts: IntArray
    special: BoolArray
    target: BoolArray
    word_end: IntArray

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.starts)

    @property
    def text_of(self) -> IntArray:
        """The text that each token belongs to."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)


def encode_texts(
    tokenizer: Any, texts: Sequence[MarkedText], options: TextOptions
) -> EncodedTexts:
    """Tokenise texts and mark their tokens."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError(
            "scoring whole texts needs a fast tokenizer (tokenizer.json), which reports where each "
            "token is in the text: use the model's fast tokenizer"
        )
    backend.no_truncation()
    backend.no_padding()
    plain = [t.text.lower() if options.lower else t.text for t in texts]
    found = backend.encode_batch(plain, add_special_tokens=options.special_tokens)
    lengths = np.fromiter(map(len, found), dtype=np.int64, count=len(found))
    starts = np.concatenate([[0], np.cumsum(lengths)])

    def flat(lists: Iterable[Iterable[int]]) -> IntArray:
        return np.fromiter(
            chain.from_iterable(lists), dtype=np.int64, count=int(starts[-1])
        )

    words = flat((-1 if w is None else w for w in e.word_ids) for e in found)
    special = flat(e.special_tokens_mask for e in found) > 0
    target = np.zeros_like(special)
    for text, encoded, start in zip(texts, found, starts[:-1].tolist(), strict=True):
        if options.targets == "scored" or not text.targets:
            continue
        begin, end = np.array(encoded.offsets, dtype=np.int64).reshape(-1, 2).T
        for a, b in text.targets:  # tokens that share a character with it
            target[start : start + len(begin)] |= (begin < b) & (end > a)
    return EncodedTexts(
        ids=flat(e.ids for e in found),
        starts=starts,
        special=special,
        target=target & ~special,
        word_end=_word_ends(words, np.repeat(np.arange(len(found)), lengths)),
    )


def _word_ends(words: IntArray, text_of: IntArray) -> IntArray:
    """Index of the last token of each token's word; a special token is its own word."""
    n = len(words)
    if not n:
        return np.empty(0, dtype=np.int64)
    ends = np.ones(n, dtype=np.bool_)
    ends[:-1] = (
        (words[1:] != words[:-1]) | (text_of[1:] != text_of[:-1]) | (words[:-1] < 0)
    )
    places = np.flatnonzero(ends)
    return np.asarray(places[np.concatenate([[0], np.cumsum(ends)[:-1]])])


#: Tokens of rows in memory at a time, for any length of text.
_HELD = 1 << 22


@dataclass(frozen=True)
class Copies:
    """Distinct masked rows of one length, and which scored token is read where.

    batch          the rows, with the tokens to read from each
    scored [S]     the scored tokens, as indices into the encoded texts
    row, column    position of each one's log-probability in the batch's answers
    """

    batch: Batch
    scored: IntArray
    row: IntArray
    column: IntArray


def scored_tokens(texts: EncodedTexts, options: TextOptions) -> IntArray:
    """Indices of the tokens whose log-probabilities are summed."""
    scored = ~texts.special
    if options.targets != "scored":
        scored &= ~texts.target
    if not options.edges:
        places = np.flatnonzero(scored)
        text_of = texts.text_of[places]
        changes = text_of[1:] != text_of[:-1]
        first, last = np.append(True, changes), np.append(changes, True)
        scored[places[first | last]] = False
    return np.flatnonzero(scored)


def masked_copies(
    texts: EncodedTexts, scored: IntArray, options: TextOptions, mask_id: int
) -> Iterator[Copies]:
    """The masked copies for all scored tokens, longest rows first.

    The longest come first, so that running out of memory shows at once.
    """
    ids = (
        np.where(texts.target, mask_id, texts.ids)
        if options.targets == "masked"
        else texts.ids
    )
    text_of = texts.text_of[scored]
    lengths = texts.lengths[text_of]
    last = texts.word_end[scored] if options.masking == "within_word_l2r" else scored
    for length in np.unique(lengths)[::-1].tolist():
        members = np.flatnonzero(lengths == length)
        step = max(1, _HELD // length)
        for some in np.split(members, range(step, len(members), step)):
            begin = texts.starts[text_of[some]]
            columns = np.arange(length)
            rows = ids[begin[:, None] + columns]
            first = scored[some] - begin
            hidden = (columns >= first[:, None]) & (
                columns <= (last[some] - begin)[:, None]
            )
            rows[hidden] = mask_id
            yield _distinct(rows, first, texts.ids[scored[some]], scored[some])


def _distinct(
    rows: IntArray, positions: IntArray, tokens: IntArray, scored: IntArray
) -> Copies:
    keep, row = _first_of_each(np.column_stack([rows, positions]))
    order = np.argsort(row, kind="stable")
    counts = np.bincount(row)
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    column = np.empty_like(row)
    column[order] = np.arange(len(row)) - np.repeat(begins, counts)
    wants = np.repeat(tokens[keep][:, None], counts.max(), axis=1)
    wants[row, column] = tokens
    batch = Batch(
        tokens=rows[keep],
        positions=positions[keep],
        wants=wants,
        which=np.arange(len(keep)),
    )
    return Copies(batch, scored, row, column)


def _first_of_each(table: IntArray) -> tuple[IntArray, IntArray]:
    """(index of the first of each distinct row, which distinct row each row is), in the order of
    appearance.

    >>> keep, row = _first_of_each(np.array([[3, 4], [1, 2], [3, 4]]))
    >>> keep.tolist(), row.tolist()
    ([0, 1], [0, 1, 0])
    """
    number: dict[bytes, int] = {}
    row = np.array([number.setdefault(line.tobytes(), len(number)) for line in table])
    return np.unique(row, return_index=True)[1], row


#: Logits in memory at a time when a causal model is read at every position.
_LOGITS = {"cpu": 1 << 24, "cuda": 1 << 29}


def score_texts(
    scorer: Scorer, texts: Sequence[MarkedText], options: TextOptions
) -> TextScores:
    """Sums of token log-probabilities; texts that occur twice are computed once."""
    return PreparedTexts(scorer, options, texts).score()


def score_chunks(
    scorer: Scorer, chunks: Iterable[Sequence[MarkedText]], options: TextOptions
) -> Iterator[TextScores]:
    """Scores of one chunk after another; while one is scored, the next is tokenised."""
    for prepared in prefetch(partial(PreparedTexts, scorer, options), chunks):
        yield prepared.score()


class PreparedTexts:
    """Texts as tokens, each distinct text once, ready to be scored. Making it needs no model, and
    may run while the model is busy with other texts."""

    def __init__(
        self, scorer: Scorer, options: TextOptions, texts: Sequence[MarkedText]
    ) -> None:
        if not isinstance(scorer, MaskedScorer | CausalScorer) or isinstance(
            scorer, PermutationScorer
        ):
            raise SettingsError(
                f"model {scorer.info.name!r}: expected a masked or a causal model, "
                f"found a {scorer.info.kind} one"
            )
        causal = isinstance(scorer, CausalScorer)
        if causal and options.targets == "masked":
            raise SettingsError(
                f"model {scorer.info.name!r} is causal and cannot read masked target terms: use "
                "the reading 'equation' or 'released', or a masked model"
            )
        self.scorer, self.options = scorer, options
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        self.which = np.array([distinct[text] for text in texts], dtype=np.intp)
        self.encoded = encode_texts(scorer.tokenizer, list(distinct), options)
        lengths, limit = self.encoded.lengths, scorer.length_limit
        room = np.inf if limit is None else limit - causal  # for the BOS token
        scored = scored_tokens(self.encoded, options)
        self.scored = scored[(lengths <= room)[self.encoded.text_of[scored]]]
        self.counts = np.bincount(
            self.encoded.text_of[self.scored], minlength=len(lengths)
        )
        self.problem = tuple(
            TOO_LONG if length > room else "" if n else NOTHING_TO_SCORE
            for length, n in zip(lengths.tolist(), self.counts.tolist(), strict=True)
        )

    def score(self) -> TextScores:
        """Run the model."""
        if isinstance(self.scorer, CausalScorer):
            values = self._causal(self.scorer)[self.scored]
        else:
            values = self._masked(self.scorer)[self.scored]
        if not (np.isfinite(values) & (values < 1.0)).all():
            raise ModelError(
                f"{self.scorer.info.name} returned a number that is not a log-probability: try "
                "--load dtype=float32, or check its weights"
            )
        n, text_of = len(self.counts), self.encoded.text_of[self.scored]
        unknown_id = self.scorer.tokenizer.unk_token_id
        unknown = self.encoded.ids[self.scored] == (
            -1 if unknown_id is None else unknown_id
        )
        sums = np.bincount(text_of, weights=values, minlength=n)
        distinct = TextScores(
            log_prob=np.where(self.counts > 0, sums, np.nan),
            tokens=self.counts.astype(np.int64),
            unknown=np.bincount(text_of[unknown], minlength=n).astype(np.int64),
            problem=self.problem,
        )
        return distinct.take(self.which)

    def _masked(self, scorer: MaskedScorer) -> FloatArray:
        """Log-probabilities of the tokens [N], of those that are scored."""
        values = np.full(len(self.encoded.ids), np.nan)
        all_copies = masked_copies(
            self.encoded, self.scored, self.options, scorer.marker.id
        )
        pending = [
            (copies, scorer.ask(copies.batch, scorer.forward)) for copies in all_copies
        ]
        for copies, found in pending:
            values[copies.scored] = found()[copies.row, copies.column]
        return values

    def _causal(self, scorer: CausalScorer) -> FloatArray:
        """The same; each text once, after the BOS token, which the first token of a text needs."""
        texts, bos = self.encoded, scorer.tokenizer.bos_token_id
        values = np.full(len(texts.ids), np.nan)
        if bos is None:
            raise ModelError(
                f"{scorer.info.name}: its tokenizer has no BOS token, so the first token of a text "
                "cannot be scored: use a masked model"
            )
        wanted = np.zeros(len(texts.ids), dtype=np.bool_)
        wanted[self.scored] = True
        vocabulary = scorer.model.get_input_embeddings().num_embeddings
        held = _LOGITS.get(scorer.device.type, _LOGITS["cpu"]) // vocabulary
        alive = np.unique(texts.text_of[self.scored])
        lengths = texts.lengths[alive]

        def score(some: IntArray) -> tuple[IntArray, FloatArray]:
            """Positions of the tokens that are scored in texts of one length, and their values."""
            places = texts.starts[some][:, None] + np.arange(texts.lengths[some[0]])
            tokens = texts.ids[places]
            if (tokens[:, 0] == bos).all():
                rows, shift = tokens, -1
            else:
                rows, shift = np.insert(tokens, 0, bos, axis=1), 0
            asked = wanted[places]
            row, column = np.nonzero(asked)

            def read() -> Callable[[], FloatArray]:
                logits = scorer.project(
                    to_device(row, scorer.device),
                    to_device(column + shift, scorer.device),
                    input_ids=to_device(rows, scorer.device),
                    use_cache=False,
                )
                wants = to_device(tokens[asked][:, None], scorer.device)
                return fetch(read_log_probs(logits, wants))

            return places[asked], scorer.alone(read)()[:, 0]

        for length in np.unique(lengths)[::-1].tolist():
            members = alive[lengths == length]
            for _, (places, log_probs) in scorer.batch_size.over(
                members, length, score, most=held
            ):
                values[places] = log_probs
        return values
