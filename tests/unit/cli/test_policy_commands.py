"""`interlock policy …` from its arguments to what it prints and its exit code."""

import asyncio
import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from interlock import Interlock
from interlock.cli.main import run

RULES = """\
version: 1
rules:
  - {id: push, tools: [git_ops], when: 'args.action == "push"', risk: RED, reason: leaves}
tests:
  - {call: {tool: git_ops, args: {action: push}}, expect: {risk: RED, effect: hold, rule: push}}
"""
SERVER = {"tools": [{"name": "send_fax", "description": "Sends a fax"}, {"name": "get_fax"}]}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Cli = Callable[..., Ended]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line in a folder of its own, within this process."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("INTERLOCK_")]:
        monkeypatch.delenv(name)

    def call(*args: str, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run(["policy", *args])
        said = capsys.readouterr()
        assert "Traceback" not in said.err + said.out
        return Ended(code, said.out, said.err)

    return call


def answers(ended: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.out.splitlines()]


def test_a_file_without_faults_is_fine(cli: Cli) -> None:
    assert cli("check").out == "there is no policy file: the built-in policy holds\n"
    Path("policy.yaml").write_text(RULES)
    done = cli("check")
    assert (done.code, done.err) == (0, "")
    assert "is fine: 1 rule, 0 denials, 1 test" in done.out


@pytest.mark.parametrize("text", ["", "# rules to come\n"])
def test_an_empty_file_is_remarked_on_as_what_runs_does_not_take_it_over(cli: Cli, text: str) -> None:
    Path("policy.yaml").write_text(text)
    done = cli("check")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "policy.yaml:1: is empty: write `version: 1` where the built-in policy is meant",
        "interlock: `policy.yaml` can be used, but see the remark above",
    ]
    (remark,) = json.loads(cli("check", "--json").out)["remarks"]
    assert (remark["kind"], remark["line"]) == ("empty", 1)


def test_a_policy_in_a_workspace_is_refused_as_a_start_refuses_it(cli: Cli) -> None:
    inside = Path(".interlock/workspaces/a")
    inside.mkdir(parents=True)
    (inside / "rules.yaml").write_text(RULES)
    Path("policy.yaml").symlink_to(inside / "rules.yaml")
    done = cli("check")
    assert (done.code, done.out) == (2, "")
    assert "is in a workspace" in done.err


def test_all_faults_are_told_with_their_lines(cli: Cli) -> None:
    Path("p.yaml").write_text(
        "version: 1\nlimits: {count: many}\nrules:\n  - {id: a, risk: PINK, tools: [git_op]}\nproduction: [x]\n"
    )
    done = cli("check", "p.yaml")
    assert done.code == 2
    assert done.err.splitlines() == [
        "interlock: p.yaml:4: there is no tool `git_op`: did you mean `git_ops`?",
        "interlock: p.yaml:4: `PINK` is not a valid risk: use GREEN, YELLOW or RED",
        "interlock: p.yaml:2: `count` is a whole number from 0 to 1,000,000,000",
        "interlock: p.yaml:5: `x` is not a valid system name",
    ]


def test_rules_that_do_nothing_are_told_with_exit_code_1(cli: Cli) -> None:
    more = "  - {id: never, tools: [git_ops], when: 'args.n > 1 && args.n < 1', risk: RED}\ntests:"
    Path("policy.yaml").write_text(RULES.replace("tests:", more))
    done = cli("check")
    assert done.code == 1
    assert done.err.splitlines()[0] == "policy.yaml:4: rule `never` is unreachable: its condition never holds"
    told = json.loads(cli("check", "--json").out)
    assert (told["ok"], told["faults"], told["rules"]) == (False, [], 2)
    (remark,) = told["remarks"]
    assert (remark["file"], remark["line"], remark["kind"], remark["rule"]) == (
        "policy.yaml",
        4,
        "unreachable",
        "never",
    )


def test_consensus_without_three_models_is_a_fault_of_check_and_start(cli: Cli) -> None:
    Path("policy.yaml").write_text("version: 1\nrules: [{id: a, risk: RED, consensus: true}]\n")
    done = cli("check")
    assert done.code == 2
    assert "policy.yaml:2: rule `a` asks models to agree: name 3 of them" in done.err
    Path("interlock.yaml").write_text("consensus: {models: [rehearsal/a, rehearsal/b, rehearsal/c]}\n")
    assert cli("check").code == 0


def test_a_failed_test_is_a_fault_of_check_and_fails_test(cli: Cli) -> None:
    Path("policy.yaml").write_text(RULES.replace("effect: hold", "effect: allow"))
    assert cli("check").code == 2
    done = cli("test")
    assert done.code == 1
    assert done.err.splitlines() == [
        "interlock: policy.yaml:5: `git_ops`: effect is hold, not allow",
        "interlock: 1 of 1 tests failed",
    ]
    told = json.loads(cli("test", "--json").out)
    assert told["failed"] == [{"file": "policy.yaml", "line": 5, "problem": "`git_ops`: effect is hold, not allow"}]


def test_further_files_of_tests_are_run(cli: Cli) -> None:
    Path("policy.yaml").write_text(RULES)
    Path("more.yaml").write_text(
        "tests:\n  - {call: {tool: git_ops, args: {action: add}}, expect: {effect: allow}}\n"
        "  - {call: {tool: git_ops, args: {action: add}}, trust: intern, expect: {effect: allow}}\n"
    )
    done = cli("test", "more.yaml")
    assert (done.code, done.err.splitlines()[0]) == (1, "interlock: more.yaml:3: `git_ops`: effect is hold, not allow")
    Path("bad.yaml").write_text("test: []\n")
    done = cli("test", "bad.yaml", "nowhere.yaml")
    assert done.code == 2
    assert [line.split(": ")[1] for line in done.err.splitlines()] == ["bad.yaml:1", "bad.yaml:1", "nowhere.yaml:1"]


def test_each_line_is_answered_and_a_bad_one_does_not_stop_the_others(cli: Cli) -> None:
    lines = [
        b'{"tool": "file_read", "args": {"path": "a"}}', b"oops", b"\xff\xfe", b"[1]", b'{"tool": ""}', b"",
        b'{"tool": "x", "args": ' + b"[" * 90_000 + b"]" * 90_000 + b"}",
        b'{"tool": "x", "args": {"n": 1e999}}', b'{"tool": "x", "task": {"cost_usd": 1' + b"0" * 400 + b"}}",
        b'{"tool": "get_page", "hints": {"destructiveHint": true}}',
        b'{"tool": "x", "description": "Deletes a page", "input_schema": {"type": "object"}, "persona": "coder"}',
        b'{"tool": "git_ops", "args": {"action": "push"}}',
    ]  # fmt: skip
    Path("policy.yaml").write_text(RULES)
    done = cli("explain", "--stdin", stdin=b"\n".join(lines))
    assert done.code == 2
    found = answers(done)
    assert len(found) == len(lines) - 1
    assert ["error" in each for each in found] == [False, True, True, True, True, True, *[False] * 5]
    assert all(set(each) == {"risk", "effect", "rules", "reasons"} for each in found if "error" not in each)
    assert [each["effect"] for each in found[6:]] == ["deny", "allow", "hold", "hold", "hold"]
    assert found[-1]["rules"][-1] == "push"


def test_one_call_is_answered_by_another_policy(cli: Cli) -> None:
    Path("other.yaml").write_text("version: 1\ndeny: [{id: no, tools: [file_read]}]\n")
    question = '{"tool": "file_read", "args": {}}'
    assert answers(cli("explain", question))[0]["effect"] == "allow"
    assert answers(cli("explain", question, "--policy", "other.yaml"))[0]["effect"] == "deny"


def test_a_draft_for_a_server_is_a_policy_once_its_tools_are_known(cli: Cli) -> None:
    Path("tools.json").write_text(json.dumps(SERVER))
    drafted = cli("suggest", "tools.json", "--prefix", "fax.")
    assert (drafted.code, drafted.err) == (0, "")
    assert cli("suggest", "--prefix", "fax.", stdin=json.dumps(SERVER).encode()).out == drafted.out
    Path("draft.yaml").write_text(drafted.out)
    assert cli("check", "draft.yaml").code == 1
    assert cli("check", "draft.yaml", "--tools", "tools.json", "--prefix", "fax.").code == 0
    told = json.loads(cli("suggest", "tools.json", "--json").out)
    assert [(each["tool"], each["risk"]) for each in told["tools"]] == [("send_fax", "RED"), ("get_fax", "YELLOW")]


@pytest.mark.parametrize("document", [b"", b"{", b"5", b'{"tools": 3}', b'{"tools": []}', b"\xff", b"[" * 90_000])
def test_what_is_no_list_of_tools_is_said_in_a_line(cli: Cli, document: bytes) -> None:
    done = cli("suggest", stdin=document)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1


def test_a_replay_without_a_home_says_what_to_do(cli: Cli) -> None:
    done = cli("replay")
    assert done.code == 1
    assert "there is nothing at" in done.err


HOSTILE = {
    "bomb": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "merge": "version: 1\nbase: {<<: {a: RED}}\n",
    "twice": "version: 1\nversion: 1\n",
    "tab": "version: 1\nrules:\n\t- id: a\n",
    "tag": "version: !!python/object/apply:os.system ['true']\n",
    "deep": "version: 1\nrules: " + "[" * 60 + "]" * 60 + "\n",
    "documents": "version: 1\n---\nversion: 1\n",
    "types": "version: 1\nbase: 5\nrules: x\ndeny: {}\ntests: 3\norganisation: []\nlimits: x\nproduction: {a: 1}\n",
    "allow": "version: 1\nallow: [git_ops]\n",
    "green": "version: 1\nrules: [{id: a, tools: [send_email], effect: allow}]\n",
    "cel": "version: 1\nrules:\n  - {id: a, risk: RED, when: 'args.a.matches(\"(\")'}\n",
    "huge-cel": f"version: 1\nrules:\n  - {{id: a, risk: RED, when: '{'!' * 3000}true'}}\n",
    "stars": "version: 1\nrules:\n  - {id: a, risk: RED, tools: ['a*a*a*a*a*a*b']}\n",
    "nul": "version: 1\nbase: {\x00: RED}\n",
    "numbers": f"version: 1\nlimits: {{amount: .inf, count: {'9' * 50}}}\n",
    "names": "version: 1\norganisation: {domains: ['*', com, 'a b.c', 'ex\u0430mple.com'], addresses: ['@x.y', a@b]}\n",
    "huge": "version: 1\n# " + "x" * 2_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_faults_with_lines_and_never_a_policy(cli: Cli, name: str) -> None:
    Path("policy.yaml").write_text(HOSTILE[name], "utf-8")
    done = cli("check")
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert lines
    assert all(line.startswith("interlock: policy.yaml:") and len(line) < 400 for line in lines)
    asked = cli("explain", '{"tool": "send_email", "args": {}}')
    assert (asked.code, asked.out) == (2, "")


def test_a_byte_order_mark_and_windows_lines_are_fine(cli: Cli) -> None:
    Path("policy.yaml").write_bytes(b"\xef\xbb\xbf" + RULES.replace("\n", "\r\n").encode())
    assert cli("check").code == 0


@pytest.mark.parametrize("kind", ["folder", "fifo", "device", "binary"])
def test_what_is_no_file_of_text_is_refused(cli: Cli, kind: str) -> None:
    path = Path("odd.yaml")
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    else:
        path.write_bytes(bytes(range(256)))
    done = cli("check", str(path))
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)


@pytest.mark.parametrize("linked", [False, True])
def test_a_policy_and_personas_where_agents_write_are_refused(cli: Cli, linked: bool) -> None:
    from interlock.app.parts import load_parts
    from interlock.core.errors import ConfigError
    from interlock.settings import load_settings

    inside = Path(".interlock/workspaces/default/run_1")
    (inside / "personas").mkdir(parents=True)
    (inside / "policy.yaml").write_text("version: 1\n")
    policy, personas = inside / "policy.yaml", inside / "personas"
    if linked:
        Path("policy.yaml").symlink_to(policy)
        Path("people").symlink_to(personas)
        policy, personas = Path("policy.yaml"), Path("people")
    settings = load_settings(Path.cwd(), {}, {"policy": policy, "personas": [personas], "model": "rehearsal/offline"})
    with pytest.raises(ConfigError) as caught:
        load_parts(settings)
    assert len([fault for fault in caught.value.faults if "is in a workspace, where agents write" in fault]) == 2


def test_rules_that_ask_for_more_people_than_there_are_are_noted(cli: Cli) -> None:
    Path("policy.yaml").write_text("version: 1\nrules: [{id: two, tools: [file_write], risk: RED, people: 2}]\n")
    assert cli("check").err == ""
    asyncio.run(_make_home())
    done = cli("check")
    assert (done.code, done.err) == (0, "policy.yaml:2: rule `two` asks for 2 people, and 1 may answer\n")
    assert json.loads(cli("check", "--json").out)["notes"][0]["line"] == 2


def test_a_replay_over_an_empty_record_is_one_line(cli: Cli) -> None:
    asyncio.run(_make_home())
    assert cli("replay").out == "0 fewer questions, 0 newly held, 0 newly denied (of 0 calls)\n"
    assert json.loads(cli("replay", "--since", "7d", "--limit", "5", "--json").out)["calls"] == 0
    for text in ("soon", "999999w", "0001-01-01T00:00+14:00", "9999-12-31T23:59-10:00"):
        told = cli("replay", "--since", text)
        assert (told.code, "is not a time" in told.err) == (2, True), text
    assert cli("replay", "--mission", "mis_nowhere").code == 1


def test_a_replay_by_another_policy_lists_what_it_would_have_held(cli: Cli) -> None:
    mission = asyncio.run(_mission())
    Path("p.yaml").write_text("version: 1\nrules: [{id: writes, tools: [file_write], risk: RED, reason: files}]\n")
    assert "0 newly held" in cli("replay").out
    done = cli("replay", "--policy", "p.yaml", "--mission", mission)
    assert (done.code, "newly held" in done.out, "RED by rule `writes`: files" in done.out) == (0, True, True)
    told = json.loads(cli("replay", "--policy", "p.yaml", "--json").out)
    assert {each["kind"] for each in told["changes"]} == {"newly held"}
    assert told["newly_held"] == len(told["changes"]) > 0


async def _mission() -> str:
    async with Interlock.open(model="rehearsal/offline") as box:
        return (await box.run("Compare A and B")).mission_id


async def _make_home() -> None:
    from interlock.app.local import open_desk
    from interlock.settings import load_settings

    async with open_desk(load_settings(Path.cwd(), {}, {}), surface="cli", anew=True):
        pass
