"""The web page as people use it in a browser: what waits comes by itself, taps take effect, on a phone as well."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from interlock.desk.operations import emergency
from interlock.desk.signoff import signing
from interlock.testing.scripted import calls
from tests.chromium import Chromium
from tests.contract.browser.test_page_changes import NOTICE, signed_in
from tests.contract.desk.test_batches import put, question
from tests.contract.web.house import house
from tests.contract.web.test_page import HOSTILE, LETTER


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
async def test_question_comes_by_itself_and_a_tap_lets_its_run_go_on(
    tmp_path: Path, migrated_url: str, chromium: Chromium, phone: bool
) -> None:
    letter = calls("send_email", **{**LETTER, "subject": HOSTILE})
    async with (
        house(tmp_path, letter, "It is on its way.", database_url=migrated_url) as home,
        chromium.visit(home.port, phone=phone) as page,
    ):
        await signed_in(page, home, "/approvals")
        await expect(page.get_by_text("Nothing waits for a person")).to_be_visible()
        chat = await home.post("/api/agents/operations/chat", {"message": "Write to the bank"})
        assert chat["stop_reason"] == "waiting"
        card = page.get_by_role("article")
        await expect(card).to_contain_text("bank@example.com")
        await expect(card).to_contain_text("<script>alert(1)</script>")
        await expect(page).to_have_title("(1) Approvals · Interlock")
        wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide, "it has to be scrolled sideways"
        button = card.get_by_role("button", name="Approve", exact=True)
        await card.get_by_label("Note, if there is one").first.fill("as agreed")
        await (button.tap() if phone else button.click())
        await expect(page.get_by_role("heading", level=1)).to_contain_text("Approved")
        await expect(page.get_by_role("article")).to_contain_text("on web")
        await expect(page.get_by_role("article")).to_contain_text("as agreed")
        assert (await home.box.handle(chat["run_id"])).text == "It is on its way."


async def test_answer_of_another_surface_is_seen_at_once(tmp_path: Path, migrated_url: str, chromium: Chromium) -> None:
    async with (
        house(tmp_path, executes=False, database_url=migrated_url) as home,
        chromium.visit(home.port) as page,
        chromium.visit(home.port, phone=True) as typing,
    ):
        await home.box.runtime.store.write(put, [question(1)])
        for each in (page, typing):
            await signed_in(each, home, "/approvals/apr_00001")
        await typing.get_by_label("Note, if there is one").first.fill("let me think")
        await signing.deny(home.box.runtime, home.box.person, "apr_00001", reason="not now")
        await expect(page.get_by_role("heading", level=1)).to_contain_text("Denied")
        await expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
        await expect(typing.get_by_text("This has changed since")).to_be_visible()
        await expect(typing.get_by_label("Note, if there is one").first).to_have_value("let me think")


async def test_squad_is_stopped_from_a_phone_with_proof(tmp_path: Path, migrated_url: str, chromium: Chromium) -> None:
    async with (
        house(tmp_path, database_url=migrated_url) as home,
        chromium.visit(home.port, phone=True) as page,
    ):
        await signed_in(page, home, "/approvals")
        mode = page.locator("#mode")
        await mode.locator("summary", has_text="Stop").tap()
        await mode.get_by_label("Reason").last.fill("it writes to everybody")
        await mode.get_by_role("button", name="Stop now").tap()
        await expect(page.get_by_role("heading", level=1)).to_have_text("The squad is stopped")
        await expect(mode).to_contain_text("it writes to everybody")
        await mode.locator("summary", has_text="Resume").tap()
        await mode.get_by_role("button", name="Resume now").tap()
        await expect(mode).to_contain_text("The squad is running")
        said = [each["data"] for each in await home.get("/api/activities") if each["action"] == "CONTROL_CHANGED"]
    assert [(each["mode"], each["surface"]) for each in said] == [("stopped", "web"), ("running", "web")]


async def test_everything_works_without_scripts(tmp_path: Path, migrated_sqlite_url: str, chromium: Chromium) -> None:
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        chromium.visit(home.port, scripts=False) as page,
    ):
        await home.box.runtime.store.write(put, [question(1)])
        await signed_in(page, home, "/approvals")
        card = page.get_by_role("article")
        await card.locator("summary", has_text="Deny").click()
        await card.get_by_label("Reason").fill("not like this")
        await card.get_by_role("button", name="Deny", exact=True).click()
        await expect(page.get_by_role("heading", level=1)).to_contain_text("Denied")
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_label("Token")).to_be_visible()


async def test_page_says_when_it_has_lost_its_server_and_when_it_is_back(
    tmp_path: Path, migrated_sqlite_url: str, chromium: Chromium
) -> None:
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        chromium.visit(home.port, expects=["ERR_INTERNET_DISCONNECTED"]) as page,
    ):
        await signed_in(page, home, "/approvals")
        await expect(page.get_by_text(NOTICE)).to_be_hidden()
        await page.context.set_offline(True)
        async with page.expect_event("requestfailed"):
            await emergency.pause(home.box.runtime, home.box.person)
        await expect(page.get_by_text(NOTICE)).to_be_visible()
        await page.context.set_offline(False)
        await expect(page.locator("#mode")).to_contain_text("The squad is paused")
        await expect(page.get_by_text(NOTICE)).to_be_hidden()
