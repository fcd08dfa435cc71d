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
from clinometer.models.local.base import read_log_probs
from clinometer.models.local.batches import Batch, fetch, to_device
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

NO_WORD = -1
"""The word of a special token."""

_HELD = 1 << 22
"""Tokens of rows in memory at a time, for any length of text."""

_LOGITS = {"cpu": 1 << 24, "cuda": 1 << 29}
"""Logits in memory at a time when a causal model is read at every position."""


@dataclass(frozen=True)
class EncodedTexts:
    """N tokens of T texts."""

    ids: IntArray
    """Token ids [N]."""

    starts: IntArray
    """Where each text begins [T + 1]."""

    special: BoolArray
    """Special tokens around the text [N]."""

    target: BoolArray
    """Tokens that overlap a target term [N]."""

    word_end: IntArray
    """Index of the last token of the same word [N]."""

    @property
    def lengths(self) -> IntArray:
        """Tokens in each text [T]."""
        return np.diff(self.starts)

    @property
    def text_of(self) -> IntArray:
        """The text that each token belongs to [N]."""
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
    plain = [text.text.lower() if options.lower else text.text for text in texts]
    encodings = backend.encode_batch(plain, add_special_tokens=options.special_tokens)
    lengths = np.fromiter(map(len, encodings), dtype=np.int64, count=len(encodings))
    starts = np.concatenate([[0], np.cumsum(lengths)])

    def flat(lists: Iterable[Iterable[int]]) -> IntArray:
        numbers = chain.from_iterable(lists)
        return np.fromiter(numbers, dtype=np.int64, count=int(starts[-1]))

    words = flat(map(_words, encodings))
    special = flat(encoding.special_tokens_mask for encoding in encodings) > 0
    target = np.zeros_like(special)
    if options.targets != "scored":
        for i, text in enumerate(texts):
            if text.targets:
                target[starts[i] : starts[i + 1]] = _overlaps(
                    encodings[i], text.targets
                )
    return EncodedTexts(
        ids=flat(encoding.ids for encoding in encodings),
        starts=starts,
        special=special,
        target=target & ~special,
        word_end=_word_ends(words, np.repeat(np.arange(len(encodings)), lengths)),
    )


def _words(encoding: Any) -> list[int]:
    """Return the number of each token's word in its text."""
    return [NO_WORD if word is None else word for word in encoding.word_ids]


def _overlaps(encoding: Any, spans: Sequence[tuple[int, int]]) -> BoolArray:
    """Return which tokens share a character with a span."""
    offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
    begin = offsets[:, 0]
    end = offsets[:, 1]
    overlaps = np.zeros(len(offsets), dtype=np.bool_)
    for first, last in spans:
        overlaps |= (begin < last) & (end > first)
    return overlaps


def _word_ends(words: IntArray, text_of: IntArray) -> IntArray:
    """Return the index of the last token of each token's word; a special token is its own word."""
    n = len(words)
    if not n:
        return np.empty(0, dtype=np.int64)
    is_end = np.ones(n, dtype=np.bool_)
    new_word = words[1:] != words[:-1]
    new_text = text_of[1:] != text_of[:-1]
    is_end[:-1] = new_word | new_text | (words[:-1] == NO_WORD)
    ends = np.flatnonzero(is_end)
    words_before = np.concatenate([[0], np.cumsum(is_end)[:-1]])
    return np.asarray(ends[words_before])


@dataclass(frozen=True)
class Copies:
    """Distinct masked rows of one length, and which scored token is read where."""

    batch: Batch
    """The rows, with the tokens to read from each."""

    scored: IntArray
    """The scored tokens, as indices into the encoded texts [S]."""

    row: IntArray
    """The row of each scored token's log-probability in the batch's answers [S]."""

    column: IntArray
    """The column of each scored token's log-probability in the batch's answers [S]."""


def scored_tokens(texts: EncodedTexts, options: TextOptions) -> IntArray:
    """Return the indices of the tokens whose log-probabilities are summed."""
    is_scored = ~texts.special
    if options.targets != "scored":
        is_scored &= ~texts.target
    if not options.edges:
        tokens = np.flatnonzero(is_scored)
        text_of = texts.text_of[tokens]
        changes = text_of[1:] != text_of[:-1]
        is_first = np.append(True, changes)
        is_last = np.append(changes, True)
        is_scored[tokens[is_first | is_last]] = False
    return np.flatnonzero(is_scored)


def masked_copies(
    texts: EncodedTexts, scored: IntArray, options: TextOptions, mask_id: int
) -> Iterator[Copies]:
    """Yield the masked copies for all scored tokens, longest rows first.

    The longest come first, so that running out of memory shows at once.
    """
    ids = texts.ids
    if options.targets == "masked":
        ids = np.where(texts.target, mask_id, ids)
    text_of = texts.text_of[scored]
    lengths = texts.lengths[text_of]
    last_hidden = scored
    if options.masking == "within_word_l2r":
        last_hidden = texts.word_end[scored]
    for length in np.unique(lengths)[::-1].tolist():
        members = np.flatnonzero(lengths == length)
        step = max(1, _HELD // length)
        columns = np.arange(length)
        for start in range(0, len(members), step):
            some = members[start : start + step]
            tokens = scored[some]
            begin = texts.starts[text_of[some]]
            rows = ids[begin[:, None] + columns]
            first = tokens - begin
            last = last_hidden[some] - begin
            is_hidden = (columns >= first[:, None]) & (columns <= last[:, None])
            rows[is_hidden] = mask_id
            yield _distinct(rows, first, texts.ids[tokens], tokens)


def _distinct(
    rows: IntArray, positions: IntArray, tokens: IntArray, scored: IntArray
) -> Copies:
    """Return each row once, with all tokens that are read from it."""
    first, row = _first_of_each(np.column_stack([rows, positions]))
    order = np.argsort(row, kind="stable")
    tokens_per_row = np.bincount(row)
    begins = np.concatenate([[0], np.cumsum(tokens_per_row)[:-1]])
    column = np.empty_like(row)
    column[order] = np.arange(len(row)) - np.repeat(begins, tokens_per_row)
    wants = np.repeat(tokens[first][:, None], tokens_per_row.max(), axis=1)
    wants[row, column] = tokens
    batch = Batch(
        tokens=rows[first],
        positions=positions[first],
        wants=wants,
        which=np.arange(len(first)),
    )
    return Copies(batch, scored, row, column)


def _first_of_each(table: IntArray) -> tuple[IntArray, IntArray]:
    """Return (index of the first of each distinct row, which distinct row each row is), in the
    order of appearance.

    >>> first, row = _first_of_each(np.array([[3, 4], [1, 2], [3, 4]]))
    >>> first.tolist(), row.tolist()
    ([0, 1], [0, 1, 0])
    """
    number: dict[bytes, int] = {}
    row = np.array([number.setdefault(line.tobytes(), len(number)) for line in table])
    _, first = np.unique(row, return_index=True)
    return first, row


def score_texts(
    scorer: Scorer, texts: Sequence[MarkedText], options: TextOptions
) -> TextScores:
    """Return sums of token log-probabilities; texts that occur twice are computed once."""
    return PreparedTexts(scorer, options, texts).score()


def score_chunks(
    scorer: Scorer, chunks: Iterable[Sequence[MarkedText]], options: TextOptions
) -> Iterator[TextScores]:
    """Yield the scores of one chunk after another; while one is scored, the next is tokenised."""
    for prepared in prefetch(partial(PreparedTexts, scorer, options), chunks):
        yield prepared.score()


class PreparedTexts:
    """Texts as tokens, each distinct text once, ready to be scored.

    Making it needs no model, and may run while the model is busy with other texts.
    """

    def __init__(
        self, scorer: Scorer, options: TextOptions, texts: Sequence[MarkedText]
    ) -> None:
        self.scorer = _text_scorer(scorer)
        self.options = options
        is_causal = isinstance(self.scorer, CausalScorer)
        if is_causal and options.targets == "masked":
            raise SettingsError(
                f"model {scorer.info.name!r} is causal and cannot read masked target terms: use "
                "the reading 'equation' or 'released', or a masked model"
            )
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        self.which = np.array([distinct[text] for text in texts], dtype=np.intp)
        self.encoded = encode_texts(self.scorer.tokenizer, list(distinct), options)
        lengths = self.encoded.lengths
        room: float = np.inf
        if self.scorer.length_limit is not None:
            room = self.scorer.length_limit
        if is_causal:
            room -= 1  # for the BOS token
        scored = scored_tokens(self.encoded, options)
        is_short_enough = lengths <= room
        self.scored = scored[is_short_enough[self.encoded.text_of[scored]]]
        text_of = self.encoded.text_of[self.scored]
        self.counts = np.bincount(text_of, minlength=len(lengths))
        self.problem = tuple(
            _problem(length, n_scored, room)
            for length, n_scored in zip(
                lengths.tolist(), self.counts.tolist(), strict=True
            )
        )

    def score(self) -> TextScores:
        """Run the model."""
        if isinstance(self.scorer, CausalScorer):
            log_probs = self._causal(self.scorer)
        else:
            log_probs = self._masked(self.scorer)
        values = log_probs[self.scored]
        if not (np.isfinite(values) & (values < 1.0)).all():
            raise ModelError(
                f"{self.scorer.info.name} returned a number that is not a log-probability: try "
                "--load dtype=float32, or check its weights"
            )
        n = len(self.counts)
        text_of = self.encoded.text_of[self.scored]
        sums = np.bincount(text_of, weights=values, minlength=n)
        unknown = np.zeros(n, dtype=np.int64)
        unknown_id = self.scorer.tokenizer.unk_token_id
        if unknown_id is not None:
            is_unknown = self.encoded.ids[self.scored] == unknown_id
            unknown = np.bincount(text_of[is_unknown], minlength=n)
        distinct = TextScores(
            log_prob=np.where(self.counts > 0, sums, np.nan),
            tokens=self.counts.astype(np.int64),
            unknown=unknown.astype(np.int64),
            problem=self.problem,
        )
        return distinct.take(self.which)

    def _masked(self, scorer: MaskedScorer) -> FloatArray:
        """Return the log-probabilities of the tokens [N], of those that are scored."""
        mask_id = scorer.marker.id
        pending: list[tuple[Copies, Callable[[], FloatArray]]] = []
        for copies in masked_copies(self.encoded, self.scored, self.options, mask_id):
            pending.append((copies, scorer.ask(copies.batch, scorer.forward)))
        log_probs = np.full(len(self.encoded.ids), np.nan)
        for copies, wait in pending:
            log_probs[copies.scored] = wait()[copies.row, copies.column]
        return log_probs

    def _causal(self, scorer: CausalScorer) -> FloatArray:
        """Return the log-probabilities of the tokens [N], of those that are scored.

        Each text is read once, after the BOS token, which the first token of a text needs.
        """
        texts = self.encoded
        bos = scorer.tokenizer.bos_token_id
        if bos is None:
            raise ModelError(
                f"{scorer.info.name}: its tokenizer has no BOS token, so the first token of a text "
                "cannot be scored: use a masked model"
            )
        is_scored = np.zeros(len(texts.ids), dtype=np.bool_)
        is_scored[self.scored] = True

        def score(members: IntArray) -> tuple[IntArray, FloatArray]:
            """Return the scored tokens of texts of one length, and their log-probabilities."""
            columns = np.arange(texts.lengths[members[0]])
            indices = texts.starts[members][:, None] + columns
            tokens = texts.ids[indices]
            have_bos = bool((tokens[:, 0] == bos).all())
            rows = tokens if have_bos else np.insert(tokens, 0, bos, axis=1)
            wanted = is_scored[indices]
            row, column = np.nonzero(wanted)
            position = column - 1 if have_bos else column

            def read() -> Callable[[], FloatArray]:
                logits = scorer.project(
                    to_device(row, scorer.device),
                    to_device(position, scorer.device),
                    input_ids=to_device(rows, scorer.device),
                    use_cache=False,
                )
                wants = to_device(tokens[wanted][:, None], scorer.device)
                return fetch(read_log_probs(logits, wants))

            return indices[wanted], scorer.infer(read)()[:, 0]

        vocabulary = scorer.model.get_input_embeddings().num_embeddings
        logits = _LOGITS.get(scorer.device.type, _LOGITS["cpu"])
        with_scores = np.unique(texts.text_of[self.scored])
        lengths = texts.lengths[with_scores]
        log_probs = np.full(len(texts.ids), np.nan)
        for length in np.unique(lengths)[::-1].tolist():
            members = with_scores[lengths == length]
            parts = scorer.batch_size.split(
                members, length, score, max_tokens=logits // vocabulary
            )
            for _, (tokens, values) in parts:
                log_probs[tokens] = values
        return log_probs


def _text_scorer(scorer: Scorer) -> MaskedScorer | CausalScorer:
    """Return the scorer if its kind can score whole texts; refuse every other."""
    is_permutation = isinstance(scorer, PermutationScorer)
    if isinstance(scorer, MaskedScorer | CausalScorer) and not is_permutation:
        return scorer
    raise SettingsError(
        f"model {scorer.info.name!r}: expected a masked or a causal model, "
        f"found a {scorer.info.kind} one"
    )


def _problem(length: int, n_scored: int, room: float) -> str:
    """Return why a text has no score; "" if it has one."""
    if length > room:
        return TOO_LONG
    return "" if n_scored else NOTHING_TO_SCORE
