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
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from clinometer.models.local.base import TransformerScorer
from clinometer.models.local.batches import (
    Batch,
    fetch,
    out_of_memory,
    overlapped,
    pad_wants,
    read_log_probs,
    run,
    to_device,
    to_numpy,
)
from clinometer.models.protocol import WordScores
from clinometer.models.scoring.causal_job import Job, Rows
from clinometer.models.scoring.chain_rule import scattered
from clinometer.models.scoring.continuations import AskedContinuations, ContinuationBatcher, Packs
from clinometer.models.tokens import ROOT, Tokens, WordList, head_tokens
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.topics import Prompt


class TreeRun:
    """One batch of packs and its model. The first query is what follows the heads themselves.

    limit, rows   bounds on the new nodes in a row and on the rows of a batch
    keep          whether anything below the heads will be queried
    """

    def __init__(
        self, scorer: TransformerScorer, packs: Packs, *, limit: int, rows: int, keep: bool
    ) -> None:
        self.scorer, self.packs, self.limit, self.rows = scorer, packs, limit, rows
        self.device, self.dtype = scorer.device, next(scorer.model.parameters()).dtype
        #: the longest row of keys so far, and how far a node that was read stood from its position
        self.longest = self.farthest = 0
        # No config: a sliding-window layer must keep every key, since neighbours in a pack are not
        # neighbours in the text. Not kept where nothing will be asked beyond the heads.
        self.cache: Any = DynamicCache() if keep else None

    def ask(self, parts: Sequence[AskedContinuations]) -> list[FloatArray]:
        """Log-probabilities of the children of every queried node, one answer [N, H] per part."""
        if parts[0].nodes[ROOT].any():
            return [self._ask_heads(part) for part in parts]
        batcher = ContinuationBatcher(parts, self.packs)
        reads, values = [], []
        multiple = row_multiple(self.device)
        for chunk in batcher.chunks(limit=self.limit, rows=self.rows, multiple=multiple):
            places = (chunk.rows, chunk.places)
            found = self._forward(
                chunk.tokens,
                chunk.positions,
                chunk.visible,
                places,
                chunk.wanted,
                cache=self._behind(chunk.packs),
            )
            reads.append(chunk.reads)
            values.append(found)
        return batcher.answers(np.concatenate(reads), np.concatenate(values))

    def _behind(self, packs: IntArray) -> Any:
        """A copy of the cache of some packs, which may grow without affecting the original."""
        chosen = copy.copy(self.cache)
        chosen.layers = [copy.copy(layer) for layer in chosen.layers]
        chosen.batch_select_indices(to_device(packs, self.device))
        return chosen

    def _ask_heads(self, part: AskedContinuations) -> FloatArray:
        packs, heads = self.packs, part.heads
        places = (packs.pack[heads], packs.place[heads])
        wanted = part.tree.wanted(np.array([ROOT]))
        values = self._forward(
            packs.tokens, packs.positions, packs.ancestors, places, wanted, cache=self.cache
        )
        answer = part.blank()
        answer[list(part.tree.trie.children[ROOT])] = values.T
        return answer

    def _forward(
        self,
        tokens: IntArray,
        positions: IntArray,
        visible: IntArray,
        places: tuple[IntArray, IntArray],
        wanted: IntArray,
        *,
        cache: Any,
    ) -> FloatArray:
        """Log-probabilities [n, W] of the wanted tokens [n or 1, W] at n positions."""
        n_new = tokens.shape[1]
        known = 0 if cache is None else cache.get_seq_length()
        self.longest = max(self.longest, known + n_new)
        distances = known + places[1] - positions[places]
        self.farthest = max(self.farthest, int(distances.max(initial=0)))

        def read() -> Callable[[], FloatArray]:
            inputs: dict[str, Any] = {
                "input_ids": to_device(tokens, self.device),
                "position_ids": to_device(positions, self.device),
                "attention_mask": self._mask(visible, known + n_new),
                "use_cache": cache is not None,
            }
            if cache is not None:
                inputs["past_key_values"] = cache
            rows, columns = (to_device(place, self.device) for place in places)
            logits, _ = self.scorer.project(rows, columns, packed=known == 0, **inputs)
            wants = to_device(wanted, self.device).expand(len(rows), -1)
            return fetch(read_log_probs(logits, wants, self.scorer.boundary))

        return self.scorer.alone(read)()

    def _mask(self, visible: IntArray, keys: int) -> Tensor:
        """What is added to the attention scores [B, 1, Q, keys]: 0 where a node may look, the least
        finite number elsewhere. Numbers rather than booleans because every implementation of
        attention adds them in the same way."""
        places = to_device(visible, self.device)
        shape = (*visible.shape[:2], keys)
        mask = torch.full(shape, torch.finfo(self.dtype).min, dtype=self.dtype, device=self.device)
        return mask.scatter_(2, places, 0.0).unsqueeze(1)


def row_multiple(device: torch.device) -> int:
    """Pad rows to a multiple: fused attention on a GPU needs aligned masks."""
    return 16 if device.type == "cuda" else 1


#: What a model may raise when given a mask, positions or a cache that it was not written for.
REFUSALS = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)

_SAMPLES = 6


class PackingError(Exception):
    """This model cannot be scored in packs; the message says why."""


def take_sample(
    parts: Sequence[AskedContinuations],
    answers: Sequence[FloatArray],
    place: IntArray,
    rows: Rows,
) -> tuple[list[FloatArray], list[FloatArray]]:
    """A few answers, and the same from plain rows. They are sampled at heads from the first to the
    last in a pack: a model that counts indices instead of positions errs most where a node is far
    from its ancestors."""
    paths: list[Tokens] = []
    wanted: list[Tokens] = []
    values: list[FloatArray] = []
    for k in np.unique(np.linspace(0, len(parts) - 1, 3).astype(int)):
        part, answer = parts[k], answers[k]
        trie = part.tree.trie
        nodes, columns = np.nonzero(part.nodes)
        order = np.lexsort((nodes, place[part.heads[columns]]))
        for i in np.unique(np.linspace(0, len(order) - 1, _SAMPLES).astype(int)):
            node, column = int(nodes[order[i]]), int(columns[order[i]])
            paths.append(rows.head(int(part.heads[column])) + trie.prefix[node])
            wanted.append(trie.child_tokens(node))
            values.append(answer[list(trie.children[node]), column])
    return values, rows.follow(paths, wanted)


def compare(found: Sequence[FloatArray], plain: Sequence[FloatArray], dtype: torch.dtype) -> None:
    """Raise unless packed and plain answers agree to the rounding of the model's numbers.

    float32 may differ by 1e-3, and by a hundredth of the answers' own spread where that is less (a
    model whose answers hardly differ would pass any absolute test). Half precision rounds each
    logit to 1 part in 256 (bfloat16) or 2,048: the limit grows with the size of the answers, and
    the median difference has to stay well below it.
    """
    a, b = np.concatenate(found), np.concatenate(plain)
    with np.errstate(invalid="ignore"):  # infinity less infinity
        differences = np.abs(a - b)
    # Infinite on both sides is the model's own answer, for the caller to judge.
    differences[(a == b) | (~np.isfinite(a) & ~np.isfinite(b))] = 0.0
    finite = b[np.isfinite(b)]
    size = float(np.abs(finite).max(initial=1.0))
    spread = float(finite.std()) if len(finite) > 1 else 1.0
    rounding = torch.finfo(dtype).eps
    if dtype == torch.float32 or dtype == torch.float64:
        limit = max(1e-5, min(1e-3, 0.01 * spread))
    else:
        limit = max(0.05, 4 * rounding * size)
    largest, middle = float(differences.max()), float(np.median(differences))
    if not largest <= limit or not middle <= limit / 2:
        raise PackingError(
            f"its answers in packs and in rows differ by up to {largest:.2g} (limit {limit:.2g})"
        )


class CheckedAnswers:
    """Compares answers with plain rows where nothing has been compared yet."""

    def __init__(self, run: TreeRun, packing: Packing, rows: Rows) -> None:
        self.run, self.packing, self.rows = run, packing, rows

    def ask(self, parts: Sequence[AskedContinuations]) -> list[FloatArray]:
        below = not parts[0].nodes[ROOT].any()
        try:
            answers = self.run.ask(parts)
        except REFUSALS as error:
            known = not self.packing.is_new(self.run.longest, self.run.farthest, below=below)
            if known or out_of_memory(error):
                raise  # such rows have passed before, or would in smaller packs
            first = (str(error).splitlines() or [""])[0]
            raise PackingError(
                f"it refuses packs: {type(error).__name__}: {first[:120]}"
            ) from error
        room = self.packing.room
        if room is not None and self.run.longest > room:
            raise PackingError(f"it needed a row of {self.run.longest} places, it sees {room}")
        if self.packing.is_new(self.run.longest, self.run.farthest, below=below):
            packed, plain = take_sample(parts, answers, self.run.packs.place, self.rows)
            compare(packed, plain, self.run.dtype)
            self.packing.passed(self.run.longest, self.run.farthest, below=below)
        return answers


class Packing:
    """Whether packs are used, and why not.

    mode      "tree" or "rows"
    reason    a sentence for the report where the mode is "rows"
    room      the longest row allowed, for a model that counts indices

    The check covers rows up to some length, and up to some distance between a node's index and its
    position (0 in a row without branches, which proves nothing), at the heads and below them.
    """

    def __init__(self, room: int | None) -> None:
        self.mode, self.reason, self.room = "tree", "", room
        self._reached = {False: (0, -1), True: (0, -1)}

    def is_new(self, length: int, distance: int, *, below: bool) -> bool:
        """Whether a row is longer, or more branched, than any that was compared."""
        return length > self._reached[below][0] or distance > self._reached[below][1]

    def passed(self, length: int, distance: int, *, below: bool) -> None:
        reached = self._reached[below]
        self._reached[below] = (max(length, reached[0]), max(distance, reached[1]))

    def give_up(self, reason: str) -> None:
        self.mode, self.reason = "rows", reason


def shortest_window(config: Any) -> int | None:
    """The narrowest attention window: a text must fit in it to be packed, because the mask of a
    pack encodes a node's ancestors, not their distance."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    names = ("sliding_window", "window_size", "attention_chunk_size")
    sizes = [getattr(text, name, None) for name in names]
    return min((s for s in sizes if isinstance(s, int) and s > 0), default=None)


def counts_places(config: Any) -> bool:
    """GPT-Neo's local layers measure their window in row indices, ignoring the positions."""
    return str(getattr(config, "model_type", "")) == "gpt_neo"


#: Prompts whose tables are in memory at a time.
_SLAB = 32_768
#: Nodes of a pack for prompts of up to this many tokens. Each pack begins with a whole prompt and
#: may be smaller for short ones: less attention saves 7 % of a 7B model's time on an H200, and 11 %
#: with words of several tokens.
_SHORT, _FEW_NODES = 32, 512
#: Prompts times parameters from which on compiled layers are used, 150,000 prompts of a 7B model.
#: They save a fifth of its time; compiling takes 4 to 10 s on an H200 the first time, and 3 s after
#: that, most of it importing the compiler.
_REPAID = 1e15


class CausalScorer(TransformerScorer):
    """Next-token models: GPT-2, Llama, Qwen, Gemma, Mistral, SmolLM2 and similar ones.

    packing       whether prefixes are shared, as the model allows
    pack_nodes    tree nodes in a pack; several packs make a batch of `batch_tokens`
    """

    kind, auto_class = "causal", "AutoModelForCausalLM"
    gpu_batch_tokens = 16_384

    def prepare(self) -> None:
        self._window = shortest_window(self.model.config)
        room = self._window if counts_places(self.model.config) else None
        self.packing = Packing(room=room)
        # Enough nodes to share prefixes, few enough to keep attention small.
        self.pack_nodes = 1024 if self.device.type == "cuda" else 128
        if room is not None:  # for a pack and for what is asked behind it
            self.pack_nodes = max(1, min(self.pack_nodes, room // 3))
        self._tokenizing = threading.Lock()

    def expect(self, prompts: int) -> None:
        repaid = prompts * self.model.num_parameters() >= _REPAID
        if self.device.type == "cuda" and repaid and not self.project.compiled:
            self.project.compile_layers()
        self.project.wanted = repaid  # also after an audit that was longer

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        """Alphabetical neighbours share prefixes, so they are scored together."""
        order = sorted(range(len(prompts)), key=lambda i: prompts[i].before)
        slabs = [np.array(order[k : k + _SLAB]) for k in range(0, len(order), _SLAB)]

        def score(members: IntArray) -> tuple[IntArray, WordScores]:
            return members, self._score_slab([prompts[i] for i in members], words)

        return scattered(overlapped(score, slabs, threads=self.threads), len(prompts))

    def _score_slab(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        job = Job(self, prompts, words)
        if self.packing.mode == "tree" and job.longest <= (self._window or job.longest):
            try:
                return self._score_packed(job)
            except PackingError as error:
                self.packing.give_up(str(error))
        return job.score_in_rows(self.follow)

    def _score_packed(self, job: Job) -> WordScores:
        parts: list[WordScores] = []
        start = 0

        def score() -> tuple[WordScores, int]:
            most = _FEW_NODES if job.heads.lengths.mean() <= _SHORT else self.pack_nodes
            nodes = min(self.pack_nodes, most, self.batch_size.tokens)
            n_packs = max(1, self.batch_size.tokens // nodes)
            bounds = job.heads.cut(start, nodes=nodes, packs=n_packs)
            packs = Packs.of(job.heads, bounds, multiple=row_multiple(self.device))
            tree = TreeRun(self, packs, limit=nodes, rows=n_packs, keep=job.looks_below)
            answers = CheckedAnswers(tree, self.packing, Rows(self.follow, job.heads, start))
            return job.score(answers, start, bounds[-1]), bounds[-1]

        while start < len(job.heads):
            scored = self.batch_size.fitted(score)
            if scored is not None:
                parts.append(scored[0])
                start = scored[1]
        return job.joined(parts)

    def head_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        # Gemma returns noise unless the text starts with its BOS token, which tokenizers read from
        # a GGUF file do not always add.
        needs_bos = str(getattr(self.model.config, "model_type", "")).startswith("gemma")
        with self._tokenizing:  # tokenizers of some versions refuse two threads at once
            return head_tokens(self.tokenizer, texts, chat=self.chat, needs_bos=needs_bos)

    def follow(self, paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[FloatArray]:
        """Log-probabilities of the wanted tokens after each path of tokens, one row per path."""
        lengths = np.array([len(path) for path in paths])
        answers = [np.empty(0)] * len(paths)
        for length in dict.fromkeys(lengths.tolist()):
            rows = np.flatnonzero(lengths == length).tolist()
            sets = {want: k for k, want in enumerate(dict.fromkeys(wanted[i] for i in rows))}
            rows.sort(key=lambda i: sets[wanted[i]])  # called at once
            batch = Batch(
                tokens=np.array([paths[i] for i in rows]),
                positions=np.full(len(rows), length - 1),
                wants=pad_wants(list(sets)),
                which=np.array([sets[wanted[i]] for i in rows]),
            )
            values = to_numpy(run(batch, self._forward, self.batch_size))
            for i, row in zip(rows, values, strict=True):
                answers[i] = row[: len(wanted[i])]
        return answers

    def _forward(self, batch: Batch) -> Tensor:
        tokens = to_device(batch.tokens, self.device)
        return self.alone(lambda: self.read(batch, input_ids=tokens, use_cache=False))
