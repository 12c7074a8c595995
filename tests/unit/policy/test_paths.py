"""Paths: the quick look never says less than the whole one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.values import paths

_PARTS = [
    *paths._FOLDERS, *paths._SECRET_NAMES, "agents", "soul", "tools", "user",
    "architecture", "heartbeat", "memory", "bootstrap", "claude", "gemini", "policy", "prices", "personas", "workflows",
    "hooks", "crontab", "cron", "sitecustomize", "usercustomize", "launchagents", "copilot-instructions", "etc", "var",
    "proc", "root", "notes", "plan", "src", "main", "report", "api_key", "access-key", "auth_keys", "krb5cc_1", "0x2f",
    "17", "-n", "--out",
]  # fmt: skip
PATHS = st.tuples(
    st.lists(st.sampled_from(_PARTS) | st.text("abz09_-.", max_size=4), min_size=1, max_size=4),
    st.sampled_from(["", ".md", ".txt", ".py", ".csv", ".key", ".pem", ".pth"]),
).map(lambda made: "/".join(made[0]) + made[1])


@given(PATHS, st.booleans(), st.booleans())
def test_the_quick_look_says_what_the_whole_one_does(path: str, writes: bool, closed: bool) -> None:
    assert paths.judge(path, writes=writes, closed=closed) == paths.judge_fully(path, writes=writes, closed=closed)


@pytest.mark.parametrize("form", ["{}", "{}.md", "{}.txt", "{}.py", "a/{}", "a/{}.md", "{}/a.txt", "a/{}/b.md"])
def test_nothing_telling_is_taken_for_ordinary(form: str) -> None:
    asked = [
        (form.format(part), writes, closed) for part in _PARTS for writes in (False, True) for closed in (False, True)
    ]
    for path, writes, closed in asked:
        found = paths.judge(path, writes=writes, closed=closed)
        assert found == paths.judge_fully(path, writes=writes, closed=closed), (path, writes, closed)


@given(PATHS)
def test_what_is_free_to_read_is_neither_a_secret_nor_the_system(path: str) -> None:
    if paths.is_free_to_read(path):
        assert not paths.touches_secret(path)
        assert not paths.reads_system(path)


@pytest.mark.parametrize("form", ["{}", "{}.md", "{}.txt", "a/{}", "{}/a.txt", "a/{}/b", "-{}", "--{}"])
def test_nothing_that_is_kept_from_readers_is_taken_for_free(form: str) -> None:
    free = [path for path in map(form.format, _PARTS) if paths.is_free_to_read(path)]
    assert [path for path in free if paths.touches_secret(path) or paths.reads_system(path)] == []
