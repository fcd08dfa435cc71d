"""Causal models: the prompt ends where the slot begins, and the word carries its space.

p(word | prompt) is the product of its tokens' probabilities. With text after the slot the whole
continuation is scored for each word, p(word, rest | prompt), because a left-to-right model cannot
otherwise take the rest into account.

Prompts are scored in packs (see `prefix_tree`), so that each distinct prefix is computed once; a
model that cannot be packed is scored in plain rows, with the same result.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from torch import Tensor

from clinometer.models.local.base import TransformerScorer
from clinometer.models.local.batches import Batch, overlapped, pad_wants, run, to_device, to_numpy
from clinometer.models.local.prefix_tree import (
    CheckedAnswers,
    Packing,
    PackingError,
    TreeRun,
    counts_places,
    row_multiple,
    shortest_window,
)
from clinometer.models.options import WordOptions
from clinometer.models.protocol import ModelInfo, WordScores
from clinometer.models.scoring.causal_job import Job, Rows
from clinometer.models.scoring.chain_rule import scattered
from clinometer.models.scoring.continuations import Packs
from clinometer.models.tokens.word_tokens import Tokens, WordList, head_tokens
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.topics import Prompt

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

    packing       "tree" shares prefixes if the model allows it, "rows" never does
    pack_nodes    tree nodes in a pack; several packs make a batch of `batch_tokens`
    """

    kind, auto_class = "causal", "AutoModelForCausalLM"
    gpu_batch_tokens = 16_384

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        info: ModelInfo,
        *,
        options: WordOptions | None = None,
        batch_tokens: int | None = None,
        chat: str | None = None,
        packing: Literal["tree", "rows"] = "tree",
        pack_nodes: int | None = None,
    ) -> None:
        super().__init__(
            model, tokenizer, info, options=options, batch_tokens=batch_tokens, chat=chat
        )
        reason = "requested by the caller" if packing == "rows" else ""
        self._window = shortest_window(model.config)
        room = self._window if counts_places(model.config) else None
        self.packing = Packing(mode=packing, reason=reason, room=room)
        # Enough nodes to share prefixes, few enough to keep attention small.
        self.pack_nodes = pack_nodes or (1024 if self.device.type == "cuda" else 128)
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
