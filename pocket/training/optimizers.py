"""The optimizers of a recipe and the schedule of their learning rate."""

from __future__ import annotations

import torch
from torch import nn
from transformers import PreTrainedModel

from .recipes import Recipe


def rate(progress: float, *, peak: float, warm_up: float) -> float:
    """Learning rate: linear to `peak` over the first `warm_up` share, then linear to 0.

    >>> rate(0.05, peak=1.0, warm_up=0.1), rate(0.1, peak=1.0, warm_up=0.1)
    (0.5, 1.0)
    >>> round(rate(0.55, peak=1.0, warm_up=0.1), 6), rate(1.0, peak=1.0, warm_up=0.1)
    (0.5, 0.0)
    """
    if progress < warm_up:
        return peak * progress / warm_up
    return peak * (1.0 - progress) / (1.0 - warm_up)


def make_optimizers(model: PreTrainedModel, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """AdamW, which decays matrices and leaves biases and norms alone; Muon if the recipe says so.

    Muon takes the matrices of the repeated blocks, with steps of the size that AdamW's have, so
    that one learning rate serves both.
    """
    lists = [m for m in model.modules() if isinstance(m, nn.ModuleList)] if recipe.muon else []
    blocks = [p for m in lists for p in m.parameters() if p.dim() == 2]
    known = {id(p) for p in blocks}
    matrices = [p for p in model.parameters() if p.dim() >= 2 and id(p) not in known]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": recipe.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), eps=1e-6, fused=True)
    if not blocks:
        return [adam]
    muon = torch.optim.Muon(
        blocks, lr=0.0, weight_decay=recipe.weight_decay, adjust_lr_fn="match_rms_adamw"
    )
    return [adam, muon]
