"""Who judged what: one row per judgement, in SQLite or PostgreSQL.

A judgement is stored before its request is answered, under the key (annotator, item): the same
answer sent twice is one row, and annotators can reach only their own rows. There are no names: an
annotator is a number and a token, in the exported tables too.
"""

from __future__ import annotations

import csv
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite

from clinometer.errors import RunError, SettingsError, TableError
from clinometer.extras import install_command, require
from clinometer.reliability.people.ratings import HIGH
from clinometer.storage.atomic import output_file
from clinometer.storage.spreadsheet import no_formula
from clinometer.web.annotation.task import SKIP, Item, Task
from clinometer.web.app import new_token


def open_engine(database: str) -> sa.Engine:
    """Connections to a URL, or to the SQLite file of this path."""
    try:
        is_url = "://" in database
        url = sa.make_url(database) if is_url else sa.URL.create("sqlite", database=database)
    except sa.exc.ArgumentError as error:
        raise SettingsError(
            "--database: expected a file or a URL such as postgresql://user@host/name"
        ) from error
    if url.get_backend_name() == "postgresql":
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
            require("PostgreSQL", "psycopg")
        try:
            # A restarted PostgreSQL leaves dead connections in the pool.
            return sa.create_engine(url, pool_size=20, max_overflow=20, pool_pre_ping=True)
        except ImportError as error:  # psycopg without its C library, or another driver
            raise SettingsError(
                f"--database: the driver {url.drivername} cannot be loaded ({error.msg}): "
                + install_command("psycopg")
            ) from error
    if url.get_backend_name() != "sqlite":
        raise SettingsError(
            f"--database: expected sqlite or postgresql, found {url.get_backend_name()}"
        )
    if url.database in (None, "", ":memory:"):
        raise SettingsError("--database: expected a file, found a database in memory")
    _own_file(Path(str(url.database)))
    engine = sa.create_engine(url, pool_size=20, max_overflow=20)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _own_file(path: Path) -> None:
    """The file contains the tokens: only its owner may read it."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise RunError(f"{path}: the database cannot be opened: {error.strerror}") from error


def _prepare_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # we issue BEGIN ourselves
    for setting in (
        "busy_timeout=30000",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: sa.Connection) -> None:
    # A writer takes the lock at once: two readers upgrading to writers would deadlock.
    write = connection.get_execution_options().get("write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


META = sa.MetaData()
TASKS = sa.Table(
    "clinometer_task",
    META,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("mode", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
)
ANNOTATORS = sa.Table(
    "clinometer_annotator",
    META,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("task", sa.ForeignKey("clinometer_task.id"), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("token", sa.Text, nullable=False, unique=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.UniqueConstraint("task", "number"),
)
JUDGEMENTS = sa.Table(
    "clinometer_judgement",
    META,
    sa.Column("annotator", sa.ForeignKey("clinometer_annotator.id"), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("comment", sa.Text, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    # Orders an annotator's answers: the clock may be set back.
    sa.Column("turn", sa.Integer, nullable=False),
)

#: Storing an answer needs the annotator's last turn, and a page the last answer: without an index
#: both take longer with every answer.
sa.Index("clinometer_judgement_turn", JUDGEMENTS.c.annotator, JUDGEMENTS.c.turn)


_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,100}")

#: Before the warning was read, at work, and after opting out.
NEW, ACTIVE, STOPPED = "new", "active", "stopped"
#: Advisory lock shared by all processes that create our tables in the same PostgreSQL database.
_LOCK = 7_405_311


@dataclass(frozen=True)
class Annotator:
    """One person, as far as we know."""

    id: int
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


#: The fields of an annotator and of a judgement, in their order.
_ANNOTATOR = sa.select(*(ANNOTATORS.c[name] for name in ("id", "number", "token", "state")))
_JUDGEMENT = sa.select(
    ANNOTATORS.c.number, *(JUDGEMENTS.c[name] for name in ("place", "value", "comment"))
).select_from(JUDGEMENTS.join(ANNOTATORS))


@dataclass(frozen=True)
class Standing:
    """Answers given, the first unanswered position, and the position answered last."""

    done: int
    next: int | None
    last: int | None


class Store:
    """The judgements of one task. Every method is one transaction; threads may share it."""

    def __init__(self, database: str, task: Task) -> None:
        self.task = task
        self._engine = open_engine(database)
        self._turn = threading.Lock()
        self._shown = self._engine.url.render_as_string(hide_password=True)
        try:
            with self._writing() as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
                META.create_all(connection)
                self._id = self._enter(connection)
        except RunError:
            self.close()
            raise
        except sa.exc.SQLAlchemyError as error:
            self.close()
            reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            raise RunError(f"{self._shown}: the database cannot be used: {reason}") from error

    def close(self) -> None:
        self._engine.dispose()

    def annotators(self, at_least: int = 0) -> list[Annotator]:
        """All annotators; creates new ones with new tokens up to `at_least`."""
        with self._writing() as connection:
            for number in range(len(self._everybody(connection)) + 1, at_least + 1):
                connection.execute(
                    ANNOTATORS.insert().values(
                        task=self._id, number=number, token=new_token(), state=NEW
                    )
                )
            return self._everybody(connection)

    def annotator(self, token: str) -> Annotator | None:
        """The annotator with this token."""
        if not _TOKEN.fullmatch(token):  # PostgreSQL takes no NUL in a text
            return None
        # The index compares a token of 192 random bits: timing reveals nothing useful.
        query = _ANNOTATOR.where(ANNOTATORS.c.token == token, ANNOTATORS.c.task == self._id)
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return None if row is None else Annotator(*row)

    def begin(self, annotator: Annotator) -> None:
        """Record that the warning was read."""
        change = ANNOTATORS.update().where(ANNOTATORS.c.id == annotator.id)
        with self._writing() as connection:
            connection.execute(change.values(state=ACTIVE))

    def stop(self, annotator: Annotator, *, forget: bool) -> None:
        """Opt out; `forget` deletes every answer. No pending answer is stored afterwards."""
        change = ANNOTATORS.update().where(ANNOTATORS.c.id == annotator.id)
        with self._writing() as connection:
            connection.execute(change.values(state=NEW if forget else STOPPED))
            if forget:
                mine = JUDGEMENTS.c.annotator == annotator.id
                connection.execute(JUDGEMENTS.delete().where(mine))

    def judge(self, annotator: Annotator, place: int, value: str, comment: str = "") -> None:
        """Store an answer, or replace an earlier one."""
        if not 0 <= place < len(self.task.items):
            raise SettingsError(f"item: expected a position in the task, found {place}")
        if value not in self.task.question.values:
            raise SettingsError(f"answer: expected one of the buttons, found {value!r}")
        mine = JUDGEMENTS.c.annotator == annotator.id
        last = sa.func.coalesce(sa.func.max(JUDGEMENTS.c.turn), 0)
        row = {
            "annotator": annotator.id,
            "place": place,
            "value": value,
            "comment": comment,
            "at": datetime.now(UTC).isoformat(timespec="microseconds"),
            "turn": sa.select(last + 1).where(mine).scalar_subquery(),
        }
        dialect: Any = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        keys = [JUDGEMENTS.c.annotator, JUDGEMENTS.c.place]
        insert = dialect.insert(JUDGEMENTS).values(**row)
        rest = {k: insert.excluded[k] for k in ("value", "comment", "at", "turn")}
        with self._writing() as connection:
            self._at_work(connection, annotator)
            connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=rest))

    def undo(self, annotator: Annotator, place: int) -> None:
        """Withdraw an answer, if there is one."""
        mine = (JUDGEMENTS.c.annotator == annotator.id) & (JUDGEMENTS.c.place == place)
        with self._writing() as connection:
            connection.execute(JUDGEMENTS.delete().where(mine))

    def standing(self, annotator: Annotator) -> Standing:
        """The progress of an annotator."""
        places = sa.select(JUDGEMENTS.c.place).where(JUDGEMENTS.c.annotator == annotator.id)
        latest = places.order_by(JUDGEMENTS.c.turn.desc()).limit(1)
        answered = places.subquery().c.place
        with self._engine.connect() as connection:
            last = connection.scalar(latest)
            done, highest = connection.execute(
                sa.select(sa.func.count(), sa.func.max(answered))
            ).one()
            following = highest + 1 if done else 0
            if done < following:  # something was passed over, or taken back
                seen = set(connection.scalars(places))
                following = min(set(range(following + 1)) - seen)
        return Standing(done, following if following < len(self.task.items) else None, last)

    def answer(self, annotator: Annotator, place: int) -> Judgement | None:
        """The annotator's judgement of an item."""
        mine = (JUDGEMENTS.c.annotator == annotator.id) & (JUDGEMENTS.c.place == place)
        return next(iter(self._read(_JUDGEMENT.where(mine))), None)

    def answers(self, annotator: Annotator) -> list[Judgement]:
        """An annotator's own answers, the latest last."""
        mine = JUDGEMENTS.c.annotator == annotator.id
        return self._read(_JUDGEMENT.where(mine).order_by(JUDGEMENTS.c.turn))

    def judgements(self) -> list[Judgement]:
        """All answers by item and annotator."""
        every = _JUDGEMENT.where(ANNOTATORS.c.task == self._id)
        return self._read(every.order_by(JUDGEMENTS.c.place, ANNOTATORS.c.number))

    def _read(self, query: Any) -> list[Judgement]:
        with self._engine.connect() as connection:
            return [Judgement(*row) for row in connection.execute(query)]

    def progress(self) -> dict[int, tuple[int, int]]:
        """Number of an annotator -> (answers, skipped among them)."""
        counts = {a.number: (0, 0) for a in self.annotators()}
        for j in self.judgements():
            done, skipped = counts[j.annotator]
            counts[j.annotator] = done + 1, skipped + (j.value == SKIP)
        return counts

    def _at_work(self, connection: sa.Connection, annotator: Annotator) -> None:
        """Refuse an annotator who has stopped, and lock the row so that they cannot meanwhile."""
        query = sa.select(ANNOTATORS.c.state).where(ANNOTATORS.c.id == annotator.id)
        if connection.scalar(query.with_for_update(read=True)) != ACTIVE:
            raise SettingsError(f"annotator {annotator.number}: expected at work, found stopped")

    def _everybody(self, connection: sa.Connection) -> list[Annotator]:
        query = _ANNOTATOR.where(ANNOTATORS.c.task == self._id).order_by(ANNOTATORS.c.number)
        return [Annotator(*row) for row in connection.execute(query)]

    def _enter(self, connection: sa.Connection) -> int:
        """The id of our task; created if it does not exist."""
        known = connection.execute(sa.select(TASKS).where(TASKS.c.name == self.task.name)).first()
        if known is not None:
            if known.digest != self.task.digest:
                raise RunError(
                    f"{self._shown}: expected judgements of these {len(self.task.items)} items, "
                    f"found a task {self.task.name!r} with other items or another mode; give "
                    "--task another name or --database another file"
                )
            return int(known.id)
        values = {"name": self.task.name, "mode": self.task.mode, "digest": self.task.digest}
        row = connection.execute(TASKS.insert().values(**values))
        return int(row.inserted_primary_key[0])  # type: ignore[index]

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        # SQLite's writers poll for the lock; with ours, the next one wakes at once.
        alone = self._turn if self._engine.dialect.name == "sqlite" else nullcontext()
        with (
            alone,
            self._engine.connect().execution_options(write=True) as connection,
            connection.begin(),
        ):
            yield connection

    def item(self, place: int) -> Item:
        return self.task.items[place]


def export_table(store: Store, *, long: bool = False) -> list[dict[str, str]]:
    """Wide: id, the text, annotator_1, …; a skipped item is an empty cell.

    Long: id, annotator, value, comment; what was skipped has the value "skip". A
    separate column says what a high rating means.
    """
    column = store.task.question.column
    high = {HIGH: store.task.question.high} if store.task.question.high else {}
    judgements = store.judgements()
    if long:
        return [
            {
                "id": store.item(j.place).id,
                column: store.item(j.place).text,
                "annotator": f"annotator_{j.annotator}",
                "value": j.value,
                "comment": j.comment,
                **high,
            }
            for j in judgements
        ]
    numbers = [a.number for a in store.annotators()]
    values = {(j.place, j.annotator): j.value for j in judgements if j.value != SKIP}
    return [
        {
            "id": item.id,
            column: item.text,
            **{f"annotator_{n}": values.get((place, n), "") for n in numbers},
            **high,
        }
        for place, item in enumerate(store.task.items)
    ]


def write_export(store: Store, path: Path, *, long: bool = False) -> int:
    """Write the table as csv, with nothing in it that a spreadsheet would run; returns the number
    of judgements."""
    if path.suffix != ".csv":
        raise TableError(f"{path}: expected a file name that ends in .csv")
    rows = export_table(store, long=long)
    head = ["id", store.task.question.column, "annotator", "value", "comment"]
    with output_file(path) as beside, beside.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]) if rows else head)
        writer.writeheader()
        writer.writerows({name: no_formula(v) for name, v in row.items()} for row in rows)
    return len(store.judgements())
