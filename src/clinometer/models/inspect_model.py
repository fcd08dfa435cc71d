"""Models behind Inspect's model interface: sampled, or by the most probable tokens that a provider
lists."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from clinometer.errors import SettingsError
from clinometer.extras import require
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.generation.sampled import SampledScorer, Sampler
from clinometer.models.generation.writer import seed_for
from clinometer.models.inspect_client import COMPLETIONS, InspectClient
from clinometer.models.inspect_tokens import FirstTokenScorer
from clinometer.models.options import QUESTION, LoadOptions, SampleOptions, WordOptions
from clinometer.models.protocol import ModelInfo, Scorer
from clinometer.models.server.sampler import NO_CUTS

#: Providers whose servers know how not to cut off the tail of a distribution. Others refuse what
#: they do not know.
_UNCUT = (*COMPLETIONS, "openai-api", "vllm", "sglang", "llama-cpp-python")


def open_inspect(spec: ModelSpec, *, load: LoadOptions, words: WordOptions) -> Scorer:
    """`inspect:PROVIDER/MODEL`, sampled or by its most probable tokens."""
    require(f"model {spec.name!r}", "inspect_ai")
    if load.chat:
        raise SettingsError(
            f"model {spec.name!r}: Inspect decides whether a model is asked in a conversation; "
            "leave out --chat"
        )
    client = InspectClient(spec.target, load.server, question=load.chat_request == QUESTION)
    info = ModelInfo(
        name=spec.name,
        kind="server",
        revision=f"as served, inspect-ai {version('inspect-ai')}",
        dtype="served",
        device="server",
    )
    if load.sampled is None:
        return FirstTokenScorer(client, info)
    return SampledScorer(InspectSampler(client), info, options=load.sampled, words=words)


def sampling_config(options: SampleOptions, provider: str, number: int, text: str) -> Any:
    """How Inspect samples reply `number` to a text: the model's own distribution, one seed each."""
    from inspect_ai.model import GenerateConfig

    return GenerateConfig(
        temperature=options.temperature,
        max_tokens=options.tokens,
        top_p=1.0,
        seed=seed_for(options.seed, number, text),
        extra_body=dict(NO_CUTS) if provider in _UNCUT else None,
    )


class InspectSampler(Sampler):
    """Asks for one reply per request."""

    def __init__(self, client: InspectClient) -> None:
        self.client = client

    def notes(self) -> tuple[str, ...]:
        return self.client.notes()

    def usage(self) -> dict[str, int]:
        return self.client.usage()

    def close(self) -> None:
        self.client.close()

    def draw(self, texts: Sequence[str], options: SampleOptions) -> list[list[str]]:
        asked = [
            (text, sampling_config(options, self.client.provider, i, text))
            for text in texts
            for i in range(options.draws)
        ]
        found = iter(self.client.ask(asked))
        return [[str(next(found).completion) for _ in range(options.draws)] for _ in texts]
