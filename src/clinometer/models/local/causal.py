"""Causal models: the prompt ends where the slot begins, and the word carries its space.

p(word | prompt) is the product of its tokens' probabilities. With text after the slot the whole
continuation is scored for each word, p(word, rest | prompt), because a left-to-right model cannot
otherwise take the rest into account.

Prompts are scored in packs of prefix trees, so that each distinct prefix is computed once. A pack
runs once, with a tree-shaped attention mask, and leaves its keys and values in a cache; what comes
after the heads runs against copies of that cache, which are dropped. Whether a model allows
that is decided by comparing its answers with plain rows, not by a list of names; one that cannot be
packed is scored in plain rows, with the same result.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from clinometer.models.local.base import TransformerScorer, read_log_probs
from clinometer.models.local.batches import (
    Batch,
    fetch,
    out_of_memory,
    overlapped,
    to_device,
)
from clinometer.models.local.packs import Chunk, ContinuationBatcher, Packs
from clinometer.models.protocol import WordScores
from clinometer.models.scoring.heads import AskedContinuations, Rows
from clinometer.models.scoring.word_scorer import Job
from clinometer.models.tokens import ROOT, Tokens, WordList, head_tokens
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.topics import Prompt

REFUSALS = (
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a model may raise when given a mask, positions or a cache that it was not written for."""

_SAMPLED_PARTS = 3
"""Parts of a query of which some answers are compared with plain rows."""

_SAMPLES = 6
"""Answers of a part that are compared with plain rows."""

_SLAB = 32_768
"""Prompts whose tables are in memory at a time."""

_SHORT = 32
"""Tokens of a prompt up to which packs are small."""

_FEW_NODES = 512
"""Nodes of a pack for short prompts.

Each pack begins with a whole prompt and may be smaller for short ones: less attention saves 7 % of
a 7B model's time on an H200, and 11 % with words of several tokens.
"""


class PackingError(Exception):
    """This model cannot be scored in packs; the message says why."""


class TreeRun:
    """One batch of packs and its model.

    The first query is what follows the heads themselves. What is longer or more branched than
    anything before is compared with plain rows.
    """

    limit: int
    """Bound on the new nodes in a row."""

    rows: int
    """Bound on the rows of a batch."""

    plain: Rows
    """The same heads as plain rows."""

    longest: int
    """The longest row of keys so far."""

    farthest: int
    """How far a node that was read stood from its position, at most."""

    cache: Any
    """Keys and values of the packs; None where nothing below the heads will be queried."""

    def __init__(
        self,
        scorer: CausalScorer,
        packs: Packs,
        plain: Rows,
        *,
        limit: int,
        rows: int,
        keep_cache: bool,
    ) -> None:
        self.scorer = scorer
        self.packs = packs
        self.plain = plain
        self.limit = limit
        self.rows = rows
        self.device = scorer.device
        self.dtype = next(scorer.model.parameters()).dtype
        self.longest = 0
        self.farthest = 0
        # No config: a sliding-window layer must keep every key, since neighbours in a pack are not
        # neighbours in the text.
        self.cache = DynamicCache() if keep_cache else None

    def ask(self, parts: Sequence[AskedContinuations]) -> list[FloatArray]:
        """Return log-probabilities of the children of every queried node, one answer [N, H] per
        part."""
        packing = self.scorer.packing
        below = not parts[0].nodes[ROOT].any()
        try:
            answers = self._ask_below(parts) if below else self._ask_heads(parts)
        except REFUSALS as error:
            if out_of_memory(error):
                raise  # in smaller packs it would not be
            if not packing.is_new(self.longest, self.farthest, below=below):
                raise  # such rows have passed before
            first_line = (str(error).splitlines() or [""])[0]
            raise PackingError(
                f"it refuses packs: {type(error).__name__}: {first_line[:120]}"
            ) from error
        if packing.room is not None and self.longest > packing.room:
            raise PackingError(
                f"it needed a row of {self.longest} places, it sees {packing.room}"
            )
        if packing.is_new(self.longest, self.farthest, below=below):
            packed, plain = take_sample(parts, answers, self.packs.place, self.plain)
            compare(packed, plain, self.dtype)
            packing.passed(self.longest, self.farthest, below=below)
        return answers

    def _ask_below(self, parts: Sequence[AskedContinuations]) -> list[FloatArray]:
        batcher = ContinuationBatcher(parts, self.packs)
        chunks = batcher.chunks(
            limit=self.limit, rows=self.rows, multiple=self.scorer.row_multiple
        )
        reads: list[IntArray] = []
        values: list[FloatArray] = []
        for chunk in chunks:
            # A copy of the cache of its packs, which may grow without affecting the original.
            cache = copy.copy(self.cache)
            cache.layers = [copy.copy(layer) for layer in cache.layers]
            cache.batch_select_indices(to_device(chunk.packs, self.device))
            reads.append(chunk.reads)
            values.append(self._forward(chunk, cache))
        return batcher.answers(np.concatenate(reads), np.concatenate(values))

    def _ask_heads(self, parts: Sequence[AskedContinuations]) -> list[FloatArray]:
        return [self._ask_behind_heads(part) for part in parts]

    def _ask_behind_heads(self, part: AskedContinuations) -> FloatArray:
        packs = self.packs
        chunk = Chunk(
            packs=np.arange(len(packs.tokens)),
            tokens=packs.tokens,
            positions=packs.positions,
            visible=packs.ancestors,
            rows=packs.pack[part.heads],
            places=packs.place[part.heads],
            wanted=part.tree.wanted(np.array([ROOT])),
            reads=part.heads,
        )
        answer = part.blank()
        answer[list(part.tree.children[ROOT])] = self._forward(chunk, self.cache).T
        return answer

    def _forward(self, chunk: Chunk, cache: Any) -> FloatArray:
        """Return log-probabilities [n, W] of the wanted tokens [n or 1, W] at n places."""
        cached_keys = 0 if cache is None else cache.get_seq_length()
        n_keys = cached_keys + chunk.tokens.shape[1]
        self.longest = max(self.longest, n_keys)
        positions = chunk.positions[chunk.rows, chunk.places]
        distances = cached_keys + chunk.places - positions
        self.farthest = max(self.farthest, int(distances.max(initial=0)))

        def read() -> Callable[[], FloatArray]:
            inputs: dict[str, Any] = {
                "input_ids": to_device(chunk.tokens, self.device),
                "position_ids": to_device(chunk.positions, self.device),
                "attention_mask": self._mask(chunk.visible, n_keys),
                "use_cache": cache is not None,
            }
            if cache is not None:
                inputs["past_key_values"] = cache
            rows = to_device(chunk.rows, self.device)
            columns = to_device(chunk.places, self.device)
            is_pack = cached_keys == 0
            logits = self.scorer.project(rows, columns, packed=is_pack, **inputs)
            wanted = to_device(chunk.wanted, self.device).expand(len(rows), -1)
            return fetch(read_log_probs(logits, wanted))

        return self.scorer.infer(read)()

    def _mask(self, visible: IntArray, n_keys: int) -> Tensor:
        """Return what is added to the attention scores [B, 1, Q, keys].

        It is 0 where a node may look, the least finite number elsewhere. Numbers rather than
        booleans because every implementation of attention adds them in the same way.
        """
        places = to_device(visible, self.device)
        lowest = torch.finfo(self.dtype).min
        shape = (*visible.shape[:2], n_keys)
        mask = torch.full(shape, lowest, dtype=self.dtype, device=self.device)
        return mask.scatter_(2, places, 0.0).unsqueeze(1)


def take_sample(
    parts: Sequence[AskedContinuations],
    answers: Sequence[FloatArray],
    place: IntArray,
    rows: Rows,
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return a few answers, and the same from plain rows.

    They are sampled at heads from the first to the last in a pack: a model that counts indices
    instead of positions errs most where a node is far from its ancestors.
    """
    paths: list[Tokens] = []
    wanted: list[Tokens] = []
    values: list[FloatArray] = []
    for number in _spread(len(parts), _SAMPLED_PARTS):
        part = parts[number]
        tree = part.tree
        nodes, columns = np.nonzero(part.nodes)
        order = np.lexsort((nodes, place[part.heads[columns]]))
        for rank in _spread(len(order), _SAMPLES):
            node = int(nodes[order[rank]])
            column = int(columns[order[rank]])
            head = rows.head(int(part.heads[column]))
            paths.append(head + tree.prefix[node])
            wanted.append(tree.child_tokens(node))
            values.append(answers[number][list(tree.children[node]), column])
    return values, rows.follow(paths, wanted)


def _spread(length: int, samples: int) -> IntArray:
    """Return some indices of a list, evenly from the first to the last, each once."""
    indices = np.linspace(0, length - 1, samples)
    return np.unique(indices.astype(int))


def compare(
    packed: Sequence[FloatArray], plain: Sequence[FloatArray], dtype: torch.dtype
) -> None:
    """Raise unless packed and plain answers agree to the rounding of the model's numbers.

    float32 may differ by 1e-3, and by a hundredth of the answers' own spread where that is less (a
    model whose answers hardly differ would pass any absolute test). Half precision rounds each
    logit to 1 part in 256 (bfloat16) or 2,048: the limit grows with the size of the answers, and
    the median difference has to stay well below it.
    """
    a = np.concatenate(packed)
    b = np.concatenate(plain)
    with np.errstate(invalid="ignore"):  # infinity less infinity
        differences = np.abs(a - b)
    # Infinite on both sides is the model's own answer, for the caller to judge.
    both_infinite = ~np.isfinite(a) & ~np.isfinite(b)
    differences[(a == b) | both_infinite] = 0.0
    limit = _largest_difference(b[np.isfinite(b)], dtype)
    largest = float(differences.max())
    median = float(np.median(differences))
    if not largest <= limit or not median <= limit / 2:
        raise PackingError(
            f"its answers in packs and in rows differ by up to {largest:.2g} (limit {limit:.2g})"
        )


def _largest_difference(answers: FloatArray, dtype: torch.dtype) -> float:
    """Return how far answers of a model in this precision may differ from the finite ones in plain
    rows."""
    if dtype in (torch.float32, torch.float64):
        spread = float(answers.std()) if len(answers) > 1 else 1.0
        return max(1e-5, min(1e-3, 0.01 * spread))
    size = float(np.abs(answers).max(initial=1.0))
    rounding = torch.finfo(dtype).eps
    return max(0.05, 4 * rounding * size)


class Packing:
    """Whether packs are used, and why not.

    The check covers rows up to some length, and up to some distance between a node's index and its
    position (0 in a row without branches, which proves nothing), at the heads and below them.
    """

    mode: str
    """What prompts are scored in: "tree" or "rows"."""

    reason: str
    """A sentence for the report where the mode is "rows"."""

    room: int | None
    """The longest row allowed, for a model that counts indices."""

    def __init__(self, room: int | None) -> None:
        self.mode = "tree"
        self.reason = ""
        self.room = room
        self._compared = {False: (0, -1), True: (0, -1)}

    def is_new(self, length: int, distance: int, *, below: bool) -> bool:
        """Return whether a row is longer, or more branched, than any that was compared."""
        compared_length, compared_distance = self._compared[below]
        return length > compared_length or distance > compared_distance

    def passed(self, length: int, distance: int, *, below: bool) -> None:
        """Note that rows of this length and distance agree with plain ones."""
        compared_length, compared_distance = self._compared[below]
        self._compared[below] = (
            max(length, compared_length),
            max(distance, compared_distance),
        )

    def give_up(self, reason: str) -> None:
        """Use plain rows from now on."""
        self.mode = "rows"
        self.reason = reason


def shortest_window(config: Any) -> int | None:
    """Return the narrowest attention window; None without one.

    A text must fit in it to be packed, because the mask of a pack encodes a node's ancestors, not
    their distance.
    """
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    names = ("sliding_window", "window_size", "attention_chunk_size")
    sizes = [getattr(text, name, None) for name in names]
    windows = [size for size in sizes if isinstance(size, int) and size > 0]
    return min(windows, default=None)


class CausalScorer(TransformerScorer):
    """Next-token models: GPT-2, Llama, Qwen, Gemma, Mistral, SmolLM2 and similar ones."""

    kind = "causal"
    auto_class = "AutoModelForCausalLM"
    gpu_batch_tokens = 16_384

    packing: Packing
    """Whether prefixes are shared, as the model allows."""

    pack_nodes: int
    """Tree nodes in a pack; several packs make a batch of `batch_tokens`. They are enough to share
    prefixes, and few enough to keep attention small."""

    row_multiple: int
    """What the lengths of rows in packs are rounded up to: fused attention on a GPU needs aligned
    masks."""

    def prepare(self) -> None:
        self._window = shortest_window(self.model.config)
        # GPT-Neo's local layers measure their window in row indices, ignoring the positions.
        counts_indices = getattr(self.model.config, "model_type", "") == "gpt_neo"
        room = self._window if counts_indices else None
        self.packing = Packing(room=room)
        self.row_multiple = 1
        self.pack_nodes = 128
        if self.device.type == "cuda":
            self.row_multiple = 16
            self.pack_nodes = 1024
        if room is not None:  # for a pack and for what is asked behind it
            self.pack_nodes = max(1, min(self.pack_nodes, room // 3))

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        """Return the scores of all prompts; alphabetical neighbours share prefixes, so they are
        scored together."""
        order = sorted(range(len(prompts)), key=lambda i: prompts[i].before)
        starts = range(0, len(order), _SLAB)
        slabs = [np.array(order[start : start + _SLAB]) for start in starts]

        def score(members: IntArray) -> tuple[IntArray, WordScores]:
            return members, self._score_slab([prompts[i] for i in members], words)

        parts = overlapped(score, slabs, threads=self.threads)
        return WordScores.scattered(parts, len(prompts))

    def _score_slab(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        job = Job(self, prompts, words)
        fits_window = job.longest <= (self._window or job.longest)
        if self.packing.mode == "tree" and fits_window:
            try:
                return self._score_packed(job)
            except PackingError as error:
                self.packing.give_up(str(error))
        return job.score_in_rows(self.follow)

    def _score_packed(self, job: Job) -> WordScores:
        def score(start: int) -> tuple[int, tuple[IntArray, WordScores]]:
            """Return where the next batch of packs starts, and the scores of this one."""
            is_short = job.heads.lengths.mean() <= _SHORT
            max_nodes = _FEW_NODES if is_short else self.pack_nodes
            nodes = min(self.pack_nodes, max_nodes, self.batch_size.tokens)
            n_packs = max(1, self.batch_size.tokens // nodes)
            bounds = job.heads.cut(start, nodes=nodes, packs=n_packs)
            tree = TreeRun(
                self,
                Packs.of(job.heads, bounds, multiple=self.row_multiple),
                Rows(self.follow, job.heads, start),
                limit=nodes,
                rows=n_packs,
                keep_cache=job.looks_below,
            )
            return bounds[-1], job.score(tree.ask, start, bounds[-1])

        def parts() -> Iterator[tuple[IntArray, WordScores]]:
            start = 0
            while start < len(job.heads):
                result = self.batch_size.attempt(partial(score, start))
                if result is not None:
                    start, part = result
                    yield part

        return WordScores.scattered(parts(), len(job.prompts))

    def head_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        # Gemma returns noise unless the text starts with its BOS token, which tokenizers read from
        # a GGUF file do not always add.
        model_type = str(getattr(self.model.config, "model_type", ""))
        needs_bos = model_type.startswith("gemma")
        return head_tokens(self.tokenizer, texts, chat=self.chat, needs_bos=needs_bos)

    def follow(
        self, paths: Sequence[Tokens], wanted: Sequence[Tokens]
    ) -> list[FloatArray]:
        """Return log-probabilities of the wanted tokens after each path of tokens, one row per
        path."""
        lengths = np.array([len(path) for path in paths])
        answers = [np.empty(0)] * len(paths)
        for length in dict.fromkeys(lengths.tolist()):
            rows = np.flatnonzero(lengths == length).tolist()
            distinct = dict.fromkeys(wanted[row] for row in rows)
            number_of_set = {tokens: number for number, tokens in enumerate(distinct)}
            which = np.array([number_of_set[wanted[row]] for row in rows])
            order = np.argsort(which, kind="stable")
            rows = [rows[i] for i in order]
            batch = Batch(
                tokens=np.array([paths[row] for row in rows]),
                positions=np.full(len(rows), length - 1),
                wants=_table(list(distinct)),
                which=which[order],
            )
            values = self.ask(batch, self._forward)()
            for row, log_probs in zip(rows, values, strict=True):
                answers[row] = log_probs[: len(wanted[row])]
        return answers

    def _forward(self, batch: Batch) -> Tensor:
        tokens = to_device(batch.tokens, self.device)
        return self.read(batch, input_ids=tokens, use_cache=False)


def _table(sets: Sequence[Tokens]) -> IntArray:
    """Return sets of tokens as a table, each padded with its own first one."""
    width = max(len(tokens) for tokens in sets)
    return np.array([tokens + tokens[:1] * (width - len(tokens)) for tokens in sets])
