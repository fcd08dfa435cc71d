"""Causal models: the prompt ends where the slot begins, and the word carries its space.

p(word | prompt) is the product of its tokens' probabilities. With text after the slot the whole
continuation is scored for each word, p(word, rest | prompt), because a left-to-right model can take
the rest into account in no other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tiltmeter.errors import ContextError
from tiltmeter.models.expand import Expanded, Question, expand
from tiltmeter.models.project import END_OF_WORD, read_log_probs
from tiltmeter.models.rows import Batch, Block, answer
from tiltmeter.models.transformer import TransformerScorer, shorten
from tiltmeter.models.trie import Tokens, Trie
from tiltmeter.models.words import WordList
from tiltmeter.topics import Prompt


class CausalScorer(TransformerScorer):
    """Next-token models: GPT-2, Llama, Qwen, Gemma, Mistral, SmolLM2 and their like."""

    kind = "causal"

    @staticmethod
    def auto_class(transformers: Any) -> Any:
        return transformers.AutoModelForCausalLM

    def score_alike(self, prompts: Sequence[Prompt], words: WordList) -> Expanded:
        heads = [self.head_tokens(p) for p in prompts]
        ends = (END_OF_WORD,) if self.options.end_of_word else ()
        trie = Trie.of([s + ends for s in words.sequences])
        reads_on = bool(prompts[0].after)

        def ask(questions: Sequence[Question]) -> list[NDArray[np.float64]]:
            paths = [heads[i] + trie.prefix[q.node] for q in questions for i in q.prompts]
            wanted = [trie.child_tokens(q.node) for q in questions for _ in q.prompts]
            values = iter(self.follow(paths, wanted))
            found = [np.array([next(values) for _ in q.prompts]) for q in questions]
            for q, table in zip(questions, found, strict=True):
                self.check_values(table, [prompts[i] for i in q.prompts])
            return found

        # What follows the slot can favour any word by any factor, so no bound holds there.
        tolerance = 0.0 if reads_on else self.options.tolerance
        found = expand([trie], len(prompts), ask, tolerance=tolerance)
        if reads_on:
            rest = self._log_prob_after(heads, words, prompts)
            found = replace(found, log_probs=found.log_probs + rest)
        return found

    def head_tokens(self, prompt: Prompt) -> Tokens:
        """Tokens before the slot, with the model's own opening token but no closing one."""
        bos = self.tokenizer.bos_token_id
        closing = {self.tokenizer.eos_token_id, self.tokenizer.sep_token_id} - {None, bos}
        ids = list(self.tokenizer(prompt.before)["input_ids"]) if prompt.before else []
        while ids and ids[-1] in closing:
            ids.pop()
        if bos is not None and (not ids or (self._needs_bos and ids[0] != bos)):
            ids.insert(0, bos)
        if not ids:
            raise ContextError(
                f"{self.info.name} has no opening token, so nothing can be asked before the first "
                f"word of {shorten(prompt.fill('[Y]'))!r}: use a template with text before [Y]"
            )
        self.check_length(len(ids), prompt)
        return tuple(ids)

    @property
    def _needs_bos(self) -> bool:
        """Gemma answers with noise unless the text begins with its opening token, which tokenizers
        read from a GGUF file do not always add."""
        return str(getattr(self.model.config, "model_type", "")).startswith("gemma")

    def follow(
        self, paths: Sequence[Tokens], wanted: Sequence[Tokens]
    ) -> list[NDArray[np.float64]]:
        """Log-probabilities of the wanted tokens after each path of tokens."""
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

    def _forward(self, batch: Batch) -> NDArray[np.float64]:
        tokens = torch.as_tensor(batch.tokens, device=self.device)
        rows = torch.arange(len(tokens), device=self.device)
        positions = torch.full_like(rows, batch.position)
        with torch.inference_mode():
            logits, _ = self.project(rows, positions, input_ids=tokens, use_cache=False)
            wanted = torch.as_tensor(batch.wanted, device=self.device)
            found = read_log_probs(logits, wanted, self.boundary)
        return np.asarray(found.double().cpu().numpy())

    def _log_prob_after(
        self, heads: Sequence[Tokens], words: WordList, prompts: Sequence[Prompt]
    ) -> NDArray[np.float64]:
        """log p(text after the slot | prompt, word) [P, words], token by token."""
        paths: list[Tokens] = []
        wanted: list[Tokens] = []
        for head, prompt in zip(heads, prompts, strict=True):
            rest = self.after_tokens(prompt)
            for word in words.sequences:
                paths += [head + word + rest[:k] for k in range(len(rest))]
                wanted += [(token,) for token in rest]
            self.check_length(len(head) + len(rest) + 1, prompt)
        values = iter(self.follow(paths, wanted))
        total = np.zeros((len(heads), len(words.sequences)))
        for i, prompt in enumerate(prompts):
            n = len(self.after_tokens(prompt))
            for j in range(len(words.sequences)):
                total[i, j] = sum(float(next(values)[0]) for _ in range(n))
            self.check_values(total[i : i + 1], [prompt])
        return total
