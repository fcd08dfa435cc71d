"""The tables of annotation tasks, and how older ones are brought up to date."""

from __future__ import annotations

from clinometer.storage.cache_location import FORMER_NAME
from clinometer.web.annotation.database import sa

META = sa.MetaData()
TASKS = sa.Table(
    "clinometer_task",
    META,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("mode", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
)
ITEMS = sa.Table(
    "clinometer_item",
    META,
    sa.Column("task", sa.ForeignKey("clinometer_task.id"), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False),
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
    sa.Column("turn", sa.Integer, nullable=False, server_default="0"),
)

#: An answer needs the last turn of its annotator, a page the last answer; both grow otherwise.
TURNS = sa.Index("clinometer_judgement_turn", JUDGEMENTS.c.annotator, JUDGEMENTS.c.turn)

ORDER = (JUDGEMENTS.c.turn, JUDGEMENTS.c.at, JUDGEMENTS.c.place)


def create_tables(connection: sa.Connection) -> None:
    """Create what is missing; what an older version left is kept."""
    _adopt_former_tables(connection)
    META.create_all(connection)
    _add_turns(connection)


def _adopt_former_tables(connection: sa.Connection) -> None:
    """Rename tables created under the program's former name, with their content."""
    there = set(sa.inspect(connection).get_table_names())
    for name in META.tables:
        former = name.replace("clinometer", FORMER_NAME, 1)
        if former in there and name not in there:
            connection.execute(sa.text(f"ALTER TABLE {former} RENAME TO {name}"))


def _add_turns(connection: sa.Connection) -> None:
    """Add the column `turn` to older tables; their answers keep the order of the clock."""
    columns = {c["name"] for c in sa.inspect(connection).get_columns(JUDGEMENTS.name)}
    if "turn" not in columns:
        connection.execute(
            sa.text(f"ALTER TABLE {JUDGEMENTS.name} ADD COLUMN turn INTEGER DEFAULT 0 NOT NULL")
        )
    TURNS.create(connection, checkfirst=True)
