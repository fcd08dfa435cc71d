"""The options of clinometer audit, in groups: what each may be, and what its help says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.cli.parameters import CLUSTER, LEVEL, NORM, RAW, REPLICATES, SEED, TWO_WAY

MODELS = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL...",
        help="smollm2, pocket:NAME, reference:unbiased|stereotyped|random, a folder, a .gguf "
        "file, a Hugging Face id, a server openai:URL#MODEL, or vllm:MODEL.",
    ),
]
SUITE = Annotated[
    str | None,
    typer.Option(help="The models of a paper's table that are at hand, such as bvf-gender."),
]
TOPIC = Annotated[str, typer.Option(help="A built-in topic or a .toml file.")]
CONTEXTS = Annotated[
    str | None,
    typer.Option(
        help="A source (wikipedia, book, conversation, textbook, web), a built-in context set "
        "or a .csv file.  [default: paper-TOPIC]"
    ),
]
OUT = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Run folder; with several models, one folder per model under it.  "
        "[default: runs/MODEL-TOPIC-CONTEXTS]",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Which of the contexts are asked."""

    max_contexts: Annotated[
        int | None,
        number_option(ranges.COUNT, "Sample so many contexts by weight.  [default: all]"),
    ] = None
    precision: Annotated[
        float | None,
        number_option(
            ranges.POSITIVE,
            "Sample contexts by weight until R, Rᵇ and Rᵛ are known to ± this (at most "
            "--max-contexts samples).",
        ),
    ] = None
    seed: SEED = 0


@dataclass(frozen=True, kw_only=True)
class Load:
    """How a model is opened."""

    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto"
    dtype: Annotated[
        str, typer.Option(help="auto, float32, bfloat16 or float16 (auto: float32 on a CPU).")
    ] = "auto"
    batch_size: Annotated[
        str, typer.Option(help="Tokens in a batch; never moves a number beyond rounding.")
    ] = "auto"
    kind: Annotated[
        str | None,
        typer.Option(help="causal, masked, seq2seq or permutation, if it is not told rightly."),
    ] = None
    revision: Annotated[str | None, typer.Option(help="Revision on the hub.")] = None


@dataclass(frozen=True, kw_only=True)
class WordFlags:
    """What counts as a word, and how exactly it is scored."""

    tolerance: Annotated[
        float,
        number_option(
            ranges.TOLERANCE,
            "How far unexpanded words may move a preference; 0 scores every word.",
        ),
    ] = 1e-4
    end_of_word: Annotated[
        bool,
        typer.Option("--end-of-word", help="Count a word only where it ends (not he in hero)."),
    ] = False
    single_token: Annotated[
        bool,
        typer.Option("--single-token", help="The papers' restriction to words of a single token."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What is computed from the answers."""

    norm: NORM = "inf"
    raw: RAW = False
    coverage_threshold: Annotated[
        float,
        number_option(
            ranges.SHARE_BELOW_1, "Flag cells whose words hold less probability than this."
        ),
    ] = 1e-3
    replicates: REPLICATES = 2000
    level: LEVEL = 0.95
    cluster: CLUSTER = None
    two_way: TWO_WAY = False


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a model is asked, other than word by word in raw contexts; and large models."""

    chat: Annotated[
        bool,
        typer.Option(
            "--chat",
            help="Ask inside the chat template as well: the sentence begun as the assistant's "
            "turn, side by side with the raw contexts.",
        ),
    ] = False
    chat_request: Annotated[str, typer.Option(help="What the user says in the chat template.")] = (
        "Write a sentence."
    )
    sampled: Annotated[
        int | None,
        number_option(
            ranges.SAMPLES,
            "Sample so many answers in each context instead of reading probabilities.",
        ),
    ] = None
    temperature: Annotated[
        float, number_option(ranges.TEMPERATURE, "Temperature of the samples.")
    ] = 1.0
    device_map: Annotated[
        str | None, typer.Option(help="auto: spread a large model over all GPUs.")
    ] = None
    quantize: Annotated[
        str | None, typer.Option(help="8bit: weights in 8 bits (bitsandbytes).")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Server:
    """How a server is asked; the names are those of `models.ServerOptions`."""

    tokenizer: Annotated[
        str | None,
        typer.Option(help="Tokenizer of a server's model, if the server has none to offer."),
    ] = None
    route: Annotated[
        str | None,
        typer.Option(
            help="How a server is asked: token-ids, prompt-logprobs, echo, boost, boost-plain, "
            "force or top-k.  [default: the first that works]"
        ),
    ] = None
    top_k: Annotated[
        int,
        number_option(
            ranges.COUNT, "Tokens asked for where a server tells only the most probable."
        ),
    ] = 100
    concurrency: Annotated[int, number_option(ranges.COUNT, "Requests under way at a time.")] = 8
    timeout: Annotated[
        float, number_option(ranges.POSITIVE, "Seconds that one request may take.")
    ] = 60.0
    patience: Annotated[
        float,
        number_option(
            ranges.POSITIVE, "Seconds without an answer after which a server counts as gone."
        ),
    ] = 60.0
    max_requests: Annotated[
        int | None,
        number_option(
            ranges.COUNT, "Stop cleanly after so many requests; the same command continues."
        ),
    ] = None
    max_tokens: Annotated[
        int | None, number_option(ranges.COUNT, "The same for tokens, as the server counts them.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Trust:
    """What may run code of others."""

    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with a model.")
    ] = False
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Read pickled weights, which can run code.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """All that becomes `runs.AuditSettings` (see audit_settings.py), in the order of the help."""

    draw: Draw
    load: Load
    words: WordFlags
    measure: Measure
    manner: Manner
    server: Server
    trust: Trust


@dataclass(frozen=True, kw_only=True)
class Again:
    """What becomes of a run that is there, and of scores that are known."""

    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over instead of continuing the run.")
    ] = False
    replay: Annotated[
        bool,
        typer.Option(
            "--replay", help="Compute every number anew from the stored scores; opens no model."
        ),
    ] = False
    no_cache: Annotated[
        bool,
        typer.Option("--no-cache", help="Score every cell, also those this machine has scored."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Where the model runs."""

    executor: Annotated[
        str, typer.Option(help="Where the model runs: local, or ray (see docs/cluster.md).")
    ] = "local"
    workers: Annotated[
        int | None,
        number_option(ranges.COUNT, "ray: the most workers at a time.  [default: all that fit]"),
    ] = None
    worker_cpus: Annotated[
        float | None,
        number_option(
            ranges.POSITIVE, "ray: cores of a worker.  [default: 1 with a GPU, else a node's]"
        ),
    ] = None
    worker_gpus: Annotated[
        float | None,
        number_option(
            ranges.NOT_NEGATIVE, "ray: GPUs of a worker.  [default: 1 where there are any]"
        ),
    ] = None
