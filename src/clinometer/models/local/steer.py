"""Steering: a vector that is added to what one layer of a model passes on, at every token.

The vector is a difference of means: activations of prompts about some groups less those of the same
prompts about other groups, at the token before the answer. `--load steer=FILE` adds the vector of a
file. Plain PyTorch: one hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from pydantic import FiniteFloat, ValidationError
from pydantic.dataclasses import dataclass

from clinometer.errors import ModelError, first_problem
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.untrusted import read_json

if TYPE_CHECKING:
    from clinometer.models.local.causal import CausalScorer


@dataclass(frozen=True)
class Steering:
    """What is added, and where: the number of a layer, and a vector as wide as the model."""

    layer: int
    vector: tuple[FiniteFloat, ...]

    def at_random(self, seed: int) -> Steering:
        """Return a random direction of the same length in the same layer: the control."""
        random = np.random.default_rng(seed).standard_normal(len(self.vector))
        random *= np.linalg.norm(self.vector) / np.linalg.norm(random)
        return Steering(self.layer, tuple(random.tolist()))

    @classmethod
    def read(cls, path: str | Path) -> Steering:
        """Read a file of numbers; anything else is an error."""
        try:
            return cls(**read_json(Path(path)))
        except (OSError, ValueError, TypeError) as error:
            reason: object = error
            if isinstance(error, ValidationError):
                reason = first_problem(error)
            raise ModelError(
                f"steer {str(path)!r}: expected a file with layer and vector, as study fixes "
                f"writes it ({reason})"
            ) from error


def layers_of(model: Any) -> Any:
    """Return the layers of a transformer, from the first to the last."""
    stacks = [
        module for module in model.modules() if isinstance(module, torch.nn.ModuleList)
    ]
    return max(stacks, key=len, default=())


def _hidden(output: Any) -> Any:
    """Return the states that a layer passes on: of some models the first of several results."""
    return output[0] if isinstance(output, tuple) else output


def steer(model: Any, steering: Steering, name: str) -> None:
    """Have the model add the vector from now on."""
    layers = layers_of(model)
    width = model.config.get_text_config().hidden_size
    if not 0 <= steering.layer < len(layers) or len(steering.vector) != width:
        raise ModelError(
            f"model {name!r}: steer: expected a layer below {len(layers)} and a vector of {width} "
            f"numbers, found layer {steering.layer} and {len(steering.vector)} numbers; a vector "
            "fits the model that it was made with"
        )
    vector = torch.tensor(steering.vector)

    def add(_layer: Any, _inputs: Any, output: Any) -> Any:
        states = _hidden(output)
        steered = states + vector.to(states)
        return (steered, *output[1:]) if isinstance(output, tuple) else steered

    layers[steering.layer].register_forward_hook(add)


def fitted(
    scorer: CausalScorer, more: Sequence[str], less: Sequence[str], layer: int | None
) -> Steering:
    """Return the vector from the mean of the texts `less` to that of the texts `more`; in the
    middle layer unless a layer is given."""
    layers = layers_of(scorer.model)
    number = len(layers) // 2 if layer is None else layer
    if not number < len(layers):
        raise ModelError(f"steer: expected a layer below {len(layers)}, found {layer}")

    def mean(texts: Sequence[str]) -> FloatArray:
        """Return what the layer passes on at the last token of each text, on average [width]."""
        activations: list[Any] = []

        def collect(_layer: Any, _inputs: Any, output: Any) -> None:
            last_token = _hidden(output)[0, -1]
            activations.append(last_token.to("cpu", torch.float64))

        with layers[number].register_forward_hook(collect):
            for tokens in scorer.head_tokens(texts):
                ids = torch.tensor([tokens], device=scorer.device)
                scorer.infer(partial(scorer.model, input_ids=ids, use_cache=False))
        return np.asarray(torch.stack(activations).mean(dim=0).numpy())

    difference = mean(more) - mean(less)
    return Steering(number, tuple(difference.tolist()))
