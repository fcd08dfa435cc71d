"""Check on a model's own answers, not by a list of names, whether it can be scored in packs.

A pack works only if the model's attention obeys the given mask and positions. Models with ALiBi,
recurrent layers or their own code may silently ignore either, so a few answers of the first packs,
and of any longer row later, are compared with plain rows. A difference beyond rounding sends the
model back to plain rows for good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from clinometer.models.local.batches import out_of_memory
from clinometer.models.local.prefix_tree.forward import TreeRun
from clinometer.models.local.prefix_tree.layout import Ints
from clinometer.models.scoring.continuations import AskedContinuations, Floats
from clinometer.models.tokens.word_trie import ROOT, Tokens

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


@dataclass(frozen=True)
class Probe:
    """A few answers to compare: heads, what follows them, and the values found [each, children]."""

    heads: list[int]
    suffixes: list[Tokens]
    wanted: list[Tokens]
    values: list[Floats]


def take_sample(
    parts: Sequence[AskedContinuations], answers: Sequence[Floats], place: Ints
) -> Probe:
    """Sample answers at heads from the first to the last in a pack: a model that counts indices
    instead of positions errs most where a node is far from its ancestors."""
    sample = Probe([], [], [], [])
    for k in np.unique(np.linspace(0, len(parts) - 1, 3).astype(int)):
        part, answer = parts[k], answers[k]
        trie = part.tree.trie
        nodes, columns = np.nonzero(part.nodes)
        order = np.lexsort((nodes, place[part.heads[columns]]))
        for i in np.unique(np.linspace(0, len(order) - 1, _SAMPLES).astype(int)):
            node, column = int(nodes[order[i]]), int(columns[order[i]])
            sample.heads.append(int(part.heads[column]))
            sample.suffixes.append(trie.prefix[node])
            sample.wanted.append(trie.child_tokens(node))
            sample.values.append(answer[list(trie.children[node]), column])
    return sample


def compare(found: Sequence[Floats], plain: Sequence[Floats], dtype: torch.dtype) -> None:
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

    def __init__(
        self, run: TreeRun, packing: Packing, plain: Callable[[Probe], list[Floats]]
    ) -> None:
        self.run, self.packing, self.plain = run, packing, plain

    def ask(self, parts: Sequence[AskedContinuations]) -> list[Floats]:
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
            sample = take_sample(parts, answers, self.run.packs.place)
            compare(sample.values, self.plain(sample), self.run.dtype)
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

    def __init__(self, *, mode: str = "tree", reason: str = "", room: int | None = None) -> None:
        self.mode, self.reason, self.room = mode, reason, room
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
