"""The coordinator's decisions as functions of what is known; the steps that carry them out are contract tests."""

from dataclasses import replace
from typing import Any

import pytest
from langgraph.runtime import Runtime

from interlock.agents.persona import Persona, load_personas
from interlock.graph.delegating import delegate
from interlock.graph.delegation import Candidate
from interlock.graph.resolving import closing
from interlock.graph.reviewing import gates, signed_off
from interlock.graph.view import MissionView, Result, RunView, TaskView, derived_id

PERSONAS = load_personas(True, [], known_tools=frozenset()).personas
RESULT = Result(id="dlv_1", title="the work")


def task(key: str, **more: Any) -> TaskView:
    return TaskView(**{"id": f"tsk_{key}", "key": key, "title": key, "persona": "research", **more})


def view(*tasks: TaskView, **more: Any) -> MissionView:
    candidates = tuple(Candidate(f"mem_{n}", p, p.trust, 0, 0, 0, 1, 1) for n, p in PERSONAS.items())
    known: dict[str, Any] = {
        "id": "mis_1", "project_id": "default", "goal": "g", "version": 1, "root": task("root", status="IN_PROGRESS"),
        "coordinator_agent_id": "c", "thinker_agent_id": "t", "tasks": tasks, "personas": PERSONAS,
        "candidates": candidates,
    }  # fmt: skip
    return MissionView(**{**known, **more})


def trusted(trust: str) -> MissionView:
    found = view()
    return replace(found, candidates=tuple(replace(c, trust=trust) for c in found.candidates))


@pytest.mark.parametrize(
    ("risk", "trust", "to"),
    [
        ("GREEN", "intern", "DONE"), ("GREEN", "lead", "DONE"),
        ("YELLOW", "intern", "NEEDS_APPROVAL"), ("YELLOW", "specialist", "DONE"), ("YELLOW", "lead", "DONE"),
        ("RED", "intern", "NEEDS_APPROVAL"), ("RED", "specialist", "NEEDS_APPROVAL"), ("RED", "lead", "NEEDS_APPROVAL"),
    ],
)  # fmt: skip
def test_sign_off_follows_risk_and_trust(risk: str, trust: str, to: str) -> None:
    work = task("a", status="REVIEW", worker="research", call_risk=risk, result=RESULT)
    assert [e["to"] for e in signed_off(trusted(trust), work, RESULT) if "to" in e] == [to]


@pytest.mark.parametrize("where", ["persona", "result", "calls"])
def test_risk_of_a_deliverable_is_the_highest_of_persona_result_and_calls(where: str) -> None:
    result = replace(RESULT, risk="RED" if where == "result" else "GREEN")
    work = task("a", worker="compliance" if where == "persona" else "research", status="REVIEW", result=result)
    work = replace(work, call_risk="RED") if where == "calls" else work
    assert signed_off(view(), work, result)[0]["kind"] == "TASK_REVIEW"


def test_persona_that_is_gone_has_its_work_signed_off_by_a_person() -> None:
    work = task("a", worker="nobody", status="REVIEW", result=RESULT)
    assert signed_off(view(), work, RESULT)[0]["risk"] == "RED"


def test_reviewers_that_come_later_are_no_gate() -> None:
    text = task("text", status="REVIEW", result=RESULT)
    look = task("look", depends_on=(text.id,), reviews=text.id)
    after = task("after", depends_on=(look.id,))
    late = task("late", depends_on=(text.id, after.id), reviews=text.id)
    assert gates(view(text, look, after, late), text) == [look]


def test_work_is_spread_over_members_within_one_step() -> None:
    twin: Persona = PERSONAS["research"].model_copy(update={"name": "research2"})
    both = {"research": PERSONAS["research"], "research2": twin}
    candidates = tuple(Candidate(f"mem_{n}", p, p.trust, 0, 0, 0, 1, 1) for n, p in both.items())
    tasks = [task(str(n), type="research", persona="gone") for n in range(4)]
    given = delegate({"effects": []}, _runtime(view(*tasks, personas=both, candidates=candidates)))["effects"]
    assert sorted(e["persona"] for e in given if e["do"] == "assign") == [
        "research",
        "research",
        "research2",
        "research2",
    ]


def test_delegation_leaves_alone_what_was_just_decided() -> None:
    given = delegate({"effects": [{"do": "undepend", "task": "tsk_a", "on": "x"}]}, _runtime(view(task("a"))))
    assert [e["do"] for e in given["effects"]] == ["undepend"]


def test_closing_cancels_the_root_before_its_tasks() -> None:
    run = RunView(id="run_1", key="k", status="running", task_id="tsk_a")
    made = closing(view(task("a", status="IN_PROGRESS"), task("b", status="DONE"), runs={"k": run}, canceled=True))
    assert [e.get("task") or e.get("run") for e in made] == ["tsk_root", "tsk_a", "run_1"]


def test_a_reviews_run_names_what_it_judges() -> None:
    text = task("text", status="REVIEW", result=RESULT)
    look = task("look", depends_on=(text.id,), reviews=text.id, review_cycles=2)
    assert view(text, look).run_key(look) == "task:tsk_look:g0:a0:r2:of:dlv_1"


def test_derived_ids_follow_from_their_parts_alone() -> None:
    assert derived_id("tsk", "m", "a") == derived_id("tsk", "m", "a") != derived_id("tsk", "m", "b")


def _runtime(seen: MissionView) -> Any:
    return Runtime(context=seen)
