"""How a model is opened and how words are scored; nothing here depends on torch."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, field, replace
from functools import partial
from typing import Any

from clinometer.errors import SettingsError
from clinometer.models.providers import given_price
from clinometer.settings import (
    COUNT,
    POSITIVE,
    SAMPLES,
    SEED,
    TEMPERATURE,
    TOLERANCE,
    check_settings,
    option,
)
from clinometer.storage.untrusted import Allowed

KINDS = ("causal", "masked", "seq2seq", "permutation")
DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("auto", "float32", "bfloat16", "float16")
QUANTIZATIONS = ("8bit",)
#: How much a model may reason before it answers, as OpenAI and those who follow it call it.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
#: How a server can be queried, in the order in which it is tried.
ROUTES = (
    "token-ids",
    "generate",
    "prompt-logprobs",
    "echo",
    "boost",
    "boost-plain",
    "force",
    "top-k",
    "ollama",
)

#: The user's message in a chat template where the prompts are questions.
QUESTION = "[question]"
#: Replies per context from a server without log-probabilities, if no number is given: with fewer,
#: intervals are too narrow (docs/inference.md).
AUTOMATIC_REPLIES = 10
#: Tokens of a sampled answer, unless the topic says otherwise.
FEW_TOKENS = 8
#: How far words that were not expanded may move a preference, unless a tolerance is given.
DEFAULT_TOLERANCE = 1e-3

_model = partial(option, panel="Model", advanced=True)
_question = partial(option, panel="Question", advanced=True)
_server = partial(option, panel="Servers", advanced=True)


def parse_batch_tokens(text: str) -> int | None:
    """Tokens per batch as they are typed: a number, or auto."""
    if text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise SettingsError(f"--batch-tokens: expected auto or a number of tokens, found {text!r}")
    return int(text)


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How a server is queried. Only `route`, `top_k` and `tokenizer` may change a number."""

    tokenizer: str | None = _server(
        None, help="Local tokenizer (folder, hub id or .gguf file).", unset="the server's own"
    )
    route: str | None = _server(
        None,
        help=f"How to get log-probabilities: {', '.join(ROUTES[:-1])} or {ROUTES[-1]}.",
        choices=ROUTES,
        unset="the first that works",
    )
    top_k: int = _server(
        100,
        help="Tokens to request from a server that returns only the most probable ones.",
        allowed=COUNT,
    )
    concurrency: int = _server(
        64, help="Most concurrent requests; as many as the server keeps up with.", allowed=COUNT
    )
    timeout: float = _server(60.0, help="Timeout of one request, in seconds.", allowed=POSITIVE)
    patience: float = _server(
        60.0, help="Give up on a server after this many seconds without a reply.", allowed=POSITIVE
    )
    max_requests: int | None = _server(
        None,
        help="Stop cleanly after this many requests; rerun to resume.",
        allowed=COUNT,
        unset="no limit",
    )
    max_tokens: int | None = _server(
        None,
        help="Stop cleanly after this many tokens, as the server counts them; rerun to resume.",
        allowed=COUNT,
        unset="no limit",
    )
    price: str | None = _server(
        None,
        help="Price of a million tokens, or READ/WRITTEN such as 0.15/0.60.",
        unset="the provider's, where it is known",
    )
    budget: float | None = _server(
        None,
        help="Most to pay for the run: decides contexts and replies, and stops in time.",
        allowed=POSITIVE,
        advanced=False,
        unset="no limit",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.price is not None:
            given_price(self.price)


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """Sampled answers instead of log-probabilities; `automatic`: only where there are none."""

    replies: int = _question(
        MISSING,
        help="Sample this many replies per context instead of reading log-probabilities.",
        allowed=SAMPLES,
        advanced=False,
    )
    temperature: float = _question(
        1.0, help="Sampling temperature (with --replies).", allowed=TEMPERATURE
    )
    reply_tokens: int | None = _question(
        None,
        help="Most tokens of a sampled reply; models that reason first need more.",
        allowed=COUNT,
        unset="8, or what the topic says",
    )
    effort: str | None = _question(
        None,
        help=f"How much a hosted model reasons before a reply: {', '.join(EFFORTS)}.",
        choices=EFFORTS,
        unset="the model's default",
    )
    seed: int = _question(0, help="Random seed.", allowed=SEED)
    automatic: bool = False

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def tokens(self) -> int:
        """The most tokens of a reply."""
        return FEW_TOKENS if self.reply_tokens is None else self.reply_tokens


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """Where and how a model runs; `trust_remote_code` and `allow_pickle` run others' code, and
    `allow_code` and `allow_model` let a topic or an adapter name a function or an address. `begun`:
    what the run that is resumed has learnt about its server (request) and used of it (usage)."""

    kind: str | None = _model(
        None,
        help=f"Override the detected architecture: {', '.join(KINDS[:-1])} or {KINDS[-1]}.",
        choices=KINDS,
        unset="detected",
    )
    device: str = _model("auto", help="auto, cpu, cuda, cuda:N or mps.", advanced=False)
    dtype: str = _model(
        "auto",
        help="auto, float32, bfloat16 or float16 (auto: float32 on a CPU).",
        choices=DTYPES,
    )
    revision: str | None = _model(None, help="Revision on the Hugging Face Hub.", unset="latest")
    batch_tokens: int | None = _model(
        None,
        help="Tokens per batch; changes preferences by rounding: about 1e-6 in float32, 0.002 to "
        "0.04 in bfloat16.",
        allowed=COUNT,
        typed="auto",
        parse=parse_batch_tokens,
    )
    device_map: str | None = _model(
        None, help="auto: spread a large model over all GPUs, then main memory.", choices=("auto",)
    )
    quantize: str | None = _model(
        None, help="8bit: load the weights in 8 bits (bitsandbytes).", choices=QUANTIZATIONS
    )
    chat: bool = _question(
        False,
        help="Also score inside the chat template, with the sentence as the start of the "
        "assistant's turn; questions are asked there alone.",
        advanced=False,
    )
    chat_request: str = _question(
        "Write a sentence.", help="The user's message in the chat template."
    )
    sampled: SampleOptions | None = None
    server: ServerOptions = field(default_factory=ServerOptions)
    trust_remote_code: bool = _model(
        False, help="Allow Python code that ships with a model to run."
    )
    allow_pickle: bool = _model(False, help="Allow pickled weights, which can run arbitrary code.")
    allow_code: str | None = _model(
        None,
        help="Run this function of yours, module:name, where the topic names it.",
        unset="a topic runs no code",
    )
    allow_model: str | None = _model(
        None,
        help="Ask or download this model where a topic or an adapter names it: a judge behind an "
        "address, a base model on the hub.",
        unset="only models on this machine",
    )
    begun: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.device.split(":")[0] not in DEVICES:
            known = ", ".join(DEVICES)
            raise SettingsError(f"device: expected one of {known}; found {self.device!r}")

    @property
    def allowed(self) -> Allowed:
        """What files may name."""
        return Allowed(self.allow_code, self.allow_model)

    def resumed(self, dtype: str) -> LoadOptions:
        """These options for a run that was begun in `dtype`: `auto` is decided once in the life of
        a run, so that on another device it resumes in the same precision."""
        auto = self.dtype == "auto" and dtype in DTYPES
        return replace(self, dtype=dtype) if auto else self

    def scoring(self) -> dict[str, object]:
        """Those that change a score, by name; the ones of later versions only where they are set,
        so that earlier runs can still be continued."""
        named: dict[str, object] = {
            "load.kind": self.kind,
            "load.dtype": self.dtype,
            "load.revision": self.revision,
        }
        if self.quantize is not None:
            named["load.quantize"] = self.quantize
        if self.chat:
            named["load.chat"] = self.chat_request
        if self.sampled is not None:
            named["load.sampled"] = {**asdict(self.sampled), "reply_tokens": self.sampled.tokens}
        for name in ("tokenizer", "route"):
            value = getattr(self.server, name)
            if value is not None:
                named[f"load.server.{name}"] = value
        if self.server.route in ("top-k", "ollama"):
            named["load.server.top_k"] = self.server.top_k
        return named


@dataclass(frozen=True, kw_only=True)
class WordOptions:
    """What counts as the probability of a word; `first_token`: that of its first token alone."""

    tolerance: float | None = _question(
        None,
        help="How far skipping improbable words may move a preference; 0 scores every word.",
        allowed=TOLERANCE,
        unset="0.001, or what the run was begun with",
    )
    end_of_word: bool = _question(
        False,
        help="Count a word only where it ends (not the he in hero); for causal and seq2seq models.",
    )
    single_token: bool = _question(
        False, help="Leave out words of several tokens, as the papers do."
    )
    first_token: bool = False

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def effective_tolerance(self) -> float:
        """The tolerance, given or not."""
        return DEFAULT_TOLERANCE if self.tolerance is None else self.tolerance
