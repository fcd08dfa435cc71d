"""Models that fill the blanks of a statement: masked ones sample the words of a blank, causal ones
continue the text before it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.random import Generator

from clinometer.errors import SettingsError
from clinometer.models import ModelInfo, Scorer
from clinometer.models.local.generate import continue_tokens
from clinometer.models.sampled import seed_for
from clinometer.reliability.statement import Blanks
from clinometer.statistics.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from clinometer.models.local.causal import CausalScorer
    from clinometer.models.local.masked import MaskedScorer

Fills = tuple[str, ...]

#: Articles, prepositions, conjunctions, auxiliaries, pronouns: a phrase that ends with one of them
#: is incomplete, and versions that differ only in them say the same.
FUNCTION_WORDS = frozenset(
    """a an the this that these those my your his her its our their and or but nor so yet if because
    as than of in on at by for with from to into onto over under about after before between through
    during without within against is are was were be been being am do does did has have had having
    will would can could shall should may might must not no i you he she it we they me him us them
    who whom whose which what when where why how there here very too also just""".split()  # noqa: SIM905
)


class Filler(Protocol):
    """Fills blanks by sampling; fills do not repeat the words next to the blank."""

    info: ModelInfo

    def fill(self, blanks: Blanks, *, n: int, temperature: float, seed: int) -> list[Fills]:
        """n samples of a text per blank; they may repeat and are not checked."""


def is_modifier(blanks: Blanks, number: int) -> bool:
    """Whether a word follows the blank ("the ___ office"), so that one or two words fit; a blank
    before punctuation or the end takes a phrase."""
    rest = blanks.parts[number + 1].lstrip()
    return bool(rest) and rest[0].isalnum()


def sample_length(blanks: Blanks, number: int, chance: Generator) -> int:
    """Words for a blank: mostly one before a noun, two to four after a clause."""
    if is_modifier(blanks, number):
        return int(chance.choice([1, 2], p=[0.8, 0.2]))
    return int(chance.choice([2, 3, 4]))


def neighbours(parts: Sequence[str], number: int) -> frozenset[str]:
    """The words on both sides of a blank, which a fill must not repeat ("the the").

    >>> sorted(neighbours(["The ", " nurse is"], 0))
    ['nurse', 'the']
    """
    sides = parts[number].split()[-1:] + parts[number + 1].split()[:1]
    return frozenset("".join(c for c in w if c.isalnum()).casefold() for w in sides)


def join(blanks: Blanks, fills: tuple[str, ...] | list[str]) -> str:
    """The statement with its fills; no space before a comma."""
    return re.sub(r"\s+,", ",", blanks.fill(fills))


def open_filler(scorer: Scorer) -> Filler:
    """The filler for the model's architecture."""
    if scorer.info.kind == "masked":
        return MaskedFiller(cast("MaskedScorer", scorer))
    if scorer.info.kind == "causal":
        return CausalFiller(cast("CausalScorer", scorer))
    raise SettingsError(
        f"model {scorer.info.name!r}: expected a masked or causal one to fill blanks, found "
        f"{scorer.info.kind}"
    )


_NUCLEUS = 0.75
#: Prefixes by which tokenizers mark the start of a word.
_SPACES = ("Ġ", "▁")


class MaskedFiller:
    """A masked model (`pocket:bert`): masks in the place of a blank are sampled one by one."""

    def __init__(self, scorer: MaskedScorer) -> None:
        self.scorer, self.info = scorer, scorer.info
        self.words = _words(scorer.tokenizer)
        size = scorer.model.get_input_embeddings().num_embeddings
        self._may_stand = np.zeros(size, dtype=np.bool_)
        self._may_stand[list(self.words)] = True
        self._may_end = self._may_stand.copy()
        self._may_end[[i for i, w in self.words.items() if w in FUNCTION_WORDS]] = False

    def fill(self, blanks: Blanks, *, n: int, temperature: float, seed: int) -> list[Fills]:
        chance = np.random.default_rng(seed)
        lengths = [[sample_length(blanks, b, chance) for b in range(len(blanks))] for _ in range(n)]
        mask = self.scorer.tokenizer.mask_token
        texts = [blanks.fill([" ".join([mask] * m) for m in row]) for row in lengths]
        ids = [self.scorer.tokenizer.encode(text) for text in texts]
        closed = []
        for b in range(len(blanks)):
            words = neighbours(blanks.parts, b)
            closed.append([i for i, word in self.words.items() if word.casefold() in words])
        drawn: list[list[list[int]]] = [[[] for _ in range(len(blanks))] for _ in range(n)]
        for _ in range(max(map(sum, lengths), default=0)):
            waiting = [i for i in range(n) if self._mask_id in ids[i]]
            logits = self._logits([ids[i] for i in waiting])
            for row, i in enumerate(waiting):
                place = ids[i].index(self._mask_id)
                blank = next(b for b, m in enumerate(lengths[i]) if len(drawn[i][b]) < m)
                last = len(drawn[i][blank]) + 1 == lengths[i][blank]
                allowed = (self._may_end if last else self._may_stand).copy()
                allowed[[*closed[blank], *drawn[i][blank]]] = False
                token = _nucleus(logits[row][place], allowed, temperature, chance)
                ids[i][place] = token
                drawn[i][blank].append(token)
        return [tuple(" ".join(self.words[t] for t in tokens) for tokens in row) for row in drawn]

    @property
    def _mask_id(self) -> int:
        return int(self.scorer.tokenizer.mask_token_id)

    def _logits(self, rows: list[list[int]]) -> list[FloatArray]:
        """Logits of every position of every row; rows are padded, and the padding is masked."""
        import torch

        tokenizer, width = self.scorer.tokenizer, max(map(len, rows))
        pad = tokenizer.pad_token_id or 0
        ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
        seen = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        with torch.inference_mode():
            found = self.scorer.model(
                input_ids=ids.to(self.scorer.device), attention_mask=seen.to(self.scorer.device)
            ).logits
        return [np.asarray(r, dtype=np.float64) for r in found.float().cpu().numpy()]


def _nucleus(
    logits: FloatArray,
    allowed: BoolArray,
    temperature: float,
    chance: np.random.Generator,
) -> int:
    """Sample one of the tokens that make up most of the probability, at a temperature."""
    logits = np.where(allowed[: len(logits)], logits, -np.inf) / temperature
    p = np.exp(logits - logits.max())
    p /= p.sum()
    order = np.argsort(-p)
    kept = order[: 1 + int(np.searchsorted(np.cumsum(p[order]), _NUCLEUS))]
    return int(chance.choice(kept, p=p[kept] / p[kept].sum()))


def _words(tokenizer: Any) -> dict[int, str]:
    """Tokens that are whole words of letters, in the form that follows a space."""
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    marked = any(t.startswith(_SPACES) for t in vocabulary)
    special = set(tokenizer.all_special_ids)
    found = {}
    for token, number in vocabulary.items():
        word = token[1:] if token.startswith(_SPACES) else token
        begins = token.startswith(_SPACES) if marked else not token.startswith("##")
        long_enough = len(word) > 1 or word.casefold() in ("a", "i")
        if begins and word.isascii() and word.isalpha() and long_enough and number not in special:
            found[number] = word
    return found


#: Candidate continuations per blank, in addition to one per version; and tokens of each.
_CANDIDATES = 12
_TOKENS = {True: 5, False: 9}
#: Sampling is without replacement until the pool is exhausted, so every phrase needs some weight.
_LEAST = 1e-9


class CausalFiller:
    """A causal model (`smollm2`), without its chat template: it continues the statement.

    It cannot see what follows the blank: each continuation is weighted by the probability of the
    rest of the statement after it (importance resampling), so that a fill fits on both sides.
    """

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer, self.info = scorer, scorer.info

    def fill(self, blanks: Blanks, *, n: int, temperature: float, seed: int) -> list[Fills]:
        chance = np.random.default_rng(seed)
        columns = []
        for number in range(len(blanks)):
            pool, weights = self._pool(blanks, number, n, temperature, seed, chance)
            once = chance.choice(pool, size=min(n, len(pool)), replace=False, p=weights).tolist()
            columns.append([once[i % len(once)] for i in range(n)])
        return [tuple(row) for row in zip(*columns, strict=True)]

    def _pool(
        self,
        blanks: Blanks,
        number: int,
        n: int,
        temperature: float,
        seed: int,
        chance: np.random.Generator,
    ) -> tuple[list[str], FloatArray]:
        """Phrases for one blank and their weights; only the empty phrase if none was usable."""
        head = blanks.plain[: blanks.positions[number]].rstrip()
        drawn = continue_tokens(
            self.scorer,
            self.scorer.head_tokens([head])[0],
            n=_CANDIDATES + n,
            temperature=temperature,
            seed=seed_for(seed, number),
            length=_TOKENS[is_modifier(blanks, number)],
        )
        closed = neighbours(blanks.parts, number)
        found = {self._cut(text, sample_length(blanks, number, chance)) for text in drawn}
        good = sorted(f for f in found if f and not closed & set(f.casefold().split()))
        if not good:
            return [""], np.ones(1)
        alone = [""] * len(blanks)
        whole = [join(blanks, [*alone[:number], f, *alone[number + 1 :]]) for f in good]
        weights = self._rest([f"{head} {f}".strip() for f in good], whole)
        weights = np.maximum(np.exp(weights - weights.max()), _LEAST)
        return good, weights / weights.sum()

    @staticmethod
    def _cut(text: str, words: int) -> str:
        """The first words of a continuation; "" if they are not a phrase of whole words.

        >>> CausalFiller._cut(" at the office. Then", 3), CausalFiller._cut("s and", 1)
        ('at the office', '')
        """
        if not text.startswith(" "):
            return ""
        phrase: list[str] = []
        pieces = text.split()
        whole = pieces if text[-1:].isspace() else pieces[:-1]
        for piece in whole[:words]:
            bare = piece.rstrip(".,;:!?")
            if not bare.replace("-", "").replace("'", "").isalpha():
                break
            phrase.append(bare)
            if bare != piece:
                break
        while phrase and phrase[-1].casefold() in FUNCTION_WORDS:
            phrase.pop()
        return " ".join(phrase)

    def _rest(self, heads: list[str], whole: list[str]) -> FloatArray:
        """Log-probability of what follows each head in its whole text."""
        import torch

        from clinometer.models.tokens import encode_all

        tokenizer, device = self.scorer.tokenizer, self.scorer.device
        rows = self.scorer.head_tokens(whole)
        extra = [
            len(row) - len(ids)
            for row, ids in zip(rows, encode_all(tokenizer, whole, special=False), strict=True)
        ]
        begin = [
            e + len(ids)
            for e, ids in zip(extra, encode_all(tokenizer, heads, special=False), strict=True)
        ]
        width = max(map(len, rows))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=device)
        with torch.inference_mode():
            # Tokens never attend to the padding on their right.
            found = self.scorer.model(input_ids=ids).logits.float().log_softmax(dim=-1)
        own = found[:, :-1].gather(-1, ids[:, 1:, None])[..., 0].double().cpu().numpy()
        return np.array(
            [
                own[i, b - 1 : len(row) - 1].sum()
                for i, (row, b) in enumerate(zip(rows, begin, strict=True))
            ]
        )
