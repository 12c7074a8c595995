"""Cards that reply to commands: listings, results, refusals, help.

Cards of notifications, such as approvals and missions, are composed in `drawing`.
"""

from collections.abc import Iterable, Sequence

from interlock.core.errors import InterlockError
from interlock.desk.chats.cards import Card, Fact, Passage, Tone
from interlock.desk.chats.command_table import COMMANDS, Command, spelled, suggestion
from interlock.desk.chats.wording import counted, dollars, line, listed, moment
from interlock.desk.reading.views import View

SHORT = 90


def notice(title: str, *paragraphs: str, tone: Tone = Tone.PLAIN, footer: str = "") -> Card:
    """A short text as a card."""
    return Card(title, passages=tuple(Passage(text) for text in paragraphs if text), tone=tone, footer=footer)


def fault(error: InterlockError | str) -> Card:
    """An error on one line, with the next step."""
    return notice("That did not work", line("; ".join(str(error).splitlines()), 1_000), tone=Tone.RED)


def unknown(surface: str, written: str) -> Card:
    """The reply to an unknown command."""
    near = suggestion(written)
    word = line(written.replace("`", ""), 40)
    hint = f", did you mean `{spelled(surface, near.usage)}`" if near else ""
    return fault(f"no command `{word}`{hint}: `{spelled(surface, 'help')}` lists what there is")


def help_card(surface: str, one: Command | None = None) -> Card:
    """Help for all commands, or for one."""
    shown = [one] if one else list(COMMANDS.values())
    lines = [f"{spelled(surface, c.usage)} – {c.help[:1].lower()}{c.help[1:].rstrip('.')}" for c in shown]
    footer = "An id can be given as a unique beginning or end of it. Questions come with buttons."
    return notice("What can be said here" if one is None else one.name, "\n".join(lines), footer=footer)


def status_card(now: View, missions: Sequence[View]) -> Card:
    """The overall status."""
    day = now["latest_day"]
    facts = [
        ("Squad", _squad(now["squad"])),
        ("In quarantine", ", ".join(now["quarantined"])),
        ("Missions", counted(now["missions"])),
        ("Tasks", counted(now["tasks"])),
        ("Runs", counted(now["runs"])),
        ("Wait for a person", str(now["approvals_pending"])),
        ("Open alerts", str(now["alerts_open"])),
        ("Workers", str(len(now["workers"]))),
        ("Today", f"{dollars(day['settled_usd'])} of {dollars(day['limit_usd'])}" if day else None),
    ]
    newest = listed([_mission_line(m) for m in missions], most=10, empty="no missions yet")
    return Card("How things stand", facts=_facts(facts), passages=(Passage(newest, "Missions, newest first"),))


def _squad(squad: View) -> str:
    why = f" ({squad['reason']})" if squad["reason"] else ""
    by = f" by {squad['by']}, {moment(squad['since'])}{why}" if squad["since"] else ""
    return f"{squad['mode']}{by}"


def _mission_line(m: View) -> str:
    waits = f" · {m['approvals_pending']} wait for a person" if m["approvals_pending"] else ""
    name = ("(rehearsal) " if m["simulated"] else "") + line(m["goal"], SHORT)
    done = f"{m['tasks_done']}/{m['tasks_total']} tasks"
    return f"{m['id']} · {m['status']} · {done}{waits} · {dollars(m['cost_usd'])} · {name}"


def tasks_card(rows: Sequence[View], state: str | None) -> Card:
    """Tasks, newest first."""
    lines = [f"{r['id']} · {r['status']} · {r['persona'] or '–'} · {line(r['title'], SHORT)}{_why(r)}" for r in rows]
    title = f"Tasks: {len(rows)}" + (f" {line(state, 20)}" if state else "")
    return notice(title, listed(lines, empty="no tasks in this state" if state else "no tasks yet"))


def _why(row: View) -> str:
    return f" ({row['block_kind']}: {line(row['block_reason'] or '', SHORT)})" if row["block_kind"] else ""


def task_card(task: View) -> Card:
    """One task or mission: state, dependencies, latest transitions and messages."""
    is_mission = task["parent_id"] is None
    facts = [
        ("Id", task["id"]),
        ("State", task["status"]),
        ("Blocked", _why(task).strip(" ()") or None),
        ("Waits for", task["wait_for"]),
        ("Who", task["persona"]),
        ("Cost", f"{dollars(task['cost_usd'])} of {dollars(task['budget_usd'])}"),
        ("Needs", ", ".join(f"{d['title']} ({d['status']})" for d in task["depends_on"]) or None),
        ("Feedback", task["feedback"]),
    ]
    passages = [
        (line(task["goal"] if is_mission else task["description"], 1_500), "Goal" if is_mission else "What is to do"),
        (listed([f"{s['id']} · {s['status']} · {line(s['title'], SHORT)}" for s in task["subtasks"]]), "Tasks"),
        (listed([_transition(t) for t in task["transitions"][-5:]]), "What happened last"),
        (listed([f"{m['author']}: {line(m['text'], 300)}" for m in task["thread"][-5:]]), "Last words"),
        (listed([f"approve {ident}, or deny {ident} REASON" for ident in task["approvals"]]), "Waits for an answer"),
        (_handed_in(task), "Deliverable"),
    ]
    return Card(
        line(task["title"]),
        facts=_facts(facts),
        passages=tuple(Passage(text, heading) for text, heading in passages if text),
    )


def _transition(t: View) -> str:
    return f"{t['from_status']} → {t['to_status']} · {line(t['reason'], SHORT)}"


def _handed_in(task: View) -> str:
    found = task["deliverable"]
    return f"{line(found['title'])}\n{line(found['summary'], 500)}".strip() if found else ""


def agents_card(rows: Sequence[View]) -> Card:
    """Agents with their members' states."""
    lines = [
        f"{r['id']} · {r['persona']} · {r['trust']} · {r['state']} · {r['runtime_status']}"
        + (f" · {line(r['state_reason'], SHORT)}" if r["state_reason"] else "")
        for r in rows
    ]
    return notice(f"Agents: {len(rows)}", listed(lines, empty="no agents yet: they are created when there is work"))


def budget_card(rows: Sequence[View]) -> Card:
    """Accounts: spent, limit, left."""
    lines = [
        f"{r['id']} · {dollars(r['settled_usd'])} of {dollars(r['limit_usd'])}, {dollars(r['left_usd'])} left"
        + (" · frozen" if r["frozen"] else "")
        + (f" · {line(r['whose'], 60)}" if r["whose"] else "")
        for r in rows
    ]
    return notice("Money", listed(lines, empty="nothing has been spent yet"))


def queue_card(surface: str, cards: Sequence[View], total: int) -> Card:
    """The pending questions, one per line, and their number; each can be opened by its id."""
    lines = [f"{c['id']} · {c['risk']} · {c['asked_by']} · {line(headline(c), SHORT)}" for c in cards]
    hint = (
        f"{spelled(surface, 'approvals ID')} shows one whole; answer with {spelled(surface, 'approve ID [NOTE]')} "
        f"or {spelled(surface, 'deny ID REASON')}, or by the buttons in its mission's thread"
    )
    title = f"{total:,} wait for a person" if cards else "Nothing waits for you"
    more = [f"and {total - len(lines):,} more, which are newer"] if total > len(lines) else []
    return notice(title, listed([*lines, *more], most=len(lines) + 1), footer=hint if cards else "")


def headline(card: View) -> str:
    """A question on one line."""
    request = card["request"]
    kind = str(card["kind"]).replace("_", " ").lower()
    return line(card["does"] or card["summary"] or request.get("question") or kind)


def answered_card(card: View) -> Card:
    """The result of an answer given as text."""
    needed = card["still_needed"]
    more = f"{needed} more {'person' if needed == 1 else 'people'} must approve" if needed else ""
    if card.get("asks_anew"):
        whose = "and somebody else has to approve" if card["not_requester"] else "and approve"
        more = (
            f"With these arguments it is {card['risk']}: look at it as it is now, {whose} that:"
            f" approve {card['id']}:{card['mark']}"
        )
    elif granted := card.get("grant"):
        more = f"Granted: {leave_in_words(granted)}"
    waits = f"Nothing goes on yet: {card['hindrance']}" if card.get("hindrance") else ""
    return notice(f"{card['status']}: {headline(card)}", more, waits, footer=card["id"], tone=tone_of(card["status"]))


def tone_of(status: str) -> Tone:
    """Green for an approval, red for a denial."""
    return {"approved": Tone.GREEN, "used": Tone.GREEN, "denied": Tone.RED}.get(status, Tone.PLAIN)


def canceled_card(ended: View) -> Card:
    """What was cancelled."""
    word = "canceled" if ended["changed"] else "was canceled already"
    runs = len(ended["runs"])
    seen = {**ended, "runs": ended["in_flight"]}
    passages = [
        (f"{runs} runs were told to stop" if runs > 1 else "", None),
        (_in_flight(seen), "Was in flight"),
        (listed(ended.get("still_running", [])), "Has not stopped yet"),
        (_children(seen), "Child processes that were ended"),
        (_uncertain(seen), "Nobody knows whether these took effect"),
    ]
    return Card(
        f"{ended['kind']} {word}",
        passages=tuple(Passage(text, heading) for text, heading in passages if text),
        footer=ended["id"],
    )


DONE_NOW = {
    "running": "The squad works",
    "paused": "The squad is paused: each run stops after its current step",
    "draining": "The squad finishes what runs; nothing new starts",
    "stopped": "The squad is stopped",
}


def mode_card(surface: str, view: View) -> Card:
    """The squad's mode, the runs that were executing, and uncertain effects."""
    mode = str(view["mode"])
    running = view.get("still_running", [])
    passages = [
        ("" if view.get("changed", True) else "It was so before, or something stricter holds.", None),
        (_in_flight(view), "Was in flight"),
        (listed(running), "Has not stopped yet"),
        (_children(view), "Child processes that were ended"),
        (_uncertain(view), "Nobody knows whether these took effect"),
    ]
    back = f"`{spelled(surface, 'resume')}` lets it go on" if mode != "running" else ""
    return Card(
        DONE_NOW.get(mode, mode),
        passages=tuple(Passage(text, heading) for text, heading in passages if text),
        footer=back,
        tone=Tone.GREEN if mode == "running" else Tone.YELLOW if mode != "stopped" else Tone.RED,
    )


def _in_flight(view: View) -> str:
    return listed([f"{r['id']} · {r['persona'] or '–'} · {', '.join(r['doing'])}" for r in view.get("runs", [])])


def _children(view: View) -> str:
    return listed([f"{c['program']} (process {c['pid']}) of {c['run_id']}" for c in view.get("children", [])])


def _uncertain(view: View) -> str:
    return listed([f"{c['id']} · {c['tool']} {line(c['args'], SHORT)}" for c in view.get("uncertain", [])])


MEMBER_NOW = {"QUARANTINED": "in quarantine", "PAUSED": "paused"}


def member_card(surface: str, view: View) -> Card:
    """An agent that was quarantined, paused, or let go on."""
    shut = view["state"] == "QUARANTINED"
    passages = [
        ("" if view["changed"] else "It was so before.", None),
        (_in_flight(view), "Was in flight"),
        (listed(view.get("still_running", [])), "Has not stopped yet"),
        (_children(view), "Child processes that were ended"),
        (_uncertain(view), "Nobody knows whether these took effect"),
        (listed(view.get("tasks", [])), "Blocked by it" if shut else "Goes on"),
    ]
    back = spelled(surface, f"release {view['agent']}")
    return Card(
        f"{view['agent']} is {MEMBER_NOW.get(view['state'], 'at work again')}",
        passages=tuple(Passage(text, heading) for text, heading in passages if text),
        footer=f"`{back}` lets it work again" if shut else "",
        tone=Tone.RED if shut else Tone.YELLOW if view["state"] == "PAUSED" else Tone.GREEN,
    )


def learned_card(view: View) -> Card:
    """How many reviews the Learner was given."""
    posted = view["posted"]
    looks = f"{posted} look{'' if posted == 1 else 's'} back" if posted else "nothing new to learn from"
    return notice(f"The Learner has {looks}", "lessons that it writes are in the next prompts" if posted else "")


def _facts(pairs: Iterable[tuple[str, str | None]]) -> tuple[Fact, ...]:
    return tuple(Fact(label, line(value, 500)) for label, value in pairs if value)


def leave_in_words(grant: View) -> str:
    """What a grant allows, for how long, and how to revoke it."""
    whom = f"{grant['persona']}'s calls of {grant['tool']}" + (" to the same targets" if grant["narrow"] else "")
    where = f" for task {grant['task_id']}" if grant["task_id"] else ""
    only = " in rehearsals" if grant["simulated"] else ""
    return f"{whom}{where}{only} run without asking until {moment(grant['expires_at'])} ({grant['id']})"


def grants_card(surface: str, rows: Sequence[View]) -> Card:
    """The grants in force, and how to revoke one."""
    lines = [f"{r['id']} · {leave_in_words(r)} · used {r['uses']} times · by {r['given_by']}" for r in rows]
    hint = f"`{spelled(surface, 'grants revoke ID')}` ends one at once" if rows else ""
    return notice(f"Grants: {len(rows)}", listed(lines, empty="every held call is asked about"), footer=hint)


def revoked_card(grant: View) -> Card:
    """A revoked grant."""
    word = "is revoked" if grant["changed"] else "was revoked already"
    return notice(f"{grant['id']} {word}", f"{grant['persona']}'s calls of {grant['tool']} are asked about again")


def batch_card(surface: str, verb: str, ident: str, cards: Sequence[View], mark: str) -> Card:
    """Questions that may be answered together, with the command or buttons that answer exactly these."""
    if len(cards) < 2:
        return notice("Nothing else waits alike", f"Answer it alone: `{spelled(surface, f'{verb} {ident}')}`")
    lines = [f"{c['id']} · {c['risk']} · {line(headline(c), SHORT)}" for c in cards]
    typed = spelled(surface, f"{verb} {ident}:{mark}") + (" REASON" if verb == "deny" else "")
    return notice(f"{len(cards)} wait alike", listed(lines, most=len(lines)), footer=f"`{typed}` answers exactly these")


def answered_together_card(cards: Sequence[View]) -> Card:
    """The results of questions that were answered together."""
    lines = [f"{c['id']} · {c['failed'] if c.get('failed') else c['status']}" for c in cards]
    done = sum(not c.get("failed") for c in cards)
    return notice(f"{done} of {len(cards)} answered", listed(lines, most=len(lines)))
