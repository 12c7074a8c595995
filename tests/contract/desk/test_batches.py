"""Questions that are answered together: exactly those that were shown, each for itself; pages of a long queue."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from interlock import Interlock
from interlock.core.errors import Conflict, UsageError
from interlock.desk.chats.cards import Card
from interlock.desk.signoff import grants, signing
from interlock.desk.signoff.asking import approval_card
from interlock.store.auditing import audit
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from tests.contract.desk.front import BEN, Front, text_of

T0 = datetime(2026, 11, 20, 9, tzinfo=UTC)


def put(tx: Tx, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        approvals.ask(tx, **row)


def question(number: int, alike: str | None = "same", **more: Any) -> dict[str, Any]:
    asked = {
        "tool": "note", "args": {"path": f"{number}.md", "content": "x"}, "summary": "wants to call note",
        "tool_digest": "d", "persona": "coder", "grantable": True,
    }  # fmt: skip
    return {
        "id": f"apr_{number:05}", "kind": "TOOL_CALL", "project_id": "default", "subject": f"s{number}",
        "risk": "YELLOW", "rules": [], "reasons": ["YELLOW is held for interns"], "asked_by": "system:test",
        "created_at": T0 + timedelta(seconds=number // 3), "request": asked, "alike": alike, **more,
    }  # fmt: skip


async def asked(box: Interlock, *numbers: int, **more: Any) -> None:
    await box.runtime.store.write(put, [question(number, **more) for number in numbers])


async def status(box: Interlock, number: int) -> str:
    return str((await signing.approval(box.runtime, f"apr_{number:05}"))["status"])


def action(card: Card, label: str) -> str:
    (target,) = [each.target for each in card.actions if each.label.startswith(label)]
    return target


async def test_button_answers_exactly_the_questions_on_its_card_and_each_is_on_record(front: Front) -> None:
    await asked(front.box, 1, 2, 3, 4)
    await asked(front.box, 5, alike="another")
    card = await approval_card(front.box.runtime, "apr_00002")
    assert all(f"apr_0000{n}: call note with path {n}.md" in text_of(card) for n in (1, 3, 4))
    await asked(front.box, 6)
    told = await front.tap("approve", action(card, "Approve these 4"))
    assert text_of(told).startswith("4 of 4 answered")
    assert [await status(front.box, n) for n in (1, 2, 3, 4, 5, 6)] == ["approved"] * 4 + ["pending"] * 2
    entries = await front.box.runtime.store.read(lambda tx: audit.activities(tx, action="APPROVAL_ANSWERED"))
    assert sorted(each.subject for each in entries) == [f"apr_0000{n}" for n in (1, 2, 3, 4)]
    assert {each.data["name"] for each in entries} == {"Ana"}


async def test_button_of_a_card_that_is_out_of_date_answers_nothing(front: Front) -> None:
    await asked(front.box, 1, 2, 3)
    card = await approval_card(front.box.runtime, "apr_00001")
    await front.tap("deny", "apr_00003", BEN, reason="not this one")
    told = await front.tap("approve", action(card, "Approve these 3"))
    assert "has changed since this was shown" in text_of(told)
    assert [await status(front.box, n) for n in (1, 2, 3)] == ["pending", "pending", "denied"]


async def test_forged_mark_answers_nothing(front: Front) -> None:
    await asked(front.box, 1, 2)
    for mark in ("2-0000000000", "2", "-", "99999999999999999999-x", "0-" + "a" * 10):
        assert "has changed since" in text_of(await front.say(f"approve apr_00001:{mark}"))
    with pytest.raises(Conflict):
        await signing.batch_ids(front.box.runtime, "apr_00001", "²-x")
    assert [await status(front.box, n) for n in (1, 2)] == ["pending", "pending"]


async def test_who_types_sees_the_list_first_and_answers_it_by_its_mark(front: Front) -> None:
    await asked(front.box, 1, 2)
    shown = await front.say("deny apr_00001:alike")
    assert text_of(shown).startswith("2 wait alike")
    assert shown is not None
    mark = shown.footer.split(":")[1].split(" ")[0]
    told = await front.say(f"deny apr_00001:{mark} not now")
    assert text_of(told).startswith("2 of 2 answered")
    assert [await status(front.box, n) for n in (1, 2)] == ["denied", "denied"]


async def test_questions_that_are_not_alike_are_never_answered_together(box: Interlock) -> None:
    await asked(box, 1)
    await asked(box, 2, alike="other")
    await asked(box, 3, alike=None)
    for ids in (["apr_00001", "apr_00002"], ["apr_00003"]):
        with pytest.raises(UsageError, match="not alike"):
            await signing.approve_alike(box.runtime, box.person, ids)
    assert await signing.alike(box.runtime, "apr_00003") == []


async def test_two_who_answer_the_same_batch_at_once_share_it(box: Interlock) -> None:
    await asked(box, *range(1, 9))
    ids = [f"apr_{n:05}" for n in range(1, 9)]
    approved, denied = await asyncio.gather(
        signing.approve_alike(box.runtime, box.person, ids),
        signing.deny_alike(box.runtime, box.person, list(reversed(ids)), reason="no"),
    )
    won = [card["id"] for card in (*approved, *denied) if not card.get("failed")]
    assert sorted(won) == ids
    assert all("was already" in card["failed"] for card in (*approved, *denied) if card.get("failed"))


async def test_grant_is_given_listed_and_revoked_from_a_chat(front: Front) -> None:
    await asked(front.box, 1, alike=None)
    card = await approval_card(front.box.runtime, "apr_00001")
    told = await front.tap("approve", action(card, "Approve, and for 1 hour"))
    assert "Granted: coder's calls of note run without asking until" in text_of(told)
    (row,) = await grants.grants(front.box.runtime)
    assert (row["scope"], row["persona"], row["given_by"]) == ("hour", "coder", "Ana")
    assert row["id"] in text_of(await front.say("grants"))
    assert "and may not revoke grants" in text_of(await front.say(f"grants revoke {row['id']}", "slack:UVIC"))
    assert "is revoked" in text_of(await front.say(f"grants revoke {row['id']}"))
    assert await grants.grants(front.box.runtime) == []


async def test_queue_is_read_page_by_page_and_nothing_is_seen_twice_or_missed(box: Interlock) -> None:
    await asked(box, *range(40))
    seen: list[str] = []
    after = None
    while page := await signing.approvals(box.runtime, limit=7, after=after):
        seen += [card["id"] for card in page]
        after = page[-1]["id"]
        await signing.deny(box.runtime, box.person, page[0]["id"], reason="no")
    assert seen == [f"apr_{n:05}" for n in range(40)]
    assert await signing.waiting(box.runtime) == 40 - 6


async def test_page_costs_one_statement_and_few_reads_of_the_index(box: Interlock) -> None:
    await asked(box, *range(300))
    statements: list[str] = []

    def counted(tx: Tx) -> int:
        from interlock.store.signoff import approval_queue as store

        rows = tx.rows

        class Counting:
            def __getattr__(self, name: str) -> Any:
                return getattr(tx, name)

            def rows(self, core: Any, params: Any = None) -> list[Any]:
                statements.append(str(core))
                return rows(core, params or {})

        return len(store.page(Counting(), most=50))

    assert await box.runtime.store.read(counted) == 50
    assert len(statements) == 1
