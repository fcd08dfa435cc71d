"""What Inspect finds under the name clinometer: the task audit, its scorer and its metric.

inspect eval clinometer/audit -T topic=gender -T contexts=wikipedia -T replies=10 --model …
"""

from __future__ import annotations

from typing import Literal

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from clinometer.bridges.inspect_audit import KEY, InspectAudit, ReplyReader, risks_of
from clinometer.measure.risks import MEASURES
from clinometer.models.options import SampleOptions
from clinometer.models.sampled import seed_for
from clinometer.models.server.request import INSTRUCTION, NO_CUTS
from clinometer.runs.resolve import resolve
from clinometer.topics import load_topic, parse_topic
from clinometer.topics.load import choose_groups
from clinometer.topics.toml_text import topic_text

NONE = "none"
"""The value of a reply that is not one of the categories."""

COMPLETIONS = ("openai-api-completions", "vllm-completions")
"""Providers that continue a text; the others take part in a conversation."""

_UNCUT = (*COMPLETIONS, "openai-api", "vllm", "sglang", "llama-cpp-python")
"""Providers whose servers know how not to cut off the tail of a distribution. Others refuse what
they do not know."""


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
    subject = load_topic(topic)
    if groups is not None:  # -T groups=a,b is a list to Inspect, -T groups=a a text
        names = groups if isinstance(groups, str) else ",".join(groups)
        subject = choose_groups(subject, names)
    sampling = {"max_contexts": max_contexts, "seed": seed}
    context_set = resolve(sampling, subject, contexts).contexts
    if reply_tokens is None and subject.readout.asks:
        reply_tokens = subject.readout.length
    options = SampleOptions(
        replies=replies, temperature=temperature, reply_tokens=reply_tokens, seed=seed
    )
    inspect_audit = InspectAudit(subject, context_set, options)
    samples = [
        Sample(input=text, id=metadata["cell"] + 1, metadata=metadata)
        for text, metadata in inspect_audit.samples()
    ]
    reference = subject.reference
    return Task(
        dataset=MemoryDataset(samples, name=f"{subject.name}-{context_set.name}"),
        solver=reply(
            seed=seed,
            temperature=temperature,
            reply_tokens=options.tokens,
            question=subject.readout.asks,
        ),
        scorer=readout(topic=topic_text(subject)),
        metrics=[
            risks(
                categories=list(subject.categories),
                reference=list(reference)
                if isinstance(reference, tuple)
                else reference,
            )
        ],
        epochs=Epochs(replies),
        metadata={KEY: inspect_audit.metadata()},
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
        text = state.input_text
        provider = state.model.api
        is_continued = not question and provider not in COMPLETIONS
        content = INSTRUCTION.format(text) if is_continued else text
        state.messages = [ChatMessageUser(content=content)]
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
    """Return R, bias risk and volatility risk of the replies, each with its 95 % interval.

    `read` is the share of replies that are a category. Fewer than some 3 of them per cell have no
    risk that could be told from chance, and then there is no R.
    """

    def computed(scores: list[SampleScore]) -> dict[str, float]:
        replies = [
            (sample.sample_metadata or {}, _category(sample)) for sample in scores
        ]
        n_read = sum(category is not None for _, category in replies)
        report = risks_of(replies, categories, reference)
        values: dict[str, float] = {}
        ends: dict[str, float] = {}
        if report is not None:
            for name in MEASURES:
                estimate = report.summary[name]
                values[name] = estimate.value
                if estimate.low is not None and estimate.high is not None:
                    ends[f"{name}_low"] = estimate.low
                    ends[f"{name}_high"] = estimate.high
        # The first five stand in the head of Inspect View.
        return {**values, "read": n_read / len(replies), **ends}

    return computed


def _category(score: SampleScore) -> str | None:
    """Return the category of a reply; None where it is none."""
    return None if score.score.value == NONE else score.score.as_str()


@scorer(metrics=[])
def readout(topic: str) -> Scorer:
    """Score a reply with its category, by the rules of a topic, which is given as the text of its
    file."""
    reader = ReplyReader(parse_topic(topic, where="the topic of the task"))

    async def score(state: TaskState, target: Target) -> Score:
        category, word = reader.read(
            state.output.completion,
            group=state.metadata["group"],
            template=state.metadata["context"],
        )
        why = None if category is not None else {"why": word}
        return Score(value=category or NONE, answer=word, metadata=why)

    return score
