"""Maps facts to Sentry's spans, logs, counters and attributes; nothing is sent that is not listed here.

Sending is in `telemetry`, scrubbing in `scrubbing`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class SpanWords:
    """Sentry's operation, the span's name, and the field whose value is appended to the name."""

    op: str
    name: str
    ends_with: str | None = None

    def called(self, fields: Mapping[str, Any]) -> str:
        """The name of a span with these fields."""
        end = fields.get(self.ends_with) if self.ends_with else None
        return self.name if end is None else f"{self.name} {end}"


@dataclass(frozen=True, slots=True)
class LogWords:
    """The text of a log, and which fields of the fact are attached, under which names."""

    body: str
    fields: Mapping[str, str]


SPANS: Mapping[str, SpanWords] = MappingProxyType(
    {
        "run": SpanWords("gen_ai.invoke_agent", "invoke_agent", "agent"),
        "coordinate": SpanWords("interlock.coordinate", "coordinate mission"),
        "step": SpanWords("interlock.step", "step", "step"),
        "model": SpanWords("gen_ai.chat", "chat", "model"),
        "tool": SpanWords("gen_ai.execute_tool", "execute_tool", "tool"),
        "prompt": SpanWords("interlock.prompt", "build prompt"),
        "resolve": SpanWords("interlock.resolve", "resolve agent", "agent"),
        "run_posted": SpanWords("queue.publish", "enqueue run", "run_kind"),
        "run_claimed": SpanWords("queue.receive", "claim run", "run_kind"),
    }
)
"""Source: row K1 and https://develop.sentry.dev/sdk/telemetry/traces/modules/ai-agents/."""


def _same(*names: str, **renamed: str) -> dict[str, str]:
    return {**{name: name for name in names}, **renamed}


_WHERE = _same("run_id", "mission_id", "task_id")
LOGS: Mapping[str, LogWords] = MappingProxyType(
    {
        "call_decided": LogWords("agent decision: tool call", _same("tool", "risk", "effect", "rules", "status")),
        "nothing_decided": LogWords("agent decision: do_nothing", _same("tool", "risk", "effect", "rules", "status")),
        "APPROVAL_ASKED": LogWords(
            "approval asked", {**_WHERE, **_same("risk", "tool", subject="approval_id", kind="approval_kind")}
        ),
        "APPROVAL_ANSWERED": LogWords(
            "approval answered", {**_WHERE, **_same("verdict", "surface", "edited", subject="approval_id")}
        ),
        "COORDINATOR_DECISION": LogWords("coordinator decision", {**_WHERE, **_same("decision")}),
        "LESSONS_LEARNED": LogWords("memory update: lessons taken up", {**_WHERE, **_same("kept", "left_out")}),
        "lesson_written": LogWords(
            "memory update: lesson written",
            _same("run_id", "lesson_id", "version", "lesson_kind", "confidence", "status"),
        ),
        "memory_written": LogWords("memory update: written", _same("run_id", "memory_id", "version")),
    }
)
COUNTERS: Mapping[str, str] = MappingProxyType(
    {"invocation": "interlock.invocations", "error": "interlock.errors", "tool_call": "interlock.tool_calls"}
)
ATTRIBUTES: Mapping[str, str] = MappingProxyType(
    {
        "agent": "gen_ai.agent.name",
        "model": "gen_ai.request.model",
        "provider": "gen_ai.provider.name",
        "finish_reason": "gen_ai.response.finish_reasons",
        "tool": "gen_ai.tool.name",
        "input_tokens": "gen_ai.usage.input_tokens",
        "output_tokens": "gen_ai.usage.output_tokens",
        "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
        "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
        "operation": "gen_ai.operation.name",
        "message_id": "messaging.message.id",
        "destination": "messaging.destination.name",
        "system": "messaging.system",
        "latency_ms": "messaging.message.receive.latency",
        "retries": "messaging.message.retry.count",
        "error_type": "error.type",
        **{
            name: f"interlock.{name}"
            for name in (
                "run_id run_kind mission_id task_id agent_id cause step risk effect rules status stop_reason reason "
                "simulated count lessons left_out approval_id approval_kind verdict surface edited decision kept "
                "lesson_id lesson_kind memory_id version confidence of"
            ).split()
        },
    }
)
"""By field: the attribute. INVARIANT: every one is a name, an id, a number or a word of ours."""


def attributes_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as Sentry attributes; unlisted fields are dropped."""
    return {ATTRIBUTES[name]: value for name, value in fields.items() if value is not None and name in ATTRIBUTES}


def run_fields(run: Any) -> dict[str, Any]:
    """The reportable fields of a run, from its row or its post."""
    return {
        "run_id": getattr(run, "run_id", None) or run.id,
        "run_kind": run.kind,
        "mission_id": run.mission_id,
        "task_id": run.task_id,
        "agent_id": run.agent_id,
        "simulated": run.simulated,
    }
