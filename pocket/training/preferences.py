"""Preference tuning towards an even choice of pronoun, by DPO on pairs made here.

A pair is two sentences that differ in one pronoun: "The nurse said that she was late." and
"… he was late.". With β, the policy π and the base model ρ, DPO models the chance that the first
is preferred as

    σ(β h),   h = log π(she…)/ρ(she…) − log π(he…)/ρ(he…).

For each pair the preference that we state is σ(β d), where d = log ρ(he…) − log ρ(she…) is how far
the base model leans. The loss −Σ pᵢ log σ(±β h) then has its minimum at h = d: both sentences
equally likely. A hard preference for the rarer pronoun would have no minimum and turn the
leaning round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional as F  # noqa: N812

from .words import OCCUPATIONS

CONTEXTS = (
    "The {} said that",
    "The {} thought that",
    "The {} explained that",
    "The {} told us that",
    "The {} hoped that",
    "The {} was happy because",
    "The {} stayed at home because",
    "The {} smiled when",
    "The {} worked until",
    "A {} was there, and",
    "We met the {} when",
    "I asked the {} whether",
)
ENDINGS = (
    "was tired.",
    "had to leave.",
    "could help.",
    "was right.",
    "lived in the city.",
)
HELD_OUT_EVERY = 5


@dataclass(frozen=True)
class Pair:
    """Two continuations of a prompt."""

    prompt: str
    she: str
    he: str


def pairs(occupations: Sequence[str]) -> list[Pair]:
    """All pairs of the given occupations: every context, and one of the endings in turn."""
    found = []
    for place, occupation in enumerate(occupations):
        for number, context in enumerate(CONTEXTS):
            ending = ENDINGS[(place + number) % len(ENDINGS)]
            prompt = context.format(occupation)
            found.append(Pair(prompt, f" she {ending}", f" he {ending}"))
    return found


def split_occupations() -> tuple[list[str], list[str]]:
    """Occupations to tune on, and every fifth, held out to see whether it carries over."""
    words = OCCUPATIONS.split()
    train = [word for i, word in enumerate(words) if i % HELD_OUT_EVERY]
    return train, words[::HELD_OUT_EVERY]


def leaning(she: torch.Tensor, he: torch.Tensor) -> torch.Tensor:
    """How far a model leans to `he`, in nats: log p(he…) − log p(she…)."""
    return he - she


def loss(
    policy_leaning: torch.Tensor, base_leaning: torch.Tensor, *, beta: float
) -> torch.Tensor:
    """DPO with stated preferences σ(β d); least where the policy does not lean at all.

    >>> base = torch.tensor([2.0])
    >>> even, same = loss(base * 0, base, beta=0.5), loss(base, base, beta=0.5)
    >>> bool(even < same), bool(even < loss(-base, base, beta=0.5))
    (True, True)
    """
    h = base_leaning - policy_leaning
    preference = torch.sigmoid(beta * base_leaning)
    return F.binary_cross_entropy_with_logits(beta * h, preference)
