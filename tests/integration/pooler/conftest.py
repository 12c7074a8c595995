"""A real pgbouncer in transaction mode before the tests' PostgreSQL, unpacked where it is not installed."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

PACKAGES = ("pgbouncer", "libevent-2.1-7", "libc-ares2")
MISSING = "these tests need pgbouncer: install it with `apt-get install pgbouncer`"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "interlock-tests" / "pgbouncer"
SETTINGS = """
[databases]
* = host={sockets} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
admin_users = postgres
pool_mode = transaction
default_pool_size = 6
max_client_conn = 100
logfile = {folder}/log
pidfile = {folder}/pid
"""


def _program() -> tuple[str, dict[str, str]]:
    """pgbouncer, and the variables it needs; unpacked into a cache once where the machine does not have it."""
    if (found := shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")) is not None:
        return found, {}
    program = CACHE / "usr" / "sbin" / "pgbouncer"
    if not program.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        fetched = subprocess.run(["apt-get", "download", *PACKAGES], cwd=CACHE, capture_output=True, timeout=60)
        assert fetched.returncode == 0, MISSING
        for package in CACHE.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, CACHE], check=True, timeout=60)
    assert program.exists(), MISSING
    libraries = [str(path) for path in (CACHE / "usr" / "lib").glob("*-linux-gnu")]
    return str(program), {"LD_LIBRARY_PATH": ":".join(libraries)}


def _copied(program: str, variables: dict[str, str], folder: Path) -> tuple[str, dict[str, str]]:
    """Both where another user can reach them: a home is often closed to others."""
    if not variables:
        return program, variables
    for library in {path for each in variables["LD_LIBRARY_PATH"].split(":") for path in Path(each).glob("*.so*")}:
        shutil.copy(str(library), folder)
    return str(shutil.copy(program, folder)), {"LD_LIBRARY_PATH": str(folder)}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def pooler(postgres_server: str) -> Iterator[int]:
    """The port of a transaction pooler on 127.0.0.1. It refuses to be root: it is whoever owns the server's socket."""
    folder = Path("/tmp") / f"interlock-pool-{os.urandom(4).hex()}"
    folder.mkdir(mode=0o755)
    owner, port = next(Path(postgres_server).glob(".s.PGSQL.*[0-9]")).stat().st_uid, _free_port()
    program, variables = _copied(*_program(), folder)
    (folder / "ini").write_text(SETTINGS.format(sockets=postgres_server, port=port, folder=folder))
    os.chown(folder, owner, -1)
    process = subprocess.Popen(
        [program, folder / "ini"], env={**os.environ, **variables}, user=owner if os.getuid() == 0 else None,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _await(port, process, folder)
        yield port
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _await(port: int, process: "subprocess.Popen[bytes]", folder: Path) -> None:
    while process.poll() is None:
        try:
            psycopg.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres", connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            continue
    raise AssertionError(f"pgbouncer did not start: {(folder / 'log').read_text()}")


@pytest.fixture
def pooled_url(pooler: int, postgres_url: str) -> str:
    """The URL, through the pooler, of the empty database that `postgres_url` leads to directly."""
    name = postgres_url.partition("@/")[2].partition("?")[0]
    return f"postgresql://postgres@127.0.0.1:{pooler}/{name}"
