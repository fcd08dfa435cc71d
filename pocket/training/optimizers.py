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


def make_optimizers(
    model: PreTrainedModel, recipe: Recipe
) -> list[torch.optim.Optimizer]:
    """AdamW, which decays matrices and leaves biases and norms alone; Muon if the recipe says so.

    Muon takes the matrices of the repeated blocks, with steps of the size that AdamW's have, so
    that one learning rate serves both.
    """
    blocks = block_matrices(model) if recipe.muon else []
    known = {id(p) for p in blocks}
    matrices = [p for p in model.parameters() if p.dim() >= 2 and id(p) not in known]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": recipe.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), eps=1e-6, fused=True)
    return (
        [adam, FlatMuon(blocks, weight_decay=recipe.weight_decay)] if blocks else [adam]
    )


def block_matrices(model: PreTrainedModel) -> list[nn.Parameter]:
    """The matrices that a layer multiplies by: no embeddings, no tables of positions or biases.

    XLNet keeps its attention as [width, heads, width of a head], a matrix in all but its shape.
    """
    lists = [m for m in model.modules() if isinstance(m, nn.ModuleList)]
    inside = {id(m): m for some in lists for block in some for m in block.modules()}
    found = {
        id(p): p
        for module in inside.values()
        if not isinstance(module, nn.Embedding | nn.ModuleList)
        for name, p in module.named_parameters(recurse=False)
        if (isinstance(module, nn.Linear) and p.dim() == 2)
        or (p.dim() == 3 and name in {*"qkvor"})
    }
    return list(found.values())


class FlatMuon(torch.optim.Muon):
    """Muon on matrices that a model may keep in three dimensions: it sees them as two."""

    def __init__(self, parameters: list[nn.Parameter], *, weight_decay: float) -> None:
        self.flat = {p: nn.Parameter(p.detach().flatten(1)) for p in parameters}
        super().__init__(
            list(self.flat.values()),
            lr=0.0,
            weight_decay=weight_decay,
            adjust_lr_fn="match_rms_adamw",
        )

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """One step; the flat matrices are the model's own memory."""
        for kept, flat in self.flat.items():
            flat.grad = None if kept.grad is None else kept.grad.flatten(1)
        super().step(closure)


def stepped(optimizer: torch.optim.Optimizer, parameter: nn.Parameter) -> nn.Parameter:
    """The parameter as this optimizer knows it."""
    return (
        optimizer.flat.get(parameter, parameter)
        if isinstance(optimizer, FlatMuon)
        else parameter
    )
