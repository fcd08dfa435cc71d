"""How a model is opened and how words are scored; nothing here depends on torch."""

from __future__ import annotations

import hashlib
from dataclasses import MISSING, asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Strict

from clinometer.errors import SettingsError
from clinometer.models.prices import given_price
from clinometer.settings import (
    COUNT,
    POSITIVE,
    SAMPLES,
    SEED,
    TEMPERATURE,
    TOLERANCE,
    check_settings,
    option,
    option_settings,
)
from clinometer.storage.untrusted import MOST_RECORD, Allowed, read_bytes

KINDS = ("causal", "masked", "seq2seq", "permutation")
DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("auto", "float32", "bfloat16", "float16")
QUANTIZATIONS = ("8bit",)

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
"""How much a model may reason before it answers, as OpenAI and those who follow it call it."""

ROUTES = ("token-ids", "boost", "top-k")
"""How a server can be queried, in the order in which it is tried."""

QUESTION = "[question]"
"""The user's message in a chat template where the prompts are questions."""

AUTOMATIC_REPLIES = 10
"""Replies per context from a server without log-probabilities, if no number is given: with fewer,
intervals are too narrow (docs/inference.md)."""

FEW_TOKENS = 8
"""Tokens of a sampled answer, unless the topic says otherwise."""

DEFAULT_TOLERANCE = 1e-3
"""How far words that were not expanded may move a preference, unless a tolerance is given."""

_key = partial(option, key=True)
_words = partial(option, panel="Question", advanced=True)


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How a server is queried. Only `route`, `top_k` and `tokenizer` may change a number."""

    tokenizer: str | None = _key(
        None,
        help="Local tokenizer (folder, hub id or .gguf file).",
        unset="the server's own",
    )
    route: str | None = _key(
        None,
        help=f"How to get log-probabilities: {', '.join(ROUTES[:-1])} or {ROUTES[-1]}.",
        choices=ROUTES,
        unset="the first that works",
    )
    top_k: int = _key(
        100,
        help="Tokens to request from a server that returns only the most probable ones.",
        allowed=COUNT,
    )
    concurrency: int = _key(
        64,
        help="Most concurrent requests; as many as the server keeps up with.",
        allowed=COUNT,
    )
    timeout: float = _key(
        60.0, help="Timeout of one request, in seconds.", allowed=POSITIVE
    )
    patience: float = _key(
        60.0,
        help="Give up on a server after this many seconds without a reply.",
        allowed=POSITIVE,
    )
    max_requests: int | None = _key(
        None,
        help="Stop cleanly after this many requests; rerun to resume.",
        allowed=COUNT,
        unset="no limit",
    )
    max_tokens: int | None = _key(
        None,
        help="Stop cleanly after this many tokens, as the server counts them; rerun to resume.",
        allowed=COUNT,
        unset="no limit",
    )
    price: str | None = option(
        None,
        help="Price of a million tokens, or READ/WRITTEN such as 0.15/0.60.",
        panel="Servers",
        advanced=True,
        unset="the provider's, where it is known",
    )
    budget: float | None = option(
        None,
        help="Most to pay for the run: decides contexts and replies, and stops in time.",
        allowed=POSITIVE,
        panel="Servers",
        unset="no limit",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.price is not None:
            given_price(self.price)


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """Sampled answers instead of log-probabilities."""

    replies: int = option(
        MISSING,
        help="Sample this many replies per context instead of reading log-probabilities.",
        allowed=SAMPLES,
        panel="Question",
    )
    temperature: float = _key(
        1.0, help="Sampling temperature (with --replies).", allowed=TEMPERATURE
    )
    reply_tokens: int | None = _key(
        None,
        help="Most tokens of a sampled reply; models that reason first need more.",
        allowed=COUNT,
        unset="8, or what the topic says",
    )
    effort: str | None = _key(
        None,
        help=f"How much a hosted model reasons before a reply: {', '.join(EFFORTS)}.",
        choices=EFFORTS,
        unset="the model's default",
    )
    seed: int = option(
        0, help="Random seed.", allowed=SEED, panel="Question", advanced=True
    )
    automatic: bool = False
    """Whether answers are sampled only where there are no log-probabilities."""

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def tokens(self) -> int:
        """Return the most tokens of a reply."""
        return FEW_TOKENS if self.reply_tokens is None else self.reply_tokens


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """Where and how a model runs."""

    kind: str | None = _key(
        None,
        help=f"Override the detected architecture: {', '.join(KINDS[:-1])} or {KINDS[-1]}.",
        choices=KINDS,
        unset="detected",
    )
    device: str = option("auto", help="auto, cpu, cuda, cuda:N or mps.", panel="Model")
    dtype: str = _key(
        "auto",
        help="auto, float32, bfloat16 or float16 (auto: float32 on a CPU).",
        choices=DTYPES,
    )
    revision: str | None = _key(
        None, help="Revision on the Hugging Face Hub.", unset="latest"
    )
    batch_tokens: int | None = _key(
        None,
        help="Tokens per batch; changes preferences by rounding: about 1e-6 in float32, 0.002 to "
        "0.04 in bfloat16.",
        allowed=COUNT,
        unset="what fits into memory",
    )
    device_map: str | None = _key(
        None,
        help="auto: spread a large model over all GPUs, then main memory.",
        choices=("auto",),
    )
    quantize: str | None = _key(
        None,
        help="8bit: load the weights in 8 bits (bitsandbytes).",
        choices=QUANTIZATIONS,
    )
    steer: str | None = _key(
        None,
        help="File of a steering vector that study fixes made; causal models on this machine.",
    )
    chat: bool = option(
        False,
        help="Also score inside the chat template, with the sentence as the start of the "
        "assistant's turn; questions are asked there alone.",
        panel="Question",
    )
    chat_request: str = _key(
        "Write a sentence.", help="The user's message in the chat template."
    )
    sampled: SampleOptions | None = None
    server: ServerOptions = field(default_factory=ServerOptions)
    allow: Annotated[tuple[str, ...], Strict(False)] = option(
        (),
        help="Let a model, a topic or an adapter do what no file may by itself; may be repeated. "
        "remote-code: run Python code that ships with a model; pickle: read pickled weights, which "
        "can run code; code:MODULE:NAME: run this function of yours where the topic names it; "
        "model:NAME: ask or download this model where a topic, an adapter or a protocol names it; "
        "env:NAME: read this variable of the environment where an http: file names it.",
        panel="Model",
        advanced=True,
        unset="nothing",
    )
    begun: dict[str, Any] = field(default_factory=dict)
    """What the run that is resumed has learnt about its server (request) and used of it (usage).

    A key of run.json, like all fields of settings: another name would change files on disk.
    """

    def __post_init__(self) -> None:
        check_settings(self)
        if self.device.split(":")[0] not in DEVICES:
            raise SettingsError(
                f"device: expected one of {', '.join(DEVICES)}; found {self.device!r}"
            )
        Allowed.parse(self.allow)

    @property
    def allowed(self) -> Allowed:
        """Return what others' files may do and name."""
        return Allowed.parse(self.allow)

    def resumed(self, dtype: str) -> LoadOptions:
        """Return these options for a run that was begun in `dtype`.

        `auto` is decided once in the life of a run, so that on another device it resumes in the
        same precision.
        """
        if self.dtype == "auto" and dtype in DTYPES:
            return replace(self, dtype=dtype)
        return self

    def scoring(self) -> dict[str, object]:
        """Return the options that change a score, by name.

        Those of later versions are there only where they are set, so that earlier runs can still be
        continued.
        """
        settings: dict[str, object] = {
            "load.kind": self.kind,
            "load.dtype": self.dtype,
            "load.revision": self.revision,
        }
        if self.quantize is not None:
            settings["load.quantize"] = self.quantize
        if self.steer is not None:
            settings["load.steer"] = _digest(Path(self.steer))
        if self.chat:
            settings["load.chat"] = self.chat_request
        if self.sampled is not None:
            tokens = self.sampled.tokens
            settings["load.sampled"] = {**asdict(self.sampled), "reply_tokens": tokens}
        if self.server.tokenizer is not None:
            settings["load.server.tokenizer"] = self.server.tokenizer
        if self.server.route is not None:
            settings["load.server.route"] = self.server.route
        if self.server.route == "top-k":
            settings["load.server.top_k"] = self.server.top_k
        return settings


def _digest(file: Path) -> str:
    """Return a digest of what a file says, which its name does not."""
    try:
        return hashlib.sha256(read_bytes(file, most=MOST_RECORD)).hexdigest()[:16]
    except OSError as error:
        raise SettingsError(
            f"{file}: cannot be read: {error.strerror or error}"
        ) from error


LOAD_KEYS = [
    name for name, option in option_settings(LoadOptions).items() if option.key
]
"""What --load and the name of a model may set: KEY=VALUE."""


@dataclass(frozen=True, kw_only=True)
class WordOptions:
    """What counts as the probability of a word."""

    tolerance: float | None = _words(
        None,
        help="How far skipping improbable words may move a preference; 0 scores every word.",
        allowed=TOLERANCE,
        unset="0.001, or what the run was begun with",
    )
    single_token: bool = _words(
        False, help="Leave out words of several tokens, as the papers do."
    )

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def effective_tolerance(self) -> float:
        """Return the tolerance that was given, or the default."""
        return DEFAULT_TOLERANCE if self.tolerance is None else self.tolerance
