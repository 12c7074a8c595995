"""What is loaded ahead: after it no decision has to load anything."""

import subprocess
import sys

SCRIPT = """
import sys
from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.rules import Policy
assert not {"sqlglot", "tree_sitter"} & sys.modules.keys()
from interlock.policy.warming import warm
warm()
before = set(sys.modules)
for tool, name, text in (
    ("code_exec", "command", "ls | wc -l > x"), ("database", "query", "SELECT delete, `b`, [c] FROM t"),
    ("database", "query", "WITH a AS (EXEC b) SELECT 1"), ("code_exec", "code", "print(1)"),
):
    decide(Call(tool=tool, args={name: text}, is_builtin=True), Caller(), Policy.builtin())
print(sorted(set(sys.modules) - before))
"""


def test_after_warming_no_decision_loads_anything() -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")
