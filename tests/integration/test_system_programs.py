"""The programs that tests need besides Python packages, with stand-ins for them and for apt-get."""

from pathlib import Path

import pytest

from scripts.system_programs import found, provide

APT = """\
#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >>"$0.log"
case "$*" in *install*) {effect} ;; esac
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An empty folder that is the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def install(folder: Path, name: str, script: str = "#!/bin/sh\n") -> None:
    (folder / name).write_text(script, encoding="utf-8")
    (folder / name).chmod(0o755)


def apt_get(folder: Path, effect: str) -> None:
    """An apt-get that records its calls; `effect` is what it does when it shall install something."""
    install(folder, "apt-get", APT.format(effect=effect))


def calls(folder: Path) -> list[str]:
    log = folder / "apt-get.log"
    return log.read_text("utf-8").splitlines() if log.exists() else []


def test_what_is_there_is_left_alone(path: Path) -> None:
    apt_get(path, "exit 1")
    for name in ("google-chrome", "bwrap"):
        install(path, name)
    assert provide(str(path), is_root=True, platform="linux") is None
    assert calls(path) == []
    assert found("chromium", str(path)) == str(path / "google-chrome")


def test_only_what_is_missing_is_installed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(path, "chromium")
    apt_get(path, '/bin/cp "$0" "${0%/*}/bwrap"')
    assert provide(str(path), is_root=True, platform="linux") is None
    assert [call.split()[-1] for call in calls(path)] == ["update", "bubblewrap"]
    assert all(call.startswith("noninteractive -qq ") for call in calls(path))
    assert capsys.readouterr().out == "installing bubblewrap with apt-get\n"
    assert provide(str(path), is_root=True, platform="linux") is None
    assert len(calls(path)) == 2


@pytest.mark.parametrize("is_root", [True, False])
def test_without_the_means_one_line_says_what_to_install(path: Path, is_root: bool) -> None:
    if not is_root:
        apt_get(path, "exit 1")
    problem = provide(str(path), is_root=is_root, platform="linux")
    assert problem is not None
    assert "\n" not in problem
    assert "apt-get install --no-install-recommends chromium bubblewrap" in problem
    assert calls(path) == []


def test_refusal_of_apt_get_is_told_in_its_words(path: Path) -> None:
    install(path, "bwrap")
    apt_get(path, 'echo "E: Unable to locate package chromium" >&2; exit 100')
    problem = provide(str(path), is_root=True, platform="linux")
    assert problem is not None
    assert "chromium" in problem
    assert "`E: Unable to locate package chromium`" in problem


def test_sandbox_of_linux_is_asked_for_on_linux_only(path: Path) -> None:
    install(path, "chromium")
    assert provide(str(path), is_root=False, platform="darwin") is None
