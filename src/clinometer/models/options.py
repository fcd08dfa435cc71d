"""How a model is opened and how words are scored; nothing here depends on torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from clinometer.errors import SettingsError
from clinometer.ranges import COUNT, POSITIVE, SAMPLES, SEED, TEMPERATURE, TOLERANCE

KINDS = ("causal", "masked", "seq2seq", "permutation")
DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("auto", "float32", "bfloat16", "float16")
QUANTIZATIONS = ("8bit",)
#: How a server can be asked, in the order in which it is tried.
ROUTES = ("token-ids", "prompt-logprobs", "echo", "boost", "boost-plain", "force", "top-k")


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How a server is asked. None of these but `route`, `top_k` and `tokenizer` may move a number.

    tokenizer      a local one (folder, hub id, .gguf); None asks the server's own
    route          one of ROUTES; None tries them in this order
    top_k          how many tokens are asked for where a server tells only the most probable ones
    concurrency    requests under way at a time
    timeout        seconds that one request may take
    patience       seconds without any answer after which the server counts as gone
    max_requests   stop cleanly before one more would be sent; the run can be continued
    max_tokens     the same for tokens read and written; requests under way are still counted
    """

    tokenizer: str | None = None
    route: str | None = None
    top_k: int = 100
    concurrency: int = 8
    timeout: float = 60.0
    patience: float = 60.0
    max_requests: int | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        _one_of("route", self.route, (None, *ROUTES))
        for name in ("top_k", "concurrency", "max_requests", "max_tokens"):
            if getattr(self, name) is not None:
                COUNT.check(name, getattr(self, name))
        for name in ("timeout", "patience"):
            POSITIVE.check(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """Draws instead of log-probabilities.

    draws         answers a prompt
    temperature   of the draws; 1 is the model's own distribution
    length        tokens of an answer
    seed          of the draws, where the model honours one
    """

    draws: int
    temperature: float = 1.0
    length: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        SAMPLES.check("sampled", self.draws)
        TEMPERATURE.check("temperature", self.temperature)
        COUNT.check("length", self.length)
        SEED.check("seed", self.seed)


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """Where and how a model runs.

    device_map         None, or "auto": spread over all GPUs and, where these are full, main memory
    quantize           None or "8bit" (bitsandbytes)
    chat               ask inside the chat template, the sentence begun as the assistant's turn
    chat_request       what the user says there
    sampled            draw answers instead of reading log-probabilities
    trust_remote_code, allow_pickle   run somebody else's code on this machine: off unless asked
    """

    kind: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None
    batch_tokens: int | None = None
    device_map: str | None = None
    quantize: str | None = None
    chat: bool = False
    chat_request: str = "Write a sentence."
    sampled: SampleOptions | None = None
    server: ServerOptions = field(default_factory=ServerOptions)
    trust_remote_code: bool = False
    allow_pickle: bool = False

    def __post_init__(self) -> None:
        _one_of("quantize", self.quantize, (None, *QUANTIZATIONS))
        _one_of("device map", self.device_map, (None, "auto"))
        _one_of("kind", self.kind, (None, *KINDS))
        _one_of("dtype", self.dtype, DTYPES)
        if self.device.split(":")[0] not in DEVICES:
            _one_of("device", self.device, DEVICES)
        if self.batch_tokens is not None:
            COUNT.check("batch_tokens", self.batch_tokens)

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
            named["load.sampled"] = asdict(self.sampled)
        for name in ("tokenizer", "route"):
            value = getattr(self.server, name)
            if value is not None:
                named[f"load.server.{name}"] = value
        if self.server.route == "top-k":
            named["load.server.top_k"] = self.server.top_k
        return named


@dataclass(frozen=True, kw_only=True)
class WordOptions:
    """What counts as the probability of a word.

    tolerance     how far leaving improbable words unexpanded may move a preference; 0 is exact
    end_of_word   require the word to end ("he" without the "he" of "hero"); causal and
                  sequence-to-sequence models
    single_token  the papers' restriction: words of several tokens are left out, and reported
    """

    tolerance: float = 1e-4
    end_of_word: bool = False
    single_token: bool = False

    def __post_init__(self) -> None:
        TOLERANCE.check("tolerance", self.tolerance)


def _one_of(name: str, value: str | None, allowed: tuple[str | None, ...]) -> None:
    if value not in allowed:
        known = ", ".join(str(a) for a in allowed if a is not None)
        raise SettingsError(f"{name}: expected one of {known}; found {value!r}")
