"""Where judgements are stored: a private SQLite file, or PostgreSQL by its URL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite

from clinometer.errors import RunError, SettingsError
from clinometer.extras import install_command, require

__all__ = ["open_engine", "postgresql", "sa", "sqlite"]


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
