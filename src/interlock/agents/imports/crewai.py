"""Agents of CrewAI: `agents.yaml` by name, or lists of them as whole crews have.

Source: https://docs.crewai.com/en/concepts/agents for the attributes of an agent.
"""

import re
from collections.abc import Iterator
from typing import Any

from interlock.agents.imports.foreign import Foreign, Named
from interlock.agents.prompts.quoting import one_line
from interlock.core import strict_yaml
from interlock.core.errors import ConfigError
from interlock.core.strict_yaml import Document

MOST_AGENTS = 100
_RUNS = "dropped: it runs code; once you have read the prompt, add `code_exec` yourself"
TOOLS = {
    "SerperDevTool": "web_search",
    "BraveSearchTool": "web_search",
    "EXASearchTool": "web_search",
    "TavilySearchTool": "web_search",
    "LinkupSearchTool": "web_search",
    "ScrapeWebsiteTool": "fetch",
    "FileReadTool": "file_read",
    "DirectoryReadTool": "file_list",
    "FileWriterTool": "file_write",
    "FileWriteTool": "file_write",
    "CodeInterpreterTool": _RUNS,
    "ComposioTool": "dropped: what it can do is decided elsewhere",
}
_WHY = {
    "allow_delegation": "work is given out by the coordinator",
    "allow_code_execution": "code is run by the tool `code_exec` alone, which you may add",
    "code_execution_mode": "code is run in a sandbox, always",
    "max_iter": "limits are those of an intern",
    "max_rpm": "limits are those of an intern",
    "max_execution_time": "limits are those of an intern",
    "max_retry_limit": "tries are counted by the coordinator",
    "verbose": "every step is on record",
    "cache": "results of tools are not kept",
    "memory": "agents of Interlock remember by their own rules",
    "function_calling_llm": "one model does all of a run",
    "step_callback": "nothing of a file is run",
    "system_template": "prompts are built by Interlock",
    "prompt_template": "prompts are built by Interlock",
    "response_template": "prompts are built by Interlock",
    "knowledge_sources": "put the files into the workspace of the project",
    "embedder": "agents of Interlock remember by their own rules",
    "guardrail": "write an acceptance check",
    "reasoning": "write `thinking: adaptive` if you want that",
    "respect_context_window": "Interlock always does",
    "use_system_prompt": "Interlock always does",
}
_OWN = frozenset({"name", "role", "goal", "backstory", "tools", "llm", "model"})
_TELLING = frozenset({"role", "goal", "backstory"})
_PLACE = re.compile(r"(?<!\{)\{([A-Za-z_]\w{0,40})\}(?!\})")


def read(raw: bytes, source: str) -> tuple[list[Foreign], list[str]]:
    """The agents defined by a file, and the faults of those that cannot be read.

    Raises ConfigError if the file has none, or is no plain YAML.
    """
    document = strict_yaml.parse(raw, source=source)
    faults: list[str] = []
    left_out: list[str] = []
    found: list[Foreign] = []
    for path, name, data in _agents(document, left_out):
        if len(found) >= MOST_AGENTS:
            raise ConfigError([f"{document.at(path)}: more than {MOST_AGENTS} agents: split the file"])
        outcome = _agent(document, path, name, data)
        if isinstance(outcome, Foreign):
            found.append(outcome)
        else:
            faults += outcome
    if not found and not faults:
        raise ConfigError([f"{source}:1: no agent in it: each has `role`, `goal` and `backstory`"])
    if found:
        found[0].notes[:0] = left_out
    return found, faults


def _agents(document: Document, left_out: list[str]) -> Iterator[tuple[tuple[str | int, ...], str | None, Any]]:
    """Each agent with its path and the name it goes by, whichever way the file lists them."""
    data = document.data
    at: tuple[str | int, ...] = ()
    if isinstance(data, dict) and isinstance(data.get("agents"), (dict, list)):
        left_out += [
            document.fault((key,), f"`{one_line(key, limit=40)}` is not carried over: {_elsewhere(key)}")
            for key in data
            if key != "agents"
        ]
        data, at = data["agents"], ("agents",)
    if isinstance(data, list):
        for number, each in enumerate(data):
            yield (*at, number), None, each
    elif isinstance(data, dict):
        for key, each in data.items():
            if isinstance(each, dict) and _TELLING.intersection(each):
                yield (*at, key), key, each
            else:
                left_out.append(document.fault((*at, key), f"`{one_line(key, limit=40)}` is not an agent"))


def _elsewhere(key: str) -> str:
    return "write a workflow for it" if key in ("tasks", "process") else "it is not an agent"


def _agent(document: Document, path: tuple[str | int, ...], name: str | None, data: Any) -> Foreign | list[str]:
    if not isinstance(data, dict):
        return [document.fault(path, "an agent is a mapping with `role`, `goal` and `backstory`")]
    wrong = [key for key in ("name", *_TELLING) if data.get(key) is not None and not isinstance(data[key], str)]
    if wrong:
        return [document.fault((*path, key), f"`{key}` must be text") for key in sorted(wrong)]
    fields = {key: (data.get(key) or "").strip() for key in ("role", "goal", "backstory")}
    if not any(fields.values()):
        return [document.fault(path, "an agent has a `role`, a `goal` or a `backstory`")]
    called = name or data.get("name") or _PLACE.sub("", fields["role"])
    goal = f"\nYour goal: {fields['goal']}\n" if fields["goal"] else ""
    found = Foreign(
        source=document.source, line=document.line(path), name=called.strip(),
        role=one_line(_PLACE.sub("", fields["role"]) or fields["goal"] or fields["backstory"]),
        soul=f"{fields['backstory'] or fields['role'] or fields['goal']}\n{goal}", known=TOOLS,
    )  # fmt: skip
    for place in dict.fromkeys(_PLACE.findall(" ".join(fields.values()))):
        found.note(document.line(path), f"`{{{place}}}` is not filled in: a task says what it is about")
    found.tools = _tools(document, path, data, found)
    found.model = _model(document, path, data, found)
    for key in data:
        if key not in _OWN:
            why = _WHY.get(key, "it is unknown")
            found.note(document.line((*path, key)), f"`{one_line(key, limit=40)}` is not carried over: {why}")
    return found


def _tools(document: Document, path: tuple[str | int, ...], data: dict[str, Any], found: Foreign) -> tuple[Named, ...]:
    """The tools of an agent; one whose file names none has none there, either."""
    given = data.get("tools")
    if isinstance(given, str):
        given = [word.strip() for word in given.split(",")]
    if given is not None and not isinstance(given, list):
        found.note(document.line((*path, "tools")), "`tools` is not a list of tools: none is carried over")
    named = []
    for number, each in enumerate(given if isinstance(given, list) else ()):
        line = document.line((*path, "tools", number))
        if isinstance(each, str) and each.strip():
            named.append(Named(each.strip().removesuffix("()"), line))
        else:
            found.note(line, "a tool whose name is not text is dropped")
    return tuple(named)


def _model(document: Document, path: tuple[str | int, ...], data: dict[str, Any], found: Foreign) -> Named | None:
    for key in ("llm", "model"):
        given, line = data.get(key), document.line((*path, key))
        if isinstance(given, str) and given.strip():
            return Named(given.strip(), line)
        if isinstance(given, dict):
            name = given.get("model")
            found.note(line, f"`{key}` is not carried over but for its model: keys and addresses belong into settings")
            return Named(name.strip(), line) if isinstance(name, str) and name.strip() else None
        if given is not None:
            found.note(line, f"`{key}` is not the name of a model")
    return None
