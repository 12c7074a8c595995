"""Runs every test in five pytest processes side by side, so that two processors are always at work: `make test`.

With arguments, one pytest takes them all instead.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
APART = ("contract/store", "contract/tools", "contract/runner", "contract/desk", "contract/scheduler")
SHARES: dict[str, tuple[str, ...]] = {
    "pure parts and doors": ("unit", "migration", "contract/store", "contract/tools"),
    "runs": ("contract/runner",),
    "layers above runs": ("contract", *(f"--ignore=tests/{folder}" for folder in APART)),
    "from outside": ("integration", "contract/scheduler"),
    "whole processes and the desk": ("e2e", "chaos", "contract/desk"),
}
"""What each process is told. Most of them wait for a disk or a process most of the time. Where processes are started,
one is that forks them, and has to import the product first."""
OUTCOME = re.compile(r"(\d+) (passed|failed|errors?)\b")


def main(arguments: list[str]) -> int:
    """Runs the tests; returns 1 if any failed or none ran."""
    if arguments:
        return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode
    running = {name: _start(folders) for name, folders in SHARES.items()}
    totals: dict[str, int] = {"passed": 0, "failed": 0}
    failed = False
    try:
        for name, (process, output) in running.items():
            failed |= process.wait() != 0
            output.seek(0)
            text = output.read()
            print(f"---- {name} ----\n{text}", flush=True)
            for count, outcome in OUTCOME.findall(text.rstrip().rsplit("\n", 1)[-1]):
                totals["passed" if outcome == "passed" else "failed"] += int(count)
    finally:
        for process, _ in running.values():
            if process.poll() is None:
                process.terminate()
                process.wait()
    print(f"{totals['passed']} passed, {totals['failed']} failed")
    return 1 if failed or not totals["passed"] else 0


def _start(folders: tuple[str, ...]) -> "tuple[subprocess.Popen[str], IO[str]]":
    output = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (read and closed with the process)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(_told, folders)]
    return subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, text=True), output


def _told(argument: str) -> str:
    return argument if argument.startswith("--") else f"tests/{argument}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
