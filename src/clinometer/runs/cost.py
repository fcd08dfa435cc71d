"""What an audit of a server will cost: tokens and money, before the first request.

An estimate: a token is taken for 3.6 bytes of text, and every reply for as long as it may be. Where
a server lists log-probabilities one request per cell replaces its replies, and costs less. Hidden
tokens of models that reason first cannot be foreseen; a budget stops them in time.
"""

from __future__ import annotations

from dataclasses import dataclass

from clinometer.contexts import ContextSet
from clinometer.display.numbers import money
from clinometer.errors import SettingsError
from clinometer.measure.planning import SPREAD
from clinometer.models import LoadOptions, ModelSource, ModelSpec
from clinometer.models.options import QUESTION
from clinometer.models.providers import Price, price_of
from clinometer.models.server.chat import INSTRUCTION
from clinometer.topics import Topic

_BYTES, _AROUND = 3.6, 8
#: Cells whose prompts are measured.
_MEASURED = 200
#: The share of a budget that is planned with: an estimate may be off.
_PLANNED = 0.9
#: Replies per cell that a budget may choose: below, intervals are too narrow (docs/inference.md);
#: above, contexts are what limits the precision.
FEWEST_REPLIES, MOST_REPLIES = 10, 40


@dataclass(frozen=True)
class Cost:
    """Requests and tokens of a plan, at most."""

    cells: int
    replies: int
    read: int
    written: int
    price: Price | None

    @property
    def money(self) -> float | None:
        return None if self.price is None else self.price.of(self.read, self.written)

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.cells + other.cells,
            self.replies + other.replies,
            self.read + other.read,
            self.written + other.written,
            self.price,
        )

    def part(self, share: float) -> Cost:
        """The cost of a share of the cells."""
        cells, replies = round(self.cells * share), round(self.replies * share)
        return Cost(
            cells, replies, round(self.read * share), round(self.written * share), self.price
        )

    def sentence(self) -> str:
        """
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
    """What an audit of a served model costs at most; None where no replies are sampled."""
    spec = model if isinstance(model, ModelSpec) else ModelSpec.parse(model)
    if load.sampled is None or spec.place is not ModelSource.SERVER:
        return None
    cells = len(topic) * len(contexts)
    size = _tokens_a_prompt(topic, contexts, question=load.chat_request == QUESTION)
    replies = cells * load.sampled.replies
    price = price_of(spec.target, load.server.price)
    return Cost(cells, replies, round(replies * size), replies * load.sampled.tokens, price)


def within_budget(
    model: str | ModelSpec,
    topic: Topic,
    source: ContextSet,
    load: LoadOptions,
    *,
    most: int | None,
    a_context: int,
) -> tuple[int, int]:
    """Contexts and replies that are most precise for the budget; `most` contexts are allowed, each
    of which is asked in `a_context` cells.

    Replies that were given are kept.
    """
    budget, sampled = load.server.budget, load.sampled
    contexts = len(source) if most is None else min(most, len(source))
    one = estimate_cost(model, topic, source, load)
    if budget is None or sampled is None or one is None:
        raise SettingsError(
            "--budget: expected a model that is asked for replies, such as openai/NAME or "
            "openai:URL#MODEL; leave it out"
        )
    if one.money is None:
        raise SettingsError("--budget: the price of this model is not known; add --price")
    a_reply = one.money / one.replies
    affordable = int(budget * _PLANNED / a_reply / a_context) if a_reply else 1 << 40
    fixed = (sampled.replies, sampled.replies)
    chosen = _contexts_and_replies(
        affordable,
        contexts,
        replies=(FEWEST_REPLIES, MOST_REPLIES) if sampled.automatic else fixed,
    )
    if chosen is None:
        least = 2 * a_context * a_reply * (FEWEST_REPLIES if sampled.automatic else fixed[0])
        raise SettingsError(
            f"--budget: expected at least {money(least / _PLANNED)} for {len(topic)} groups in two "
            f"contexts, found {budget:g}; ask fewer groups (--groups)"
        )
    return chosen


def _contexts_and_replies(
    affordable: int, contexts: int, *, replies: tuple[int, int]
) -> tuple[int, int] | None:
    """Contexts, and replies in each, that give the narrowest interval for the replies
    that can be paid per group.

    The variance of a mean is (S^2 + 1/(4 r)) / n with n contexts of r replies each: S between
    contexts (SPREAD), and at most 1/4 of a reply that is yes or no. Contexts come first; replies
    are added where all of them are asked. None if not even two contexts can be paid.

    >>> [_contexts_and_replies(n, 80, replies=(10, 40)) for n in (500, 5000)]
    [(50, 10), (80, 40)]
    """
    least, most = replies
    choices = [(min(contexts, affordable // r), r) for r in range(least, most + 1)]
    possible = [(n, r) for n, r in choices if n >= min(2, contexts)]
    if not possible:
        return None
    return min(possible, key=lambda nr: (SPREAD**2 + 1 / (4 * nr[1])) / nr[0])


def _tokens_a_prompt(topic: Topic, contexts: ContextSet, *, question: bool) -> float:
    """The mean over some cells, spread over the grid."""
    cells = len(topic) * len(contexts)
    some = range(0, cells, max(1, cells // _MEASURED))
    rendered = (
        topic.render(contexts.templates[cell % len(contexts)], topic.groups[cell // len(contexts)])
        for cell in some
    )
    texts = [p.before if question else INSTRUCTION.format(p.before) for p in rendered]
    return sum(len(text.encode()) for text in texts) / len(texts) / _BYTES + _AROUND
