"""The web page, as a browser without scripts uses it: signing in, the queue and answers to it, controls, alerts."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock.desk.identities import people, tokens
from interlock.desk.signoff import grants, signing
from interlock.store.auditing import audit
from interlock.store.errors import StoreUnavailable
from interlock.testing.scripted import calls
from interlock.web.http import MOST_BYTES
from interlock.web.page import queue
from tests.contract.desk.test_batches import put, question
from tests.contract.web.browsing import Page, Visitor
from tests.contract.web.house import House, Stream, house

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> & \"quotes\" 'too' </pre></textarea>"
LETTER: dict[str, Any] = {"to": ["bank@example.com"], "subject": "The loan", "body": "Yes\nindeed"}


@asynccontextmanager
async def asking(
    folder: Path, url: str, *letters: dict[str, Any], **more: Any
) -> AsyncIterator[tuple[House, list[str]]]:
    """A house in which `operations` waits to send each of these letters; with the ids of the questions."""
    replies = [calls("send_email", **letter) for letter in letters]
    async with house(folder, *replies, *["Well."] * len(letters), database_url=url, **more) as home:
        for _ in letters:
            await home.post("/api/agents/operations/chat", {"message": "Write to the bank"})
        yield home, [each["id"] for each in await home.get("/api/approvals")]


async def answers(home: House) -> list[dict[str, Any]]:
    said = await home.get("/api/activities?limit=200")
    return [each["data"] for each in said if each["action"] == "APPROVAL_ANSWERED"]


async def test_nobody_sees_a_page_without_a_good_token(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home:
        async with await Visitor.at(home, signs_in=False) as visitor:
            for path in ("/", "/approvals", "/approvals/apr_x", "/squad", "/agents", "/alerts?all=1"):
                page = await visitor.open(path)
                assert (page.status, page.url.path) == (200, "/sign-in")
                assert page.form("Sign in").fields["next"] == path
            door = page.form("Sign in")
            for token, why in (("", "paste a token"), ("ilk_wrong", "not known here"), ("x" * 5_000, "not known here")):
                refused = await visitor.send(door, token=token)
                assert (refused.status, why in refused.text) == (401, True), refused.text
            sent = await visitor.post("/squad/stop", {})
            assert (sent.status, "what you sent was not taken" in sent.text) == (401, True)
            assert not visitor.client.cookies
            assert (await visitor.client.get("/live")).status_code == 401
            inside = await visitor.send(door, token=f" {home.token} ")
            assert (inside.status, inside.url.path, inside.url.query) == (200, "/alerts", b"all=1")
        assert (await home.client.get("/")).status_code == 303


async def test_session_is_out_of_reach_of_scripts_and_ends_with_its_token(tmp_path: Path, migrated_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_url) as home:
        made = await tokens.create(home.box.runtime, home.box.person, "phone")
        async with await Visitor.at(home, signs_in=False) as visitor:
            for origin, is_secure in (
                (f"http://127.0.0.1:{home.port}", False),
                (f"https://127.0.0.1:{home.port}", True),
            ):
                own = {"origin": origin, "sec-fetch-site": "same-origin"}
                fields = {"token": made["token"], "next": "//evil.example"}
                answer = await visitor.client.post("/sign-in", data=fields, headers=own, follow_redirects=False)
                assert (answer.status_code, answer.headers["location"]) == (303, "/")
                cookie = answer.headers["set-cookie"].lower()
                assert ("; secure" in cookie) is is_secure
                assert all(each in cookie for each in ("httponly", "samesite=lax", "path=/", "max-age=43200"))
        async with await Visitor.at(home, token=str(made["token"])) as visitor:
            assert (await visitor.open("/approvals")).url.path == "/approvals"
            await tokens.revoke(home.box.runtime, home.box.person, made["id"])
            home.page_services.gate.forget()
            assert (await visitor.open("/approvals")).url.path == "/sign-in"
            assert not visitor.client.cookies
        async with await Visitor.at(home) as visitor:
            page = await visitor.open("/approvals")
            assert (await visitor.send(page.form("Sign out"))).url.path == "/sign-in"
            assert (await visitor.open("/approvals")).url.path == "/sign-in"


async def test_pages_carry_no_script_of_their_own_and_nobody_can_frame_them(tmp_path: Path, migrated_url: str) -> None:
    letter = {**LETTER, "subject": HOSTILE, "body": HOSTILE}
    async with asking(tmp_path, migrated_url, letter) as (home, [ident]), await Visitor.at(home) as visitor:
        await home.box.runtime.store.write(
            audit.alert,
            datetime.now(UTC),
            project_id="default",
            severity="critical",
            kind="TEST",
            key="1",
            text=HOSTILE,
        )
        paths = ("/approvals", f"/approvals/{ident}", "/squad", "/agents", "/alerts", "/sign-in", "/approvals/apr_none")
        for path in paths:
            page = await visitor.open(path)
            policy = page.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert (page.headers["cache-control"], page.headers["x-frame-options"]) == ("no-store", "DENY")
            scripts = [given.get("src") for tag, given in page.tags if tag == "script"]
            assert scripts == ["/static/page.js"], path
            named = {name for _, given in page.tags for name in given}
            assert not [name for name in named if name.startswith("on") or name == "style"], path
            assert "img" not in [tag for tag, _ in page.tags]
        shown = await visitor.open(f"/approvals/{ident}")
        assert HOSTILE in shown.text
        assert HOSTILE in (await visitor.open("/alerts")).text
        for name in ("page.js", "page.css", "icon.svg"):
            assert (await visitor.client.get(f"/static/{name}")).status_code == 200
        assert (await visitor.client.get("/static/..%2fsite.py")).status_code == 404


FORGED: tuple[dict[str, str], ...] = (
    {"sec-fetch-site": "cross-site", "origin": "https://evil.example"},
    {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:1"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://["},
    {"sec-fetch-site": "same-origin", "origin": "http://[x"},
    {"sec-fetch-site": "same-origin", "origin": "https://evil.example"},
    {},
)


async def test_what_other_sites_send_in_a_persons_name_changes_nothing(tmp_path: Path, migrated_url: str) -> None:
    async with asking(tmp_path, migrated_url, LETTER) as (home, [ident]), await Visitor.at(home) as visitor:
        page = await visitor.open(f"/approvals/{ident}")
        for headers in FORGED:
            for form in (page.form("Approve"), page.form("Deny"), page.form("Stop now"), page.form("Sign out")):
                refused = await visitor.send(form, headers=headers)
                assert (refused.status, "did not come from this page" in refused.text) == (403, True)
        assert (await visitor.post("/sign-in", {"token": home.token}, headers=FORGED[0])).status == 403
        assert [each["id"] for each in await home.get("/api/approvals")] == [ident]
        assert "The squad is running" in (await visitor.open("/squad")).text


async def test_question_is_shown_as_elsewhere_and_what_is_approved_runs(tmp_path: Path, database_url: str) -> None:
    async with asking(tmp_path, database_url, LETTER) as (home, [ident]), await Visitor.at(home) as visitor:
        for path in ("/approvals", f"/approvals/{ident}"):
            page = await visitor.open(path)
            for each in (
                "RED",
                "operations",
                "builtin:recipient",
                "bank@example.com",
                "Yes indeed",
                "this run",
                "Expires",
            ):
                assert each in page.text, each
        assert page.source.count("(1) To sign off") == 1
        done = await visitor.send(page.form("Approve"), note="go on")
        assert (done.status, done.url.path) == (200, f"/approvals/{ident}")
        assert re.search(r"Approved by \S+ on web, .*: go on", done.text), done.text
        assert done.buttons() == ["Sign out", "Drain now", "Pause now", "Stop now"]
        assert "Nothing waits for a person" in (await visitor.open("/approvals")).text
        again = await visitor.send(page.form("Approve"), note="go on")
        assert (again.status, again.url.path) == (200, f"/approvals/{ident}")
        late = await visitor.send(page.form("Deny"), reason="no")
        assert (late.status, "approved by" in late.text) == (409, True)
        [answer] = await answers(home)
    assert (answer["verdict"], answer["surface"], answer["note"]) == ("approve", "web", "go on")


async def test_denial_needs_a_reason_and_other_arguments_are_checked(tmp_path: Path, database_url: str) -> None:
    letters = (LETTER, {**LETTER, "body": HOSTILE})
    async with asking(tmp_path, database_url, *letters) as (home, [no, yes]), await Visitor.at(home) as visitor:
        page = await visitor.open(f"/approvals/{no}")
        assert (await visitor.send(page.form("Deny"), reason="  ")).status == 422
        assert "Denied by" in (await visitor.send(page.form("Deny"), reason="too dear")).text
        edit = (await visitor.open(f"/approvals/{yes}")).form("Approve with these")
        assert HOSTILE.replace('"', '\\"') in edit.fields["args"]
        for typed, why in (
            ("{", "not JSON"), ("[1]", "not a JSON object"), ('{"to": 1, "to": 2}', "twice"),
            ('{"to": 7}', "do not fit"), ('{"to": NaN}', "not a number"), ("[" * 5_000, "the arguments"),
            (f'{{"to": {"1" * 5_000}}}', "too long"),
        ):  # fmt: skip
            kept = await visitor.send(edit, args=typed, note="as agreed")
            assert (kept.status, why in kept.text) == (422, True), kept.text[:600]
            assert kept.form("Approve with these").fields["args"] == typed
            assert kept.form("Approve with these").fields["note"] == "as agreed"
        text = '{"to": ["bank@example.com"], "subject": "The loan", "body": "No"}'
        assert "Approved by" in (await visitor.send(edit, args=text)).text
        card = await signing.approval(home.box.runtime, yes)
        found = await answers(home)
    assert (card["edited"], card["edited_args"]["body"]) == (True, "No")
    assert [(each["verdict"], each["edited"]) for each in found] == [("deny", False), ("approve", True)]


async def test_of_two_people_the_second_is_told_who_was_first(tmp_path: Path, migrated_url: str) -> None:
    async with asking(tmp_path, migrated_url, LETTER) as (home, [ident]), await Visitor.at(home) as visitor:
        await people.add(home.box.runtime, home.box.person, "Olga", role="operator")
        async with await Visitor.named(home, "Olga") as olga:
            page, hers = await visitor.open(f"/approvals/{ident}"), await olga.open(f"/approvals/{ident}")
            assert "Denied by Olga" in (await olga.send(hers.form("Deny"), reason="not now")).text
            late = await visitor.send(page.form("Approve"))
        assert (late.status, "Olga" in late.text) == (409, True)
        assert len(await answers(home)) == 1


async def test_edited_call_is_approved_only_as_it_was_shown(tmp_path: Path, migrated_url: str) -> None:
    """What a second person edits voids the page that the first one looks at."""
    two = {"people_for_red": 2}
    async with (
        asking(tmp_path, migrated_url, LETTER, approvals=two) as (home, [ident]),
        await Visitor.at(home) as visitor,
    ):
        await people.add(home.box.runtime, home.box.person, "Olga", role="operator")
        async with await Visitor.named(home, "Olga") as olga:
            page, hers = await visitor.open(f"/approvals/{ident}"), await olga.open(f"/approvals/{ident}")
            edited = '{"to": ["thief@example.com"], "subject": "The loan", "body": "No"}'
            shown = await olga.send(hers.form("Approve with these"), args=edited)
            assert "2 must approve" in shown.text
            late = await visitor.send(page.form("Approve"))
            assert (late.status, "thief@example.com" in late.text) == (409, True), late.text
            assert (await home.get("/api/approvals"))[0]["id"] == ident
            assert "Approved by" in (await visitor.send(late.form("Approve"))).text
        assert await home.get("/api/approvals") == []


async def test_batch_and_grant_are_given_from_the_card(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home, await Visitor.at(home) as visitor:
        rows = [*(question(n, alike="same") for n in range(3)), *(question(n, alike=None) for n in range(3, 5))]
        await home.box.runtime.store.write(put, rows)
        assert "2 more wait: open this one" in (await visitor.open("/approvals")).text
        page = await visitor.open("/approvals/apr_00001")
        assert all(f"{n}.md" in page.text for n in range(3))
        done = await visitor.send(page.form("Approve these 3 alike"))
        assert "3 of 3 answered" in done.text
        late = await visitor.send(page.form("Deny these 3 alike"), reason="no")
        assert late.status == 409
        granting = (await visitor.open("/approvals/apr_00003")).form("Approve, and for 1 hour")
        assert granting.fields["target"] == "apr_00003:hour"
        assert "Approved by" in (await visitor.send(granting)).text
        [grant] = await grants.grants(home.box.runtime)
        assert (grant["persona"], grant["tool"]) == ("coder", "note")
        crossed = await visitor.post("/approvals/apr_00004/approve", {"target": "apr_00003"})
        assert (crossed.status, "another question" in crossed.text) == (422, True)
        assert [each["id"] for each in await home.get("/api/approvals")] == ["apr_00004"]


async def test_long_queue_comes_in_pages_oldest_first(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home, await Visitor.at(home) as visitor:
        await home.box.runtime.store.write(put, [question(n) for n in range(2 * queue.SHOWN + 1)])
        path, seen = "/approvals", []
        for _ in range(3):
            page = await visitor.open(path)
            seen += [given["data-live"] for tag, given in page.tags if tag == "article"]
            links = [str(given["href"]) for tag, given in page.tags if tag == "a"]
            path = next((each for each in links if "after=" in each), "")
        assert seen == [f"apr_{n:05}" for n in range(2 * queue.SHOWN + 1)]
        assert path == ""
        assert (await visitor.open("/approvals?after=apr_none")).status == 404


async def test_viewers_look_and_do_not_act(tmp_path: Path, migrated_url: str) -> None:
    async with asking(tmp_path, migrated_url, LETTER) as (home, [ident]):
        async with await Visitor.at(home) as visitor:
            forms = (await visitor.open(f"/approvals/{ident}")).forms
        async with await Visitor.at(home, role="viewer") as viewer:
            for path in ("/approvals", f"/approvals/{ident}", "/squad", "/agents", "/alerts"):
                page = await viewer.open(path)
                assert (page.status, page.buttons()) == (200, ["Sign out"])
            for form in forms:
                if form.action != "/sign-out":
                    refused = await viewer.send(form, fill={"reason": "no"} if "reason" in form.fields else {})
                    assert (refused.status, "viewer" in refused.text) == (403, True), form.action
        assert [each["id"] for each in await home.get("/api/approvals")] == [ident]


async def test_token_of_a_project_reaches_nothing_else(tmp_path: Path, migrated_url: str) -> None:
    async with asking(tmp_path, migrated_url, LETTER, projects={"shop": {}}) as (home, [ident]):
        async with await Visitor.at(home, project="shop") as visitor:
            assert "Nothing waits" in (await visitor.open("/approvals")).text
            assert (await visitor.open(f"/approvals/{ident}")).status == 404
            for verb in ("approve", "deny"):
                assert (await visitor.post(f"/approvals/{ident}/{verb}", {"reason": "no"})).status == 404
            assert (await visitor.open("/squad")).status == 403
            for path in ("/squad/stop", "/agents/operations/quarantine", "/alerts/alr_x/ack"):
                assert (await visitor.post(path, {})).status == 403
            assert (await visitor.open("/agents")).buttons() == ["Sign out"]
        assert len(await home.get("/api/approvals")) == 1


async def test_squad_is_held_back_and_let_go_on(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, database_url=database_url) as home, await Visitor.at(home) as visitor:
        for button, now, after in (
            ("Drain now", "nothing new starts", ["Resume now", "Pause now", "Stop now"]),
            ("Pause now", "The squad is paused", ["Resume now", "Stop now"]),
            ("Stop now", "The squad is stopped", ["Resume now"]),
            ("Resume now", "The squad is running", ["Drain now", "Pause now", "Stop now"]),
        ):
            page = await visitor.open("/squad")
            done = await visitor.send(page.form(button), reason=f"{button} <b>because</b>")
            assert (done.status, now in done.text) == (200, True), done.text
            page = await visitor.open("/approvals")
            assert page.buttons() == ["Sign out", *after]
            assert ("because" in page.text) is (button != "Resume now")
        told = await visitor.post("/squad/explode", {})
        assert (told.status, "pause, drain, stop, resume" in told.text) == (422, True)
        said = await home.get("/api/activities?limit=200")
    changed = [each["data"] for each in said if each["action"] == "CONTROL_CHANGED"]
    assert [each["mode"] for each in changed] == ["draining", "paused", "stopped", "running"]
    assert {each["surface"] for each in changed} == {"web"}


async def test_page_from_before_a_stop_does_not_undo_it(tmp_path: Path, migrated_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_url) as home, await Visitor.at(home) as visitor:
        await home.post("/api/squad/pause", {})
        form = (await visitor.open("/squad")).form("Resume now")
        seen = datetime.fromisoformat(form.fields["seen"])
        old = {"seen": (seen - timedelta(minutes=1)).isoformat()}
        refused = await visitor.send(form, fill=old)
        assert (refused.status, "since you said" in refused.text) == (409, True), refused.text
        assert (await visitor.post("/squad/resume", {"seen": "yesterday"})).status == 422
        assert "The squad is running" in (await visitor.send(form)).text


async def test_an_agent_is_held_back_and_let_go_on(tmp_path: Path, migrated_url: str) -> None:
    async with asking(tmp_path, migrated_url, LETTER) as (home, _), await Visitor.at(home) as visitor:
        for button, state in (
            ("Pause now", "PAUSED"), ("Resume now", "ACTIVE"), ("Quarantine now", "QUARANTINED"),
            ("Release now", "ACTIVE"),
        ):  # fmt: skip
            page = await visitor.open("/agents")
            [form] = [each for each in page.forms if each.button == button and each.action.startswith("/agents/")]
            done = await visitor.send(form, reason="odd behaviour")
            assert done.status == 200, done.text
            assert f"State {state}" in (await visitor.open("/agents")).text
        assert (await visitor.post("/agents/operations/restart", {})).status == 200
        assert (await visitor.post("/agents/nobody/pause", {})).status == 404
        assert (await visitor.post("/agents/operations/explode", {})).status == 422


async def test_an_alert_is_seen_once(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home, await Visitor.at(home) as visitor:
        await home.box.runtime.store.write(
            audit.alert,
            datetime.now(UTC),
            project_id="default",
            severity="critical",
            kind="TEST",
            key="1",
            text="Look!",
        )
        page = await visitor.open("/alerts")
        assert "Critical: test Look!" in page.text
        for _ in range(2):
            after = await visitor.send(page.form("Mark as seen"))
            assert (after.status, "no alerts that nobody has seen" in after.text) == (200, True)
        assert re.search("Look!.* seen 20", (await visitor.open("/alerts?all=1")).text)
        said = [each for each in await home.get("/api/activities") if each["action"] == "ALERT_ACKNOWLEDGED"]
    assert [each["data"]["surface"] for each in said] == ["web"]


async def test_bad_requests_get_a_page_that_says_so(
    tmp_path: Path, migrated_sqlite_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        await Visitor.at(home) as visitor,
    ):
        assert (await visitor.post("/squad/pause", {"reason": "x" * (MOST_BYTES + 1)})).status == 413
        assert (await visitor.post("/squad/pause", {"reason": "x" * 501})).status == 422
        assert (await visitor.post("/squad/pause", {f"f{n}": "" for n in range(99)})).status == 422
        own = {"origin": f"http://127.0.0.1:{home.port}", "sec-fetch-site": "same-origin"}
        odd = await visitor.client.post("/squad/pause", content=b"reason=\xff", headers=own)
        assert (odd.status_code, "cannot be read" in odd.text) == (422, True)
        assert (await visitor.open("/approvals/apr_none")).status == 404
        assert (await visitor.post("/approvals/apr_none/approve", {})).status == 404
        assert (await visitor.post("/approvals/apr_none/forget", {})).status == 422
        assert "The squad is running" in (await visitor.open("/squad")).text

        async def away(*_: Any, **__: Any) -> Any:
            raise StoreUnavailable("cannot reach 10.1.2.3")

        monkeypatch.setattr(home.box.runtime.store, "read", away)
        page = await visitor.open("/approvals")
        assert (page.status, "the database cannot be used just now" in page.text) == (503, True)
        assert "10.1.2.3" not in page.source
    assert "10.1.2.3" in caplog.text


async def test_an_open_page_hears_of_changes_until_its_token_ends(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home:
        made = await tokens.create(home.box.runtime, home.box.person, "phone")
        stream = await Stream.open(home.port, "/live", "none", more=f"Cookie: interlock={made['token']}")
        await home.post("/api/squad/pause", {})
        assert [each.name for each in await stream.until("control_changed")][-1] == "control_changed"
        await tokens.revoke(home.box.runtime, home.box.person, made["id"])
        home.page_services.gate.forget()
        await home.post("/api/squad/resume", {})
        while (event := await stream.next()) is not None:
            assert event.name != "control_changed"
        stream.close()


async def test_api_takes_no_cookie_and_the_page_no_header(tmp_path: Path, migrated_sqlite_url: str) -> None:
    """A cookie goes along with what other sites send, and so never counts for the API."""
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{home.port}") as client,
    ):
        found = await client.get("/api/approvals", headers={"cookie": f"interlock={home.token}"})
        assert found.status_code == 401
        page = Page(await client.get("/approvals", headers={"authorization": f"Bearer {home.token}"}))
        assert page.status == 303
