"""A PostgreSQL of one's own in a temporary folder, by the programs found on this machine."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.components import require
from tests.processes import PATIENCE_S


def _ordinary_user() -> pwd.struct_passwd:
    """The user that Debian's package makes for it, or nobody."""
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


@contextmanager
def private_postgres() -> Iterator[Callable[[], str]]:
    """Each call of what it gives makes a new database and returns its URL."""
    import psycopg

    programs = Path(require("PostgreSQL"))
    folder = Path(tempfile.mkdtemp(prefix="clinometer-pg-"))  # a socket's path must be short
    who: dict[str, Any] = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        user = _ordinary_user()
        if "site-packages" in programs.parts:  # a wheel's, perhaps where that user may not look
            programs = Path(shutil.copytree(programs.parent, folder / "server")) / "bin"
        os.chown(folder, user.pw_uid, user.pw_gid)
        who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def run(program: str, *arguments: object) -> None:
        words = [str(programs / program), *map(str, arguments)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=folder, **who)

    data = folder / "data"
    run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c max_connections=120"
    slow = ("-w", "-t", int(PATIENCE_S))
    run("pg_ctl", "-D", data, *slow, "-l", folder / "log", "-o", options, "start")
    numbers = count()

    def fresh() -> str:
        name = f"task{next(numbers)}"
        with psycopg.connect(f"host={folder} user=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://postgres@/{name}?host={folder}"

    try:
        yield fresh
    finally:
        run("pg_ctl", "-D", data, *slow, "-m", "immediate", "stop")
        shutil.rmtree(folder)
