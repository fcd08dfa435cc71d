"""Put blanks (context-addition points) into statements, by a model, whose answers are checked and
retried, or by rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer.display.text import to_plain
from clinometer.errors import TableError
from clinometer.models import LoadOptions
from clinometer.models.open import open_writer
from clinometer.models.protocol import Turn, Writer
from clinometer.models.sampled import seed_for
from clinometer.reliability.benchmarks import statement_row
from clinometer.reliability.blank_rules import parse, places
from clinometer.reliability.pairs import Merged, merge
from clinometer.reliability.statement import BLANK, Blanks, Refused, Span, Statement
from clinometer.settings import SEED, check_settings, option
from clinometer.storage.lines import Lines
from clinometer.storage.resumable import Progress

if TYPE_CHECKING:
    from spacy.tokens import Doc

MODEL = "model"
RULES = "rules"
GIVEN = "given"
"""These are the names of proposers."""

PAPER_TEMPERATURE = 1.0
"""The default of OpenAI's API, which the paper used for blanks and versions."""

ATTEMPTS = 3
"""Answers that a model may give before the rules take over: the first is the most probable one."""

_RETRY_TEMPERATURE = 0.7
"""The temperature at which further answers are sampled."""


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
        """Return the settings that affect the points."""
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
    answers.

    With `out` (a .jsonl file) rows are written as they are made, and the same call resumes; every
    other command reads the file as statements. Rows of statements that have changed since are made
    again. Statements that bring their own points keep them.
    """
    settings = settings or PointSettings()
    if not statements:
        raise TableError("statements: expected at least one, found none")
    with Lines(out, settings.to_dict()).resumed(fresh=fresh) as lines:
        lines.forget(s.id for s in statements if _is_stale(s, lines.rows.get(s.id)))
        missing = [s for s in statements if s.id not in lines.rows]
        if missing and settings.model is not None and writer is None:
            writer = open_writer(settings.model, load=settings.load)
        docs = parse([statement.text for statement in missing])
        new_rows = (
            _row(statement, doc, writer, settings)
            for statement, doc in zip(missing, docs, strict=True)
        )
        ids = [statement.id for statement in statements]
        rows = lines.take(new_rows, ids, progress)
        counts = _counts(rows)
        lines.finish(counts)
    return MadeRows(rows, counts)


def _row(
    statement: Statement, doc: Doc, writer: Writer | None, settings: PointSettings
) -> dict[str, Any]:
    """Return the statement with its blanks: its own, those of the model, or those of the rules."""
    points = statement.points
    proposer = GIVEN
    answers: list[str] = []
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
    """Return the points of a model's first valid answer, if it gives one, and how each answer
    did."""
    question = statement.text
    temperatures = [0.0, *[_RETRY_TEMPERATURE] * (ATTEMPTS - 1)]
    if settings.as_in_paper:
        temperatures = [PAPER_TEMPERATURE] * ATTEMPTS
        if statement.other is not None:
            question = str(merge(statement.text, statement.other))
    turns = points_prompt(question, settings.examples, system=settings.as_in_paper)
    outcomes: list[str] = []
    for attempt, temperature in enumerate(temperatures):
        answer = writer.write(
            turns,
            temperature=temperature,
            seed=seed_for(settings.seed, statement.text, attempt),
            # A word and a blank have about two tokens each.
            length=32 + 4 * len(question.split()),
        )[0]
        try:
            if question != statement.text:
                answer = Merged.parse(accept(answer, question)).side(0)
            points = accept(answer, statement.text, statement.target_spans())
        except Refused as error:
            outcomes.append(str(error))
        else:
            return points, [*outcomes, "accepted"]
    return None, outcomes


def _is_stale(statement: Statement, row: dict[str, Any] | None) -> bool:
    """Return whether a row was made from another sentence, other target terms, or other given
    points."""
    if row is None:
        return False
    current = statement_row(statement)
    for name in ("sentence", "target_term"):
        if row.get(name) != current[name]:
            return True
    if statement.points is None or row["proposer"] != GIVEN:
        return False
    return bool(row["context_points"] != statement.points)


def _counts(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return how many statements have blanks by whom, and how each answer did."""
    answers = Counter[str]()
    proposers = Counter[str]()
    n_without_blanks = 0
    for row in rows:
        answers.update(row["answers"])
        proposers[row["proposer"]] += 1
        n_without_blanks += BLANK not in row["context_points"]
    total = answers.total()
    return {
        "statements": len(rows),
        "by_model": proposers[MODEL],
        "by_rules": proposers[RULES],
        "given": proposers[GIVEN],
        "without_blanks": n_without_blanks,
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
    """Return the conversation of Figure 6 up to the model's answer.

    `examples` are (sentence, points) pairs, shown as earlier turns. The paper fine-tuned a model on
    such pairs instead. Many chat templates refuse its `system` message, so it is left out unless
    asked for.
    """
    turns: list[Turn] = [("user", _REQUEST), ("assistant", _READY)]
    if system:
        turns.insert(0, ("system", _SYSTEM))
    for sentence, points in examples:
        turns.append(("user", sentence))
        turns.append(("assistant", points.replace("___", "____")))
    turns.append(("user", text))
    return turns


EMPTY = "empty"
NO_BLANK = "no_blank"
CHANGED = "text_changed"
IN_WORD = "inside_a_word"
IN_TARGET = "inside_a_target"
"""These are the reasons to reject an answer."""

_QUOTES = {'"': '"', "“": "”", "'": "'", "`": "`"}


def with_blanks(text: str, positions: Iterable[int]) -> str:
    """Return the text with a blank at each position, separated by a space.

    >>> with_blanks("The nurse is tired.", [4, 18])
    'The ___ nurse is tired ___.'
    """
    points = ""
    start = 0
    for position in sorted(set(positions)):
        points += text[start:position]
        opens_word = position == 0 or text[position - 1].isspace()
        points += f"{BLANK} " if opens_word else f" {BLANK}"
        start = position
    return points + text[start:]


def accept(answer: str, text: str, targets: Iterable[Span] = ()) -> str:
    """Return the text with the blanks of a model's answer. Raise Refused if the answer changes
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
    # The offset in the text after its first n characters that are no white space.
    offsets = [0]
    offsets += [i for i, c in enumerate(text, start=1) if not c.isspace()]
    lengths = [len(_solid(part)) for part in blanks.parts[:-1]]
    positions = {_word_edge(text, offsets[n]) for n in accumulate(lengths)}
    for start, stop in targets:
        if any(start < position < stop for position in positions):
            raise Refused(IN_TARGET)
    return with_blanks(text, positions)


def _word_edge(text: str, position: int) -> int:
    """Return the position itself, at the end of a word; or the start of the next word if a
    determiner or the like has just ended, because the blank then belongs to what follows. Both are
    one gap."""
    if position == len(text):  # context ends with the sentence, so before its full stop
        while position and not text[position - 1].isalnum():
            position -= 1
        return position or len(text)
    rest = text[position:]
    if rest[0].isspace():
        start = len(text) - len(rest.lstrip())
        return start if start < len(text) else position
    if position and text[position - 1].isalnum():
        next_characters = rest.split(maxsplit=1)[0]
        if any(map(str.isalnum, next_characters)):  # don ___ 't, well ___ -known
            raise Refused(IN_WORD)
    return position


def _solid(text: str) -> str:
    """Return a text without white space."""
    return "".join(text.split())


def _unquoted(answer: str, text: str) -> str:
    """Return the answer without enclosing quotes, unless the text itself has them."""
    quote = answer[:1]
    if quote not in _QUOTES or text.startswith(quote):
        return answer
    if not answer.endswith(_QUOTES[quote]):
        return answer
    return answer[1:-1].strip()
