"""Perplexity of the start of a sentence under a causal model: a filter for mined templates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from clinometer.errors import SettingsError
from clinometer.models.catalog.open import open_model

if TYPE_CHECKING:
    from clinometer.models.local.causal import CausalScorer

#: Fills [X] while a template is rated: a word that fits every predicate about a person.
PERSON = "person"


def perplexity_of(model: str) -> Callable[[Sequence[str]], list[float]]:
    """A function from templates to the perplexity of the text before [Y], "person" at [X].

    1 is certainty; ungrammatical templates have values several times those of comparable ones. A
    template of fewer than two tokens has nothing to predict and gets infinity.
    """
    import torch

    scorer = open_model(model)
    if scorer.info.kind != "causal":
        raise SettingsError(f"model {model!r}: expected a causal model for perplexity, found a "
                            f"{scorer.info.kind} one")  # fmt: skip
    causal = cast("CausalScorer", scorer)
    network, tokenizer = causal.model, causal.tokenizer

    def one(template: str) -> float:
        text = template.replace("[X]", PERSON).partition("[Y]")[0].rstrip()
        tokens = tokenizer(text, return_tensors="pt")["input_ids"].to(network.device)
        if tokens.shape[1] < 2:
            return math.inf
        with torch.inference_mode():
            logits = network(tokens).logits[0, :-1].float()
        log_probs = torch.log_softmax(logits, dim=-1).gather(1, tokens[0, 1:, None])
        return math.exp(-float(log_probs.mean()))

    return lambda templates: [one(template) for template in templates]
