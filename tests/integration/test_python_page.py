"""The example of the page about Python runs as it stands, with the offline model."""

import re
import runpy
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def test_example_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [example] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTERLOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("INTERLOCK_MODEL", "rehearsal/offline")
    monkeypatch.delenv("INTERLOCK_DATABASE_URL", raising=False)
    script = tmp_path / "example.py"
    script.write_text(example, "utf-8")
    runpy.run_path(str(script), run_name="__main__")
    said = capsys.readouterr().out.strip().splitlines()
    assert said[0].endswith(" 0.0")
    assert len(said) >= 2
