"""From statements with blanks to context-added versions: a model's valid answers, then a filler."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from clinometer.errors import SettingsError, TableError
from clinometer.models import LoadOptions, Scorer, open_model
from clinometer.models.catalog.open import open_writer
from clinometer.models.generation.local import CausalWriter, continue_tokens
from clinometer.models.generation.writer import Turn, Writer, seed_for
from clinometer.reliability.blank_contribution import fills_of
from clinometer.reliability.dissimilarity import Embed, version_dissimilarity
from clinometer.reliability.statement import Blanks, Statement, VariantSet
from clinometer.reliability.variants.filling import (
    CHOOSER,
    DEFAULT_FILLER,
    FUNCTION_WORDS,
    PHRASES,
    Filler,
    Fills,
    is_modifier,
    maker,
    neighbours,
    sample_length,
)
from clinometer.settings import COUNT, SEED, TEMPERATURE, check_settings, option
from clinometer.storage.jsonl import Lines
from clinometer.storage.resumable import Progress

if TYPE_CHECKING:
    from clinometer.models.local.causal import CausalScorer
    from clinometer.models.local.masked import MaskedScorer


# --- Blanks filled by a masked model: each is replaced by masks, which are sampled one by one ----


_NUCLEUS = 0.75
#: Prefixes by which tokenizers mark the start of a word.
_SPACES = ("Ġ", "▁")


class MaskedFiller:
    """A masked model (`pocket:bert`)."""

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
        closed = [self._ids_of(neighbours(blanks.parts, b)) for b in range(len(blanks))]
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

    def _ids_of(self, words: frozenset[str]) -> list[int]:
        return [i for i, word in self.words.items() if word.casefold() in words]

    def _logits(self, rows: list[list[int]]) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
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
    logits: np.ndarray[Any, np.dtype[np.float64]],
    allowed: np.ndarray[Any, np.dtype[np.bool_]],
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


# --- The prompt that asks a language model to fill blanks: Figure 7 of the COBIAS paper ----------


def variants_prompt(points: str) -> list[Turn]:
    """The prompt with the statement and its blanks."""
    return [("user", f"Fill in the blanks with information. Do not modify anything else. {points}")]


# --- How different the versions of a statement are: by their words, and by their meaning (Eq. 1)


@dataclass(frozen=True)
class WordDiversity:
    """near_copies: versions that add the same content words as an earlier one, or none at all;
    distinct: distinct content words over all added ones (1: no word twice), None if none.
    """

    near_copies: int
    distinct: float | None


def word_diversity(fills: Sequence[Fills]) -> WordDiversity:
    """Diversity of the fills of one statement's versions.

    >>> word_diversity([("young", ""), ("the young", ""), ("old", "today")])
    WordDiversity(near_copies=1, distinct=0.75)
    """
    added = [_content(" ".join(some)) for some in fills]
    seen: set[frozenset[str]] = set()
    near = 0
    for words in added:
        key = frozenset(words)
        near += not key or key in seen
        seen.add(key)
    every = [word for words in added for word in words]
    return WordDiversity(near, len(set(every)) / len(every) if every else None)


def _content(text: str) -> list[str]:
    return [w for w in re.findall(r"[\w'’-]+", text.casefold()) if w not in FUNCTION_WORDS]


# --- A version is accepted if the statement's words survive in order and additions are at blanks


#: Reasons to reject a version.
CHANGED, BAD_FILL, LONG_FILL, ORIGINAL, REPEATED = (
    "text_changed",
    "fill_is_no_phrase",
    "fill_too_long",
    "original",
    "repeated",
)

#: Most words in one blank.
LONGEST_FILL = 15

#: Letters, digits and the punctuation of phrases; the end of a sentence, a bracket or another blank
#: means that the model wrote more than a fill.
_PHRASE = re.compile(r",? ?[\w$€£#&][\w\s$€£%&'’,/#-]*[\w%'’,]|[\w$€£#&]")


class VariantRefused(ValueError):
    """A rejected version; `reason` is one of the names above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def accept_version(blanks: Blanks, version: str) -> tuple[str, tuple[str, ...]]:
    """The statement with the version's fills, and the fills; raises NotAccepted.

    The text returned is built from the statement and the fills, so the statement's own text never
    changes.

    >>> b = Blanks.parse("The ___ nurse is tired ___.")
    >>> accept_version(b, "the young nurse is tired , again.")
    ('The young nurse is tired, again.', ('young', ', again'))
    """
    fills = fills_of(blanks, version)
    if fills is None:
        raise VariantRefused(CHANGED)
    made = join(blanks, fills)
    if _spaced(made) != _spaced(version):  # "Therapist" is not "The ___" filled
        raise VariantRefused(CHANGED)
    for fill in filter(None, fills):
        if not _PHRASE.fullmatch(fill) or "_" in fill:
            raise VariantRefused(BAD_FILL)
        if len(fill.split()) > LONGEST_FILL:
            raise VariantRefused(LONG_FILL)
    if not any(fills):
        raise VariantRefused(ORIGINAL)
    return made, fills


def join(blanks: Blanks, fills: tuple[str, ...] | list[str]) -> str:
    """The statement with its fills; no space before a comma."""
    return re.sub(r"\s+,", ",", blanks.fill(fills))


def _spaced(text: str) -> str:
    """Normalised white space: one space between words, none before punctuation."""
    return re.sub(r"\s+([.,;:!?…])", r"\1", " ".join(text.split())).casefold()


# --- From statements with blanks to context-added versions: a model's valid answers, then a
# filler


#: Origins of versions.
MODEL, FILLER = "model", "filler"
#: Answers requested per batch: enough to keep a machine busy, few enough to stop early.
_TOGETHER = 10


@dataclass(frozen=True, kw_only=True)
class VariantSettings:
    """How versions are made, by a writing `model` if there is one; the paper's temperatures are 1.1
    to 1.4."""

    n: int = option(40, "-n", "--versions", help="Versions of each statement.", allowed=COUNT)
    model: str | None = None
    filler: str | None = option(
        None,
        help="Fills the blanks that the writing model leaves open: phrases (built-in ones, chosen "
        f"by {CHOOSER}), phrases:MODEL, or a masked or causal model.",
        unset=f"the writing model if it is local, else {DEFAULT_FILLER}",
    )
    temperature: float = option(
        1.1, help="Sampling temperature of the versions.", allowed=TEMPERATURE, advanced=True
    )
    rounds: int = option(
        2,
        help="Query a model for at most this many times n answers.",
        allowed=COUNT,
        advanced=True,
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    load: LoadOptions = field(default_factory=LoadOptions)

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def maker(self) -> str:
        """What writes the versions, in words."""
        return maker(self.model, self.filler)

    def to_dict(self) -> dict[str, Any]:
        """The settings that affect the versions."""
        return asdict(self) | {"load": self.load.dtype}


@dataclass(frozen=True)
class MadeVariants:
    """Rows as written (id, variants, origins, answers), versions by id, counts, and, if meanings
    were compared, how different the versions are."""

    rows: list[dict[str, Any]]
    counts: dict[str, Any]
    made_by: str = ""

    @property
    def variants(self) -> VariantSet:
        return VariantSet({row["id"]: tuple(row["variants"]) for row in self.rows}, self.made_by)


class Makers:
    """The writing model and the filler, each opened when it is first needed."""

    def __init__(self, settings: VariantSettings) -> None:
        self.settings = settings
        self._filler: Filler | None = None
        self._writer: Writer | None = None

    @property
    def writer(self) -> Writer | None:
        if self._writer is None and self.settings.model is not None:
            self._writer = open_writer(self.settings.model, load=self.settings.load)
        return self._writer

    @property
    def filler(self) -> Filler:
        if self._filler is None:
            writer = self.writer
            if self.settings.filler is None and isinstance(writer, CausalWriter):
                self._filler = open_filler(writer.scorer)
            else:
                self._filler = self._open(self.settings.filler or DEFAULT_FILLER)
        return self._filler

    def _open(self, name: str) -> Filler:
        kind, _, chooser = name.partition(":")
        if kind != PHRASES:
            return open_filler(open_model(name, load=self.settings.load))
        from clinometer.reliability.variants.phrases import PhraseFiller

        return PhraseFiller(open_model(chooser or CHOOSER, load=self.settings.load))


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


def make_variants(
    statements: Sequence[Statement],
    *,
    settings: VariantSettings | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    embed: Embed | None = None,
    progress: Progress | None = None,
    makers: Makers | None = None,
) -> MadeVariants:
    """Make versions of every statement that has blanks. With `out` (a .jsonl file that `score`
    reads) rows are written as they are made, and the same call resumes; those whose blanks have
    changed since are made again. `embed` compares meanings.
    """
    settings = settings or VariantSettings()
    if not statements:
        raise TableError("statements: expected at least one, found none")
    if not any(s.blanks for s in statements):
        raise TableError(
            "statements: expected context_points with blanks (___), found none; "
            "'clinometer reliability audit --until points' proposes them"
        )
    makers = makers or Makers(settings)
    with Lines(out, settings.to_dict()).resumed(fresh=fresh) as lines:
        lines.forget(s.id for s in statements if _is_stale(s, lines.rows.get(s.id)))
        new = (_Row(s, settings, makers).made() for s in statements if s.id not in lines.rows)
        rows = lines.take(new, [s.id for s in statements], progress)
        counts = _counts(rows, settings) | _meaning(statements, rows, embed)
        lines.finish(counts)
    return MadeVariants(rows, counts, settings.maker)


class _Row:
    """The versions of one statement while they are being made."""

    def __init__(self, statement: Statement, settings: VariantSettings, makers: Makers) -> None:
        self.statement, self.settings, self.makers = statement, settings, makers
        self.versions: dict[str, Fills] = {}
        self.origins: list[str] = []
        self.answers: dict[str, Counter[str]] = {MODEL: Counter(), FILLER: Counter()}

    def made(self) -> dict[str, Any]:
        blanks = self.statement.blanks
        if blanks is not None and len(blanks):
            if self.settings.model is not None:
                self._ask(blanks)
            self._fill(blanks)
        diversity = word_diversity(list(self.versions.values()))
        return {
            "id": self.statement.id,
            "points": self.statement.points,
            "variants": list(self.versions),
            "origins": self.origins,
            "answers": {who: dict(sorted(n.items())) for who, n in self.answers.items()},
            "near_copies": diversity.near_copies,
            "distinct": diversity.distinct,
        }

    @property
    def _missing(self) -> int:
        return self.settings.n - len(self.versions)

    def _ask(self, blanks: Blanks) -> None:
        writer = self.makers.writer
        turns = variants_prompt(str(blanks))
        length = 32 + 3 * len(self.statement.text.split())
        limit = self.settings.rounds * self.settings.n
        asked = 0
        while writer is not None and self._missing > 0 and asked < limit:
            n = min(_TOGETHER, self._missing, limit - asked)
            seed = seed_for(self.settings.seed, self.statement.text, "ask", asked)
            answers = writer.write(
                turns, n=n, temperature=self.settings.temperature, seed=seed, length=length
            )
            for answer in answers:
                self._take(blanks, answer, MODEL)
            asked += n

    def _fill(self, blanks: Blanks) -> None:
        for attempt in range(self.settings.rounds + 1):
            if self._missing < 1:
                return
            found = self.makers.filler.fill(
                blanks,
                n=self._missing,
                temperature=self.settings.temperature,
                seed=seed_for(self.settings.seed, self.statement.text, "fill", attempt),
            )
            for fills in found:
                self._take(blanks, blanks.fill(fills), FILLER)

    def _take(self, blanks: Blanks, text: str, origin: str) -> None:
        """Keep a version if it is valid and new; count the outcome either way."""
        try:
            made, fills = accept_version(blanks, text)
            if not self._keeps_targets(made):
                raise VariantRefused(CHANGED)
            if made in self.versions:
                raise VariantRefused(REPEATED)
        except VariantRefused as error:
            self.answers[origin][error.reason] += 1
            return
        self.answers[origin]["accepted"] += 1
        self.versions[made] = fills
        self.origins.append(origin)

    def _keeps_targets(self, version: str) -> bool:
        """Blanks are never inside a target term that was known when they were placed."""
        statement = self.statement
        return not statement.target_spans() or bool(statement.target_spans(version))


def _is_stale(statement: Statement, row: dict[str, Any] | None) -> bool:
    """Whether versions were made for other blanks."""
    return row is not None and row.get("points") != statement.points


def _counts(rows: Sequence[dict[str, Any]], settings: VariantSettings) -> dict[str, Any]:
    origins = Counter(origin for row in rows for origin in row["origins"])
    answers = {who: Counter[str]() for who in (MODEL, FILLER)}
    for row in rows:
        for who, counted in row["answers"].items():
            answers[who].update(counted)
    distinct = [row["distinct"] for row in rows if row["distinct"] is not None]
    return {
        "statements": len(rows),
        "versions": origins.total(),
        "versions_by_model": origins[MODEL],
        "versions_by_filler": origins[FILLER],
        "statements_short_of_versions": sum(len(r["variants"]) < settings.n for r in rows),
        "near_copies": sum(row["near_copies"] for row in rows),
        "originals": sum(n[ORIGINAL] for n in answers.values()),
        "repeated": sum(n[REPEATED] for n in answers.values()),
        "acceptance": {
            who: n["accepted"] / n.total() if n.total() else None for who, n in answers.items()
        },
        "answers": {who: dict(sorted(n.items())) for who, n in answers.items()},
        "distinct_words": sum(distinct) / len(distinct) if distinct else None,
    }


def _meaning(
    statements: Sequence[Statement], rows: Sequence[dict[str, Any]], embed: Embed | None
) -> dict[str, Any]:
    """Mean dissimilarity among versions and to their statement; None if not requested."""
    if embed is None:
        return {"dissimilarity": None}
    measures = version_dissimilarity(
        [s.text for s in statements], [row["variants"] for row in rows], embed
    )
    means = [float(v[np.isfinite(v)].mean()) if np.isfinite(v).any() else None for v in measures]
    return {"dissimilarity": dict(zip(("pairwise", "to_statement"), means, strict=True))}


# --- Blanks filled by a causal model, which cannot see what follows. It continues the text from
# the blank, and each continuation is weighted by the probability of the rest of the statement
# after it (importance resampling), so that a fill fits on both sides


#: Candidate continuations per blank, in addition to one per version; and tokens of each.
_CANDIDATES = 12
_TOKENS = {True: 5, False: 9}
#: Sampling is without replacement until the pool is exhausted, so every phrase needs some weight.
_LEAST = 1e-9


class CausalFiller:
    """A causal model (`smollm2`), without its chat template: it continues the statement."""

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
    ) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
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

    def _rest(self, heads: list[str], whole: list[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Log-probability of what follows each head in its whole text."""
        import torch

        from clinometer.models.tokens.word_tokens import encode_all

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
