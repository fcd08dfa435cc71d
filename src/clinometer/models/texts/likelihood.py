"""Log-likelihoods of whole texts: pseudo for masked models, conditional for causal ones.

A masked model reads one copy of the text per token, with that token hidden, and predicts it; the
sum over tokens is the pseudo-log-likelihood (Salazar et al. 2020). A causal model reads the text
once and predicts each token from those before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray

from clinometer.errors import ModelError, SettingsError
from clinometer.models.local.base import TransformerScorer
from clinometer.models.local.batches import Ids, fetch, run, to_device
from clinometer.models.local.causal import CausalScorer
from clinometer.models.local.masked import MaskedScorer
from clinometer.models.local.slot_logits import read_log_probs
from clinometer.models.protocol import Scorer
from clinometer.models.texts.masked_copies import masked_copies, scored_tokens
from clinometer.models.texts.types import (
    NOTHING_TO_SCORE,
    TOO_LONG,
    MarkedText,
    TextOptions,
    TextScores,
)
from clinometer.models.tokens.flat_texts import EncodedTexts, encode_texts

#: Logits in memory at a time when a causal model is read at every position.
_LOGITS = {"cpu": 1 << 24, "cuda": 1 << 29}


def score_texts(scorer: Scorer, texts: Sequence[MarkedText], options: TextOptions) -> TextScores:
    """Sums of token log-probabilities; texts that occur twice are computed once."""
    prepared = prepare_texts(scorer, texts, options)
    return prepared.score()


def score_chunks(
    scorer: Scorer, chunks: Iterable[Sequence[MarkedText]], options: TextOptions
) -> Iterator[TextScores]:
    """Scores of one chunk after another; while one is scored, the next is tokenised."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        waiting = None
        for chunk in chunks:
            following = pool.submit(prepare_texts, scorer, chunk, options)
            if waiting is not None:
                yield waiting.result().score()
            waiting = following
        if waiting is not None:
            yield waiting.result().score()


def prepare_texts(
    scorer: Scorer, texts: Sequence[MarkedText], options: TextOptions
) -> PreparedTexts:
    """Tokenise: needs no model, and may run while the model is busy with other texts."""
    if not isinstance(scorer, TransformerScorer) or scorer.kind not in {"masked", "causal"}:
        raise SettingsError(
            f"model {scorer.info.name!r}: expected a masked or a causal model, "
            f"found a {scorer.info.kind} one"
        )
    if scorer.kind == "causal" and options.targets == "masked":
        raise SettingsError(
            f"model {scorer.info.name!r} is causal and cannot read masked target terms: use the "
            "variant 'equation' or 'released', or a masked model"
        )
    return PreparedTexts(scorer, texts, options)


class PreparedTexts:
    """Texts as tokens, each distinct text once, ready to be scored."""

    def __init__(
        self, scorer: TransformerScorer, texts: Sequence[MarkedText], options: TextOptions
    ) -> None:
        self.scorer, self.options = scorer, options
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        self.which = np.array([distinct[text] for text in texts], dtype=np.intp)
        self.encoded = encode_texts(scorer.tokenizer, list(distinct), options)
        lengths = self.encoded.lengths
        limit = scorer.length_limit
        if scorer.kind == "causal" and limit is not None:
            limit -= 1  # for the BOS token
        fits = np.ones(len(lengths), dtype=np.bool_) if limit is None else lengths <= limit
        scored = scored_tokens(self.encoded, options)
        self.scored = scored[fits[self.encoded.text_of[scored]]]
        self.counts = np.bincount(self.encoded.text_of[self.scored], minlength=len(lengths))
        self.problem = tuple(
            TOO_LONG if not fit else NOTHING_TO_SCORE if not n else ""
            for fit, n in zip(fits.tolist(), self.counts.tolist(), strict=True)
        )

    def score(self) -> TextScores:
        """Run the model."""
        values = self.token_log_probs()
        text_of = self.encoded.text_of[self.scored]
        n = len(self.counts)
        unknown = self.encoded.ids[self.scored] == (
            -1 if self.scorer.tokenizer.unk_token_id is None else self.scorer.tokenizer.unk_token_id
        )
        sums = np.bincount(text_of, weights=values, minlength=n)
        distinct = TextScores(
            log_prob=np.where(self.counts > 0, sums, np.nan),
            tokens=self.counts.astype(np.int64),
            unknown=np.bincount(text_of[unknown], minlength=n).astype(np.int64),
            problem=self.problem,
        )
        return distinct.take(self.which)

    def token_log_probs(self) -> NDArray[np.float64]:
        """Log-probability of each scored token of the distinct texts."""
        if not len(self.scored):
            return np.empty(0)
        if isinstance(self.scorer, MaskedScorer):
            values = _masked(self.scorer, self.encoded, self.scored, self.options)
        else:
            values = _causal(self.scorer, self.encoded, self.scored)  # type: ignore[arg-type]
        if not (np.isfinite(values) & (values < 1.0)).all():
            raise ModelError(
                f"{self.scorer.info.name} returned a number that is not a log-probability: try "
                "--dtype float32, or check its weights"
            )
        return values


def _masked(
    scorer: MaskedScorer, texts: EncodedTexts, scored: Ids, options: TextOptions
) -> NDArray[np.float64]:
    values = np.full(len(texts.ids), np.nan)
    pending = []
    for copies in masked_copies(texts, scored, options, scorer.marker.id):
        pending.append((copies, fetch(run(copies.batch, scorer.forward, scorer.batch_size))))
    for copies, found in pending:
        values[copies.scored] = found()[copies.row, copies.column]
    return values[scored]


def _causal(scorer: CausalScorer, texts: EncodedTexts, scored: Ids) -> NDArray[np.float64]:
    """Each text once, after the BOS token, which the first token of a text needs."""
    bos = scorer.tokenizer.bos_token_id
    if bos is None:
        raise ModelError(
            f"{scorer.info.name}: its tokenizer has no BOS token, so the first token of a text "
            "cannot be scored: use a masked model"
        )
    values = np.full(len(texts.ids), np.nan)
    wanted = np.zeros(len(texts.ids), dtype=np.bool_)
    wanted[scored] = True
    vocabulary = scorer.model.get_input_embeddings().num_embeddings
    held = _LOGITS.get(scorer.device.type, _LOGITS["cpu"]) // vocabulary
    alive = np.unique(texts.text_of[scored])
    lengths = texts.lengths[alive]

    def score(some: Ids) -> tuple[Ids, NDArray[np.float64]]:
        """Positions of the tokens that are scored in texts of one length, and their values."""
        places = texts.starts[some][:, None] + np.arange(texts.lengths[some[0]])
        tokens = texts.ids[places]
        if (tokens[:, 0] == bos).all():
            rows, shift = tokens, -1
        else:
            rows, shift = np.insert(tokens, 0, bos, axis=1), 0
        asked = wanted[places]
        row, column = np.nonzero(asked)
        with torch.inference_mode():
            logits, _ = scorer.project(
                to_device(row, scorer.device),
                to_device(column + shift, scorer.device),
                input_ids=to_device(rows, scorer.device),
                use_cache=False,
            )
            found = read_log_probs(logits, to_device(tokens[asked][:, None], scorer.device))
        return places[asked], fetch(found)()[:, 0]

    for length in np.unique(lengths)[::-1].tolist():
        members = alive[lengths == length]
        done = 0
        while done < len(members):
            step = max(1, min(held, scorer.batch_size.tokens) // length)
            some = members[done : done + step]
            found = scorer.batch_size.fitted(lambda: score(some))  # noqa: B023  # called at once
            if found is not None:
                places, values_there = found
                values[places] = values_there
                done += len(some)
    return values[scored]
