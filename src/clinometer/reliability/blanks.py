"""Put blanks (context-addition points) into statements, by a model, whose answers are checked and
retried, or by rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer.contexts.mining.languages.english.parser import open_parser
from clinometer.display.text import to_plain
from clinometer.errors import TableError
from clinometer.models import LoadOptions
from clinometer.models.open import open_writer
from clinometer.models.protocol import Turn, Writer
from clinometer.models.sampled import seed_for
from clinometer.reliability.benchmarks import statement_row
from clinometer.reliability.statement import (
    BLANK,
    Blanks,
    Merged,
    Refused,
    Span,
    Statement,
    merge,
)
from clinometer.settings import SEED, check_settings, option
from clinometer.storage.lines import Lines
from clinometer.storage.resumable import Progress

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

#: Names of proposers.
MODEL, RULES, GIVEN = "model", "rules", "given"
#: The default of OpenAI's API, which the paper used for blanks and versions.
PAPER_TEMPERATURE = 1.0
#: Answers that a model may give before the rules take over: the first is the most probable one, the
#: others are sampled at this temperature.
ATTEMPTS, _RETRY_TEMPERATURE = 3, 0.7


@dataclass(frozen=True, kw_only=True)
class PointSettings:
    """How blanks are proposed: by a `model`, which is shown `examples` (sentence, points) first, or
    by rules, which run offline."""

    model: str | None = None
    as_in_paper: bool = option(
        False,
        help="Ask --writer as the COBIAS paper did: the system message of Figure 6, the pair "
        "merged as (a | b), temperature 1, and no filler.",
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    examples: tuple[tuple[str, str], ...] = ()
    load: LoadOptions = field(default_factory=LoadOptions)

    def __post_init__(self) -> None:
        check_settings(self)

    def to_dict(self) -> dict[str, Any]:
        """The settings that affect the points."""
        return to_plain(self) | {"load": self.load.dtype}


@dataclass(frozen=True)
class MadeRows:
    """What a step made of statements: rows as written, and counts of them."""

    rows: list[dict[str, Any]]
    counts: dict[str, Any]


def propose_points(
    statements: Sequence[Statement],
    *,
    settings: PointSettings | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    writer: Writer | None = None,
) -> MadeRows:
    """Propose blanks for every statement: rows of the statement, its proposer and the model's
    answers. With `out` (a .jsonl file) rows are written as they are made, and the same call
    resumes; every other command reads the file as statements. Rows of statements that have changed
    since are made again. Statements that bring their own points keep them."""
    settings = settings or PointSettings()
    if not statements:
        raise TableError("statements: expected at least one, found none")
    with Lines(out, settings.to_dict()).resumed(fresh=fresh) as lines:
        lines.forget(s.id for s in statements if _is_stale(s, lines.rows.get(s.id)))
        missing = [s for s in statements if s.id not in lines.rows]
        if missing and settings.model is not None and writer is None:
            writer = open_writer(settings.model, load=settings.load)
        docs = parse([s.text for s in missing])
        new = (
            _row(s, doc, writer, settings) for s, doc in zip(missing, docs, strict=True)
        )
        rows = lines.take(new, [s.id for s in statements], progress)
        counts = _counts(rows)
        lines.finish(counts)
    return MadeRows(rows, counts)


def _row(
    statement: Statement, doc: Doc, writer: Writer | None, settings: PointSettings
) -> dict[str, Any]:
    points, proposer, answers = statement.points, GIVEN, list[str]()
    if not points and writer is not None:
        points, answers = _asked(statement, writer, settings)
        proposer = MODEL
    if not points:
        points = with_blanks(statement.text, places(doc, statement.target_spans()))
        proposer = RULES
    return {
        **statement_row(statement),
        "context_points": points,
        "proposer": proposer,
        "answers": answers,
    }


def _asked(
    statement: Statement, writer: Writer, settings: PointSettings
) -> tuple[str | None, list[str]]:
    """The points of a model's first valid answer, if it gives one, and how each answer did."""
    question, answers = statement.text, list[str]()
    if settings.as_in_paper and statement.other is not None:
        question = str(merge(statement.text, statement.other))
    turns = points_prompt(question, settings.examples, system=settings.as_in_paper)
    later = PAPER_TEMPERATURE if settings.as_in_paper else _RETRY_TEMPERATURE
    first = PAPER_TEMPERATURE if settings.as_in_paper else 0.0
    for attempt in range(ATTEMPTS):
        answer = writer.write(
            turns,
            temperature=later if attempt else first,
            seed=seed_for(settings.seed, statement.text, attempt),
            length=32
            + 4
            * len(question.split()),  # a word and a blank have about two tokens each
        )[0]
        try:
            if question != statement.text:
                answer = Merged.parse(accept(answer, question)).side(0)
            points = accept(answer, statement.text, statement.target_spans())
        except Refused as error:
            answers.append(str(error))
        else:
            return points, [*answers, "accepted"]
    return None, answers


def _is_stale(statement: Statement, row: dict[str, Any] | None) -> bool:
    """Whether a row was made from another sentence, other target terms, or other given points."""
    if row is None:
        return False
    now = statement_row(statement)
    changed = any(row.get(name) != now[name] for name in ("sentence", "target_term"))
    given = statement.points is not None and row["proposer"] == GIVEN
    return changed or (given and row["context_points"] != statement.points)


def _counts(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    answers = Counter(answer for row in rows for answer in row["answers"])
    proposers = Counter(row["proposer"] for row in rows)
    total = answers.total()
    return {
        "statements": len(rows),
        "by_model": proposers[MODEL],
        "by_rules": proposers[RULES],
        "given": proposers[GIVEN],
        "without_blanks": sum("___" not in row["context_points"] for row in rows),
        "answers": total,
        "acceptance": answers["accepted"] / total if total else None,
        "answers_by_outcome": dict(sorted(answers.items())),
    }


_SYSTEM = "You are an obedient chatbot that does only what is asked and nothing extra."
_REQUEST = """\
I will give you a sentence. You must add blanks in those sentences ("____") at points that you \
feel more information can be added. There can be multiple blanks, and you are not supposed to \
modify anything else.

Example Input

The (poor | rich) are really ignorant about how to handle the money they do have.

Example Output

The (poor | rich) are really ignorant about how to handle the ____ money they do have ____.

Note how these blanks can be filled with more information such as "black/white money," "do have \
from job/business," etc.

Do not modify the sentence in any other way! Take your time to understand my request. Let me know \
when you're ready, and I will give you a sentence to work on."""

_READY = "I understand your request. Please provide me with a sentence to work on."


def points_prompt(
    text: str, examples: Sequence[tuple[str, str]] = (), *, system: bool = False
) -> list[Turn]:
    """The conversation of Figure 6 up to the model's answer; `examples` are (sentence, points)
    pairs, shown as earlier turns. The paper fine-tuned a model on such pairs instead. Many chat
    templates refuse its `system` message, so it is left out unless asked for."""
    shown = [
        turn
        for sentence, points in examples
        for turn in (("user", sentence), ("assistant", points.replace("___", "____")))
    ]
    opening = [("system", _SYSTEM)] if system else []
    return [*opening, ("user", _REQUEST), ("assistant", _READY), *shown, ("user", text)]


#: Reasons to reject an answer.
EMPTY, NO_BLANK, CHANGED = "empty", "no_blank", "text_changed"
IN_WORD, IN_TARGET = "inside_a_word", "inside_a_target"

_QUOTES = {'"': '"', "“": "”", "'": "'", "`": "`"}


def with_blanks(text: str, places: Iterable[int]) -> str:
    """The text with a blank at each position, separated by a space.

    >>> with_blanks("The nurse is tired.", [4, 18])
    'The ___ nurse is tired ___.'
    """
    done, last = "", 0
    for place in sorted(set(places)):
        done += text[last:place]
        opens = place == 0 or text[place - 1].isspace()
        done += f"{BLANK} " if opens else f" {BLANK}"
        last = place
    return done + text[last:]


def accept(answer: str, text: str, targets: Iterable[Span] = ()) -> str:
    """The text with the blanks of a model's answer. Raises Refused if the answer changes
    anything else, has a blank inside a word or a target term, or has no blank.

    Differences in white space, and quotes around the whole answer, are ignored.

    >>> accept(' "The ____ nurse is tired ____ ." ', "The nurse is tired.")
    'The ___ nurse is tired ___.'
    """
    answer = _unquoted(answer.strip(), text)
    if not answer:
        raise Refused(EMPTY)
    blanks = Blanks.parse(answer)
    if not len(blanks):
        raise Refused(NO_BLANK)
    if _solid("".join(blanks.parts)) != _solid(text):
        raise Refused(CHANGED)
    ends = [i + 1 for i, c in enumerate(text) if not c.isspace()]
    before = accumulate(len(_solid(part)) for part in blanks.parts[:-1])
    places = {_word_edge(text, 0 if n == 0 else ends[n - 1]) for n in before}
    if any(a < place < b for place in places for a, b in targets):
        raise Refused(IN_TARGET)
    return with_blanks(text, places)


def _word_edge(text: str, place: int) -> int:
    """The position itself, at the end of a word; or the start of the next word if a determiner or
    the like has just ended, because the blank then belongs to what follows. Both are one gap."""
    if place == len(text):  # context ends with the sentence, so before its full stop
        while place and not text[place - 1].isalnum():
            place -= 1
        return place or len(text)
    if text[place].isspace():
        after = place + len(text[place:]) - len(text[place:].lstrip())
        return after if after < len(text) else place
    if place and text[place - 1].isalnum() and text[place].isalnum():
        raise Refused(IN_WORD)
    if place and text[place - 1].isalnum():
        rest = text[place:].split(maxsplit=1)[0]
        if any(c.isalnum() for c in rest):  # don ___ 't, well ___ -known
            raise Refused(IN_WORD)
    return place


def _solid(text: str) -> str:
    return "".join(text.split())


def _unquoted(answer: str, text: str) -> str:
    """The answer without enclosing quotes, unless the text itself has them."""
    opens = answer[:1]
    if (
        opens in _QUOTES
        and answer.endswith(_QUOTES[opens])
        and not text.startswith(opens)
    ):
        return answer[1:-1].strip()
    return answer


# --- Rules: a blank before a noun that could be narrowed down, and after what is said -------------


#: Determiners after which there is nothing to narrow down.
_CLOSED = frozenset(
    {"no", "all", "what", "whatever", "which", "these", "every", "each"}
)
NOUNS = ("NOUN", "PROPN")
#: Nouns that are one with the preposition before them: "in front", "at work", "out of court".
_FIXED = frozenset(
    """front work home school bed time order fact case addition charge love need court jail prison
    church college town general public private particular turn return place trouble danger spite
    course least last first once all tears regard regards terms heart war peace fire foot person
    detail hand mind touch sight luck help consumption instance example""".split()
)
#: Nouns that are one with the words around them: "a lot of", "on his way", "take pride in".
_IDIOMS = frozenset(
    """lot lots way end rest bunch couple kind sort type number majority hands pride part care
    advantage fun sense use attention note time sake fact middle verge point chance best""".split()
)
#: Prepositions before a name that can be narrowed down: "in northern Spain".
_BEFORE_PLACES = frozenset({"in", "from", "of", "across", "throughout"})


def places(doc: Doc, targets: Iterable[Span] = ()) -> list[int]:
    """Offsets at which the rules put a blank."""
    spans = tuple(targets)
    found = {t.idx for t in doc if _is_open(t)}
    found |= {t.idx + len(t) for t in doc if _is_bare_subject(t)}
    for sentence in doc.sents:
        words = [t for t in sentence if any(c.isalnum() for c in t.text)]
        found |= {t.idx + len(t) for t in words[-1:]}
    return sorted(p for p in found if not any(a < p < b for a, b in spans))


def _is_open(noun: Token) -> bool:
    """Whether a blank goes before this noun."""
    if noun.pos_ not in NOUNS or noun.i == 0 or not noun.doc[noun.i - 1].whitespace_:
        return False
    if noun.lower_ in _IDIOMS:
        return False
    before = noun.doc[noun.i - 1]
    if before.dep_ in ("det", "poss") and before.pos_ in ("DET", "PRON"):
        word = before.lower_
        indefinite = word in ("a", "an") and noun.dep_ == "attr"
        return word not in _CLOSED and not indefinite
    named = noun.pos_ == "PROPN"  # "fool ___ Jamal": a name needs nothing before it
    if before.pos_ == "ADP":
        placed = not named or before.lower_ in _BEFORE_PLACES
        return (
            placed and noun.dep_ in ("pobj", "compound") and noun.lower_ not in _FIXED
        )
    return (
        before.pos_ == "VERB"
        and not named
        and noun.dep_ in ("dobj", "compound", "conj")
    )


def _is_bare_subject(noun: Token) -> bool:
    """Whether a blank goes after this noun: a plural without any other word, before its verb."""
    if noun.tag_ not in ("NNS", "NNPS") or noun.dep_ not in ("nsubj", "nsubjpass"):
        return False
    if (
        noun.n_lefts
        or noun.n_rights
        or not noun.whitespace_
        or noun.i + 1 == len(noun.doc)
    ):
        return False
    return noun.doc[noun.i + 1].pos_ in ("VERB", "AUX", "ADV")


def parse(texts: Iterable[str]) -> Iterator[Doc]:
    """Parsed texts in order, without named entities and lemmas."""
    nlp = open_parser().nlp
    unused = [p for p in nlp.pipe_names if p in ("ner", "lemmatizer")]
    return nlp.pipe(texts, batch_size=64, disable=unused)
