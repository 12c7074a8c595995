"""Opening a run: reads what it needs, finds its model and tools, records a fresh run, resumes an earlier one.

What happens in the run is the runner's job.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from interlock.agents.history import conversation, imported, window
from interlock.agents.history.history_repair import joined
from interlock.agents.models import model_choice, model_failures, spending
from interlock.agents.persona import Persona, restored
from interlock.agents.prompts.background import Background, Wanted, failure
from interlock.agents.prompts.prompt import build_prompt
from interlock.agents.prompts.prompt_data import prompt_data
from interlock.agents.prompts.quoting import one_line
from interlock.agents.prompts.system_words import safe, system_words
from interlock.agents.prompts.task_messages import task_message
from interlock.agents.running import breaker, known_tools, steps
from interlock.agents.running import brief as briefs
from interlock.agents.running.brief import COMPACTION, Brief, Unfinished
from interlock.agents.running.interruption import Interrupt
from interlock.agents.running.session import HANDS_IN, NUDGE, Session
from interlock.agents.running.steps import UNUSED, Beginning
from interlock.agents.running.underway import CallState
from interlock.agents.runtime import Runtime
from interlock.agents.special import learning, rounds, routing, scheduled, subagents, voting
from interlock.core.errors import InterlockError
from interlock.core.values import microusd
from interlock.llm.messages import Message, StopReason, Text, ToolSpec, Usage
from interlock.policy.budgets import day_key
from interlock.policy.calls import Caller
from interlock.policy.learning.lesson_rules import REHEARSED, UNTRUSTED, best
from interlock.policy.risk import Trust
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.mailboxes.posting import CHILD_END
from interlock.store.money import ledger
from interlock.store.money.ledger import Opening, OverBudget, Spender
from interlock.tools.execute import Gate
from interlock.tools.secrets import Who

LONGEST_REMINDER = 500
"""The most characters of an earlier message in the reminder that it still waits."""
NEEDS_TASK = frozenset({HANDS_IN, "post_progress", "post_comment"})
"""Tools that only make sense for a run that works on a task."""


async def open_session(runtime: Runtime, claim: Claim, interrupt: Interrupt) -> Session | None:
    """The session of a claimed run; None if the run has ended already, its task being closed.

    Raises UsageError if its model cannot be used, LeaseLost.
    """
    brief = await _brief(runtime, claim.run)
    with runtime.telemetry.span("resolve") as span:
        session = await _session(runtime, claim, brief, interrupt)
        span.tell(agent=session.persona.name, model=session.ref.model, count=len(session.tools))
    if session.amiss is not None:
        await model_failures.stand_in(session, session.amiss)
    if brief.messages:
        _resume(session)
        await _open_today(session)
        return session
    return session if await _begin(session) else None


async def _brief(runtime: Runtime, run: Any) -> Brief:
    """Everything a run needs to know; without its background if that cannot be read. Source: row F4."""
    settings = runtime.settings
    wanted = Wanted(
        runtime.clock.now(), settings.memory.recall, settings.chat.context_messages, settings.model
    )  # fmt: skip
    try:
        return await runtime.store.read(briefs.load, run, settings.agents, wanted)
    except InterlockError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the run goes on
        found = await runtime.store.read(briefs.load, run, settings.agents)
        return found._replace(background=Background(failures=(failure("background", error),)))


async def _session(runtime: Runtime, claim: Claim, brief: Brief, interrupt: Interrupt) -> Session:
    run = claim.run
    persona = restored(brief.agent.id, brief.agent.persona_json)
    (ref, model), amiss = await model_choice.chosen(runtime, brief, persona)
    barred = await known_tools.barred(runtime, run.project_id)
    tools = _tools(runtime, persona, brief, barred)
    now = runtime.clock.now()
    spender, openings = _spender(runtime, brief, persona, now)
    limit_s, began_s = _limit_s(runtime, run), runtime.clock.monotonic()
    return Session(
        runtime=runtime,
        claim=claim,
        brief=brief,
        persona=persona,
        ref=ref,
        model=model,
        gate=Gate(
            runtime.in_force,
            runtime.toolbox,
            frozenset([tool.name for tool in tools]),
            _caller(brief, persona),
            runtime.settings.approvals.people_for_red,
            barred,
            runtime.vault,
        ),
        system=(),
        tools=tools,
        messages=[],
        earlier=0,
        position=0,
        spender=spender,
        deadline_at=now + timedelta(seconds=limit_s),
        began_s=began_s,
        ends_s=began_s + limit_s,
        interrupt=interrupt,
        watch=breaker.resumed(brief, unanswered=False),
        labels=_taint(brief),
        attempt=brief.attempts,
        openings=openings,
        amiss=amiss,
    )


def _spender(runtime: Runtime, brief: Brief, persona: Persona, now: datetime) -> tuple[Spender, tuple[Opening, ...]]:
    """The spender of a run, and the accounts to open for it; the Learner's runs spend from one account more."""
    run = brief.run
    limits = spending.Limits(
        run=persona.run_microusd(chat=run.kind == "chat"),
        agent_day=persona.daily_microusd,
        project_day=microusd(runtime.settings.day_usd(run.project_id)),
    )
    spender, openings = spending.spender_of(
        run_id=run.id, agent_id=run.agent_id, member_id=brief.member.id, task_id=run.task_id or subagents.task_of(run),
        mission_id=run.mission_id, project_id=run.project_id, timezone=brief.project.timezone, now=now, limits=limits,
    )  # fmt: skip
    if brief.learning is not None:
        openings = (*openings, brief.learning)
        spender = replace(spender, accounts=tuple(sorted((*spender.accounts, brief.learning.id))))
    return spender, openings


def _limit_s(runtime: Runtime, run: Any) -> float:
    """How long a run may take, in seconds: as its workflow says, if the task follows one. Source: row A14."""
    times = runtime.settings.times
    if run.kind in ("chat", routing.KIND):
        return times.chat_run_s
    own = run.payload.get("timeout_s") if run.kind == "task" else None
    return float(own) if own is not None else times.task_run_s


def _taint(brief: Brief) -> frozenset[str]:
    """The labels of all that a run is shown at its start: of its message, of earlier runs, of what others handed in.

    Source: row C11.
    """
    said = {row.labels for row in brief.history}
    labels = frozenset(brief.run.labels).union(brief.background.labels, *map(json.loads, said))
    if brief.marker is not None:
        labels = labels.union(brief.marker.labels)
    labels |= imported.labels(brief.history, brief.marker)
    if brief.look is not None:
        labels |= brief.look.labels
    return labels if brief.words is None else labels | brief.words.labels


def _tools(runtime: Runtime, persona: Persona, brief: Brief, barred: Mapping[str, str]) -> tuple[ToolSpec, ...]:
    run = brief.run
    if run.kind in (learning.KIND, voting.KIND, routing.KIND):
        return ()
    names = (persona.offered_tools if run.task_id else persona.offered_tools - NEEDS_TASK) | rounds.tools(run)
    names = subagents.offered(names, brief.agent.descriptor)
    if barred:
        names -= {tool.name for tool in runtime.toolbox.foreign if tool.digest in barred}
    offered = runtime.toolbox.offered(names)
    return tuple([_with_secrets(runtime, spec, persona) for spec in offered]) if runtime.vault.secrets else offered


def _with_secrets(runtime: Runtime, spec: ToolSpec, persona: Persona) -> ToolSpec:
    """A tool as it is offered, with the names of the secrets that it may be given."""
    tool = runtime.toolbox.get(spec.name)
    if tool is None:
        return spec
    offered = runtime.vault.offered(Who(tool.name, persona.name, outside=tool.outside))
    if not offered:
        return spec
    references = ", ".join(f"{{{{secret:{name}}}}}" for name in offered)
    return replace(
        spec, description=f"{spec.description} Write {references} where that secret belongs: its value is put in."
    )


def _caller(brief: Brief, persona: Persona) -> Caller:
    task = brief.task
    return Caller(
        agent_name=brief.agent.id,
        persona=persona.name,
        trust=Trust(brief.member.trust),
        project=brief.run.project_id,
        task_type=task.type if task else None,
        cost_usd=brief.run.cost_microusd / 1_000_000,
        task_id=task.id if task else None,
    )


async def _begin(session: Session) -> bool:
    """Records a fresh run: prompt, first message, accounts, first reservation, its task IN_PROGRESS."""
    brief, now = session.brief, session.now()
    lessons = best(brief.lessons, rehearsal=session.model.simulated, most=session.runtime.settings.lessons.shown)
    if any(UNTRUSTED in row.labels for row in lessons):
        session.labels |= {UNTRUSTED}
    with session.runtime.telemetry.span("prompt", agent=session.persona.name) as span:
        prompt = build_prompt(await prompt_data(session, lessons, now))
        session.system = prompt.parts
        lessons = [row for row in lessons if prompt.has("rules" if row.status == "promoted" else "lessons")]
        if any(UNTRUSTED in row.labels for row in lessons):
            session.labels |= {UNTRUSTED}
        first = safe(_first_message(brief))
        history = window.earlier(brief.history, brief.marker)
        session.messages, session.earlier = joined(history, [first])
        span.tell(count=len(session.messages), lessons=len(lessons), left_out=len(prompt.degraded))
    lines = [conversation.system_line(prompt.parts, prompt.record), *conversation.lines_of(first)]
    beginning = Beginning(
        lines=lines,
        openings=session.openings,
        model=str(session.ref),
        simulated=session.model.simulated,
        policy_hash=session.gate.policy.version_hash,
        deadline_at=session.deadline_at,
        lesson_ids=[row.id for row in lessons if REHEARSED in row.labels or not session.model.simulated],
        memory_ids=[note.id for note in brief.background.memories] if prompt.has("memories") else (),
        actor=session.actor,
        labels=sorted(session.labels),
        degraded=prompt.degraded,
        unpriced=spending.in_words(prices) if (prices := session.runtime.prices).rate(session.ref) is None else None,
    )
    reservation, wanted = session.quote()
    claim, spender = session.claim, session.spender
    try:
        began = await session.write(steps.begin, claim, spender, beginning, reservation, now)
        session.reserved(reservation, wanted)
    except OverBudget:
        began = await session.write(steps.begin, claim, spender, beginning, None, now)
    session.position = len(lines)
    return began


def _first_message(brief: Brief) -> Message:
    if brief.words is not None:
        return task_message(brief.words)
    if brief.look is not None:
        return brief.look.message
    payload = brief.run.payload
    if brief.run.kind == CHILD_END:
        return Message("user", (subagents.child_end(payload),))
    if (blocks := subagents.words(brief.run)) is not None:
        return Message("user", (*map(_waiting, brief.unfinished), *blocks))
    words = Text(str(payload.get("prompt") or payload.get("text") or ""))
    more = (*_attached(payload.get("attachments") or ()), *scheduled.notice(payload))
    return Message("user", (*map(_waiting, brief.unfinished), *rounds.speaker_of(payload), words, *more))


def _attached(files: Sequence[Mapping[str, Any]]) -> tuple[Text, ...]:
    """Lists the files that came with a message; the agent reads them with file_read."""
    if not files:
        return ()
    listed = "\n".join(f"- `{file['path']}` ({file['size']:,} bytes)" for file in files)
    return (Text(f"Attached, in the workspace:\n{listed}"),)


def _waiting(earlier: Unfinished) -> Text:
    """A line for a message whose answer waits for a person. Source: decisions, "Parked chat run"."""
    waits_for = "; ".join(earlier.waits_for) or "a person"
    said = one_line(earlier.text, limit=LONGEST_REMINDER)
    return system_words(
        "system",
        f'An earlier message is not answered yet: "{said}". Its run is waiting for approval {waits_for}, and goes on '
        "by itself.",
    )


def _resume(session: Session) -> None:
    """Restores the session to where the run stopped, from its rows."""
    brief = session.brief
    session.system = conversation.system_of(brief.messages)
    history, own = window.earlier(brief.history, brief.marker), window.own(brief.messages, brief.marker)
    session.messages, session.earlier = joined(history, own)
    session.position = 1 + max(row.position for row in brief.messages)
    session.usage = usage_of(brief.run.token_usage)
    session.handed_in = any(c.tool == HANDS_IN and c.status == "done" for c in brief.calls)
    session.nudged = any(row.message_type == conversation.USER and row.content == NUDGE for row in brief.messages)
    session.mistakes = _mistakes(brief.calls)
    worked = [step for step in brief.steps if step.stop_reason != COMPACTION]
    session.summaries = len(brief.steps) - len(worked)
    last = [c for c in brief.calls if worked and c.step_number == worked[-1].step_number]
    if last and own[-1].role == "assistant":
        session.calls = [
            CallState(
                c.id, c.position, c.call_id, c.tool, c.args, c.risk, c.status, c.approval_id, c.result, c.is_error,
                c.simulated, c.idempotency_token,
            )
            for c in last
        ]  # fmt: skip
        session.owes_answers = True
        session.quiet = any(c.status == "done" and _ends_run(session, c.tool) for c in last)
    elif not last and worked:
        paused = worked[-1].stop_reason == StopReason.PAUSE_TURN
        session.owes_nudge = not paused and Text(NUDGE) not in own[-1].blocks
    if session.owes_answers:
        session.watch = breaker.resumed(brief, unanswered=True)
    denied = [a for a in brief.approvals.values() if a.kind == "BUDGET" and a.status in ("denied", "expired")]
    if denied:
        session.budget_denied = f"a person did not raise the budget: {denied[-1].note or 'no reason given'}"


async def _open_today(session: Session) -> None:
    """Opens the accounts of a day that began after the run did."""
    zone, began = session.brief.project.timezone, session.brief.messages[0].created_at
    if day_key(began, zone) != day_key(session.now(), zone):
        await session.write(ledger.open_accounts, session.openings, session.now())


def _ends_run(session: Session, name: str) -> bool:
    tool = session.gate.toolbox.get(name)
    return tool is not None and tool.ends_run


def _mistakes(calls: Sequence[Any]) -> int:
    """How many of the last steps in a row had only invalid calls."""
    count = 0
    for _, step in groupby(reversed(calls), lambda call: call.step_number):
        if any(call.status != "refused" for call in step):
            break
        count += 1
    return count


def usage_of(stored: dict[str, int]) -> Usage:
    """Tokens as `Usage.as_dict` stored them."""
    return Usage(**stored) if stored else UNUSED
