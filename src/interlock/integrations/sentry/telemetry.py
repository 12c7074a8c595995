"""Telemetry to Sentry: spans, logs of decisions, counters, and unexpected errors.

Names are defined in `vocabulary`, filters in `scrubbing`. The library's global state is not touched: an application
that uses Sentry itself keeps its own client.
"""

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from datetime import timedelta
from importlib.metadata import version
from typing import Any

import sentry_sdk.logger
import sentry_sdk.metrics
from sentry_sdk.client import Client
from sentry_sdk.scope import Scope, use_scope
from sentry_sdk.traces import NoOpStreamedSpan, StreamedSpan, start_span

from interlock.core.errors import ConfigError
from interlock.core.telemetry import Fact, Value
from interlock.integrations.sentry import scrubbing
from interlock.integrations.sentry.vocabulary import COUNTERS, LOGS, SPANS, attributes_of, run_fields
from interlock.settings.services import SentrySettings

CLOSE_S = 1.0
"""How long closing waits for what has not been sent yet; the rest is dropped."""
DO_NOTHING = "do_nothing"
FAILED = frozenset({"failed", "unknown"})
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01")
_here: ContextVar["Part | None"] = ContextVar("interlock_telemetry", default=None)
_log = logging.getLogger(__name__)


class Sentry:
    """Reports to a Sentry project; close it. Only `close` waits for the network.

    Raises ConfigError for an invalid DSN.
    Source: row K1.
    """

    listens = True

    def __init__(self, settings: SentrySettings) -> None:
        release, environment = f"interlock@{version('interlock')}", settings.environment or "production"
        try:
            self._client = Client(
                dsn=settings.dsn.get_secret_value() if settings.dsn is not None else "",
                environment=environment,
                release=release,
                traces_sample_rate=settings.traces_sample_rate,
                trace_lifecycle="stream",
                enable_logs=True,
                default_integrations=False,
                auto_enabling_integrations=False,
                auto_session_tracking=False,
                include_local_variables=False,
                include_source_context=False,
                max_breadcrumbs=0,
                server_name="",
                spotlight=False,
                debug=False,
                before_send=scrubbing.event,
                before_send_span=scrubbing.span,
                before_send_log=scrubbing.record,
                before_send_metric=scrubbing.record,
            )
        except ValueError as error:
            raise ConfigError(
                ["sentry.dsn: this is not a DSN: copy it from the project's client keys in Sentry"]
            ) from error
        self.scope = Scope(client=self._client)
        self.scope.set_attributes({"sentry.environment": environment, "sentry.release": release})

    def run(self, row: Any, /) -> "Part":
        kind = "coordinate" if row.kind == "mission" else "run"
        return Part(self, kind, {**run_fields(row), "retries": row.attempt}, self._trace_of(row))

    def span(self, kind: str, /, **fields: Value) -> "Part":
        above = self.above
        scope = above.scope if above is not None else self.scope
        return Part(self, kind, fields, scope.fork(), above.of_run if above is not None else None)

    def count(self, kind: str, /, **fields: Value) -> None:
        with quietly(self._here_or_nowhere()):
            sentry_sdk.metrics.count(COUNTERS[kind], 1, attributes=attributes_of({**self._run_known(), **fields}))

    def failed(self, error: BaseException, /) -> None:
        scope = self._here_or_nowhere().fork()
        with quietly(scope):
            scope.set_tags({name: str(value) for name, value in attributes_of(self._run_known()).items()})
            scope.capture_exception(error)

    def place(self) -> str | None:
        above = self.above
        span = above.of_run.opened if above is not None and above.of_run is not None else None
        return f"00-{span.trace_id}-{span.span_id}-01" if span is not None else None

    def committed(self, facts: Sequence[Fact], seconds: float, /) -> None:
        for fact in facts:
            with quietly(self._here_or_nowhere()):
                self._tell(fact, seconds)

    def close(self) -> None:
        with quietly(self.scope):
            self._client.close(timeout=CLOSE_S)

    @property
    def above(self) -> "Part | None":
        """The current span, if it belongs to this project."""
        found = _here.get()
        return found if found is not None and found.sentry is self else None

    def _here_or_nowhere(self) -> Scope:
        above = self.above
        return above.scope if above is not None else self.scope

    def _run_known(self) -> dict[str, Any]:
        above = self.above
        run = above.of_run if above is not None else None
        names = ("run_id", "run_kind", "mission_id", "task_id", "agent", "simulated")
        return {name: run.fields[name] for name in names if name in run.fields} if run is not None else {}

    def _tell(self, fact: Fact, seconds: float) -> None:
        kind, fields = fact.kind, fact.fields
        if kind == "call_decided" and fields["tool"] == DO_NOTHING:
            kind = "nothing_decided"
        if kind in LOGS:
            known = {name: fields[key] for key, name in LOGS[kind].fields.items() if key in fields}
            sentry_sdk.logger.info(LOGS[kind].body, attributes=attributes_of({**self._run_known(), **known}))
        elif kind in ("run_posted", "run_claimed"):
            self._tell_of_queue(kind, fields, seconds)
        elif kind in ("run_ended", "run_parked", "run_put_back"):
            self._tell_of_end(fields)

    def _tell_of_queue(self, kind: str, fields: Mapping[str, Any], seconds: float) -> None:
        run, waited_s = fields["run"], fields.get("waited_s")
        attributes = run_fields(run)
        attributes |= {"system": "interlock", "message_id": attributes["run_id"], "destination": run.kind}
        attributes |= {
            "cause": fields.get("cause"),
            "latency_ms": None if waited_s is None else round(waited_s * 1000, 3),
        }
        above = self.above
        scope = above.scope.fork() if above is not None and kind == "run_posted" else self._trace_of(run)
        with use_scope(scope):
            span = start_span(SPANS[kind].called(attributes), _span_attributes(kind, attributes))
            _begin_earlier(span, seconds)
            span.end()
        if waited_s is not None:
            self.count("invocation", **{name: attributes[name] for name in ("run_kind", "simulated")})

    def _tell_of_end(self, fields: Mapping[str, Any]) -> None:
        above, attributes = self.above, {"status": fields["status"], "stop_reason": fields.get("stop_reason")}
        run = above.of_run if above is not None else None
        if run is not None and run.fields["run_id"] == fields["run"].id:
            run.tell(**attributes)
        if fields["status"] == "failed":
            self.count("error", of="run", **{**run_fields(fields["run"]), **attributes})

    def _trace_of(self, run: Any) -> Scope:
        """A scope in the trace of a run's mission: below the run that posted it, or the run's own earlier part.

        If the start of the trace is not recorded, its id is derived from the mission's, so that all processes use the
        same trace and sampling decision.
        """
        scope = self.scope.fork()
        with quietly(scope):
            found = _TRACEPARENT.fullmatch(getattr(run, "traceparent", None) or "")
            if found is not None:
                scope.generate_propagation_context({"sentry-trace": f"{found[1]}-{found[2]}-1"})
            else:
                seed = run.mission_id or run_fields(run)["run_id"]
                scope.set_new_propagation_context()
                scope.get_active_propagation_context().trace_id = hashlib.sha256(seed.encode()).hexdigest()[:32]
        return scope


class Part:
    """A span; spans that start while it is open, in this task or its child tasks, are its children."""

    __slots__ = ("_token", "fields", "kind", "of_run", "opened", "scope", "sentry")

    def __init__(
        self, sentry: Sentry, kind: str, fields: Mapping[str, Any], scope: Scope, of_run: "Part | None" = None
    ) -> None:
        self.sentry, self.kind, self.fields, self.scope = sentry, kind, dict(fields), scope
        self.of_run = self if kind in ("run", "coordinate") else of_run
        self.opened: StreamedSpan | None = None
        self._token: Token[Part | None] | None = None

    def __enter__(self) -> "Part":
        self._token = _here.set(self)
        with quietly(self.scope):
            span = start_span(SPANS[self.kind].called(self.fields), _span_attributes(self.kind, self.fields))
            self.opened = None if isinstance(span, NoOpStreamedSpan) else span
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._token is not None:
            _here.reset(self._token)
        span = self.opened
        with quietly(self.scope):
            if span is not None and isinstance(error, Exception):
                self.tell(status="failed", error_type=type(error).__name__)
            if span is not None:
                span.end()

    def tell(self, **fields: Value) -> None:
        self.fields.update(fields)
        span = self.opened
        with quietly(self.scope):
            if span is not None:
                span.set_attributes(attributes_of(fields))
                span.name = SPANS[self.kind].called(self.fields)
                if fields.get("status") in FAILED:
                    span.status = "error"


@contextmanager
def quietly(scope: Scope) -> Iterator[None]:
    """Runs in a scope of its own, separate from the application's; suppresses telemetry errors."""
    try:
        with use_scope(scope):
            yield
    except Exception as error:  # noqa: BLE001 (telemetry never fails a run: row K1)
        _log.debug("telemetry failed: %s", type(error).__name__)


def _span_attributes(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    op = SPANS[kind].op
    operation = op.removeprefix("gen_ai.") if op.startswith("gen_ai.") else None
    return {"sentry.op": op, **attributes_of({**fields, "operation": operation})}


def _begin_earlier(span: StreamedSpan, seconds: float) -> None:
    """Backdates the start of a span, for which the library has no interface."""
    if not isinstance(span, NoOpStreamedSpan):
        span._start_timestamp -= timedelta(seconds=seconds)
        span._start_timestamp_monotonic_ns -= int(seconds * 1e9)
