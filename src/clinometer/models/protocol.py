"""What every kind of model promises: prompts and words in, log-probabilities out.

A scorer rates given words; a writer chooses its own. Whole texts are scored without a slot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from clinometer.errors import ModelError
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.topics import Prompt

if TYPE_CHECKING:
    from clinometer.models.client.client import Client
    from clinometer.storage.resumable import ReplyLog


@dataclass(frozen=True)
class ModelInfo:
    """What a run records about its model.

    `kind` is one of reference, causal, masked, seq2seq, permutation, server, sampled; `revision`
    pins the weights (a hub commit, a digest of a local folder's files, or of what a server says of
    its model); `notes` are sentences for the reader of a report; `request` is what a server is sent
    besides the text, and what it refused.
    """

    name: str
    kind: str
    revision: str
    dtype: str = "float64"
    device: str = "cpu"
    parameters: int | None = None
    notes: tuple[str, ...] = ()
    request: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        plain = {**vars(self), "notes": list(self.notes)}
        if not self.request:
            del plain["request"]
        return {"id": plain.pop("name"), **plain}


@dataclass(frozen=True)
class WordReport:
    """How one tokenizer handles the words of a topic.

    Nothing is dropped silently: a word that the model cannot write, one with the same tokens as
    another, or one left out by the single-token restriction is listed here, and its column of
    log-probabilities is minus infinity.
    """

    tokens: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unwritable: tuple[str, ...] = ()
    same_tokens: Mapping[str, str] = field(default_factory=dict)
    restricted: tuple[str, ...] = ()
    prefixes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def left_out(self) -> frozenset[str]:
        """Words whose column has no separate probability."""
        return (
            frozenset(self.unwritable)
            | frozenset(self.restricted)
            | frozenset(self.same_tokens)
        )

    def counts(self) -> dict[str, int]:
        """Number of words under each rule; words of several tokens are the normal case."""
        return {
            "words_unwritable": len(self.unwritable),
            "words_same_tokens": len(self.same_tokens),
            "words_single_token_restriction": len(self.restricted),
            "words_prefix_of_another": len(self.prefixes),
            "words_of_several_tokens": sum(len(t) > 1 for t in self.tokens.values()),
        }


@dataclass(frozen=True)
class WordScores:
    """Scores of P prompts and V words.

    log_probs [P, V]
        natural log of the probability of each word at the slot (with the text after the slot, where
        a causal model has to read on); minus infinity for a word without probability or one whose
        expansion was skipped.
    log_coverage [P]
        log of the probability that any of the words fills the slot.
    skipped [P]
        how far the words that were not expanded can move a preference at most, times the
        probability in log_coverage; 0 when every word is exact. Where it is not known which word
        counts for which category: an upper bound on the total probability of these words.
    log_upper [P, V]
        if only bounds are known (a server that returns the k most probable tokens): log_probs is
        the lower bound, this the upper; None if log_probs is exact.
    draws [P, n]
        the texts that were counted, if the model was sampled instead of scored.
    unread [P, 3]
        of replies to a question: how many were no category (other, refusals, empty).
    """

    log_probs: FloatArray
    log_coverage: FloatArray
    skipped: FloatArray
    log_upper: FloatArray | None = None
    draws: tuple[tuple[str, ...], ...] | None = None
    unread: FloatArray | None = None

    def take(self, rows: IntArray) -> WordScores:
        """The scores of these prompts, in this order."""
        arrays = {
            n: v[rows] for n, v in vars(self).items() if isinstance(v, np.ndarray)
        }
        draws = None if self.draws is None else tuple(self.draws[i] for i in rows)
        return WordScores(**arrays, draws=draws)

    def widened(self, columns: Sequence[int], n_words: int) -> WordScores:
        """The same with a column for each of V words, without probability but for these."""

        def wide(values: FloatArray) -> FloatArray:
            whole = np.full((len(values), n_words), -np.inf)
            whole[:, list(columns)] = values
            return whole

        upper = None if self.log_upper is None else wide(self.log_upper)
        return replace(self, log_probs=wide(self.log_probs), log_upper=upper)

    @classmethod
    def scattered(
        cls, parts: Iterable[tuple[IntArray, WordScores]], n_prompts: int
    ) -> WordScores:
        """Put parts in their places as they arrive; each comes with the numbers of its prompts."""
        whole: dict[str, Any] = {}
        for members, part in parts:
            for name, values in vars(part).items():
                if values is not None:
                    if name not in whole:
                        whole[name] = np.empty((n_prompts, *values.shape[1:]))
                    whole[name][members] = values
        return cls(**whole)

    @classmethod
    def joined(cls, parts: Sequence[WordScores]) -> WordScores:
        """Concatenate scores of different prompts for the same words."""
        if len(parts) == 1:
            return parts[0]
        values: dict[str, list[Any]] = {}
        for name, value in chain.from_iterable(vars(part).items() for part in parts):
            if value is not None:
                values.setdefault(name, []).append(value)
        draws = tuple(chain.from_iterable(values.pop("draws", ()))) or None
        return cls(**{n: np.concatenate(v) for n, v in values.items()}, draws=draws)


class Scorer(ABC):
    """Every kind of model, with what most of them leave as it is; `client` is that of a model that
    is asked elsewhere."""

    info: ModelInfo
    client: Client | None = None
    log: ReplyLog | None = None

    @abstractmethod
    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """How the model writes the words, before anything is scored."""

    @abstractmethod
    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None = None,
    ) -> WordScores:
        """Log-probability of every word at the slot of every prompt.

        `counts` [V, Y] is how much each word counts for each category: words that matter little to
        these need not be scored. Without it, any word may count for any category.
        """

    def generate(self, prompts: Sequence[Prompt]) -> tuple[tuple[str, ...], ...]:
        """Sampled replies to every prompt, of a model whose kind is `sampled`; of others an
        error."""
        raise ModelError(
            f"{self.info.name}: its words are scored, and it was opened without --replies"
        )

    @property
    def blocks_at_once(self) -> int:
        """How many calls of `score` should be under way at a time."""
        # Two, so that one has its first batch ready when the other runs out of batches. A CPU's
        # cores are busy as they are.
        return 2 if self.info.device.startswith("cuda") else 1

    def keep(self, log: ReplyLog) -> None:
        """Keep replies in the log as they arrive, and ask for none that it has."""
        if self.client is not None:
            self.log = log
            self.client.before_request = log.note

    def halt(self) -> None:
        """Begin nothing more; what is under way arrives."""
        if self.client is not None:
            self.client.halt()

    def usage(self) -> dict[str, int]:
        """Requests and tokens used so far; empty if nothing is counted."""
        return {} if self.client is None else self.client.usage()

    def close(self) -> None:
        """Release resources: connections and files."""
        if self.client is not None:
            self.client.close()
        if self.log is not None:
            self.log.close()


#: (role, what was said); roles are user and assistant in turn, after system if there is one.
Turn = tuple[str, str]


class Writer(Protocol):
    """Protocol for models that reply to a conversation."""

    info: ModelInfo

    def write(
        self,
        turns: Sequence[Turn],
        *,
        n: int = 1,
        temperature: float = 1.0,
        seed: int = 0,
        length: int = 128,
    ) -> list[str]:
        """n one-line replies of at most `length` tokens; temperature 0 decodes greedily.

        Everything after the first line that contains a word is dropped.
        """


# --- Whole texts: which tokens count, and the scores that come back -------------------------------


Masking = Literal["within_word_l2r", "original"]

#: Why a text has no score.
TOO_LONG = "too_long"
NOTHING_TO_SCORE = "nothing_to_score"


@dataclass(frozen=True)
class MarkedText:
    """A text and the character spans of its target terms."""

    text: str
    targets: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Which tokens of a text are scored, and what the model sees.

    masking         how a word of several pieces is hidden from a masked model: `within_word_l2r`
                    hides the piece and those to its right (Kauf & Ivanova 2023), so that no piece
                    is given away by its own word; `original` hides one piece at a time (Salazar et
                    al. 2020)
    targets         tokens of target terms: `visible` and not scored, `masked` in every copy and not
                    scored, or `scored` like all others
    special_tokens  put the tokenizer's special tokens around the text (they are never scored)
    lower           lower-case the text first
    edges           whether the first and last of the tokens that would be scored are
    """

    masking: Masking = "within_word_l2r"
    targets: Literal["visible", "masked", "scored"] = "visible"
    special_tokens: bool = True
    lower: bool = False
    edges: bool = True


@dataclass(frozen=True)
class TextScores:
    """Scores of T texts.

    log_prob [T]   sum of the log-probabilities of the scored tokens; NaN without a score
    tokens [T]     how many tokens were scored
    unknown [T]    how many of them are the tokenizer's unknown token
    problem [T]    "" or why there is no score
    """

    log_prob: FloatArray
    tokens: IntArray
    unknown: IntArray
    problem: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.log_prob)

    def take(self, index: IntArray) -> TextScores:
        """Some of the texts, in the order of `index`; one may be taken many times."""
        return TextScores(
            self.log_prob[index],
            self.tokens[index],
            self.unknown[index],
            tuple(self.problem[i] for i in index.tolist()),
        )
