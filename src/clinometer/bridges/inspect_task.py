"""What Inspect finds under the name clinometer: the task audit, its scorer and its metric.

inspect eval clinometer/audit -T topic=gender -T contexts=wikipedia -T replies=10 --model …
"""

from __future__ import annotations

from typing import Any, Literal

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from clinometer.bridges.inspect import KEY, InspectAudit, ReplyReader, risks_of
from clinometer.measure.risks import MEASURES
from clinometer.models.options import SampleOptions
from clinometer.models.sampled import seed_for
from clinometer.models.server.request import INSTRUCTION, NO_CUTS
from clinometer.runs.resolve import resolve
from clinometer.topics import load_topic, parse_topic
from clinometer.topics.load import choose_groups
from clinometer.topics.toml_text import topic_text

#: The value of a reply that is not one of the categories.
NONE = "none"

#: Providers that continue a text; the others take part in a conversation.
COMPLETIONS = ("openai-api-completions", "vllm-completions")
#: Providers whose servers know how not to cut off the tail of a distribution. Others refuse what
#: they do not know.
_UNCUT = (*COMPLETIONS, "openai-api", "vllm", "sglang", "llama-cpp-python")


@task
def audit(
    topic: str = "gender",
    contexts: str | None = None,
    groups: str | list[str] | None = None,
    replies: int = 10,
    max_contexts: int | None = None,
    temperature: float = 1.0,
    reply_tokens: int | None = None,
    seed: int = 0,
) -> Task:
    """Ask about every group in every context, and split the risk into bias and volatility.

    Args:
        topic: a built-in topic or a .toml file; of sentences or of questions.
        contexts: a source (wikipedia, book, …), a built-in context set or a .csv or .txt file.
        groups: only these groups of the topic, separated by commas.
        replies: sampled replies per group and context, as epochs.
        max_contexts: sample at most this many contexts by weight.
        temperature: of the replies.
        reply_tokens: tokens of a reply at most; as the topic says, or 8.
        seed: of the replies and of sampled contexts.
    """
    asked = load_topic(topic)
    if groups is not None:  # -T groups=a,b is a list to Inspect, -T groups=a a text
        asked = choose_groups(
            asked, groups if isinstance(groups, str) else ",".join(groups)
        )
    chosen = resolve(
        {"max_contexts": max_contexts, "seed": seed}, asked, contexts
    ).contexts
    if reply_tokens is None and asked.readout is not None:
        reply_tokens = asked.readout.length
    options = SampleOptions(
        replies=replies, temperature=temperature, reply_tokens=reply_tokens, seed=seed
    )
    made = InspectAudit(asked, chosen, options)
    samples = [
        Sample(input=text, id=about["cell"] + 1, metadata=about)
        for text, about in made.samples()
    ]
    reference = (
        list(asked.reference) if isinstance(asked.reference, tuple) else asked.reference
    )
    return Task(
        dataset=MemoryDataset(samples, name=f"{asked.name}-{made.contexts.name}"),
        solver=reply(
            seed=seed,
            temperature=temperature,
            reply_tokens=options.tokens,
            question=asked.readout is not None,
        ),
        scorer=readout(topic=topic_text(asked)),
        metrics=[risks(categories=list(asked.categories), reference=reference)],
        epochs=Epochs(replies),
        metadata={KEY: made.metadata()},
        version=1,
    )


@solver
def reply(
    seed: int = 0,
    temperature: float = 1.0,
    reply_tokens: int = 8,
    question: bool = False,
) -> Solver:
    """Have the model answer the question, or continue the text; epoch n is reply n of
    `clinometer audit --replies`."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        text, provider = state.input_text, state.model.api
        as_it_is = question or provider in COMPLETIONS
        state.messages = [
            ChatMessageUser(content=text if as_it_is else INSTRUCTION.format(text))
        ]
        config = GenerateConfig(  # the model's own distribution, one seed a reply
            temperature=temperature,
            max_tokens=reply_tokens,
            top_p=1.0,
            seed=seed_for(seed, state.epoch - 1, text),
            extra_body=dict(NO_CUTS) if provider in _UNCUT else None,
        )
        return await generate(state, **config.model_dump(exclude_none=True))

    return solve


@metric(scores="unreduced")
def risks(
    categories: list[str], reference: list[float] | Literal["group-mean"] | None = None
) -> Metric:
    """R, bias risk and volatility risk of the replies, each with its 95 % interval.

    `read` is the share of replies that are a category. Fewer than some 3 of them per cell have no
    risk that could be told from chance, and then there is no R.
    """

    def computed(scores: list[SampleScore]) -> dict[str, float]:
        replies = [
            (
                one.sample_metadata or {},
                None if one.score.value == NONE else one.score.as_str(),
            )
            for one in scores
        ]
        report = risks_of(replies, categories, reference)
        risks = (
            {} if report is None else {name: report.summary[name] for name in MEASURES}
        )
        read = sum(category is not None for _, category in replies) / len(replies)
        ends = {
            f"{name}_{end}": value
            for name, estimate in risks.items()
            for end, value in (("low", estimate.low), ("high", estimate.high))
            if value is not None
        }
        # The first five stand in the head of Inspect View.
        return {
            **{name: one.value for name, one in risks.items()},
            "read": read,
            **ends,
        }

    return computed


@scorer(metrics=[])
def readout(topic: str) -> Scorer:
    """The category of a reply, by the rules of a topic, which is given as the text of its file."""
    reader = ReplyReader(parse_topic(topic, where="the topic of the task"))

    async def score(state: TaskState, target: Target) -> Score:
        category, word = reader.read(
            state.output.completion,
            group=state.metadata["group"],
            template=state.metadata["context"],
        )
        about: dict[str, Any] = {} if category is not None else {"why": word}
        return Score(value=category or NONE, answer=word, metadata=about or None)

    return score
