"""`workflow list|check` and `persona import`: what they print, write and end with."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.cli.main import run

Ran = tuple[int, str, str]
FLOW = "schema_version: 1\nname: mine\ntitle: M\nsteps: [{name: a, persona: codr, task: t, expected: e}]\n"
AGENT = "---\nname: reviewer\ndescription: Reviews.\ntools: Read, Bash\n---\nReview.\n"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    monkeypatch.chdir(tmp_path)
    for name in ("INTERLOCK_HOME", "INTERLOCK_PERSONAS", "INTERLOCK_WORKFLOWS", "INTERLOCK_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def ran(*args: str) -> Ran:
        code = run(args)
        out = capsys.readouterr()
        return code, out.out, out.err

    return ran


def test_workflows_are_listed_with_their_steps(cli: Callable[..., Ran]) -> None:
    code, out, _ = cli("workflow", "list", "--json")
    found = {each["name"]: each for each in json.loads(out)}
    assert (code, set(found)) == (0, {"feature", "incident", "research-report"})
    assert [step["persona"] for step in found["feature"]["steps"]] == ["strategist", "coder", "operations"]
    assert "feature" in cli("workflow", "list")[1]


def test_faults_of_a_workflow_file_are_told_with_their_line(cli: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(FLOW, encoding="utf-8")
    code, _, err = cli("workflow", "check", "mine.yaml")
    assert (code, err) == (2, "interlock: mine.yaml:4: step `a`: no persona `codr`: did you mean `coder`?\n")
    code, out, _ = cli("workflow", "check", "mine.yaml", "--json")
    assert (code, json.loads(out)["faults"][0]["line"]) == (2, 4)
    (tmp_path / "mine.yaml").write_text(FLOW.replace("codr", "coder"), encoding="utf-8")
    assert cli("workflow", "check", "mine.yaml")[:2] == (0, "1 workflows are fine: mine\n")
    assert cli("workflow", "check")[0] == 0
    assert cli("workflow", "check", "nowhere.yaml")[0] == 2


def test_an_import_writes_what_it_can_and_says_the_rest(cli: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "reviewer.md").write_text(AGENT, encoding="utf-8")
    (tmp_path / "bad.md").write_text("nothing", encoding="utf-8")
    code, out, err = cli("persona", "import", "reviewer.md", "bad.md", "-o", "mine")
    assert (code, out) == (2, "reviewer: mine/reviewer.yaml (intern, YELLOW; file_read)\n")
    assert "reviewer.md:4: reviewer: tool `Bash` is dropped" in err
    assert "interlock: bad.md:1: an agent file begins with fields between two lines of `---`" in err
    assert cli("persona", "check", "mine")[0] == 0
    code, out, _ = cli("persona", "import", "reviewer.md", "-o", "mine", "--json")
    assert (code, json.loads(out)["refused"][0]["problem"]) == (2, "is there already: give `--force` to replace it")
    assert cli("persona", "import", "reviewer.md", "-o", "mine", "--force")[0] == 0


def test_nothing_is_imported_to_where_agents_write(cli: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "reviewer.md").write_text(AGENT, encoding="utf-8")
    code, _, err = cli("persona", "import", "reviewer.md", "-o", ".interlock/workspaces/default")
    assert (code, "is in a workspace, where agents write" in err) == (2, True)
    assert not (tmp_path / ".interlock" / "workspaces").exists()


@pytest.mark.parametrize(
    ("args", "exits", "says"),
    [
        (("--input", "tone"), 2, "`tone` is not an input: write NAME=VALUE"),
        (("--input", "a=1", "--input", "a=2"), 2, "the input `a` is given twice"),
        (("--workflow", "featur"), 1, "no workflow `featur`: did you mean `feature`?"),
    ],
)
def test_a_workflow_that_cannot_be_run_is_refused_in_a_line(
    cli: Callable[..., Ran], args: tuple[str, ...], exits: int, says: str
) -> None:
    code, _, err = cli("run", "the cellar", "--model", "rehearsal/offline", "--no-wait", *args)
    assert (code, err) == (exits, f"interlock: {says}\n")
