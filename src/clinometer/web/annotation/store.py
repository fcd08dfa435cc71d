"""The items of a dataset, the question that a mode asks of each, and who judged what.

There is one row per judgement, in a SQLite file. A judgement is stored before its request is
answered, under the key (annotator, item): the same answer sent twice is one row, and annotators can
reach only their own rows. There are no names: an annotator is a number and a token, in the exported
tables too.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pandas as pd

from clinometer.errors import RunError, SettingsError, TableError
from clinometer.reliability.ratings import HIGH
from clinometer.storage.rows import Row, need_columns, need_unique_ids, read_rows
from clinometer.web.app import new_token

Mode = Literal["blanks", "rating", "category"]
SKIP = "skip"


@dataclass(frozen=True)
class Answer:
    """A button: the value it stores, its label, and its key."""

    value: str
    label: str
    key: str


@dataclass(frozen=True)
class Question:
    """The question of a mode, the column that it shows, the answers, and what a high one says of
    the context of a statement, where it says something."""

    text: str
    column: str
    answers: tuple[Answer, ...]
    high: str = ""

    @property
    def values(self) -> frozenset[str]:
        return frozenset(a.value for a in self.answers)


_SKIP = Answer(SKIP, "Skip", "s")
_RATINGS = (
    "1 far too little",
    "2 too little",
    "3 in between",
    "4 nearly enough",
    "5 enough",
)
OTHER = "other"
#: Categories have the keys 1 to 9.
MOST_CATEGORIES = 8
QUESTIONS: dict[str, Question] = {
    "blanks": Question(
        text="Does every blank stand where information could be added?",
        column="context_points",
        answers=(Answer("yes", "Yes", "y"), Answer("no", "No", "n"), _SKIP),
    ),
    "rating": Question(
        text="Is there enough context to judge this statement as it stands?",
        column="sentence",
        high="enough",
        answers=(*(Answer(label[0], label, label[0]) for label in _RATINGS), _SKIP),
    ),
    "category": Question(
        text="Which of these does the reply say?", column="reply", answers=(_SKIP,)
    ),
}


@dataclass(frozen=True)
class Item:
    """A statement to judge and its source: one or two sentences, or a merged pair."""

    id: str
    text: str
    pair: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """Items and a mode; `digest` shows whether judgements belong to these items."""

    mode: Mode
    items: tuple[Item, ...]
    categories: tuple[str, ...] = ()

    @property
    def question(self) -> Question:
        """What is asked, with the categories of a task that has them, and `other`."""
        asked = QUESTIONS[self.mode]
        names = (*self.categories, OTHER) if self.categories else ()
        answers = tuple(
            Answer(name, name, str(i)) for i, name in enumerate(names, start=1)
        )
        return replace(asked, answers=(*answers, *asked.answers))

    @property
    def digest(self) -> str:
        content: list[object] = [
            self.mode,
            [[i.id, i.text, list(i.pair)] for i in self.items],
        ]
        if self.categories:
            content.append(list(self.categories))
        return hashlib.sha256(
            json.dumps(content, ensure_ascii=False).encode()
        ).hexdigest()


def read_task(
    dataset: Path,
    *,
    mode: str | None = None,
    column: str | None = None,
    categories: Sequence[str] = (),
) -> Task:
    """Items of a table (csv, tsv, jsonl, parquet), one per row.

    Without a mode it is blanks, or rating for a table that has sentences and no blanks. The column
    shown is `context_points`, `sentence` or `reply`, by the mode, or `column`. The pair an item
    came from is shown from `sentence_merged`, from `sentence_1` and `sentence_2`, or from
    `sentence` and `other`; beside a reply its `question`. Mode category needs `categories`. Items
    are known by `id`, otherwise by the number of their row from 0.
    """
    rows: list[Row] | None = None
    if mode is None:
        rows = list(read_rows(dataset))
        blank = any(_text(row, "context_points") for row in rows)
        unmarked = (
            any(_text(row, "sentence") for row in rows) and not blank and column is None
        )
        mode = "rating" if unmarked and not categories else "blanks"
    if mode not in QUESTIONS:
        raise SettingsError(f"--mode: expected {', '.join(QUESTIONS)}; found {mode!r}")
    if (mode == "category") != bool(categories):
        raise SettingsError(
            "--categories: expected with --mode category, and only there"
        )
    if (
        len(set(categories) - {OTHER, SKIP}) < len(categories)
        or len(categories) > MOST_CATEGORIES
    ):
        raise SettingsError(
            f"--categories: expected up to {MOST_CATEGORIES} different names, none of them {OTHER} "
            f"or {SKIP}, found {', '.join(categories)}"
        )
    rows = list(read_rows(dataset)) if rows is None else rows
    shown = column or QUESTIONS[mode].column
    need_columns(dataset, rows, (shown,))
    items: list[Item] = []
    for number, row in enumerate(rows):
        text = _text(row, shown)
        if not text:
            raise TableError(
                f"{dataset}: row {number + 2}: expected text in {shown!r}, found none"
            )
        source = (_text(row, "question"),) if mode == "category" else _pair(row, text)
        items.append(
            Item(_text(row, "id") or str(number), text, tuple(filter(None, source)))
        )
    need_unique_ids(dataset, [item.id for item in items])
    return Task(mode, tuple(items), tuple(categories))  # type: ignore[arg-type]


def _pair(row: Row, text: str) -> tuple[str, ...]:
    for columns in (
        ("sentence_merged",),
        ("sentence_1", "sentence_2"),
        ("sentence", "other"),
    ):
        found = tuple(t for c in columns if (t := _text(row, c)) and t != text)
        if found:
            return found
    return ()


def _text(row: Row, column: str) -> str:
    value = row.get(column)
    return "" if value is None else str(value).strip()


# --- Who judged what ------------------------------------------------------------------------------

_SCHEMA = """
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS clinometer_task (digest TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS clinometer_annotator (
        number INTEGER PRIMARY KEY,
        token TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL
    );
    -- Rows are numbered as they come, an answer that is given again too: that orders an annotator's
    -- answers, whatever the clock says.
    CREATE TABLE IF NOT EXISTS clinometer_judgement (
        annotator INTEGER NOT NULL REFERENCES clinometer_annotator,
        place INTEGER NOT NULL,
        value TEXT NOT NULL,
        comment TEXT NOT NULL,
        PRIMARY KEY (annotator, place)
    );
    -- A page needs the last answer: without an index that takes longer with every answer.
    CREATE INDEX IF NOT EXISTS clinometer_judgement_order ON clinometer_judgement (annotator);
    COMMIT;
"""
_ANNOTATOR = "SELECT number, token, state FROM clinometer_annotator"
_JUDGEMENT = "SELECT annotator, place, value, comment FROM clinometer_judgement"

_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,100}")

#: Before the warning was read, at work, and after opting out.
NEW, ACTIVE, STOPPED = "new", "active", "stopped"


@dataclass(frozen=True)
class Annotator:
    """One person, as far as we know."""

    number: int
    token: str
    state: str


@dataclass(frozen=True)
class Judgement:
    """An annotator's judgement of the item at a position."""

    annotator: int
    place: int
    value: str
    comment: str


@dataclass(frozen=True)
class Standing:
    """Answers given, the first unanswered position, and the position answered last."""

    done: int
    next: int | None
    last: int | None


class Store:
    """The judgements of one task. Every method is one transaction; threads may share it."""

    def __init__(self, database: Path, task: Task) -> None:
        self.task = task
        self._path = database
        self._turn = threading.Lock()
        try:  # the file contains the tokens: only its owner may read it
            os.close(os.open(database, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise RunError(
                f"{database}: the database cannot be opened: {error.strerror}"
            ) from error
        # Threads take turns with one connection; a writer of another process is waited for.
        self._connection = sqlite3.connect(
            database, timeout=30, isolation_level=None, check_same_thread=False
        )
        try:
            known = self._prepare()
        except sqlite3.Error as error:
            self.close()
            raise RunError(
                f"{database}: the database cannot be used: {error}"
            ) from error
        if known != [task.digest]:
            self.close()
            raise RunError(
                f"{database}: expected judgements of these {len(task.items)} items, found those of "
                "other items or another mode; give --database another file"
            )

    def _prepare(self) -> list[str]:
        """Make what is missing; the digests of the tasks in the file, ours if it is new."""
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            self._connection.execute(f"PRAGMA {setting}")
        self._connection.executescript(_SCHEMA)
        with self._writing() as connection:
            tasks = connection.execute("SELECT digest FROM clinometer_task").fetchall()
            if not tasks:
                tasks = [(self.task.digest,)]
                connection.execute(
                    "INSERT INTO clinometer_task (digest) VALUES (?)", tasks[0]
                )
        return [digest for (digest,) in tasks]

    def close(self) -> None:
        self._connection.close()

    def annotators(self, at_least: int = 0) -> list[Annotator]:
        """All annotators; creates new ones with new tokens up to `at_least`."""
        everybody = f"{_ANNOTATOR} ORDER BY number"
        insert = (
            "INSERT INTO clinometer_annotator (number, token, state) VALUES (?, ?, ?)"
        )
        with self._writing() as connection:
            known = len(connection.execute(everybody).fetchall())
            for number in range(known + 1, at_least + 1):
                connection.execute(insert, (number, new_token(), NEW))
            return [Annotator(*row) for row in connection.execute(everybody)]

    def annotator(self, token: str) -> Annotator | None:
        """The annotator with this token."""
        if not _TOKEN.fullmatch(token):
            return None
        # The index compares a token of 192 random bits: timing reveals nothing useful.
        with self._reading() as connection:
            row = connection.execute(
                f"{_ANNOTATOR} WHERE token = ?", (token,)
            ).fetchone()
        return None if row is None else Annotator(*row)

    def begin(self, annotator: Annotator) -> None:
        """Record that the warning was read."""
        with self._writing() as connection:
            _set_state(connection, annotator, ACTIVE)

    def stop(self, annotator: Annotator, *, forget: bool) -> None:
        """Opt out; `forget` deletes every answer. No pending answer is stored afterwards."""
        with self._writing() as connection:
            _set_state(connection, annotator, NEW if forget else STOPPED)
            if forget:
                mine = "DELETE FROM clinometer_judgement WHERE annotator = ?"
                connection.execute(mine, (annotator.number,))

    def judge(
        self, annotator: Annotator, place: int, value: str, comment: str = ""
    ) -> None:
        """Store an answer, or replace an earlier one."""
        if not 0 <= place < len(self.task.items):
            raise SettingsError(f"item: expected a position in the task, found {place}")
        if value not in self.task.question.values:
            raise SettingsError(f"answer: expected one of the buttons, found {value!r}")
        row = (annotator.number, place, value, comment)
        with self._writing() as connection:
            query = "SELECT state FROM clinometer_annotator WHERE number = ?"
            if connection.execute(query, (annotator.number,)).fetchone() != (ACTIVE,):
                raise SettingsError(
                    f"annotator {annotator.number}: expected at work, found stopped"
                )
            connection.execute(
                "REPLACE INTO clinometer_judgement VALUES (?, ?, ?, ?)", row
            )

    def undo(self, annotator: Annotator, place: int) -> None:
        """Withdraw an answer, if there is one."""
        mine = "DELETE FROM clinometer_judgement WHERE annotator = ? AND place = ?"
        with self._writing() as connection:
            connection.execute(mine, (annotator.number, place))

    def standing(self, annotator: Annotator) -> Standing:
        """The progress of an annotator."""
        mine, me = "FROM clinometer_judgement WHERE annotator = ?", (annotator.number,)
        with self._reading() as connection:
            latest = f"SELECT place {mine} ORDER BY rowid DESC LIMIT 1"
            last = connection.execute(latest, me).fetchone()
            done, highest = connection.execute(
                f"SELECT count(*), max(place) {mine}", me
            ).fetchone()
            following = highest + 1 if done else 0
            if done < following:  # something was passed over, or taken back
                seen = {
                    place for (place,) in connection.execute(f"SELECT place {mine}", me)
                }
                following = min(set(range(following + 1)) - seen)
        left = following < len(self.task.items)
        return Standing(
            done, following if left else None, None if last is None else last[0]
        )

    def answer(self, annotator: Annotator, place: int) -> Judgement | None:
        """The annotator's judgement of an item."""
        mine = self._read("WHERE annotator = ? AND place = ?", annotator.number, place)
        return next(iter(mine), None)

    def answers(self, annotator: Annotator) -> list[Judgement]:
        """An annotator's own answers, the latest last."""
        return self._read("WHERE annotator = ? ORDER BY rowid", annotator.number)

    def judgements(self) -> list[Judgement]:
        """All answers by item and annotator."""
        return self._read("ORDER BY place, annotator")

    def _read(self, which: str, *values: int) -> list[Judgement]:
        with self._reading() as connection:
            return [
                Judgement(*row)
                for row in connection.execute(f"{_JUDGEMENT} {which}", values)
            ]

    @contextmanager
    def _reading(self, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        with self._turn, self._connection as connection:  # commits, or takes back
            connection.execute(begin)
            yield connection

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """A writer takes SQLite's lock at once: two readers that become writers would wait for each
        other."""
        return self._reading("BEGIN IMMEDIATE")


def _set_state(
    connection: sqlite3.Connection, annotator: Annotator, state: str
) -> None:
    change = "UPDATE clinometer_annotator SET state = ? WHERE number = ?"
    connection.execute(change, (state, annotator.number))


def export_table(store: Store, *, long: bool = False) -> pd.DataFrame:
    """Wide: id, the text, annotator_1, …; a skipped item is an empty cell.

    Long: id, the text, annotator, value, comment; what was skipped has the value "skip". A separate
    column says what a high rating means.
    """
    items, question = store.task.items, store.task.question
    shown = pd.DataFrame(
        [(i.id, i.text) for i in items], columns=["id", question.column]
    )
    given = pd.DataFrame(
        [
            (j.place, f"annotator_{j.annotator}", j.value, j.comment)
            for j in store.judgements()
        ],
        columns=["place", "annotator", "value", "comment"],
    ).set_index("place")
    if long:
        table = shown.join(given, how="inner")
    else:
        wide = given[given["value"] != SKIP].pivot(columns="annotator", values="value")
        people = [f"annotator_{a.number}" for a in store.annotators()]
        table = shown.join(wide.reindex(columns=people).astype(object)).fillna("")
    return table.assign(**{HIGH: question.high}) if question.high else table
