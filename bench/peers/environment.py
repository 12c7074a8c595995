"""Peers as processes: each in a virtual environment of its own, measuring on request."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENTS = ROOT / ".make" / "peers"
INSTALL_S, ANSWER_S = 600.0, 90.0


class PeerFailed(RuntimeError):
    """A peer could not be installed, or its process did not do its job."""


def python_of(name: str) -> str:
    """The interpreter of a peer's environment, which is created if it is missing or its requirements have changed.

    Raises PeerFailed.
    """
    wanted = (Path(__file__).parent / name / "requirements.txt").read_text("utf-8")
    folder = ENVIRONMENTS / name
    stamp, python = folder / "installed.txt", folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text("utf-8") != wanted:
        print(f"  installing {name} into {folder.relative_to(ROOT)}", flush=True)
        _done([sys.executable, "-m", "venv", "--clear", str(folder)])
        listing = str(Path(__file__).parent / name / "requirements.txt")
        _done([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", listing])
        stamp.write_text(wanted, "utf-8")
    return str(python)


def versions(name: str) -> list[str]:
    """The package versions of a peer."""
    return (Path(__file__).parent / name / "requirements.txt").read_text("utf-8").split()


def _done(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_S)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = str(getattr(error, "stderr", "") or error).strip().splitlines()
        raise PeerFailed(said[-1] if said else str(error)) from error


def clean_environment() -> dict[str, str]:
    """A process's environment without any keys."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "PYTHONUNBUFFERED": "1", "DBOS__APPVERSION": "bench"}


class Process:
    """A script that writes `{"ready": true}` and then answers each line with a line of JSON."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as the process)
        self.popen = subprocess.Popen(
            list(command), cwd=ROOT, env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, text=True,
        )  # fmt: skip

    def told(self, timeout_s: float = ANSWER_S) -> dict[str, Any]:
        """The next line that is JSON; others are passed over.

        Raises PeerFailed if none comes in time.
        """
        assert self.popen.stdout is not None
        timer = threading.Timer(timeout_s, self.popen.kill)
        timer.start()
        try:
            for line in self.popen.stdout:
                if line.startswith("{"):
                    answer: dict[str, Any] = json.loads(line)
                    return answer
        finally:
            timer.cancel()
        raise PeerFailed(self.last_words())

    def ask(self, line: str, timeout_s: float = ANSWER_S) -> dict[str, Any]:
        """The answer to a line. Raises PeerFailed."""
        assert self.popen.stdin is not None
        try:
            self.popen.stdin.write(line + "\n")
            self.popen.stdin.flush()
        except OSError as error:
            raise PeerFailed(self.last_words()) from error
        return self.told(timeout_s)

    def measure(self, seconds: float, width: int) -> dict[str, Any]:
        """Figures of `seconds` of work with so many runs at once. Raises PeerFailed."""
        return self.ask(f"{seconds} {width}")

    def end(self) -> None:
        """Lets the process close what it has open, and sees that it was content.

        Raises PeerFailed if it was not: some scripts check at their end what is on record.
        """
        assert self.popen.stdin is not None
        with contextlib.suppress(OSError):
            self.popen.stdin.close()
        try:
            code = self.popen.wait(ANSWER_S)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise PeerFailed("the process did not end") from error
        if code != 0:
            raise PeerFailed(self.last_words())

    def kill(self) -> None:
        """Ends the process at once."""
        self.popen.kill()
        self.popen.wait()

    def last_words(self) -> str:
        """The last line of what went wrong."""
        self.popen.poll()
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return lines[-1] if lines else f"the process ended with {self.popen.returncode} and said nothing"


@contextlib.contextmanager
def work_folder() -> Iterator[Path]:
    """A folder for the databases of a benchmark, on a disk and not in memory where /tmp is that."""
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="data-", dir=ENVIRONMENTS))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
