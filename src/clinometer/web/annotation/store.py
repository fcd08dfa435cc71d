"""Who judged what: one row per judgement, in SQLite or PostgreSQL.

A judgement is stored before its request is answered, under the key (annotator, item): the same
answer sent twice is one row, and annotators can reach only their own rows. There are no names: an
annotator is a number and a token.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clinometer.errors import RunError, SettingsError
from clinometer.storage.cache_location import FORMER_NAME
from clinometer.web.annotation.database import open_engine, postgresql, sa, sqlite
from clinometer.web.annotation.task import SKIP, Item, Task
from clinometer.web.app import new_token

_meta = sa.MetaData()
_tasks = sa.Table(
    "clinometer_task",
    _meta,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("mode", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
)
_items = sa.Table(
    "clinometer_item",
    _meta,
    sa.Column("task", sa.ForeignKey("clinometer_task.id"), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False),
)
_annotators = sa.Table(
    "clinometer_annotator",
    _meta,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("task", sa.ForeignKey("clinometer_task.id"), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("token", sa.Text, nullable=False, unique=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.UniqueConstraint("task", "number"),
)
_judgements = sa.Table(
    "clinometer_judgement",
    _meta,
    sa.Column("annotator", sa.ForeignKey("clinometer_annotator.id"), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("comment", sa.Text, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    # Orders an annotator's answers: the clock may be set back.
    sa.Column("turn", sa.Integer, nullable=False, server_default="0"),
)

_ORDER = (_judgements.c.turn, _judgements.c.at, _judgements.c.place)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,100}")

#: Before the warning was read, at work, and after opting out.
NEW, ACTIVE, STOPPED = "new", "active", "stopped"
#: Advisory lock shared by all processes that create our tables in the same PostgreSQL database.
_LOCK = 7_405_311


def _adopt_former_tables(connection: sa.Connection) -> None:
    """Rename tables created under the program's former name, with their content."""
    there = set(sa.inspect(connection).get_table_names())
    for name in _meta.tables:
        former = name.replace("clinometer", FORMER_NAME, 1)
        if former in there and name not in there:
            connection.execute(sa.text(f"ALTER TABLE {former} RENAME TO {name}"))


def _add_turns(connection: sa.Connection) -> None:
    """Add the column `turn` to older tables; their answers keep the order of the clock."""
    columns = {c["name"] for c in sa.inspect(connection).get_columns(_judgements.name)}
    if "turn" not in columns:
        connection.execute(
            sa.text(f"ALTER TABLE {_judgements.name} ADD COLUMN turn INTEGER DEFAULT 0 NOT NULL")
        )


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
                _adopt_former_tables(connection)
                _meta.create_all(connection)
                _add_turns(connection)
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
            found = self._everybody(connection)
            for number in range(len(found) + 1, at_least + 1):
                connection.execute(
                    _annotators.insert().values(
                        task=self._id, number=number, token=new_token(), state=NEW
                    )
                )
            return self._everybody(connection)

    def annotator(self, token: str) -> Annotator | None:
        """The annotator with this token."""
        if not _TOKEN.fullmatch(token):  # PostgreSQL takes no NUL in a text
            return None
        # The index compares a token of 192 random bits: timing reveals nothing useful.
        query = sa.select(_annotators).where(
            _annotators.c.token == token, _annotators.c.task == self._id
        )
        with self._reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else Annotator(row.id, row.number, row.token, row.state)

    def begin(self, annotator: Annotator) -> None:
        """Record that the warning was read."""
        change = _annotators.update().where(_annotators.c.id == annotator.id)
        with self._writing() as connection:
            connection.execute(change.values(state=ACTIVE))

    def stop(self, annotator: Annotator, *, forget: bool) -> None:
        """Opt out; `forget` deletes every answer. No pending answer is stored afterwards."""
        mine = _judgements.c.annotator == annotator.id
        with self._writing() as connection:
            change = _annotators.update().where(_annotators.c.id == annotator.id)
            connection.execute(change.values(state=NEW if forget else STOPPED))
            if forget:
                connection.execute(_judgements.delete().where(mine))

    def judge(self, annotator: Annotator, place: int, value: str, comment: str = "") -> None:
        """Store an answer, or replace an earlier one."""
        if not 0 <= place < len(self.task.items):
            raise SettingsError(f"item: expected a position in the task, found {place}")
        if value not in self.task.question.values:
            raise SettingsError(f"answer: expected one of the buttons, found {value!r}")
        mine = _judgements.c.annotator == annotator.id
        last = sa.func.coalesce(sa.func.max(_judgements.c.turn), 0)
        row = {
            "annotator": annotator.id,
            "place": place,
            "value": value,
            "comment": comment,
            "at": datetime.now(UTC).isoformat(timespec="microseconds"),
            "turn": sa.select(last + 1).where(mine).scalar_subquery(),
        }
        dialect: Any = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        keys = [_judgements.c.annotator, _judgements.c.place]
        insert = dialect.insert(_judgements).values(**row)
        rest = {k: insert.excluded[k] for k in ("value", "comment", "at", "turn")}
        with self._writing() as connection:
            self._at_work(connection, annotator)
            connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=rest))

    def undo(self, annotator: Annotator, place: int) -> None:
        """Withdraw an answer, if there is one."""
        mine = (_judgements.c.annotator == annotator.id) & (_judgements.c.place == place)
        with self._writing() as connection:
            connection.execute(_judgements.delete().where(mine))

    def standing(self, annotator: Annotator) -> Standing:
        """The progress of an annotator."""
        own = sa.select(_judgements.c.place).where(_judgements.c.annotator == annotator.id)
        with self._reading() as connection:
            places = connection.scalars(own.order_by(*_ORDER)).all()
        done = set(places)
        left = (i for i in range(len(self.task.items)) if i not in done)
        return Standing(len(done), next(left, None), places[-1] if places else None)

    def answer(self, annotator: Annotator, place: int) -> Judgement | None:
        """The annotator's judgement of an item."""
        mine = (_judgements.c.annotator == annotator.id) & (_judgements.c.place == place)
        with self._reading() as connection:
            row = connection.execute(sa.select(_judgements).where(mine)).first()
        if row is None:
            return None
        return Judgement(annotator.number, row.place, row.value, row.comment)

    def answers(self, annotator: Annotator) -> list[Judgement]:
        """An annotator's own answers, the latest last."""
        own = sa.select(_judgements).where(_judgements.c.annotator == annotator.id)
        order = own.order_by(*_ORDER)
        with self._reading() as connection:
            rows = connection.execute(order).all()
        return [Judgement(annotator.number, r.place, r.value, r.comment) for r in rows]

    def judgements(self) -> list[Judgement]:
        """All answers by item and annotator."""
        query = (
            sa.select(_judgements, _annotators.c.number)
            .join(_annotators, _annotators.c.id == _judgements.c.annotator)
            .where(_annotators.c.task == self._id)
            .order_by(_judgements.c.place, _annotators.c.number)
        )
        with self._reading() as connection:
            rows = connection.execute(query).all()
        return [Judgement(r.number, r.place, r.value, r.comment) for r in rows]

    def progress(self) -> dict[int, tuple[int, int]]:
        """Number of an annotator -> (answers, skipped among them)."""
        counts = {a.number: (0, 0) for a in self.annotators()}
        for j in self.judgements():
            done, skipped = counts[j.annotator]
            counts[j.annotator] = done + 1, skipped + (j.value == SKIP)
        return counts

    def _at_work(self, connection: sa.Connection, annotator: Annotator) -> None:
        """Refuse an annotator who has stopped, and lock the row so that they cannot meanwhile."""
        query = sa.select(_annotators.c.state).where(_annotators.c.id == annotator.id)
        if connection.scalar(query.with_for_update(read=True)) != ACTIVE:
            raise SettingsError(f"annotator {annotator.number}: expected at work, found stopped")

    def _everybody(self, connection: sa.Connection) -> list[Annotator]:
        query = sa.select(_annotators).where(_annotators.c.task == self._id)
        rows = connection.execute(query.order_by(_annotators.c.number)).all()
        return [Annotator(r.id, r.number, r.token, r.state) for r in rows]

    def _enter(self, connection: sa.Connection) -> int:
        """The id of our task; created if it does not exist."""
        known = connection.execute(sa.select(_tasks).where(_tasks.c.name == self.task.name)).first()
        if known is not None:
            if known.digest != self.task.digest:
                raise RunError(
                    f"{self._shown}: expected judgements of these {len(self.task.items)} items, "
                    f"found a task {self.task.name!r} with other items or another mode; give "
                    "--task another name or --database another file"
                )
            return int(known.id)
        values = {"name": self.task.name, "mode": self.task.mode, "digest": self.task.digest}
        made = connection.execute(_tasks.insert().values(**values))
        id_ = int(made.inserted_primary_key[0])  # type: ignore[index]
        rows = [{"task": id_, "place": i, "id": item.id} for i, item in enumerate(self.task.items)]
        connection.execute(_items.insert(), rows)
        return id_

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

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._engine.connect() as connection:
            yield connection

    def item(self, place: int) -> Item:
        return self.task.items[place]
