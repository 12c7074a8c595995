"""The web page under those who mean harm: what agents write, what other servers and forged forms send, late answers."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock.desk.identities.gate import FAILURES
from interlock.desk.signoff import grants, signing
from interlock.store.auditing import audit
from interlock.store.errors import StoreUnavailable
from tests.contract.desk.test_batches import put, question
from tests.contract.web.browsing import Visitor
from tests.contract.web.house import House, house
from tests.contract.web.test_page import LETTER, answers, asking

TURNED = "paid \u202egpj.exe\u202c and \u200bhidden \U000e0041"
DIFF = "--- now\n+++ then\n@@ -1 +1 @@\n-rm -rf /\n+ls"


def called(number: int, tool: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    row = question(number, **more)
    return {**row, "request": {**row["request"], "tool": tool, "args": args}}


def own(home: House) -> dict[str, str]:
    return {"origin": f"http://127.0.0.1:{home.port}", "sec-fetch-site": "same-origin"}


async def test_form_with_a_field_twice_is_not_taken(tmp_path: Path, migrated_sqlite_url: str) -> None:
    """Of two targets, or two sets of arguments, nobody can say which one a person has read."""
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        await Visitor.at(home) as visitor,
    ):
        await home.box.runtime.store.write(put, [question(1)])
        for content in (b"target=apr_00001&target=apr_00001:hour", b"target=apr_00001&args={}&args={}"):
            sent = await visitor.client.post("/approvals/apr_00001/approve", content=content, headers=own(home))
            assert (sent.status_code, "a field twice" in sent.text) == (422, True)
        assert [each["id"] for each in await home.get("/api/approvals")] == ["apr_00001"]


async def test_addresses_of_forms_lead_to_the_page_that_they_are_on(tmp_path: Path, migrated_sqlite_url: str) -> None:
    """The answer to a form has that address: somebody may load it again, and an open page looks there for changes."""
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        await Visitor.at(home) as visitor,
    ):
        await home.box.runtime.store.write(put, [question(1)])
        for path, to in (
            ("/approvals/apr_00001/approve", "/approvals/apr_00001"), ("/squad/stop", "/squad"),
            ("/agents/coder/pause", "/agents"), ("/alerts/alr_x/ack", "/alerts"), ("/sign-out", "/approvals"),
        ):  # fmt: skip
            page = await visitor.open(path)
            assert (page.status, page.url.path) == (200, to)
        async with await Visitor.at(home, signs_in=False) as outside:
            door = await outside.post("/agents/coder/pause", {})
            assert (door.status, door.form("Sign in").fields["next"]) == (401, "/agents")
            door = await outside.post("/approvals/apr_00001/deny", {"reason": "no"})
            assert door.form("Sign in").fields["next"] == "/approvals/apr_00001"


async def test_only_diffs_that_we_made_are_coloured(tmp_path: Path, migrated_sqlite_url: str) -> None:
    """Lines of a command that look as if they were taken away are run like all others."""
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        await Visitor.at(home) as visitor,
    ):
        rows = [called(1, "run_shell", {"command": DIFF}), called(2, "file_write", {"path": "a.md", "content": "x\n"})]
        await home.box.runtime.store.write(put, rows)
        forged, real = [await visitor.open(f"/approvals/apr_0000{n}") for n in (1, 2)]
    assert "-rm -rf /" in forged.text
    assert 'class="removed"' not in forged.source
    assert '<span class="added">+x' in real.source


async def test_characters_that_hide_text_are_spelled_out(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        await Visitor.at(home) as visitor,
    ):
        store, args = home.box.runtime.store, {"to": TURNED, TURNED: 1}
        await store.write(put, [called(1, "note", args, reasons=[TURNED])])
        await store.write(
            audit.alert, datetime.now(UTC), project_id="default", severity="critical", kind="T", key="1", text=TURNED
        )
        await visitor.send((await visitor.open("/squad")).form("Pause now"), reason=TURNED)
        pages = [await visitor.open(path) for path in ("/approvals/apr_00001", "/alerts", "/squad")]
        for page in pages:
            assert not set(TURNED) - set(TURNED.encode("ascii", "ignore").decode()) & set(page.source)
            assert "\\u202egpj.exe" in page.text
        typed = pages[0].form("Approve with these").fields["args"]
    assert json.loads(typed) == args


async def test_failed_attempts_at_page_and_interface_count_together(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        await Visitor.at(home) as inside,
        await Visitor.at(home, signs_in=False) as visitor,
    ):
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{home.port}") as client:
            for n in range(FAILURES // 2):
                wrong = {"authorization": f"Bearer ilk_{n}"}
                assert (await client.get("/api/approvals", headers=wrong)).status_code == 401
            for n in range(FAILURES // 2):
                assert (await visitor.post("/sign-in", {"token": f"ilk_p{n}"})).status == 401
            assert (await visitor.post("/sign-in", {"token": "ilk_x"})).status == 429
            assert (await visitor.post("/sign-in", {"token": "x" * 20_000})).status == 413
            assert (await client.get("/api/approvals", headers={"authorization": "Bearer ilk_y"})).status_code == 429
        assert (await inside.open("/approvals")).status == 200


async def test_sessions_of_two_servers_on_one_machine_do_not_meet(tmp_path: Path, migrated_sqlite_url: str) -> None:
    """Browsers send a cookie to every port of a host: the names keep them apart."""
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        base = f"http://127.0.0.1:{home.port}"
        async with httpx2.AsyncClient(base_url=base) as client:
            fields, safe = {"token": home.token}, {"origin": base.replace("http:", "https:")}
            plain = await client.post("/sign-in", data=fields, headers=own(home))
            secure = await client.post("/sign-in", data=fields, headers={**own(home), **safe})
            assert plain.headers["set-cookie"].startswith(f"interlock-{home.port}=")
            assert secure.headers["set-cookie"].startswith("__Host-interlock=")
            client.cookies.clear()
            other = {"cookie": f"interlock-{home.port + 1}={home.token}"}
            refused = await client.get("/approvals", headers=other)
            assert (refused.status_code, "set-cookie" in refused.headers) == (303, False)
            for name in ("__Host-interlock", f"interlock-{home.port}"):
                given = {"cookie": f"{name}={home.token}"}
                assert (await client.get("/approvals", headers=given)).status_code == 200
                old = await client.get("/approvals", headers={"cookie": f"{name}=ilk_old"})
                gone = old.headers["set-cookie"]
                assert (gone.startswith(f'{name}=""'), "Max-Age=0" in gone) == (True, True)


async def test_late_edit_or_grant_is_not_taken_for_a_second_tap(tmp_path: Path, migrated_url: str) -> None:
    """Whoever approves a call in one window and changes it in another is told that the change came too late."""
    async with asking(tmp_path, migrated_url, LETTER) as (home, [ident]), await Visitor.at(home) as visitor:
        await home.box.runtime.store.write(put, [question(1)])
        page = await visitor.open(f"/approvals/{ident}")
        edited = '{"to": ["bank@example.com"], "subject": "The loan", "body": "Only in part"}'
        assert (await visitor.send(page.form("Approve"))).status == 200
        assert (await visitor.send(page.form("Approve"))).status == 200
        late = await visitor.send(page.form("Approve with these"), args=edited)
        assert (late.status, "was already approved" in late.text) == (409, True), late.text
        other = await visitor.open("/approvals/apr_00001")
        assert (await visitor.send(other.form("Approve"))).status == 200
        assert (await visitor.send(other.form("Approve, and for 1 hour"))).status == 409
        assert await grants.grants(home.box.runtime) == []
        assert not (await signing.approval(home.box.runtime, ident))["edited"]
        assert len(await answers(home)) == 2


async def test_same_edit_or_grant_sent_twice_is_a_second_tap(tmp_path: Path, migrated_url: str) -> None:
    async with asking(tmp_path, migrated_url, LETTER) as (home, [ident]), await Visitor.at(home) as visitor:
        await home.box.runtime.store.write(put, [question(1)])
        edit = (await visitor.open(f"/approvals/{ident}")).form("Approve with these")
        granting = (await visitor.open("/approvals/apr_00001")).form("Approve, and for 1 hour")
        for _ in range(2):
            typed = '{"to": ["bank@example.com"], "subject": "The loan", "body": "No"}'
            assert (await visitor.send(edit, args=typed)).status == 200
            assert (await visitor.send(granting)).status == 200
        assert len(await answers(home)) == 2


async def test_answer_during_an_outage_says_that_its_fate_is_not_known(
    tmp_path: Path, migrated_sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        await Visitor.at(home) as visitor,
    ):
        await home.box.runtime.store.write(put, [question(1)])
        page = await visitor.open("/approvals/apr_00001")

        async def away(*_: Any, **__: Any) -> Any:
            raise StoreUnavailable("cannot reach 10.1.2.3")

        with monkeypatch.context() as patched:
            patched.setattr(home.box.runtime.store, "write", away)
            lost = await visitor.send(page.form("Approve"))
        assert (lost.status, "whether what you sent was taken is not known" in lost.text) == (503, True)
        assert ("a", "/approvals/apr_00001") in [(tag, given.get("href")) for tag, given in lost.tags]
        assert "To sign off" in (await visitor.open("/approvals/apr_00001")).text


async def test_token_of_a_project_is_told_no_ids_of_others(tmp_path: Path, migrated_sqlite_url: str) -> None:
    settings: dict[str, Any] = {"database_url": migrated_sqlite_url, "projects": {"shop": {}}}
    async with house(tmp_path, executes=False, **settings) as home:
        await home.box.runtime.store.write(put, [question(1), question(2)])
        mission = (await home.post("/api/missions", {"goal": "x"}, 201))["id"]
        shop = await home.token_of(project="shop")
        async with await Visitor.at(home, token=shop) as visitor:
            for near, whole in (
                ("apr_0000x", "apr_0000"),
                ("apr_0000", "apr_0000"),
                (f"{mission[:-1]}!", mission[:-1]),
            ):
                for path in (f"/approvals/{near}", f"/approvals?after={near}", f"/approvals?mission={near}"):
                    page = await visitor.open(path)
                    assert (page.status, page.source.count(whole), "did you mean" in page.text) == (404, 1, False), path
                    headers = {"authorization": f"Bearer {shop}"}
                    found = await home.client.get(f"/api{path}", headers=headers)
                    assert (found.status_code, "did you mean" in found.text) == (404, False), found.text
