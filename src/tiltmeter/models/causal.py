"""Causal models: the prompt ends where the slot begins, and the word carries its space.

p(word | prompt) is the product of its tokens' probabilities. With text after the slot the whole
continuation is scored for each word, p(word, rest | prompt), because a left-to-right model can take
the rest into account in no other way.

Prompts are asked in packs (see `prefix_tree`), so that each distinct beginning is computed once; a
model that cannot be packed is asked in plain rows, with the same result.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tiltmeter.models.base import ModelInfo
from tiltmeter.models.expand import Expanded, join
from tiltmeter.models.options import WordOptions
from tiltmeter.models.overlap import overlapped
from tiltmeter.models.prefix_tree import Heads, Packs
from tiltmeter.models.project import read_log_probs
from tiltmeter.models.rows import Batch, Block, answer, to_device
from tiltmeter.models.transformer import TransformerScorer
from tiltmeter.models.tree_ask import Asked, Floats
from tiltmeter.models.tree_check import (
    CheckedAnswers,
    Packing,
    PackingError,
    Sample,
    counts_places,
    shortest_window,
)
from tiltmeter.models.tree_job import Job
from tiltmeter.models.tree_run import TreeRun, row_multiple
from tiltmeter.models.trie import Tokens
from tiltmeter.models.words import WordList, encode_all
from tiltmeter.topics import Prompt

#: Prompts whose tables are held at a time.
_SLAB = 16_384


class CausalScorer(TransformerScorer):
    """Next-token models: GPT-2, Llama, Qwen, Gemma, Mistral, SmolLM2 and their like.

    packing       "tree" shares beginnings where the model allows it, "rows" never does
    pack_nodes    tree nodes in a pack; several packs make a batch of `batch_tokens`
    """

    kind = "causal"
    gpu_batch_tokens = 16_384

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        info: ModelInfo,
        *,
        options: WordOptions | None = None,
        batch_tokens: int | None = None,
        packing: Literal["tree", "rows"] = "tree",
        pack_nodes: int | None = None,
    ) -> None:
        super().__init__(model, tokenizer, info, options=options, batch_tokens=batch_tokens)
        asked_for = "asked for by the caller" if packing == "rows" else ""
        self._window = shortest_window(model.config)
        room = self._window if counts_places(model.config) else None
        self.packing = Packing(mode=packing, reason=asked_for, room=room)
        self.pack_nodes = pack_nodes or default_pack_nodes(self.device)
        if room is not None:  # for a pack and for what is asked behind it
            self.pack_nodes = max(1, min(self.pack_nodes, room // 3))
        self._turn, self._tokenizing = threading.Lock(), threading.Lock()

    @staticmethod
    def auto_class(transformers: Any) -> Any:
        return transformers.AutoModelForCausalLM

    def score_alike(self, prompts: Sequence[Prompt], words: WordList) -> Expanded:
        """Neighbours in the alphabet share beginnings, so they are scored together."""
        order = sorted(range(len(prompts)), key=lambda i: prompts[i].before)
        slabs = [[prompts[i] for i in order[k : k + _SLAB]] for k in range(0, len(order), _SLAB)]
        score = partial(self._score_slab, words=words)
        found, back = join(overlapped(score, slabs, threads=self.threads)), np.argsort(order)
        return Expanded(found.log_probs[back], found.log_coverage[back], found.skipped[back])

    def _score_slab(self, prompts: Sequence[Prompt], words: WordList) -> Expanded:
        job = Job(self, prompts, words)
        if self.packing.mode == "tree" and job.longest <= (self._window or job.longest):
            try:
                return self._score_packed(job)
            except PackingError as error:
                self.packing.give_up(str(error))
        return job.joined([job.score(Rows(self, job.heads), 0, len(job.heads))])

    def _score_packed(self, job: Job) -> Expanded:
        parts: list[Expanded] = []
        start = 0
        while start < len(job.heads):
            nodes = min(self.pack_nodes, self.batch_size.tokens)
            n_packs = max(1, self.batch_size.tokens // nodes)
            bounds = job.heads.cut(start, nodes=nodes, packs=n_packs)
            packs = Packs.of(job.heads, bounds, multiple=row_multiple(self.device))
            run = TreeRun(
                self.project,
                packs,
                limit=nodes,
                rows=n_packs,
                boundary=self.boundary,
                keep=job.looks_below,
                turn=self._turn,
            )
            rows = Rows(self, job.heads, start)
            answers = CheckedAnswers(run, self.packing, rows.answer_sample)
            try:
                parts.append(job.score(answers, start, bounds[-1]))
            except torch.cuda.OutOfMemoryError as error:
                del run, answers
                torch.cuda.empty_cache()
                self.batch_size.halve(error)
                continue
            start = bounds[-1]
        return job.joined(parts)

    def head_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens before the slot, with the model's own opening token but no closing one."""
        bos = self.tokenizer.bos_token_id
        closing = {self.tokenizer.eos_token_id, self.tokenizer.sep_token_id} - {None, bos}
        with self._tokenizing:  # tokenizers of some versions refuse two threads at once
            found = iter(encode_all(self.tokenizer, [t for t in texts if t], special=True))
        needs_bos = self._needs_bos
        heads = []
        for text in texts:
            ids = next(found) if text else []
            while ids and ids[-1] in closing:
                ids.pop()
            if bos is not None and (not ids or (needs_bos and ids[0] != bos)):
                ids.insert(0, bos)
            heads.append(ids)
        return heads

    @property
    def _needs_bos(self) -> bool:
        """Gemma answers with noise unless the text begins with its opening token, which tokenizers
        read from a GGUF file do not always add."""
        return str(getattr(self.model.config, "model_type", "")).startswith("gemma")

    def follow(
        self, paths: Sequence[Tokens], wanted: Sequence[Tokens]
    ) -> list[NDArray[np.float64]]:
        """Log-probabilities of the wanted tokens after each path of tokens, each path a row."""
        kinds: dict[tuple[int, Tokens], list[int]] = {}
        for i, (path, want) in enumerate(zip(paths, wanted, strict=True)):
            kinds.setdefault((len(path), want), []).append(i)
        blocks = [
            Block(np.array([paths[i] for i in members]), length - 1, want)
            for (length, want), members in kinds.items()
        ]
        results: dict[int, NDArray[np.float64]] = {}
        for members, values in zip(
            kinds.values(), answer(blocks, self._forward, self.batch_size), strict=True
        ):
            results.update(zip(members, values, strict=True))
        return [results[i] for i in range(len(paths))]

    def _forward(self, batch: Batch) -> Tensor:
        tokens = to_device(batch.tokens, self.device)
        rows = torch.arange(len(tokens), device=self.device)
        positions = torch.full_like(rows, batch.position)
        with torch.inference_mode(), self._turn:
            logits, _ = self.project(rows, positions, input_ids=tokens, use_cache=False)
            wanted = to_device(batch.wanted, self.device)
            return read_log_probs(logits, wanted, self.boundary)


class Rows:
    """Plain rows: every head with every continuation is a row of its own."""

    def __init__(self, scorer: CausalScorer, heads: Heads, start: int = 0) -> None:
        self.scorer, self.heads, self.start = scorer, heads, start

    def ask(self, parts: Sequence[Asked]) -> list[Floats]:
        places = [tuple(map(np.ravel, np.nonzero(part.nodes))) for part in parts]
        paths: list[Tokens] = []
        wanted: list[Tokens] = []
        for part, (nodes, columns) in zip(parts, places, strict=True):
            trie = part.tree.trie
            children = [trie.child_tokens(n) for n in range(len(part.tree))]
            paths += [
                self._head(h) + trie.prefix[n]
                for n, h in zip(nodes.tolist(), part.heads[columns].tolist(), strict=True)
            ]
            wanted += [children[n] for n in nodes.tolist()]
        values = iter(self.scorer.follow(paths, wanted))
        answers = [part.blank() for part in parts]
        for part, (nodes, columns), found in zip(parts, places, answers, strict=True):
            for n, column in zip(nodes.tolist(), columns.tolist(), strict=True):
                found[list(part.tree.trie.children[n]), column] = next(values)
        return answers

    def answer_sample(self, sample: Sample) -> list[Floats]:
        heads = map(self._head, sample.heads)
        paths = [head + suffix for head, suffix in zip(heads, sample.suffixes, strict=True)]
        return self.scorer.follow(paths, sample.wanted)

    def _head(self, row: int) -> Tokens:
        return self.heads.path(self.start + row)


def default_pack_nodes(device: torch.device) -> int:
    """Tree nodes in a pack: enough to share beginnings, few enough to keep attention small."""
    return 1024 if device.type == "cuda" else 128
