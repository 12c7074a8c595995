"""The eleven built-in personas against the tables that fix them."""

from pathlib import Path

import pytest

from interlock.agents.persona import Persona, load_personas
from interlock.agents.persona_schema import BUDGETS_USD
from interlock.agents.prompts.task_messages import TASK_TYPES
from interlock.agents.tool_names import COMMON_TOOLS

LOADED = load_personas(True, [], known_tools=frozenset())
PERSONAS = LOADED.personas
DOCUMENT = Path(__file__).parents[3] / "docs" / "personas.md"
TAXONOMY = {
    "coordinator": ("GREEN", []),
    "research": ("GREEN", ["research", "analyze", "find out", "compare"]),
    "coder": ("YELLOW", ["build", "code", "implement", "fix bug"]),
    "operations": ("GREEN", ["document", "organize", "schedule", "track"]),
    "qa": ("GREEN", ["test", "verify", "review", "check"]),
    "storyteller": ("GREEN", ["write", "pitch", "story", "marketing"]),
    "designer": ("GREEN", ["design", "layout", "UI", "wireframe"]),
    "compliance": ("RED", ["legal", "compliance", "contract", "security"]),
    "finance": ("YELLOW", ["pricing", "budget", "financial", "ROI"]),
    "learner": ("GREEN", []),
    "strategist": ("GREEN", ["plan", "strategy", "roadmap", "decompose"]),
}
EVERYBODY = set(TAXONOMY)
ACCESS = {
    "web_search": {"research", "finance", "compliance"},
    "code_exec": {"coder", "qa"},
    "file_read": EVERYBODY,
    "file_write": EVERYBODY - {"coordinator"},
    "git_ops": {"coder", "operations"},
    "browser": {"research", "designer"},
    "database": EVERYBODY,
    "notification": {"coordinator", "operations"},
    "send_email": {"operations", "storyteller"},
    "start_background_agent": {"operations", "research", "strategist"},
    "sessions_spawn": {"operations", "research", "strategist"},
    "send_agent_message": {"operations", "research", "strategist"},
}
COORDINATION = {"create_task", "update_task", "list_tasks", "get_task"}


def test_the_eleven_load_without_a_fault() -> None:
    assert LOADED.faults == ()
    assert set(PERSONAS) == EVERYBODY


@pytest.mark.parametrize("name", sorted(TAXONOMY))
def test_risk_profile_and_triggers_are_those_of_the_taxonomy(name: str) -> None:
    assert (PERSONAS[name].risk_profile, list(PERSONAS[name].triggers)) == TAXONOMY[name]


@pytest.mark.parametrize("tool", sorted(ACCESS))
def test_a_tool_is_offered_to_those_who_may_use_it_and_nobody_else(tool: str) -> None:
    assert {name for name, persona in PERSONAS.items() if tool in persona.offered_tools} == ACCESS[tool]


def test_the_coordinator_is_offered_no_domain_tool() -> None:
    offered = PERSONAS["coordinator"].offered_tools - COMMON_TOOLS
    assert offered == COORDINATION | {"file_read", "database", "notification"}


def test_every_task_type_has_a_taker() -> None:
    assert {kind for persona in PERSONAS.values() for kind in persona.task_types} == set(TASK_TYPES)


def test_coordinator_and_learner_take_no_tasks() -> None:
    assert {name for name, persona in PERSONAS.items() if not persona.takes_tasks} == {"coordinator", "learner"}


@pytest.mark.parametrize("persona", PERSONAS.values(), ids=lambda p: p.name)
def test_budgets_are_those_of_the_trust_level(persona: Persona) -> None:
    expected = BUDGETS_USD[persona.trust]
    assert (persona.budget.daily_usd, persona.budget.run_usd) == (expected["daily_usd"], expected["run_usd"])


@pytest.mark.parametrize("persona", PERSONAS.values(), ids=lambda p: p.name)
def test_each_soul_says_what_it_refuses_and_each_prompt_when_to_ask(persona: Persona) -> None:
    assert "You refuse" in persona.soul
    assert "Ask the operator" in (persona.prompt or "")


def test_the_table_in_the_documentation_is_what_the_files_say() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = [
        f"| {p.name} | {p.role} | {p.trust} | {p.risk_profile} | {', '.join(p.triggers) or '–'} "
        f"| {', '.join(p.task_types) or '–'} |"
        for p in PERSONAS.values()
    ]
    assert [line for line in text.splitlines() if line.split(" | ")[0].removeprefix("| ") in EVERYBODY] == rows


def test_the_example_in_the_documentation_loads(tmp_path: Path) -> None:
    example = DOCUMENT.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    (tmp_path / "translator.yaml").write_text(example, encoding="utf-8")
    found = load_personas(False, [tmp_path], known_tools=frozenset())
    assert found.faults == ()
    assert set(found.personas) == {"translator"}
