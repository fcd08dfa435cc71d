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
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from clinometer.errors import ModelError
from clinometer.models.local.base import (
    Batch,
    TransformerScorer,
    fetch,
    out_of_memory,
    overlapped,
    read_log_probs,
    to_device,
)
from clinometer.models.options import SampleOptions
from clinometer.models.protocol import Turn, WordScores
from clinometer.models.sampled import IN_TEMPLATE, SampledScorer, first_line, seed_for
from clinometer.models.scoring.word_scorer import AskedContinuations, Heads, Job, Rows
from clinometer.models.tokens import NO_CHILD, ROOT, Tokens, WordList, head_tokens
from clinometer.statistics.arrays import BoolArray, FloatArray, IntArray
from clinometer.topics import Prompt
from clinometer.topics.conversation import END, joined


@dataclass(frozen=True)
class Packs:
    """B packs of at most L nodes in the shape that a model reads.

    tokens, positions [B, L]   of each node; unused entries are token 0
    ancestors [B, L, T]        indices in the pack of each node's ancestors and of itself, the root
                               first; padded with the node's own index
    pack, place [H]            pack and index of the last token of each head
    lengths [H]                tokens in each head
    """

    tokens: IntArray
    positions: IntArray
    ancestors: IntArray
    pack: IntArray
    place: IntArray
    lengths: IntArray

    @classmethod
    def of(cls, heads: Heads, bounds: Sequence[int], *, multiple: int = 1) -> Packs:
        """Lay out the heads between the boundaries; L is rounded up to a multiple."""
        first, last = bounds[0], bounds[-1]
        lengths = heads.lengths[first:last]
        depth = int(lengths.max())
        tokens = heads.tokens[first:last, :depth]
        starts = np.array(bounds[:-1]) - first
        shared = heads.shared[first:last].copy()
        shared[starts] = 0
        column = np.arange(depth)
        new = (column >= shared[:, None]) & (column < lengths[:, None])
        number = np.cumsum(new).reshape(new.shape) - 1
        # A token shared with the row before keeps that row's node: the latest one in its column.
        path = np.maximum.accumulate(np.where(new, number, -1), axis=0)
        pack = np.repeat(np.arange(len(starts)), np.diff([*starts, last - first]))
        offset = number[starts, 0]
        row, level = np.nonzero(new)
        of_node = pack[row]
        place = np.arange(len(row)) - offset[of_node]
        width = round_up(int(place.max()) + 1, multiple)
        own = np.arange(width)
        ancestors = np.broadcast_to(own[:, None], (len(starts), width, depth)).copy()
        above = path[row] - offset[of_node][:, None]
        ancestors[of_node, place] = np.where(
            column <= level[:, None], above, place[:, None]
        )
        token_grid = np.zeros((len(starts), width), dtype=np.int64)
        token_grid[of_node, place] = tokens[row, level]
        positions = np.zeros_like(token_grid)
        positions[of_node, place] = level
        end = path[np.arange(len(lengths)), lengths - 1] - offset[pack]
        return cls(token_grid, positions, ancestors, pack, end, lengths)


def round_up(number: int, multiple: int) -> int:
    """A number rounded up to a multiple."""
    return -(-number // multiple) * multiple


@dataclass(frozen=True)
class Chunk:
    """Nodes in R rows and where to read: packs, or new nodes behind them.

    packs [R]             the pack that each row is, or stands behind
    tokens, positions [R, Q]
    visible [R, Q, A]     places that a node sees: below L in the pack, from L on among the new
    rows, places [n]      where the model is read
    wanted [n or 1, W]    what is read there
    reads [n]             numbers of these reads in the whole list
    """

    packs: IntArray
    tokens: IntArray
    positions: IntArray
    visible: IntArray
    rows: IntArray
    places: IntArray
    wanted: IntArray
    reads: IntArray


class _Nodes(NamedTuple):
    """Columns of a list of nodes, one entry per node."""

    part: IntArray
    node: IntArray
    column: IntArray  # of the part's heads
    head: IntArray
    above: IntArray  # index in the list of the parent node, -1 for the head
    token: IntArray
    top: IntArray
    read: BoolArray
    wanted: IntArray  # [n, W]

    @classmethod
    def of(cls, part: AskedContinuations, number: int) -> _Nodes:
        """The queried nodes of a part and those that lead to them, head by head."""
        tree = part.tree
        need = part.nodes.copy()
        for node in tree.depth_first[::-1]:
            need[tree.parent[node]] |= need[node]
        columns, rank = np.nonzero(need[tree.depth_first].T)
        nodes = tree.depth_first[rank]
        listed = np.full(need.shape, -1)
        listed[nodes, columns] = np.arange(len(nodes))
        parents = tree.parent[nodes]
        return cls(
            part=np.full(len(nodes), number),
            node=nodes,
            column=columns,
            head=part.heads[columns],
            above=np.where(parents == ROOT, -1, listed[parents, columns]),
            token=tree.token[nodes],
            top=tree.top[nodes],
            read=part.nodes[nodes, columns],
            wanted=tree.wanted(nodes),
        )

    @classmethod
    def joined(cls, lists: Sequence[_Nodes]) -> _Nodes:
        width = max(nodes.wanted.shape[1] for nodes in lists)
        start, moved = 0, []
        for nodes in lists:
            above = np.where(nodes.above < 0, -1, nodes.above + start)
            fill = np.repeat(nodes.wanted[:, :1], width - nodes.wanted.shape[1], axis=1)
            wanted = np.concatenate([nodes.wanted, fill], axis=1)
            moved.append(nodes._replace(above=above, wanted=wanted))
            start += len(above)
        return cls._make(np.concatenate(column) for column in zip(*moved, strict=True))

    def sorted_by(self, key: IntArray) -> _Nodes:
        order = np.argsort(key, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        here = _Nodes._make(column[order] for column in self)
        return here._replace(above=np.where(here.above < 0, -1, place[here.above]))


class ContinuationBatcher:
    """All nodes that the parts need, listed pack by pack and cut into chunks."""

    def __init__(self, parts: Sequence[AskedContinuations], packs: Packs) -> None:
        self.parts, self.packs = parts, packs
        nodes = _Nodes.joined([_Nodes.of(part, k) for k, part in enumerate(parts)])
        self.nodes = nodes.sorted_by(packs.pack[nodes.head])

    def chunks(self, *, limit: int, rows: int, multiple: int = 1) -> Iterator[Chunk]:
        """Chunks of at most `rows` rows of about `limit` new nodes.

        A pack with many queries gets several rows; rows of similar size go together, so that no row
        waits for a longer one.
        """
        nodes, packs = self.nodes, self.packs
        width = packs.tokens.shape[1]
        pack = packs.pack[nodes.head]
        per_pack = np.bincount(pack, minlength=len(packs.tokens))
        rows_of_pack = -(-per_pack // limit)
        rank = np.arange(len(pack)) - np.cumsum([0, *per_pack])[pack]
        share = rank[self._unit_starts()] * rows_of_pack[pack] // per_pack[pack]
        row = np.cumsum([0, *rows_of_pack])[pack] + share
        place = np.arange(len(row)) - np.searchsorted(row, row)
        chain = self._chains()
        position = packs.lengths[nodes.head] + (chain[:, 1:] != chain[:, :-1]).sum(
            axis=1
        )
        in_pack = packs.ancestors[pack, packs.place[nodes.head]]
        visible = np.concatenate([in_pack, width + place[chain]], axis=1)
        sizes = np.bincount(row)
        by_size = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())]
        of_row = np.repeat(np.arange(len(packs.tokens)), rows_of_pack)
        for first in range(0, len(by_size), rows):
            chosen = by_size[first : first + rows]
            line = np.full(len(sizes), -1)
            line[chosen] = np.arange(len(chosen))
            here = np.flatnonzero(line[row] >= 0)
            n_new = round_up(int(sizes[chosen[0]]), multiple)
            tokens = np.zeros((len(chosen), n_new), dtype=np.int64)
            positions = np.zeros_like(tokens)
            own = width + np.arange(n_new)
            sees = np.broadcast_to(
                own[:, None], (len(chosen), n_new, visible.shape[1])
            ).copy()
            at = (line[row[here]], place[here])
            tokens[at], positions[at], sees[at] = (
                nodes.token[here],
                position[here],
                visible[here],
            )
            reads = here[nodes.read[here]]
            yield Chunk(
                packs=of_row[chosen],
                tokens=tokens,
                positions=positions,
                visible=sees,
                rows=line[row[reads]],
                places=place[reads],
                wanted=nodes.wanted[reads],
                reads=reads,
            )

    def _unit_starts(self) -> IntArray:
        """The first node of each node's unit. A unit is everything under one head that shares a
        first token; it attends only to itself and is never split."""
        changed = np.ones(len(self.nodes.head), dtype=bool)
        keys = (self.nodes.head, self.nodes.part, self.nodes.top)
        changed[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
        starts: IntArray = np.flatnonzero(changed)[np.cumsum(changed) - 1]
        return starts

    def _chains(self) -> IntArray:
        """Each node and its new ancestors [n, D], padded with the topmost."""
        columns = [np.arange(len(self.nodes.above))]
        while True:
            above = self.nodes.above[columns[-1]]
            if (above < 0).all():
                return np.stack(columns, axis=1)
            columns.append(np.where(above < 0, columns[-1], above))

    def answers(self, reads: IntArray, values: FloatArray) -> list[FloatArray]:
        """Sort the values [n, W] read at nodes `reads` back into one answer per part."""
        part = self.nodes.part[reads]
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(len(self.parts) + 1))
        out = []
        for k, asked in enumerate(self.parts):
            here = order[ends[k] : ends[k + 1]]
            answer = asked.blank()
            nodes, columns = (
                self.nodes.node[reads[here]],
                self.nodes.column[reads[here]],
            )
            kids = asked.tree.child_table[nodes][:, : values.shape[1]]
            read, which = np.nonzero(kids != NO_CHILD)
            answer[kids[read, which], columns[read]] = values[here][read, which]
            out.append(answer)
        return out


class TreeRun:
    """One batch of packs and its model. The first query is what follows the heads themselves. What
    is longer or more branched than anything before is compared with plain rows.

    limit, rows   bounds on the new nodes in a row and on the rows of a batch
    keep          whether anything below the heads will be queried
    plain         the same heads as plain rows
    """

    def __init__(
        self,
        scorer: CausalScorer,
        packs: Packs,
        plain: Rows,
        *,
        limit: int,
        rows: int,
        keep: bool,
    ) -> None:
        self.scorer, self.packs, self.plain = scorer, packs, plain
        self.limit, self.rows = limit, rows
        self.device, self.dtype = scorer.device, next(scorer.model.parameters()).dtype
        #: the longest row of keys so far, and how far a node that was read stood from its position
        self.longest = self.farthest = 0
        # No config: a sliding-window layer must keep every key, since neighbours in a pack are not
        # neighbours in the text. Not kept where nothing will be asked beyond the heads.
        self.cache: Any = DynamicCache() if keep else None

    def ask(self, parts: Sequence[AskedContinuations]) -> list[FloatArray]:
        """Log-probabilities of the children of every queried node, one answer [N, H] per part."""
        packing, below = self.scorer.packing, not parts[0].nodes[ROOT].any()
        try:
            answers = (
                self._ask_below(parts) if below else [self._ask_heads(p) for p in parts]
            )
        except REFUSALS as error:
            known = not packing.is_new(self.longest, self.farthest, below=below)
            if known or out_of_memory(error):
                raise  # such rows have passed before, or would in smaller packs
            first = (str(error).splitlines() or [""])[0]
            raise PackingError(
                f"it refuses packs: {type(error).__name__}: {first[:120]}"
            ) from error
        if packing.room is not None and self.longest > packing.room:
            raise PackingError(
                f"it needed a row of {self.longest} places, it sees {packing.room}"
            )
        if packing.is_new(self.longest, self.farthest, below=below):
            compare(
                *take_sample(parts, answers, self.packs.place, self.plain), self.dtype
            )
            packing.passed(self.longest, self.farthest, below=below)
        return answers

    def _ask_below(self, parts: Sequence[AskedContinuations]) -> list[FloatArray]:
        batcher = ContinuationBatcher(parts, self.packs)
        reads, values = [], []
        multiple = self.scorer.row_multiple
        for chunk in batcher.chunks(
            limit=self.limit, rows=self.rows, multiple=multiple
        ):
            # A copy of the cache of its packs, which may grow without affecting the original.
            cache = copy.copy(self.cache)
            cache.layers = [copy.copy(layer) for layer in cache.layers]
            cache.batch_select_indices(to_device(chunk.packs, self.device))
            reads.append(chunk.reads)
            values.append(self._forward(chunk, cache))
        return batcher.answers(np.concatenate(reads), np.concatenate(values))

    def _ask_heads(self, part: AskedContinuations) -> FloatArray:
        packs, heads = self.packs, part.heads
        chunk = Chunk(
            packs=np.arange(len(packs.tokens)),
            tokens=packs.tokens,
            positions=packs.positions,
            visible=packs.ancestors,
            rows=packs.pack[heads],
            places=packs.place[heads],
            wanted=part.tree.wanted(np.array([ROOT])),
            reads=heads,
        )
        answer = part.blank()
        answer[list(part.tree.children[ROOT])] = self._forward(chunk, self.cache).T
        return answer

    def _forward(self, chunk: Chunk, cache: Any) -> FloatArray:
        """Log-probabilities [n, W] of the wanted tokens [n or 1, W] at n places."""
        known = 0 if cache is None else cache.get_seq_length()
        self.longest = max(self.longest, known + chunk.tokens.shape[1])
        distances = known + chunk.places - chunk.positions[chunk.rows, chunk.places]
        self.farthest = max(self.farthest, int(distances.max(initial=0)))

        def read() -> Callable[[], FloatArray]:
            inputs: dict[str, Any] = {
                "input_ids": to_device(chunk.tokens, self.device),
                "position_ids": to_device(chunk.positions, self.device),
                "attention_mask": self._mask(
                    chunk.visible, known + chunk.tokens.shape[1]
                ),
                "use_cache": cache is not None,
            }
            if cache is not None:
                inputs["past_key_values"] = cache
            rows, columns = (
                to_device(x, self.device) for x in (chunk.rows, chunk.places)
            )
            logits = self.scorer.project(rows, columns, packed=known == 0, **inputs)
            wanted = to_device(chunk.wanted, self.device).expand(len(rows), -1)
            return fetch(read_log_probs(logits, wanted))

        return self.scorer.alone(read)()

    def _mask(self, visible: IntArray, keys: int) -> Tensor:
        """What is added to the attention scores [B, 1, Q, keys]: 0 where a node may look, the least
        finite number elsewhere. Numbers rather than booleans because every implementation of
        attention adds them in the same way."""
        places = to_device(visible, self.device)
        shape = (*visible.shape[:2], keys)
        mask = torch.full(
            shape, torch.finfo(self.dtype).min, dtype=self.dtype, device=self.device
        )
        return mask.scatter_(2, places, 0.0).unsqueeze(1)


#: What a model may raise when given a mask, positions or a cache that it was not written for.
REFUSALS = (
    AssertionError,
    AttributeError,
    LookupError,
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
        part, answer, tree = parts[k], answers[k], parts[k].tree
        nodes, columns = np.nonzero(part.nodes)
        order = np.lexsort((nodes, place[part.heads[columns]]))
        for i in np.unique(np.linspace(0, len(order) - 1, _SAMPLES).astype(int)):
            node, column = int(nodes[order[i]]), int(columns[order[i]])
            paths.append(rows.head(int(part.heads[column])) + tree.prefix[node])
            wanted.append(tree.child_tokens(node))
            values.append(answer[list(tree.children[node]), column])
    return values, rows.follow(paths, wanted)


def compare(
    found: Sequence[FloatArray], plain: Sequence[FloatArray], dtype: torch.dtype
) -> None:
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


#: Prompts whose tables are in memory at a time.
_SLAB = 32_768
#: Nodes of a pack for prompts of up to this many tokens. Each pack begins with a whole prompt and
#: may be smaller for short ones: less attention saves 7 % of a 7B model's time on an H200, and 11 %
#: with words of several tokens.
_SHORT, _FEW_NODES = 32, 512


class CausalScorer(TransformerScorer):
    """Next-token models: GPT-2, Llama, Qwen, Gemma, Mistral, SmolLM2 and similar ones.

    packing       whether prefixes are shared, as the model allows
    pack_nodes    tree nodes in a pack; several packs make a batch of `batch_tokens`
    """

    kind, auto_class = "causal", "AutoModelForCausalLM"
    gpu_batch_tokens = 16_384

    def prepare(self) -> None:
        self._window = shortest_window(self.model.config)
        # GPT-Neo's local layers measure their window in row indices, ignoring the positions.
        counts_places = getattr(self.model.config, "model_type", "") == "gpt_neo"
        room = self._window if counts_places else None
        self.packing = Packing(room=room)
        # Fused attention on a GPU needs aligned masks.
        self.row_multiple = 16 if self.device.type == "cuda" else 1
        # Enough nodes to share prefixes, few enough to keep attention small.
        self.pack_nodes = 1024 if self.device.type == "cuda" else 128
        if room is not None:  # for a pack and for what is asked behind it
            self.pack_nodes = max(1, min(self.pack_nodes, room // 3))

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        """Alphabetical neighbours share prefixes, so they are scored together."""
        order = sorted(range(len(prompts)), key=lambda i: prompts[i].before)
        slabs = [np.array(order[k : k + _SLAB]) for k in range(0, len(order), _SLAB)]

        def score(members: IntArray) -> tuple[IntArray, WordScores]:
            return members, self._score_slab([prompts[i] for i in members], words)

        return WordScores.scattered(
            overlapped(score, slabs, threads=self.threads), len(prompts)
        )

    def _score_slab(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        job = Job(self, prompts, words)
        if self.packing.mode == "tree" and job.longest <= (self._window or job.longest):
            try:
                return self._score_packed(job)
            except PackingError as error:
                self.packing.give_up(str(error))
        return job.score_in_rows(self.follow)

    def _score_packed(self, job: Job) -> WordScores:
        def score(start: int) -> tuple[tuple[IntArray, WordScores], int]:
            most = _FEW_NODES if job.heads.lengths.mean() <= _SHORT else self.pack_nodes
            nodes = min(self.pack_nodes, most, self.batch_size.tokens)
            n_packs = max(1, self.batch_size.tokens // nodes)
            bounds = job.heads.cut(start, nodes=nodes, packs=n_packs)
            packs = Packs.of(job.heads, bounds, multiple=self.row_multiple)
            plain = Rows(self.follow, job.heads, start)
            tree = TreeRun(
                self, packs, plain, limit=nodes, rows=n_packs, keep=job.looks_below
            )
            return job.score(tree.ask, start, bounds[-1]), bounds[-1]

        def parts() -> Iterator[tuple[IntArray, WordScores]]:
            start = 0
            while start < len(job.heads):
                scored = self.batch_size.fitted(partial(score, start))
                if scored is not None:
                    part, start = scored
                    yield part

        return WordScores.scattered(parts(), len(job.prompts))

    def head_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        # Gemma returns noise unless the text starts with its BOS token, which tokenizers read from
        # a GGUF file do not always add.
        needs_bos = str(getattr(self.model.config, "model_type", "")).startswith(
            "gemma"
        )
        return head_tokens(self.tokenizer, texts, chat=self.chat, needs_bos=needs_bos)

    def follow(
        self, paths: Sequence[Tokens], wanted: Sequence[Tokens]
    ) -> list[FloatArray]:
        """Log-probabilities of the wanted tokens after each path of tokens, one row per path."""
        lengths = np.array([len(path) for path in paths])
        answers = [np.empty(0)] * len(paths)
        for length in dict.fromkeys(lengths.tolist()):
            rows = np.flatnonzero(lengths == length).tolist()
            sets = {
                want: k for k, want in enumerate(dict.fromkeys(wanted[i] for i in rows))
            }
            rows.sort(key=lambda i: sets[wanted[i]])  # called at once
            width = max(map(len, sets))
            batch = Batch(
                tokens=np.array([paths[i] for i in rows]),
                positions=np.full(len(rows), length - 1),
                wants=np.array(
                    [want + want[:1] * (width - len(want)) for want in sets]
                ),
                which=np.array([sets[wanted[i]] for i in rows]),
            )
            values = self.ask(batch, self._forward)()
            for i, row in zip(rows, values, strict=True):
                answers[i] = row[: len(wanted[i])]
        return answers

    def _forward(self, batch: Batch) -> Tensor:
        tokens = to_device(batch.tokens, self.device)
        return self.read(batch, input_ids=tokens, use_cache=False)


# --- Text, sampled token by token -----------------------------------------------------------------


#: Samples of one text that are made together.
_TOGETHER = 256


class CausalSampler(SampledScorer):
    """Continues texts with a transformers model: full distribution, one seed per text."""

    def __init__(self, scorer: CausalScorer, options: SampleOptions) -> None:
        super().__init__(
            scorer.info, options, *([] if scorer.chat is None else [IN_TEMPLATE])
        )
        self.scorer = scorer

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        return list(map(self._draw, self.scorer.head_tokens(texts), texts))

    def _draw(self, head: list[int], text: str) -> list[str]:
        options, tokenizer = self.options, self.scorer.tokenizer
        chance = torch.Generator(device="cpu").manual_seed(
            seed_for(options.seed, 0, text)
        )
        ends = set(tokenizer.all_special_ids)
        replies: list[str] = []
        for first in range(0, options.replies, _TOGETHER):
            n = min(_TOGETHER, options.replies - first)
            with torch.inference_mode():
                tokens = Prefix(self.scorer).sampled(
                    head, n, options.temperature, chance
                )
                # Run to the full length even if all have ended: later texts share the generator.
                ids = torch.cat(list(islice(tokens, options.tokens)), dim=1).tolist()
            for row in ids:
                stop = next(
                    (i for i, token in enumerate(row) if token in ends), len(row)
                )
                replies.append(str(tokenizer.decode(row[:stop])))
        return replies


class CausalWriter:
    """A local causal model, inside its chat template where it has one."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer, self.info = scorer, scorer.info
        self._prefix = Prefix(scorer)

    def write(
        self,
        turns: Sequence[Turn],
        *,
        n: int = 1,
        temperature: float = 1.0,
        seed: int = 0,
        length: int = 128,
    ) -> list[str]:
        head = self.head(turns)
        limit = self.scorer.length_limit
        if limit is not None and len(head) + length > limit:
            raise ModelError(
                f"{self.info.name}: expected at most {limit} tokens, found a request of "
                f"{len(head)} and an answer of {length}; shorten the request"
            )
        tokenizer = self.scorer.tokenizer
        ends = set(tokenizer.all_special_ids)
        chance = torch.Generator(device="cpu").manual_seed(seed)
        rows: list[list[int]] = [[] for _ in range(n)]
        over = [False] * n
        with torch.inference_mode():
            for token in islice(
                self._prefix.sampled(head, n, temperature, chance), length
            ):
                for row, sampled in enumerate(token[:, 0].tolist()):
                    if over[row] or sampled in ends:
                        over[row] = True
                        continue
                    rows[row].append(sampled)
                    over[row] = "\n" in tokenizer.decode(rows[row]).lstrip()
                if all(over):
                    break
        return [first_line(str(tokenizer.decode(row))) for row in rows]

    def head(self, turns: Sequence[Turn]) -> list[int]:
        """Tokens of a conversation up to the answer."""
        return self.scorer.head_tokens([joined(turns) + END])[0]


class Prefix:
    """The key-value cache of the last request; the next one reads only what differs."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer = scorer
        self.tokens: list[int] = []
        self.cache: Any = None

    def sampled(
        self, head: list[int], n: int, temperature: float, chance: torch.Generator
    ) -> Iterator[Tensor]:
        """Yield the next tokens of n continuations [n, 1], endlessly, sampled from the full
        softmax: no truncation or penalty, regardless of the model's generation settings."""
        logits, cache = self._after(head)
        if n > 1:
            cache.batch_repeat_interleave(n)
        logits = logits.expand(n, -1)
        while True:
            logits = logits.float().cpu()
            if temperature == 0:
                token = logits.argmax(dim=-1, keepdim=True)
            else:
                p = torch.softmax(logits / temperature, dim=-1)
                token = torch.multinomial(p, 1, generator=chance)
            yield token
            logits, cache = self._read(token, cache)

    def _after(self, tokens: list[int]) -> tuple[Tensor, Any]:
        """Logits of the next token [1, V], and a cache that the caller may modify."""
        same = next(
            (
                i
                for i, (a, b) in enumerate(zip(self.tokens, tokens, strict=False))
                if a != b
            ),
            min(len(self.tokens), len(tokens)),
        )
        same = min(same, len(tokens) - 1)  # the last one has to be read for its logits
        cache = None
        if same > 0 and self.cache is not None and hasattr(self.cache, "crop"):
            cache = self.cache
            if same < len(self.tokens):
                cache.crop(same - len(self.tokens))  # negative: the number to remove
        else:
            same = 0
        logits, self.cache = self._read(torch.tensor([tokens[same:]]), cache)
        self.tokens = tokens
        return logits, copy.deepcopy(self.cache)

    def _read(self, tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """Logits after the last of these tokens, and the cache with them."""
        ids = tokens.to(self.scorer.device)
        step = self.scorer.model(input_ids=ids, past_key_values=cache, use_cache=True)
        return step.logits[:, -1], step.past_key_values
