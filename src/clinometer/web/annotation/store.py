"""Who judged what: one row per judgement, in a SQLite file.

A judgement is stored before its request is answered, under the key (annotator, item): the same
answer sent twice is one row, and annotators can reach only their own rows. There are no names: an
annotator is a number and a token, in the exported tables too.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from clinometer.errors import RunError, SettingsError
from clinometer.web.annotation.task import Task
from clinometer.web.app import new_token

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

NEW = "new"
"""The state of an annotator before the warning was read."""

ACTIVE = "active"
"""The state of an annotator at work."""

STOPPED = "stopped"
"""The state of an annotator after opting out."""


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
    """The progress of an annotator."""

    done: int
    """How many items have an answer."""

    next: int | None
    """The first position without one."""

    last: int | None
    """The position that was answered last."""


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
            digests = self._prepare()
        except sqlite3.Error as error:
            self.close()
            raise RunError(
                f"{database}: the database cannot be used: {error}"
            ) from error
        if digests != [task.digest]:
            self.close()
            raise RunError(
                f"{database}: expected judgements of these {len(task.items)} items, found those of "
                "other items or another mode; give --database another file"
            )

    def _prepare(self) -> list[str]:
        """Make what is missing, and return the digests of the tasks in the file: ours if it is
        new."""
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
        """Return all annotators, after making new ones with new tokens up to `at_least`."""
        query = f"{_ANNOTATOR} ORDER BY number"
        insert = (
            "INSERT INTO clinometer_annotator (number, token, state) VALUES (?, ?, ?)"
        )
        with self._writing() as connection:
            n = len(connection.execute(query).fetchall())
            for number in range(n + 1, at_least + 1):
                connection.execute(insert, (number, new_token(), NEW))
            return [Annotator(*row) for row in connection.execute(query)]

    def annotator(self, token: str) -> Annotator | None:
        """Return the annotator with this token."""
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
                delete = "DELETE FROM clinometer_judgement WHERE annotator = ?"
                connection.execute(delete, (annotator.number,))

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
        delete = "DELETE FROM clinometer_judgement WHERE annotator = ? AND place = ?"
        with self._writing() as connection:
            connection.execute(delete, (annotator.number, place))

    def standing(self, annotator: Annotator) -> Standing:
        """Return the progress of an annotator."""
        rows = "FROM clinometer_judgement WHERE annotator = ?"
        number = (annotator.number,)
        with self._reading() as connection:
            latest = f"SELECT place {rows} ORDER BY rowid DESC LIMIT 1"
            last_row = connection.execute(latest, number).fetchone()
            summary = f"SELECT count(*), max(place) {rows}"
            done, highest = connection.execute(summary, number).fetchone()
            following = highest + 1 if done else 0
            if done < following:  # something was passed over, or taken back
                places = connection.execute(f"SELECT place {rows}", number)
                answered = {place for (place,) in places}
                following = min(set(range(following + 1)) - answered)
        return Standing(
            done,
            following if following < len(self.task.items) else None,
            None if last_row is None else last_row[0],
        )

    def answer(self, annotator: Annotator, place: int) -> Judgement | None:
        """Return the annotator's judgement of an item."""
        judgements = self._read(
            "WHERE annotator = ? AND place = ?", annotator.number, place
        )
        return judgements[0] if judgements else None

    def answers(self, annotator: Annotator) -> list[Judgement]:
        """Return an annotator's own answers, the latest last."""
        return self._read("WHERE annotator = ? ORDER BY rowid", annotator.number)

    def judgements(self) -> list[Judgement]:
        """Return all answers by item and annotator."""
        return self._read("ORDER BY place, annotator")

    def _read(self, condition: str, *values: int) -> list[Judgement]:
        with self._reading() as connection:
            rows = connection.execute(f"{_JUDGEMENT} {condition}", values)
            return [Judgement(*row) for row in rows]

    @contextmanager
    def _reading(self, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        with self._turn, self._connection as connection:  # commits, or takes back
            connection.execute(begin)
            yield connection

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """Take SQLite's lock at once: two readers that become writers would wait for each other."""
        return self._reading("BEGIN IMMEDIATE")


def _set_state(
    connection: sqlite3.Connection, annotator: Annotator, state: str
) -> None:
    change = "UPDATE clinometer_annotator SET state = ? WHERE number = ?"
    connection.execute(change, (state, annotator.number))
