"""Versions of statements with context: a model's valid answers, then short built-in phrases that
are English by construction, chosen by a model.

A version is accepted if the statement's words survive in order and every addition is at a blank.

The parse of the statement without blanks says which phrases can stand in a blank. A blank is of one
of four kinds, by where it is: before a noun, after a noun, before an adjective or a verb, after a
clause. A modifier must suit the kind of noun (nouns that lexicon.toml does not list take none);
what follows a clause must suit its tense, whether it tells of a state, a habit or an event, who
says it, and what it already says about when and where.

A model says which of these phrases suit best: the probability of a phrase together with the text
after the blank, relative to the same phrase in neutral sentences, so that a phrase is chosen for
this blank and not for being frequent everywhere. Blanks that no list suits stay empty, and a
version says only one thing about a whole sentence.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.errors import SettingsError, TableError
from clinometer.models import LoadOptions, Scorer, open_model
from clinometer.models.open import open_writer
from clinometer.models.protocol import Turn, Writer
from clinometer.models.sampled import seed_for
from clinometer.reliability.blanks import NOUNS, MadeRows, parse
from clinometer.reliability.statement import Blanks, Refused, Statement
from clinometer.settings import COUNT, SEED, TEMPERATURE, check_settings, option
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.lines import Lines
from clinometer.storage.resumable import Progress
from clinometer.storage.rows import need_columns, read_rows
from clinometer.topics import Prompt
from clinometer.topics.prompt import english_article

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

#: The built-in phrases, and the model that chooses among them.
PHRASES, CHOOSER = "phrases", "pocket:gpt2-l"
NO_FILLER = "none"
#: Origins of versions.
MODEL, FILLER = "model", "filler"
#: Answers requested per batch: enough to keep a machine busy, few enough to stop early.
_TOGETHER = 10
#: A model is asked for at most this many times n answers.
ROUNDS = 2


@dataclass(frozen=True, kw_only=True)
class VariantSettings:
    """How versions are made, by a writing `model` if there is one."""

    n: int = option(
        40, "-n", "--versions", help="Versions of each statement.", allowed=COUNT
    )
    model: str | None = None
    filler: str = option(
        PHRASES,
        help="Fills the blanks that the writing model leaves open: phrases (built-in ones, chosen "
        f"by {CHOOSER}), phrases:MODEL, or none.",
    )
    as_in_paper: bool = False
    temperature: float = option(
        1.1, help="Sampling temperature of the versions.", allowed=TEMPERATURE
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    load: LoadOptions = field(default_factory=LoadOptions)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.filler.partition(":")[0] not in (PHRASES, NO_FILLER):
            raise SettingsError(
                f"filler: expected {PHRASES}, {PHRASES}:MODEL or {NO_FILLER}, found {self.filler!r}"
            )
        if self.model is None and self.filler == NO_FILLER:
            raise SettingsError(
                "filler: expected one without a writing model, found none"
            )

    def to_dict(self) -> dict[str, Any]:
        """The settings that affect the versions."""
        return asdict(self) | {"load": self.load.dtype}


class Makers:
    """The writing model and the filler, each opened when it is first needed."""

    def __init__(self, settings: VariantSettings) -> None:
        self.settings = settings

    @cached_property
    def writer(self) -> Writer | None:
        model = self.settings.model
        return None if model is None else open_writer(model, load=self.settings.load)

    @cached_property
    def filler(self) -> PhraseFiller:
        chooser = self.settings.filler.partition(":")[2]
        return PhraseFiller(open_model(chooser or CHOOSER, load=self.settings.load))


def make_variants(
    statements: Sequence[Statement],
    *,
    settings: VariantSettings | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    makers: Makers | None = None,
) -> MadeRows:
    """Make versions of every statement that has blanks: rows of its id, versions, origins and
    answers. With `out` (a .jsonl file that `read_variants` reads) rows are written as they are
    made, and the same call resumes; those whose blanks have changed since are made again."""
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
        by_id = {s.id: s for s in statements if s.id in lines.rows}
        lines.forget(i for i, s in by_id.items() if lines.rows[i]["points"] != s.points)
        new = (
            _Row(s, settings, makers).made()
            for s in statements
            if s.id not in lines.rows
        )
        rows = lines.take(new, [s.id for s in statements], progress)
        counts = _counts(rows, settings)
        lines.finish(counts)
    return MadeRows(rows, counts)


class _Row:
    """The versions of one statement while they are being made."""

    def __init__(
        self, statement: Statement, settings: VariantSettings, makers: Makers
    ) -> None:
        self.statement, self.settings, self.makers = statement, settings, makers
        self.versions: list[str] = []
        self.origins: list[str] = []
        self.answers: dict[str, Counter[str]] = {MODEL: Counter(), FILLER: Counter()}

    def made(self) -> dict[str, Any]:
        blanks = self.statement.blanks
        if blanks:
            self._ask(blanks)
            self._fill(blanks)
        return {
            "id": self.statement.id,
            "points": self.statement.points,
            "variants": self.versions,
            "origins": self.origins,
            "answers": {
                who: dict(sorted(n.items())) for who, n in self.answers.items()
            },
        }

    @property
    def _missing(self) -> int:
        return self.settings.n - len(self.versions)

    def _ask(self, blanks: Blanks) -> None:
        writer = self.makers.writer
        request = f"Fill in the blanks with information. Do not modify anything else. {blanks}"
        turns: list[Turn] = [("user", request)]  # Figure 7 of the paper
        length = 32 + 3 * len(self.statement.text.split())
        limit = ROUNDS * self.settings.n
        done = 0
        while writer is not None and self._missing > 0 and done < limit:
            n = min(_TOGETHER, self._missing, limit - done)
            seed = seed_for(self.settings.seed, self.statement.text, "ask", done)
            answers = writer.write(
                turns,
                n=n,
                temperature=self.settings.temperature,
                seed=seed,
                length=length,
            )
            for answer in answers:
                self._take(blanks, answer, MODEL)
            done += n

    def _fill(self, blanks: Blanks) -> None:
        for attempt in range(ROUNDS + 1):
            if self._missing < 1 or self.settings.filler == NO_FILLER:
                return
            samples = self.makers.filler.fill(
                blanks,
                n=self._missing,
                temperature=self.settings.temperature,
                seed=seed_for(self.settings.seed, self.statement.text, "fill", attempt),
            )
            for fills in samples:
                self._take(blanks, blanks.fill(fills), FILLER)

    def _take(self, blanks: Blanks, text: str, origin: str) -> None:
        """Keep a version if it is valid and new; count the outcome either way."""
        try:
            made = accept_version(blanks, text, as_in_paper=self.settings.as_in_paper)
            if self.statement.target_spans() and not self.statement.target_spans(made):
                raise Refused(
                    CHANGED
                )  # the target was not known when the blanks were placed
            if made in self.versions and not self.settings.as_in_paper:
                raise Refused(REPEATED)
        except Refused as error:
            self.answers[origin][str(error)] += 1
            return
        self.answers[origin]["accepted"] += 1
        self.versions.append(made)
        self.origins.append(origin)


def _counts(
    rows: Sequence[dict[str, Any]], settings: VariantSettings
) -> dict[str, Any]:
    origins = Counter(origin for row in rows for origin in row["origins"])
    answers = {who: Counter[str]() for who in (MODEL, FILLER)}
    for row in rows:
        for who, counted in row["answers"].items():
            answers[who].update(counted)
    return {
        "statements": len(rows),
        "versions": origins.total(),
        "versions_by_model": origins[MODEL],
        "versions_by_filler": origins[FILLER],
        "statements_short_of_versions": sum(
            len(r["variants"]) < settings.n for r in rows
        ),
        "originals": sum(n[ORIGINAL] for n in answers.values()),
        "repeated": sum(n[REPEATED] for n in answers.values()),
        "acceptance": {
            who: n["accepted"] / n.total() if n.total() else None
            for who, n in answers.items()
        },
        "answers": {who: dict(sorted(n.items())) for who, n in answers.items()},
    }


def read_variants(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Versions by statement id.

    jsonl: {"id": …, "variants": [ … ]}. csv, tsv, parquet: columns id and version, one row each.
    White space around a version is stripped: generators leave newlines.
    """
    file = Path(path).expanduser()
    rows = list(read_rows(file))
    need_columns(file, rows, ("id",))
    column = next(
        (c for c in ("variants", "version", "variant", "text") if c in rows[0]), None
    )
    if column is None:
        raise TableError(
            f"{file}: expected a column 'version' or 'variants', found {', '.join(rows[0])}"
        )
    versions: dict[str, list[str]] = {}
    for number, row in enumerate(rows, start=1):
        value = row.get(column)
        texts = value if isinstance(value, list) else [value]
        if not all(v is None or isinstance(v, str) for v in texts):
            raise TableError(
                f"{file}: row {number}: expected text in {column!r}, found {value!r}"
            )
        versions.setdefault(str(row["id"]), []).extend((v or "").strip() for v in texts)
    return {key: tuple(texts) for key, texts in versions.items()}


#: Reasons to reject a version.
CHANGED, BAD_FILL, LONG_FILL = "text_changed", "fill_is_no_phrase", "fill_too_long"
ORIGINAL, REPEATED = "original", "repeated"

#: Most words in one blank.
LONGEST_FILL = 15

#: Letters, digits and the punctuation of phrases; the end of a sentence, a bracket or another blank
#: means that the model wrote more than a fill.
_PHRASE = re.compile(r",? ?[\w$€£#&][\w\s$€£%&'’,/#-]*[\w%'’,]|[\w$€£#&]")


def accept_version(blanks: Blanks, version: str, *, as_in_paper: bool = False) -> str:
    """The statement with the version's fills; raises Refused. `as_in_paper` keeps fills of any kind
    and length, and the statement itself.

    The text returned is built from the statement and the fills, so the statement's own text never
    changes.

    >>> b = Blanks.parse("The ___ nurse is tired ___.")
    >>> accept_version(b, "the young nurse is tired , again.")
    'The young nurse is tired, again.'
    """
    fills = blanks.fills_of(version)
    if fills is None:
        raise Refused(CHANGED)
    made = re.sub(r"\s+,", ",", blanks.fill(fills))
    if _spaced(made) != _spaced(version):  # "Therapist" is not "The ___" filled
        raise Refused(CHANGED)
    if as_in_paper:
        return made
    for fill in filter(None, fills):
        if not _PHRASE.fullmatch(fill) or "_" in fill:
            raise Refused(BAD_FILL)
        if len(fill.split()) > LONGEST_FILL:
            raise Refused(LONG_FILL)
    if not any(fills):
        raise Refused(ORIGINAL)
    return made


def _spaced(text: str) -> str:
    """Normalised white space: one space between words, none before punctuation."""
    return re.sub(r"\s+([.,;:!?…])", r"\1", " ".join(text.split())).casefold()


# --- Built-in phrases, chosen by a model ----------------------------------------------------------

Fills = tuple[str, ...]

MODIFIER, AFTER_NOUN, ADVERB, ADJUNCT = "modifier", "after_noun", "adverb", "adjunct"

#: Neutral sentences for each kind: before and after the blank.
_NEUTRAL = {
    MODIFIER: (
        ("The", " one was there"),
        ("They saw the", " one"),
        ("This is the", " one"),
    ),
    AFTER_NOUN: (("People", " are like that"), ("They met people", " there")),
    ADVERB: (("It was", " like that"), ("They were", " there")),
    ADJUNCT: (("It happened", ""), ("It is like that", ""), ("They do it", "")),
}
#: How much of a phrase's frequency everywhere is taken out of its score.
_DISCOUNT = {MODIFIER: 0.35, AFTER_NOUN: 0.6, ADVERB: 0.5, ADJUNCT: 0.6}
#: Phrases that suit what precedes a blank, of which a model also reads what follows.
_READ = 40
#: Phrases of one blank that versions sample from, and how much worse than the best one may be.
_KEPT = {MODIFIER: 14, AFTER_NOUN: 20, ADVERB: 8, ADJUNCT: 40}
_BEHIND = {MODIFIER: 3.0, AFTER_NOUN: 4.0, ADVERB: 3.0, ADJUNCT: 5.0}
#: Words after a blank that a phrase must suit.
_AFTER = 4
#: Blanks that one version fills.
_MOST_FILLED = 3


class PhraseFiller:
    """The built-in phrases, chosen by a model (`phrases:MODEL`)."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer, self.info = scorer, scorer.info
        self._usual: dict[str, dict[str, float]] = {}
        self._last: tuple[Blanks | None, float, list[tuple[list[str], FloatArray]]] = (
            None,
            0.0,
            [],
        )

    def fill(
        self, blanks: Blanks, *, n: int, temperature: float, seed: int
    ) -> list[Fills]:
        chance = np.random.default_rng(seed)
        doc = next(iter(parse([blanks.plain])))
        if self._last[:2] != (
            blanks,
            temperature,
        ):  # asked again until there are enough versions
            pools = [
                self._pool(blanks, number, place, doc, temperature)
                for number, place in enumerate(blanks.positions)
            ]
            self._last = blanks, temperature, pools
        columns = [
            _sampled(pool, weights, n, chance) for pool, weights in self._last[2]
        ]
        whole = [kind_of(doc, place) == ADJUNCT for place in blanks.positions]
        return [_thinned(row, whole, chance) for row in zip(*columns, strict=True)]

    def _pool(
        self, blanks: Blanks, number: int, place: int, doc: Doc, temperature: float
    ) -> tuple[list[str], FloatArray]:
        """Phrases that suit a blank, and their weights; only the empty one if none does."""
        kind = kind_of(doc, place)
        before, after = blanks.plain[:place].rstrip(), blanks.plain[place:]
        closed = neighbours(blanks.parts, number)
        known = {w.casefold() for w in re.findall(r"\w+", blanks.plain)}
        words = [
            p
            for p in candidates(kind, doc, place)
            if not closed & set(p.casefold().split()) and not _repeats(p, known)
        ]
        if not words:
            return [""], np.ones(1)
        usual = self._usually(kind, words)
        found = self._scores(before, after, words, usual, kind)
        good = np.isfinite(found) & np.isfinite(usual)
        if not good.any():
            return [""], np.ones(1)
        value = np.where(good, found - _DISCOUNT[kind] * usual, -np.inf)
        order = np.argsort(-value, kind="stable")[: _KEPT[kind]]
        order = order[value[order] > value[order[0]] - _BEHIND[kind]]
        weights = np.exp((value[order] - value[order[0]]) / (2.0 * temperature))
        return [words[i] for i in order], weights / weights.sum()

    def _scores(
        self,
        before: str,
        after: str,
        words: Sequence[str],
        usual: FloatArray,
        kind: str,
    ) -> FloatArray:
        """[V] log-probability of each phrase and what follows it; minus infinity for those that do
        not even suit what precedes them, if the model reads from left to right."""
        rest = " ".join(after.split()[:_AFTER])
        tail = f" {rest}" if rest[:1].isalnum() else rest
        chosen = np.arange(len(words))
        if self.info.kind == "causal":
            alone = self.scorer.score(
                [Prompt(before, "", bool(before))], list(words)
            ).log_probs[0]
            if not rest[:1].isalnum():  # a full stop suits every phrase
                return np.asarray(alone, dtype=np.float64)
            value = np.where(np.isfinite(alone), alone, -50.0) - _DISCOUNT[kind] * usual
            chosen = np.sort(np.argsort(-value, kind="stable")[:_READ])
        found = np.full(len(words), -np.inf)
        some = [words[i] for i in chosen.tolist()]
        prompt = Prompt(before, tail, bool(before))
        found[chosen] = self.scorer.score([prompt], some).log_probs[0]
        return found

    def _usually(self, kind: str, words: Sequence[str]) -> FloatArray:
        """[V] the same in neutral sentences, on average. All phrases of a kind are scored at once:
        which improbable ones a model skips depends on the others, and must not depend on what was
        asked before a run was interrupted."""
        if kind not in self._usual:
            every = list(
                dict.fromkeys(p for some in phrases()[kind].values() for p in some)
            )
            prompts = [Prompt(a, b, True) for a, b in _NEUTRAL[kind]]
            found = self.scorer.score(prompts, every).log_probs
            floor = np.where(np.isfinite(found), found, -25.0).mean(axis=0)
            self._usual[kind] = dict(zip(every, floor.tolist(), strict=True))
        return np.array([self._usual[kind][w] for w in words])


def neighbours(parts: Sequence[str], number: int) -> frozenset[str]:
    """The words on both sides of a blank, which a fill must not repeat ("the the").

    >>> sorted(neighbours(["The ", " nurse is"], 0))
    ['nurse', 'the']
    """
    sides = parts[number].split()[-1:] + parts[number + 1].split()[:1]
    return frozenset("".join(c for c in w if c.isalnum()).casefold() for w in sides)


def _repeats(phrase: str, known: set[str]) -> bool:
    """Whether a word of content is already in the sentence, or its plural is."""
    words = [w.casefold() for w in re.findall(r"\w+", phrase) if len(w) > 3]
    return any({w, f"{w}s", w.removesuffix("s")} & known for w in words)


def _sampled(
    pool: Sequence[str], weights: FloatArray, n: int, chance: np.random.Generator
) -> list[str]:
    """n phrases: every one of the pool in random order by weight before any comes again."""
    found: list[str] = []
    while len(found) < n:
        some = min(len(pool), n - len(found))
        found += chance.choice(pool, size=some, replace=False, p=weights).tolist()
    return found


def _thinned(row: Fills, whole: Sequence[bool], chance: np.random.Generator) -> Fills:
    """At most three fills, at most one of them about a whole sentence."""
    order = chance.permutation([i for i, fill in enumerate(row) if fill]).tolist()
    kept: list[int] = []
    for i in order:
        said = whole[i] and any(whole[k] for k in kept)
        if len(kept) < _MOST_FILLED and not said:
            kept.append(i)
    return tuple(fill if i in kept else "" for i, fill in enumerate(row))


# --- Which phrases suit a blank -------------------------------------------------------------------


_FINITE = ("VBD", "VBZ", "VBP", "MD")
#: Classes of nouns that name people, and endings of nouns that do.
_PEOPLE = (
    "workers",
    "people",
    "relatives",
    "groups",
    "elders",
    "children",
    "criminals",
)
_WORKER_ENDINGS = ("man", "men", "woman", "women", "ist", "ists", "ician", "icians")
_PEOPLE_ENDINGS = ("eans", "ians", "cans")
#: What may follow a phrase about the whole sentence.
_ENDS = ".!?…\"”’'"


@cache
def phrases() -> dict[str, dict[str, tuple[str, ...]]]:
    """All phrases by kind and list, and the nouns by class."""
    text = files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8")
    found = {}
    for kind, lists in tomllib.loads(text).items():
        separator = r";\s+|;$" if kind in (AFTER_NOUN, ADJUNCT) else r"\s+"
        found[kind] = {
            name: tuple(
                dict.fromkeys(filter(None, re.split(separator, " ".join(some.split()))))
            )
            for name, some in lists.items()
        }
    return found


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(phrases()["words"][name])


def kind_of(doc: Doc, place: int) -> str:
    """Which kind of phrases a blank takes."""
    before, after = neighbouring_words(doc, place)
    if after is None or after.is_punct:
        return ADJUNCT
    if after.pos_ in NOUNS or (after.dep_ == "amod" and after.head.i > after.i):
        return MODIFIER
    predicate = after.pos_ in ("VERB", "AUX") or after.dep_ in ("neg", "advmod")
    if before is not None and before.pos_ in NOUNS and predicate:
        return AFTER_NOUN
    if (
        before is not None
        and before.pos_ in ("AUX", "PRON")
        and after.pos_ in ("ADJ", "VERB")
    ):
        return ADVERB
    return ADJUNCT


def neighbouring_words(doc: Doc, place: int) -> tuple[Token | None, Token | None]:
    """The words before and after an offset, such as that of a blank."""
    after = next((t for t in doc if t.idx >= place and not t.is_space), None)
    before = next((t for t in reversed(doc) if t.idx < place and not t.is_space), None)
    return before, after


def candidates(kind: str, doc: Doc, place: int) -> list[str]:
    """Phrases of this kind that suit the blank; none if no list does."""
    lists = phrases()[kind]
    before, after = neighbouring_words(doc, place)
    if kind == MODIFIER and after is not None:
        return _modifiers(lists, before, after)
    if kind == AFTER_NOUN and before is not None:
        return list(lists["people"]) if _class_of(before) in _PEOPLE else []
    if kind == ADVERB:
        return list(lists["time"])
    if before is None or (after is not None and after.text[0] not in _ENDS):
        return []
    return list(dict.fromkeys(p for name in _lists_after(before) for p in lists[name]))


def _modifiers(
    lists: dict[str, tuple[str, ...]], before: Token | None, after: Token
) -> list[str]:
    noun = after
    while noun.dep_ in ("compound", "amod") and noun.head.i > noun.i:
        noun = noun.head
    if _class_of(after) == "countries":
        suits = noun is after and before is not None and before.pos_ == "ADP"
        return list(lists["countries"]) if suits else []
    if after.pos_ not in NOUNS and not after.text[:1].isupper():  # "the ___ tall man"
        return []
    article = "" if before is None else before.lower_
    found = list(lists.get(_class_of(noun), ()))
    if article in ("a", "an"):
        found = [w for w in found if english_article(w) == article]
    aged = any(t.lower_ in _words("ages") for t in noun.doc)
    return [w for w in found if w not in _words("of_age")] if aged else found


@cache
def _classes() -> dict[str, str]:
    nouns = phrases()["nouns"]
    return {noun: name for name in reversed(nouns) for noun in nouns[name]}


def _class_of(noun: Token) -> str:
    """The class of a noun; "" if it is not known.

    "women", "families" and "churches" are looked up as "woman", "family" and "church" too.
    """
    word = noun.lower_
    forms = [word, word.removesuffix("s"), word.removesuffix("es")]
    if word.endswith("ies"):
        forms.append(word[:-3] + "y")
    if word.endswith("men"):
        forms.append(word[:-3] + "man")
    if word in ("children", "kids"):
        return "children"
    known = _classes()
    found = next((known[form] for form in forms if form in known), "")
    if not found and word.endswith(_WORKER_ENDINGS):
        return "workers"
    return "people" if not found and word.endswith(_PEOPLE_ENDINGS) else found


def _lists_after(last: Token) -> list[str]:
    """Names of the lists that may follow the clause that ends with this word."""
    sentence: Span = last.sent
    root, words = sentence.root, [t for t in sentence if t.i <= last.i]
    lower = {t.lower_ for t in words}
    has_time = bool(lower & _words("times")) or any(
        t.isdigit() and len(t) == 4 for t in lower
    )
    tense = _tense(sentence, root, words)
    if tense in ("question", "request", ""):
        return [] if has_time or not tense else [tense]
    aspect, subject = _aspect(root), _subject(root, tense)
    simple = sum(t.tag_ in _FINITE for t in words) < 2  # one verb only
    names = [] if has_time else _times(tense, aspect, subject, simple)
    if lower & _words("speaker"):
        return names
    names.append("hearsay")
    if tense in ("present", "modal") and aspect != "now":
        names.append("opinion")
        if subject in ("kind", "example"):
            names.append("general")
        has_place = any(
            t.lower_ in _words("places")
            for t in words
            if t.pos_ in ("ADP", "ADV", "SCONJ")
        )
        if subject == "kind" and simple and not has_place:
            names.append("region")
    elif tense == "past":
        names.append("fiction")
    return names


def _times(tense: str, aspect: str, subject: str, simple: bool) -> list[str]:
    """Names of the lists that say when."""
    if tense in ("perfect", "future"):
        return [tense] if simple else []
    if tense == "past" and aspect == "state":
        lasting = simple and subject == "person"
        return ["past_state", "past_person"] if lasting else ["past_state"]
    if tense == "past":
        return ["past_now" if aspect == "now" else "past_event"]
    if tense == "present":
        habit = "present_habit" if simple else "present_state"
        return [{"now": "present_now", "state": "present_state"}.get(aspect, habit)]
    return []


def _subject(root: Token, tense: str) -> str:
    """kind (women, everyone), example (a nurse is), person (she, the nurse, Susie) or ""."""
    noun = next((t for t in root.lefts if t.dep_ in ("nsubj", "nsubjpass")), None)
    if noun is None:
        return ""
    said = {t.lower_ for t in noun.lefts if t.dep_ in ("det", "poss", "nummod", "amod")}
    if noun.lower_ in _words("anybody"):
        return "kind"
    if _class_of(noun) in _PEOPLE:
        plural = noun.tag_ in ("NNS", "NNPS") and (
            not said or bool(said & _words("of_a_kind"))
        )
        if tense != "past" and said & {"a", "an"}:
            return "example"
        return "kind" if plural else "person"
    named = noun.pos_ == "PROPN" and not _class_of(noun)
    return "person" if named or noun.lower_ in ("he", "she", "they", "i", "we") else ""


def _tense(sentence: Span, root: Token, words: list[Token]) -> str:
    """past, present, perfect, future, modal, mixed, question, request, or "" without a verb."""
    if sentence.text.rstrip(" \"'”’").endswith("?"):
        return "question"
    helpers = [t for t in root.lefts if t.dep_ in ("aux", "auxpass")]
    finite = next((t for t in [*helpers, root] if t.tag_ in _FINITE), None)
    subject = any("subj" in t.dep_ or t.dep_ == "expl" for t in root.children)
    if finite is None or not subject:
        return "request" if root.tag_ == "VB" and not subject else ""
    if finite.tag_ == "MD":
        return "future" if finite.lower_ in ("will", "'ll", "wo", "shall") else "modal"
    last = [t.tag_ for t in words if t.tag_ in _FINITE][-1:]
    if (finite.tag_ == "VBD") != (last == ["VBD"]):
        return "mixed"
    if finite.tag_ == "VBD":
        return "past"
    return (
        "perfect"
        if root.tag_ == "VBN" and finite.lower_ in ("has", "have", "'ve")
        else "present"
    )


def _aspect(root: Token) -> str:
    """state, event or now (in progress)."""
    helpers = [t for t in root.lefts if t.dep_ in ("aux", "auxpass")]
    if root.tag_ == "VBG" and any(t.pos_ == "AUX" for t in helpers):
        return "now"
    verb = root.lower_  # "wants", "wanted", "lived"
    forms = {
        verb,
        verb.removesuffix("s"),
        verb.removesuffix("ed"),
        verb.removesuffix("d"),
    }
    passive = any(t.dep_ == "auxpass" for t in helpers)
    return (
        "state"
        if forms & _words("states") or passive or root.pos_ == "AUX"
        else "event"
    )
