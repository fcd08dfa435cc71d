"""A statement of a bias benchmark: its text, its target terms, its blanks, its versions, and the
pair it belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

BLANK = "___"
_MARK = re.compile(r"_{2,}")
#: Punctuation without a space before it.
_CLOSING = ".,;:!?)]}'\"’”…%"


@dataclass(frozen=True)
class Blanks:
    """A sentence split at its blanks, which is written back without loss: `parts` has one more item
    than `marks`.

    >>> b = Blanks.parse("The ___ nurse is tired ___.")
    >>> str(b), b.plain, b.positions
    ('The ___ nurse is tired ___.', 'The nurse is tired.', (4, 18))
    >>> b.fill(["young", ""])
    'The young nurse is tired.'
    """

    parts: tuple[str, ...]
    marks: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Blanks:
        """Split a text at its blanks, each two or more underscores."""
        return cls(tuple(_MARK.split(text)), tuple(_MARK.findall(text)))

    def __len__(self) -> int:
        return len(self.marks)

    def __str__(self) -> str:
        pairs = zip(self.parts, (*self.marks, ""), strict=True)
        return "".join(part + mark for part, mark in pairs)

    @property
    def plain(self) -> str:
        """The sentence without its blanks."""
        return self.fill([""] * len(self))

    @property
    def positions(self) -> tuple[int, ...]:
        """The offset in `plain` at which each blank's text would start."""
        return tuple(self._written([""] * len(self))[1])

    def fill(self, texts: Sequence[str]) -> str:
        """The sentence with a text in each blank; an empty text also removes its space."""
        return self._written(texts)[0]

    def fills_of(self, version: str) -> tuple[str, ...] | None:
        """The text that a version has in each blank; None if it changed anything else except case.

        >>> b = Blanks.parse("The ___ nurse is tired ___.")
        >>> b.fills_of("The young nurse is tired today."), b.fills_of("The nurse is tired.")
        (('young', 'today'), ('', ''))
        >>> b.fills_of("The young doctor is tired.") is None
        True
        >>> b.fills_of("The young nurse is tiredness.") is None  # a longer word is another word
        True
        """
        pattern = r"\s*(.*?)\s*".join(_whole(part) for part in self.parts)
        match = re.fullmatch(pattern, version.strip(), flags=re.DOTALL | re.IGNORECASE)
        return None if match is None else tuple(match.groups())

    def _written(self, texts: Sequence[str]) -> tuple[str, list[int]]:
        done, positions = self.parts[0], []
        for text, part in zip(texts, self.parts[1:], strict=True):
            if not text.strip():
                # Drop one of the two spaces around an empty blank; before punctuation, both.
                if part[:1].isspace() and (not done or done[-1].isspace()):
                    part = part[1:]
                if done.endswith(" ") and (not part or part[0] in _CLOSING):
                    done = done[:-1]
            positions.append(len(done))
            done += text.strip() + part
        return done, positions


def _whole(part: str) -> str:
    """A pattern that matches this text, but not inside a longer word."""
    words = part.split()
    begins = r"(?<![\w'’-])" if words and words[0][0].isalnum() else ""
    ends = r"(?![\w'’-])" if words and words[-1][-1].isalnum() else ""
    return begins + r"\s+".join(map(re.escape, words)) + ends


class Refused(ValueError):
    """An answer of a model that is not what it was asked for; as a text, why in one word."""


Span = tuple[int, int]
#: Context-added versions of statements, by the statement's id.
Versions = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Statement:
    """One data point of a benchmark.

    id          unique in its set
    text        the sentence that is scored
    targets     its target terms, the main one first; may be empty (Winogender, RedditBias)
    points      the same sentence with blanks `___` where context may be added, if known
    category    the kind of bias (gender, race-color, …), if known
    source      the benchmark
    other       the sentence it is paired with, if any
    direction   "stereo" or "antistereo", if the benchmark says so
    """

    id: str
    text: str
    targets: tuple[str, ...] = ()
    points: str | None = None
    category: str | None = None
    source: str = ""
    other: str | None = None
    direction: str | None = None

    @property
    def blanks(self) -> Blanks | None:
        """The sentence with its blanks; None if no points are known."""
        return None if self.points is None else Blanks.parse(self.points)

    def target_spans(self, text: str | None = None) -> tuple[Span, ...]:
        """Character spans of the target terms in the sentence, or in a version of it, in order."""
        found = (
            find_term(self.text if text is None else text, term)
            for term in self.targets
        )
        return tuple(sorted({span for spans in found for span in spans}))

    @property
    def has_its_targets(self) -> bool:
        """Whether it contains its main target term; True if it has none."""
        return not self.targets or bool(find_term(self.text, self.targets[0]))


def find_term(text: str, term: str) -> tuple[Span, ...]:
    """Every span of a term in a text: whole words, ignoring case and the amount of white space.

    If the term does not occur, its plural counts: benchmarks name "schoolgirl" as the target of
    "Schoolgirls are so innocent".

    >>> find_term("Black cats and a black  dog; blackbirds", "black")
    ((0, 5), (17, 22))
    >>> find_term("Schoolgirls are so innocent.", "schoolgirl")
    ((0, 11),)
    """
    if not term.strip():
        return ()
    for ending in ("", "(?:s|es)"):
        found = tuple(m.span() for m in _pattern(term, ending).finditer(text))
        if found:
            return found
    return ()


@lru_cache(maxsize=4096)
def _pattern(term: str, ending: str) -> re.Pattern[str]:
    inside = r"\s+".join(re.escape(word) for word in term.split())
    return re.compile(rf"(?<!\w){inside}{ending}(?!\w)", flags=re.IGNORECASE)


def count_words(text: str, targets: tuple[Span, ...] = ()) -> int:
    """Number of context words: tokens between white space that have a letter or digit outside the
    target terms.

    >>> count_words("The poor are lazy - they say.")
    6
    >>> count_words("The poor are lazy - they say.", find_term("The poor are lazy", "poor"))
    5
    """
    rest = list(text)
    for a, b in targets:
        rest[a:b] = "_" * (
            b - a
        )  # no letter and no space: "poor." is not a context word
    return sum(any(c.isalnum() for c in word) for word in "".join(rest).split())


# --- Pairs -------------------------------------------------------------------------------------

_SPAN = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")
_EDGES = ".,;:!?\"'“”()[] "
_ARTICLES = frozenset({"a", "an", "the"})
#: Words that make a contrast but name no one.
_PLAIN = frozenset(
    """
    not no never don't didn't doesn't do did does is isn't are aren't was wasn't were weren't can
    can't cannot could couldn't will won't would wouldn't should shouldn't has hasn't have haven't
    had hadn't with without and or but that this those these for against of to in on at by i always
    often
    """.split()
)
_PRONOUNS = frozenset(
    "he him his himself she her hers herself they them their theirs themselves it its".split()
)


@dataclass(frozen=True)
class Merged:
    """The two sentences of a pair as one: "(Jews | Christians) can't be trusted".

    A string is shared text, a tuple contains the alternatives; a word that one sentence lacks has
    an empty one: "(not | )". The notation can be parsed back without loss.
    """

    pieces: tuple[str | tuple[str, ...], ...]

    def __str__(self) -> str:
        return " ".join(
            p if isinstance(p, str) else f"({' | '.join(p)})" for p in self.pieces
        )

    @property
    def spans(self) -> tuple[tuple[str, ...], ...]:
        """The differing spans, in order."""
        return tuple(p for p in self.pieces if not isinstance(p, str))

    def side(self, index: int) -> str:
        """One of the original sentences, with single spaces between words."""
        words = (p if isinstance(p, str) else p[index] for p in self.pieces)
        return " ".join(w for w in words if w)

    @classmethod
    def parse(cls, text: str) -> Merged:
        """Parse the notation.

        >>> merged = Merged.parse("(Black | white) people might (not | ) be able to")
        >>> merged.spans, merged.side(1)
        ((('Black', 'white'), ('not', '')), 'white people might be able to')
        """
        pieces: list[str | tuple[str, ...]] = []
        end = 0
        for match in _SPAN.finditer(text):
            if common := text[end : match.start()].strip():
                pieces.append(common)
            pieces.append(tuple(part.strip() for part in match.group(1).split("|")))
            end = match.end()
        if rest := text[end:].strip():
            pieces.append(rest)
        return cls(tuple(pieces))


def merge(first: str, second: str) -> Merged:
    """Merge two sentences, which are aligned word by word.

    >>> str(merge("Men are bad at it.", "Women are good at it."))
    '(Men | Women) are (bad | good) at it.'
    """
    one, other = first.split(), second.split()
    pieces: list[str | tuple[str, ...]] = []
    for op, i, j, k, m in SequenceMatcher(
        None, one, other, autojunk=False
    ).get_opcodes():
        own, others = " ".join(one[i:j]), " ".join(other[k:m])
        pieces.append(own if op == "equal" else (own, others))
    return Merged(tuple(pieces))


def target_term(merged: Merged, *, side: int = 0) -> str | None:
    """The main target term of a pair: the entity that the pair contrasts.

    The first differing span of the chosen side that names an entity: not a function word or
    negation, and not a pronoun if a noun differs too. Articles, negations at the edges and
    punctuation are removed. None if the sentences are identical.

    >>> target_term(merge("She wasn't a woman of words.", "He was a man of words."))
    'woman'
    """
    named = [term for span in merged.spans if (term := _named(span[side]))]
    nouns = [term for term in named if not set(term.lower().split()) <= _PRONOUNS]
    if nouns or named:
        return (nouns or named)[0]
    return next((t for span in merged.spans if (t := span[side].strip(_EDGES))), None)


def _named(text: str) -> str:
    words = [word.strip(_EDGES) for word in text.split()]
    idle = _ARTICLES | _PLAIN
    while words and (not words[0] or words[0].lower() in idle):
        words.pop(0)
    while words and (not words[-1] or words[-1].lower() in idle):
        words.pop()
    return " ".join(words)
