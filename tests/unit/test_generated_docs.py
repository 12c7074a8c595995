"""The documents say what the code does."""

import re
from pathlib import Path

import pytest

from interlock.policy.as_code.cases import run_tests
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.builtin import BASE
from interlock.state_machine.table import TRANSITIONS
from scripts.generate_docs import PARTS, ROOT, regenerated, stale


def test_no_generated_part_is_stale() -> None:
    assert stale(ROOT) == {}


def test_a_changed_document_is_noticed_and_mended(tmp_path: Path) -> None:
    for name in PARTS:
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        target.write_text((ROOT / name).read_text("utf-8"), "utf-8")
    page = tmp_path / "docs/task-states.md"
    good = page.read_text("utf-8")
    page.write_text(good.replace("REVIEW --> DONE: H S", "REVIEW --> DONE: A"), "utf-8")
    assert stale(tmp_path) == {page: good}


def test_lost_marks_are_told() -> None:
    with pytest.raises(LookupError, match="marks of `diagram`"):
        regenerated("nothing here", {"diagram": str})


def test_every_transition_and_every_built_in_tool_is_documented() -> None:
    states = (ROOT / "docs/task-states.md").read_text("utf-8")
    assert all(f"    {t.source} --> {t.dest}: " in states for t in TRANSITIONS)
    risks = (ROOT / "docs/risk.md").read_text("utf-8")
    assert all(f"`{tool}`" in risks for tool in BASE)


def test_the_policy_file_in_the_documents_works_and_passes_its_own_tests() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/policy.md").read_text("utf-8"), re.DOTALL)
    policy = policy_from(example, "docs/policy.md")
    assert len(policy.cases) == 1
    assert run_tests(policy) == []
