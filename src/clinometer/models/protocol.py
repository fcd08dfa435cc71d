"""What every kind of model promises: prompts and words in, log-probabilities out.

A scorer rates given words; a writer chooses its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from clinometer.errors import ModelError
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.topics import Prompt

if TYPE_CHECKING:
    from clinometer.models.client.client import Client
    from clinometer.storage.reply_log import ReplyLog


@dataclass(frozen=True)
class ModelInfo:
    """What a run records about its model."""

    name: str
    kind: str
    """One of reference, causal, masked, seq2seq, permutation, server, sampled."""
    revision: str
    """What pins the weights: a hub commit, a digest of a local folder's files, or of what a server
    says of its model."""
    dtype: str = "float64"
    device: str = "cpu"
    parameters: int | None = None
    notes: tuple[str, ...] = ()
    """Sentences for the reader of a report."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """What a server is sent besides the text, and what it refused."""

    def to_dict(self) -> dict[str, Any]:
        """Return the information as it stands in run.json."""
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
        """Return the words whose column has no separate probability."""
        return frozenset((*self.unwritable, *self.restricted, *self.same_tokens))

    def counts(self) -> dict[str, int]:
        """Return how many words fall under each rule; several tokens are the normal case."""
        several_tokens = [t for t in self.tokens.values() if len(t) > 1]
        return {
            "words_unwritable": len(self.unwritable),
            "words_same_tokens": len(self.same_tokens),
            "words_single_token_restriction": len(self.restricted),
            "words_prefix_of_another": len(self.prefixes),
            "words_of_several_tokens": len(several_tokens),
        }


@dataclass(frozen=True)
class WordScores:
    """Scores of P prompts and V words."""

    log_probs: FloatArray
    """Natural log of the probability of each word at the slot [P, V] (with the text after the slot,
    where a causal model has to read on); minus infinity for a word without probability or one whose
    expansion was skipped."""
    log_coverage: FloatArray
    """Log of the probability that any of the words fills the slot [P]."""
    skipped: FloatArray
    """How far the words that were not expanded can move a preference at most, times the probability
    in log_coverage [P]; 0 when every word is exact. Where it is not known which word counts for
    which category: an upper bound on the total probability of these words."""
    log_upper: FloatArray | None = None
    """If only bounds are known (a server that returns the k most probable tokens): log_probs is the
    lower bound, this the upper [P, V]; None if log_probs is exact."""
    draws: tuple[tuple[str, ...], ...] | None = None
    """The texts that were counted [P, n], if the model was sampled instead of scored."""
    unread: FloatArray | None = None
    """Of replies to a question: how many were no category (other, refusals, empty) [P, 3]."""

    def take(self, rows: IntArray) -> WordScores:
        """Return the scores of these prompts, in this order."""
        arrays = {
            name: values[rows]
            for name, values in vars(self).items()
            if isinstance(values, np.ndarray)
        }
        draws = None if self.draws is None else tuple(self.draws[i] for i in rows)
        return WordScores(**arrays, draws=draws)

    def widened(self, columns: Sequence[int], n_words: int) -> WordScores:
        """Return scores with a column for each of V words, without probability but for these."""

        def widen(values: FloatArray) -> FloatArray:
            wide = np.full((len(values), n_words), -np.inf)
            wide[:, list(columns)] = values
            return wide

        upper = None if self.log_upper is None else widen(self.log_upper)
        return replace(self, log_probs=widen(self.log_probs), log_upper=upper)

    @classmethod
    def scattered(
        cls, parts: Iterable[tuple[IntArray, WordScores]], n_prompts: int
    ) -> WordScores:
        """Put parts in their places as they arrive; each comes with the numbers of its prompts."""
        arrays: dict[str, Any] = {}
        for rows, part in parts:
            for name, values in vars(part).items():
                if values is None:
                    continue
                if name not in arrays:
                    arrays[name] = np.empty((n_prompts, *values.shape[1:]))
                arrays[name][rows] = values
        return cls(**arrays)

    @classmethod
    def joined(cls, parts: Sequence[WordScores]) -> WordScores:
        """Concatenate scores of different prompts for the same words."""
        if len(parts) == 1:
            return parts[0]
        arrays: dict[str, list[FloatArray]] = {}
        draws: list[tuple[str, ...]] = []
        for part in parts:
            for name, values in vars(part).items():
                if isinstance(values, np.ndarray):
                    arrays.setdefault(name, []).append(values)
            draws.extend(part.draws or ())
        joined = {name: np.concatenate(values) for name, values in arrays.items()}
        return cls(**joined, draws=tuple(draws) or None)


class Scorer(ABC):
    """Every kind of model, with what most of them leave as it is."""

    info: ModelInfo
    client: Client | None = None
    """The client of a model that is asked elsewhere."""
    log: ReplyLog | None = None

    @abstractmethod
    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """Return how the model writes the words, before anything is scored."""

    @abstractmethod
    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None = None,
    ) -> WordScores:
        """Return the log-probability of every word at the slot of every prompt.

        `counts` [V, Y] is how much each word counts for each category: words that matter little to
        these need not be scored. Without it, any word may count for any category.
        """

    def generate(self, prompts: Sequence[Prompt]) -> tuple[tuple[str, ...], ...]:
        """Return sampled replies to every prompt, of a model whose kind is `sampled`.

        An error of others.
        """
        raise ModelError(
            f"{self.info.name}: its words are scored, and it was opened without --replies"
        )

    @property
    def blocks_at_once(self) -> int:
        """Return how many calls of `score` should be under way at a time."""
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
        """Return requests and tokens used so far; empty if nothing is counted."""
        return {} if self.client is None else self.client.usage()

    def close(self) -> None:
        """Release resources: connections and files."""
        if self.client is not None:
            self.client.close()
        if self.log is not None:
            self.log.close()


Turn = tuple[str, str]
"""Role and content of a message; roles are user and assistant in turn, after system if there is
one."""


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
        """Return n one-line replies of at most `length` tokens; temperature 0 decodes greedily.

        Everything after the first line that contains a word is dropped.
        """
