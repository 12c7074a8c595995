"""Sees to the programs that tests run and that no Python package brings: `python -m`; nothing that the product needs.

With root and apt-get it installs what is missing; otherwise it says what to install.
"""

import os
import shutil
import subprocess
import sys

NEEDED: dict[str, tuple[str, ...]] = {
    "chromium": (
        "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    ),
    "bubblewrap": ("bwrap",),
}  # fmt: skip
"""Debian's package for each, and the commands of which one has to be there."""
LINUX_ONLY = {"bubblewrap"}
APT = ("-qq", "-o", "DPkg::Lock::Timeout=300")


def found(package: str, path: str | None = None) -> str | None:
    """The file of the command that a needed package has; `path` is where to look for it, otherwise PATH."""
    return next(filter(None, (shutil.which(command, path=path) for command in NEEDED[package])), None)


def missing(path: str | None = None, *, platform: str = sys.platform) -> list[str]:
    """The packages of which no command is there."""
    suitable = [package for package in NEEDED if platform == "linux" or package not in LINUX_ONLY]
    return [package for package in suitable if not found(package, path)]


def provide(path: str | None = None, *, is_root: bool, platform: str = sys.platform) -> str | None:
    """Installs what is missing; returns what a person has to do, or None if all is there."""
    packages = missing(path, platform=platform)
    if not packages:
        return None
    apt = shutil.which("apt-get", path=path)
    if apt is None or not is_root:
        command = f"apt-get install --no-install-recommends {' '.join(packages)}"
        return f"the tests need {' and '.join(packages)}: install what is missing (Debian, as root: `{command}`)"
    print(f"installing {' and '.join(packages)} with apt-get", flush=True)
    said = [_apt(apt, "update"), _apt(apt, "install", "-y", "--no-install-recommends", *packages)]
    if packages := missing(path, platform=platform):
        last = next((line for line in reversed("\n".join(said).splitlines()) if line.strip()), "it said nothing")
        return f"apt-get did not bring {' and '.join(packages)}, which the tests need; its last line: `{last.strip()}`"
    return None


def _apt(command: str, *arguments: str) -> str:
    """What it said. A list that cannot be updated is no reason to give up: the package may be in another."""
    done = subprocess.run(
        [command, *APT, *arguments], env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return done.stdout


def main() -> int:
    """Returns 1 if a person has to install something, and says what."""
    if problem := provide(is_root=os.geteuid() == 0):
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
