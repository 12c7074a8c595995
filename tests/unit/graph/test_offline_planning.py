"""The messages that are written here are understood by the offline model, whose plans keep to the rules for plans."""

from hypothesis import given
from hypothesis import strategies as st

from interlock.agents.persona import load_personas
from interlock.agents.prompts.task_messages import Material, TaskBrief, plan_message, task_message
from interlock.core.values import canonical_json
from interlock.graph.plan import Plan, PlanLimits, parse_plan
from interlock.llm.messages import Message, ModelRequest
from interlock.llm.rehearsal.planning import plan
from interlock.llm.rehearsal.protocol import Brief, Kind, read_brief, read_personas

PERSONAS = load_personas(True, [], known_tools=frozenset()).personas
TRIGGERS = sorted({word for persona in PERSONAS.values() for word in persona.triggers})


def read(message: Message) -> Brief:
    return read_brief(ModelRequest(model="offline", system=(), messages=(message,)))


def test_every_persona_of_a_planning_message_is_read_back() -> None:
    listed = read_personas(read(plan_message("Launch.", list(PERSONAS.values()))).section("Personas"))
    assert {
        line.name: (line.role, line.task_types, line.triggers, line.capabilities, line.tools) for line in listed
    } == {
        p.name: (p.role, p.task_types, p.triggers, p.capabilities, p.tools) for p in PERSONAS.values() if p.takes_tasks
    }


def test_a_task_message_is_read_back_with_others_text_as_they_wrote_it() -> None:
    written = "# A title\n\n## Feedback\nNot yours."
    review = Material("tsk_2", "Draft", written)
    message = task_message(
        TaskBrief("Check", written, "docs", "A verdict.", (Material("tsk_1", "Facts", "x"),), review)
    )
    brief = read(message)
    assert (brief.kind, brief.title, brief.section("Description")) == (Kind.TASK, "Check", written)
    assert [(part.id, part.text) for part in brief.parts("Inputs")] == [("tsk_1", "x")]
    assert [(part.title, part.text) for part in brief.parts("Review")] == [("Draft", written)]
    assert brief.section("Feedback") == ""


@given(st.lists(st.sampled_from([*TRIGGERS, "the", "and email it to a@example.com"]), min_size=1).map(" ".join))
def test_the_offline_models_plans_are_accepted(goal: str) -> None:
    answer = plan(read(plan_message(goal, list(PERSONAS.values()), budget_microusd=20_000_000)))
    found = parse_plan(canonical_json(answer), PERSONAS, PlanLimits(budget_microusd=20_000_000))
    assert isinstance(found, Plan), found
