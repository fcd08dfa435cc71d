"""What an audit of a served model costs at most, before its first request."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clinometer.contexts import ContextSet
from clinometer.display.numbers import money
from clinometer.models import LoadOptions, ModelSource, ModelSpec
from clinometer.models.options import QUESTION
from clinometer.models.prices import Price, price_of
from clinometer.models.server.request import INSTRUCTION
from clinometer.topics import Topic

BYTES_PER_TOKEN = 3.6
"""How many bytes of text a token is taken for."""

TOKENS_AROUND = 8
"""Tokens that a server puts around each prompt."""

MEASURED_CELLS = 200
"""Cells whose prompts are measured."""


@dataclass(frozen=True)
class Cost:
    """Requests and tokens of a plan, at most, before the first request.

    An estimate: a token is taken for 3.6 bytes of text, and every reply for as long as it may be.
    Where a server lists log-probabilities one request per cell replaces its replies, and costs
    less. Hidden tokens of models that reason first cannot be foreseen; a budget stops them in time.
    """

    cells: int
    replies: int

    read: int
    """Tokens that the model reads."""

    written: int
    """Tokens that the model writes."""

    price: Price | None

    @property
    def money(self) -> float | None:
        return None if self.price is None else self.price.of(self.read, self.written)

    def __add__(self, other: Cost) -> Cost:
        return replace(
            self,
            cells=self.cells + other.cells,
            replies=self.replies + other.replies,
            read=self.read + other.read,
            written=self.written + other.written,
        )

    def part(self, share: float) -> Cost:
        """Return the cost of a share of the cells."""
        return replace(
            self,
            cells=round(self.cells * share),
            replies=round(self.replies * share),
            read=round(self.read * share),
            written=round(self.written * share),
        )

    def sentence(self) -> str:
        """Return the cost as the end of a line.

        >>> Cost(10, 100, 8000, 800, Price(1.0, 5.0, "--price")).sentence()
        'at most 100 replies (10 cells), about 8,000 tokens read and 800 written: 0.02 (--price)'
        """
        paid = "price not known (--price)"
        if self.price is not None and self.money is not None:
            paid = f"{money(self.money)} ({self.price.source})"
        return (
            f"at most {self.replies:,} replies ({self.cells:,} cells), about {self.read:,} tokens "
            f"read and {self.written:,} written: {paid}"
        )


def estimate_cost(
    model: str | ModelSpec, topic: Topic, contexts: ContextSet, load: LoadOptions
) -> Cost | None:
    """Return what an audit of a served model costs at most; None where no replies are sampled."""
    spec = model if isinstance(model, ModelSpec) else ModelSpec.parse(model)
    if load.sampled is None or spec.place is not ModelSource.SERVER:
        return None
    n_cells = len(topic) * len(contexts)
    n_replies = n_cells * load.sampled.replies
    return Cost(
        cells=n_cells,
        replies=n_replies,
        read=round(n_replies * _mean_tokens(topic, contexts, load)),
        written=n_replies * load.sampled.tokens,
        price=price_of(spec.target, load.server.price),
    )


def _mean_tokens(topic: Topic, contexts: ContextSet, load: LoadOptions) -> float:
    """Return the mean number of tokens of a prompt, over some cells, spread over the grid."""
    n_cells = len(topic) * len(contexts)
    step = max(1, n_cells // MEASURED_CELLS)
    n_bytes = []
    for cell in range(0, n_cells, step):
        group, context = divmod(cell, len(contexts))
        prompt = topic.render(contexts.templates[context], topic.groups[group])
        text = prompt.before
        if load.chat_request != QUESTION:
            text = INSTRUCTION.format(text)
        n_bytes.append(len(text.encode()))
    return sum(n_bytes) / len(n_bytes) / BYTES_PER_TOKEN + TOKENS_AROUND
