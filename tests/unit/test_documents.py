"""What the documents say is so: commands, options, files, links, tables and examples; nothing about how they read."""

import ast
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import interlock
from interlock.agents.persona import load_personas
from interlock.app.box import Interlock, MissionResult
from interlock.cli.main import build
from interlock.desk.agents.conversation import Reply
from interlock.policy import budgets
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.builtin import BASE
from interlock.policy.risk import MATRIX, Effect, Risk, Trust
from interlock.settings import Settings
from interlock.tools.builtin import builtin_tools
from scripts import check_sources

ROOT = check_sources.ROOT
SOURCE = ROOT / "src" / "interlock"
README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DOCUMENTS = [path for path in check_sources.tracked_files(ROOT) if path.suffix == ".md"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
EFFECTS = {"runs": Effect.ALLOW, "held": Effect.HOLD}


def name_of(path: Path) -> str:
    """A document, for the name of its test."""
    return str(path.relative_to(ROOT))


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of a language."""
    return [code for found, code in BLOCK.findall(text) if found == language]


def said(text: str) -> list[str]:
    """Each line of the plain code blocks, and each piece of code within the prose."""
    lines = [line for block in blocks(text, "") for line in block.splitlines()]
    return [*lines, *INLINE.findall(BLOCK.sub("", text))]


def command_lines(text: str) -> Iterator[list[str]]:
    """The words of every `interlock …` that a document shows; the brackets of a synopsis are none of them."""
    for line in said(text):
        for part in line.split("&&"):
            if part.strip().startswith("interlock "):
                yield [word for word in (w.strip("[]").partition("/--")[0] for w in shlex.split(part)[1:]) if word]


def fault_of(words: list[str]) -> str | None:
    """Why a command line cannot be typed; None if it can."""
    command: Any = typer.main.get_command(build())
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    options = {option for p in command.params for option in (*p.opts, *p.secondary_opts)} | {"--help"}
    if unknown := [word for word in words if re.match(r"--?[a-z]", word) and word not in options]:
        return f"`{command.name}` has no {unknown[0]}"
    takes = any(parameter.param_type_name == "argument" for parameter in command.params)
    if words and not words[0].startswith("-") and not takes:
        return f"`{command.name}` has no `{words[0]}`"
    return None


def slugs(text: str) -> set[str]:
    """The anchors of a document's headings."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows(text: str, first: str) -> list[list[str]]:
    """The cells of the table whose head begins with `first`, without head and rule."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    body = lines[start + 2 :]
    end = next((i for i, line in enumerate(body) if not line.startswith("|")), len(body))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in body[:end]]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_link_leads_somewhere(path: Path) -> None:
    lost = []
    for target in LINK.findall(BLOCK.sub("", path.read_text(encoding="utf-8"))):
        if target.startswith(("https://", "http://")):
            continue
        place, _, anchor = target.partition("#")
        there = (path.parent / place).resolve() if place else path
        if not there.exists() or (anchor and anchor not in slugs(there.read_text(encoding="utf-8"))):
            lost.append(target)
    assert not lost


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_command_that_is_shown_can_be_typed(path: Path) -> None:
    faults = {" ".join(words): fault_of(words) for words in command_lines(path.read_text(encoding="utf-8"))}
    assert not {line: fault for line, fault in faults.items() if fault}


@pytest.mark.parametrize("line", ["frobnicate", "run GOAL --frobnicate", "policy frobnicate", "missions frobnicate"])
def test_command_that_does_not_exist_is_noticed(line: str) -> None:
    assert fault_of(shlex.split(line))


def test_readme_names_every_command_that_changes_something() -> None:
    shown = {" ".join(words[:2]) for words in command_lines(README)} | {w[0] for w in command_lines(README)}
    wanted = {"init", "run", "up", "cancel", "deliverable", "approve", "deny", "budget raise", "doctor"}
    assert wanted <= shown


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_make_target_that_is_named_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        found[1]
        for line in said(path.read_text(encoding="utf-8"))
        if (found := re.match(r"(?:\S+=\S+ )?make(?: \S+=\S+)* ([a-z]+)$", line.split(" ARGS")[0].strip()))
    }
    assert named <= targets


def test_every_file_that_the_architecture_names_exists() -> None:
    named = {code for code in INLINE.findall(BLOCK.sub("", ARCHITECTURE)) if re.fullmatch(r"[\w./-]+", code)}
    paths = {code for code in named if code.endswith(("/", ".py", ".json", ".toml"))}
    assert len(paths) > 30
    missing = [path for path in sorted(paths) if not any((root / path).exists() for root in (ROOT, SOURCE))]
    assert not missing


def test_tree_of_the_architecture_is_the_tree() -> None:
    (tree,) = (block for block in blocks(ARCHITECTURE, "") if block.startswith("src/interlock/"))
    shown = set(re.findall(r"(?:^  | {2,})([a-z_]+)(?:/|\.py) ", tree, re.MULTILINE))
    there = {p.stem for p in SOURCE.iterdir() if p.is_dir() or p.suffix == ".py"}
    assert shown == there - {"__init__", "__main__", "__pycache__"}


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "docs/adr/0001-package-layout.md"])
def test_layers_are_those_of_the_contract(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (c for c in project["tool"]["importlinter"]["contracts"] if c["id"] == "layers")
    layers = " → ".join(layer.split(" | testing")[0].strip("()") for layer in contract["layers"])
    assert f"`{layers}`" in (ROOT / name).read_text(encoding="utf-8")


def test_invariants_are_all_there_and_each_is_attacked_by_a_test() -> None:
    table = rows(ARCHITECTURE, "#")
    assert [row[0] for row in table] == [str(number) for number in range(1, len(table) + 1)]
    assert all(re.search(r"`tests/\S+/test_\w+\.py`", row[2]) for row in table)


def test_table_of_risk_and_trust_is_the_matrix() -> None:
    heads = [Trust.INTERN, Trust.SPECIALIST, Trust.LEAD]
    table = {Risk(row[0]): dict(zip(heads, row[2:], strict=True)) for row in rows(README, "| what it means")}
    assert {risk: {who: EFFECTS[word] for who, word in row.items()} for risk, row in table.items()} == MATRIX


def test_table_of_tools_is_complete_and_has_their_risks() -> None:
    shown = {
        tool: Risk(risk)
        for risk, tools in rows(README, "risk | tools of this version")
        for tool in INLINE.findall(tools)
    }
    assert shown == {tool.name: BASE[tool.name] for tool in builtin_tools()}


def test_table_of_budgets_has_the_defaults() -> None:
    shown = {
        row[0]: [float(n) for n in re.findall(r"\d+(?:\.\d+)?", row[1])]
        for row in rows(README, "limit | default in USD")
    }
    trusts = (Trust.INTERN, Trust.SPECIALIST, Trust.LEAD)
    assert shown["mission"] == [Settings.model_fields["mission_budget_usd"].default]
    assert shown["project and day"] == [Settings.model_fields["project_day_usd"].default]
    assert shown["persona and day"] == [budgets.AGENT_DAY[trust] / budgets.USD for trust in trusts]
    assert shown["run"] == [budgets.RUN[trust] / budgets.USD for trust in trusts]


def shown_yaml(path: Path) -> list[str]:
    return list(blocks(path.read_text(encoding="utf-8"), "yaml"))


def is_settings(data: object) -> bool:
    return isinstance(data, dict) and data.keys() <= Settings.model_fields.keys()


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_persona_that_is_shown_loads(path: Path, tmp_path: Path) -> None:
    shown = [block for block in shown_yaml(path) if block.startswith("schema_version")]
    shown = [block for block in shown if "\nsteps:" not in block]
    for number, block in enumerate(shown):
        (tmp_path / f"{number}.yaml").write_text(block, encoding="utf-8")
    found = load_personas(False, [tmp_path], known_tools=frozenset(tool.name for tool in builtin_tools()))
    assert not found.faults
    assert len(found.personas) == len(shown)


def test_personas_policies_and_settings_are_shown() -> None:
    shown = [block for path in DOCUMENTS for block in shown_yaml(path)]
    assert any(block.startswith("schema_version") and "\nsteps:" not in block for block in shown)
    assert any(block.startswith("version") for block in shown)
    assert any(is_settings(yaml.safe_load(block)) for block in shown)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_policy_that_is_shown_is_one(path: Path) -> None:
    shown = [block for block in shown_yaml(path) if block.startswith("version")]
    assert all(policy_from(block, name_of(path)).rules for block in shown)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_settings_file_that_is_shown_is_valid(path: Path) -> None:
    for data in filter(is_settings, map(yaml.safe_load, shown_yaml(path))):
        assert Settings.model_validate({"home": ROOT, "database_url": "sqlite:///x", **data})


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    named = re.findall(r"`([a-z_]+)\.(?!yaml`)([a-z_]+)`", path.read_text(encoding="utf-8"))
    kinds: dict[str, Any] = {name: field.annotation for name, field in Settings.model_fields.items()}
    sections = {name: set(kind.model_fields) for name, kind in kinds.items() if hasattr(kind, "model_fields")}
    assert not [f"{section}.{field}" for section, field in named if field not in sections.get(section, {field})]


def test_json_in_command_lines_is_json() -> None:
    shown = [word for words in command_lines(README) for word in words if word.startswith("{")]
    assert shown
    assert all(isinstance(json.loads(word), dict) for word in shown)


def test_python_example_uses_what_is_there() -> None:
    (example,) = blocks(README, "python")
    tree = ast.parse(example)
    compile(tree, "README.md", "exec")
    imported = {
        a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == "interlock" for a in n.names
    }
    assert imported
    assert imported <= set(interlock.__all__)
    known = {
        "box": set(dir(Interlock)),
        "mission": {field.name for field in fields(MissionResult)},
        "reply": {field.name for field in fields(Reply)},
        "Interlock": set(dir(Interlock)),
    }
    used = [
        (node.value.id, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in known
    ]
    assert {name for name, _ in used} == set(known)
    assert not [f"{name}.{attribute}" for name, attribute in used if attribute not in known[name]]


def test_everything_exported_can_be_imported() -> None:
    assert all(getattr(interlock, name) is not None for name in interlock.__all__)


def test_index_lists_every_document_and_decision() -> None:
    index = ROOT / "docs" / "index.md"
    listed = {(index.parent / target).resolve() for target in LINK.findall(index.read_text(encoding="utf-8"))}
    unlisted = {path for path in DOCUMENTS if path.parent in (ROOT, ROOT / "docs", ROOT / "docs" / "adr")} - listed
    assert unlisted == {index}


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if p.parent.name == "adr"], ids=lambda path: path.stem)
def test_decision_has_its_parts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    number = path.name.partition("-")[0]
    assert re.match(rf"# {number}: \S", text)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_test_that_is_named_is_there(path: Path) -> None:
    named = {code for code in INLINE.findall(BLOCK.sub("", path.read_text(encoding="utf-8"))) if code[:6] == "tests/"}
    assert not [test for test in sorted(named) if not (ROOT / test).exists()]
