"""How a model is opened and how words are scored; nothing here depends on torch."""

from __future__ import annotations

from dataclasses import dataclass

from tiltmeter.errors import SettingsError

KINDS = ("causal", "masked", "seq2seq", "permutation")
DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """Where and how a model runs. None of these but `kind` and `dtype` may move a number.

    trust_remote_code and allow_pickle run somebody else's code on this machine: off unless asked.
    """

    kind: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None
    batch_tokens: int | None = None
    trust_remote_code: bool = False
    allow_pickle: bool = False

    def __post_init__(self) -> None:
        _one_of("kind", self.kind, (None, *KINDS))
        _one_of("dtype", self.dtype, DTYPES)
        if self.device.split(":")[0] not in DEVICES:
            _one_of("device", self.device, DEVICES)
        if self.batch_tokens is not None and self.batch_tokens < 1:
            raise SettingsError(f"batch size: expected at least 1 token, found {self.batch_tokens}")


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
        if not 0.0 <= self.tolerance < 0.5:
            raise SettingsError(
                f"tolerance: expected a number from 0 up to 0.5, found {self.tolerance}"
            )


def _one_of(name: str, value: str | None, allowed: tuple[str | None, ...]) -> None:
    if value not in allowed:
        known = ", ".join(str(a) for a in allowed if a is not None)
        raise SettingsError(f"{name}: expected one of {known}; found {value!r}")
