"""Check one sentence: where context is missing, how much it matters, what to ask.

Step 4 of Figure 2 of the COBIAS paper: instead of refusing, a system can ask for missing context.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clinometer.display.numbers import counted
from clinometer.display.text import plain
from clinometer.errors import SettingsError
from clinometer.models import LoadOptions
from clinometer.reliability.blanks import PointSettings, propose_points
from clinometer.reliability.findings import NOT_VALIDATED, score_with_interval
from clinometer.reliability.parsing import neighbouring_words, parse
from clinometer.reliability.scoring import ReliabilitySettings, score_reliability
from clinometer.reliability.statement import Blanks, Statement
from clinometer.reliability.variants.make import FILLER, Makers, VariantSettings, make_variants
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class CheckedBlank:
    """One blank: its position, the question it raises, and what the versions say there."""

    number: int
    before: str
    after: str
    question: str
    fills: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Check:
    """The result of checking a sentence.

    points         the sentence with blanks, as placed by `proposer`
    versions       the sentence with context; `origins` says what filled in each one
    cv, cobias     how much the versions differ from the sentence for the scoring models; a higher
                   COBIAS is more reliable. It has a 95 % interval over further versions with two or
                   more; None when no version could be scored
    blanks         in the order of the sentence
    """

    sentence: str
    target_terms: tuple[str, ...]
    points: str
    proposer: str
    versions: tuple[str, ...]
    origins: tuple[str, ...]
    cv: float | None
    cobias: Estimate | None
    blanks: tuple[CheckedBlank, ...]
    models: dict[str, Any]

    def __repr__(self) -> str:
        return f"Check({self.points!r}, {self._outcome})"

    @property
    def _outcome(self) -> str:
        scored = "not scored" if self.cobias is None else f"COBIAS {self.cobias.value:.3f}"
        return f"{scored}, {counted(len(self.versions), 'version')}"

    @property
    def questions(self) -> list[str]:
        """The distinct questions, in the order of the sentence."""
        return list(dict.fromkeys(b.question for b in self.blanks))

    def to_dict(self) -> dict[str, Any]:
        """As docs/check.schema.json describes it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "sentence": self.sentence,
            "target_terms": list(self.target_terms),
            "points": self.points,
            "proposer": self.proposer,
            "versions": [
                {"text": text, "origin": origin}
                for text, origin in zip(self.versions, self.origins, strict=True)
            ],
            "score": self._score,
            "blanks": plain(self.blanks),
            "questions": self.questions,
            "models": self.models,
            "standing": {"validated": False, "why": NOT_VALIDATED.text},
        }

    @property
    def _score(self) -> dict[str, float | None]:
        cobias = self.cobias or Estimate(math.nan)
        numbers = {
            "cv": self.cv,
            "cobias": cobias.value,
            "cobias_low": cobias.low,
            "cobias_high": cobias.high,
            "stability": 1.0 - cobias.value,
        }
        return {k: None if v is None or math.isnan(v) else v for k, v in numbers.items()}


def check(
    sentence: str,
    *,
    targets: Sequence[str] = (),
    points: str | None = None,
    model: str | None = None,
    filler: str = VariantSettings.filler,
    models: Sequence[str] = ("pocket:bert",),
    n: int = 12,
    temperature: float = 1.1,
    seed: int = 0,
    load: LoadOptions | None = None,
) -> Check:
    """Does a sentence need more context, and where?

    `n` is the number of versions; scoring time grows with it and with the square of the length.

    `model` proposes blanks and writes versions (any generating model; None uses only the rules and
    the filler, offline); `filler` writes the remaining versions; `models` score. Pass `points` to
    place the blanks yourself.
    """
    text = " ".join(sentence.split())
    if not any(c.isalnum() for c in text):
        raise SettingsError("sentence: expected one with words, found none")
    load = load or LoadOptions()
    statement = Statement(id="sentence", text=text, targets=tuple(targets))
    lacking = [t for t in targets if t and not replace(statement, targets=(t,)).target_spans()]
    if lacking:
        raise SettingsError(f"target {lacking[0]!r}: expected a term of the sentence")
    how = VariantSettings(
        n=n, model=model, filler=filler, temperature=temperature, seed=seed, load=load
    )
    makers = Makers(how)
    proposer = "given"
    if points is None:
        by = PointSettings(model=model, seed=seed, load=load)
        row = propose_points([statement], settings=by, writer=makers.writer).rows[0]
        points, proposer = row["context_points"], row["proposer"]
    blanks = Blanks.parse(points)
    if " ".join(blanks.plain.split()) != text or not len(blanks):
        raise SettingsError(f"points: expected the sentence with blanks (___), found {points!r}")
    statement = replace(statement, points=points)
    made = make_variants([statement], settings=how, makers=makers)
    versions = made.variants[statement.id]
    score: Mapping[Any, Any] = {}
    if versions:
        settings = ReliabilitySettings(versions=None, seed=seed, load=load)
        run = score_reliability([statement], made.variants, models=models, settings=settings)
        score = run.statements.iloc[0].to_dict()
    cobias = score_with_interval(score)
    return Check(
        sentence=text,
        target_terms=statement.targets,
        points=points,
        proposer=proposer,
        versions=versions,
        origins=tuple(made.rows[0]["origins"]),
        cv=None if cobias is None else float(score["cv"]),
        cobias=cobias,
        blanks=tuple(_checked_blanks(blanks, versions)),
        models={
            "points": model if proposer == "model" else None,
            "versions": model,
            "filler": makers.filler.info.name if FILLER in made.rows[0]["origins"] else None,
            "score": list(models),
        },
    )


def _checked_blanks(blanks: Blanks, versions: Sequence[str]) -> list[CheckedBlank]:
    """The blanks, in the order of the sentence."""
    fills = [f for f in map(blanks.fills_of, versions) if f is not None]
    return [
        CheckedBlank(
            number=number,
            before=blanks.plain[:place].strip(),
            after=blanks.plain[place:].strip(),
            question=question,
            fills=tuple(dict.fromkeys(f[number] for f in fills if f[number])),
        )
        for number, (place, question) in enumerate(
            zip(blanks.positions, questions(blanks), strict=True)
        )
    ]


# --- The question that each blank raises: Which? Where? When? -------------------------------------

_OCCASION = "On what occasion?"
_NOUNS = ("NOUN", "PROPN")


def questions(blanks: Blanks) -> list[str]:
    """A question for every blank, from the parse of the statement without blanks.

    Before a noun, which one is meant ("At which office?"); after a clause, on what occasion. A
    repeated question is made more specific if possible.
    """
    doc = next(iter(parse([blanks.plain])))
    asked: list[str] = []
    for place in blanks.positions:
        asked.append(_question(doc, *neighbouring_words(doc, place), asked))
    return asked


def _question(doc: Doc, before: Token | None, after: Token | None, asked: list[str]) -> str:
    noun = _noun_at(after)
    if noun is not None:
        return _which(doc, noun)
    if before is not None and before.pos_ == "ADJ":
        said = before.text.capitalize()
        options = (f"{said} on what occasion?", f"{said} in what way?")
    elif before is not None and before.pos_ in _NOUNS and after is not None and not after.is_punct:
        bare = "subj" in before.dep_ and not before.n_lefts
        options = (
            _which(doc, before) if bare else f"{_which(doc, before)[:-1]}, exactly?",
            _OCCASION,
        )
    else:
        options = (_OCCASION, "Where, and why?")
    return next((q for q in options if q not in asked), options[-1])


def _noun_at(token: Token | None) -> Token | None:
    """The noun that a blank before this token would narrow down, if any."""
    if token is None:
        return None
    if token.pos_ in _NOUNS:
        while token.dep_ == "compound" and token.head.i > token.i:
            token = token.head
        return token
    if token.dep_ == "amod" and token.head.pos_ in _NOUNS and token.head.i > token.i:
        return token.head
    return None


def _which(doc: Doc, noun: Token) -> str:
    phrase = _phrase(doc, noun)
    if noun.pos_ == "PROPN":
        return f"Which {phrase} is meant?"
    said = [t.lower_ for t in noun.lefts if t.dep_ in ("det", "poss", "nummod")]
    bare_object = not said and "subj" not in noun.dep_
    indefinite = bare_object or bool({"a", "an", "some", "any"} & set(said))
    asked = "what kind of" if indefinite else "which"
    if noun.dep_ == "pobj" and noun.head.pos_ == "ADP" and noun.head.lower_ != "of":
        return f"{noun.head.text.capitalize()} {asked} {phrase}?"
    return f"{asked.capitalize()} {phrase}?"


def _phrase(doc: Doc, noun: Token) -> str:
    """The noun with its modifiers, without its determiner or possessor."""
    first = min(
        [t.i for t in noun.lefts if t.dep_ in ("compound", "amod", "nummod") and t.i < noun.i],
        default=noun.i,
    )
    text = str(doc[first : noun.i + 1].text)
    begins = doc[first].is_sent_start and doc[first].pos_ != "PROPN" and doc[first].is_title
    return text[:1].lower() + text[1:] if begins else text
