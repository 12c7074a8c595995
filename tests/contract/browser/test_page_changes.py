"""What the page's script does while somebody is about to tap or types: what comes or moves takes no tap."""

from pathlib import Path

from playwright.async_api import Page, expect

from interlock.desk.operations import emergency
from interlock.desk.signoff import signing
from tests.chromium import Chromium
from tests.contract.desk.test_batches import put, question
from tests.contract.web.house import House, house

NOTICE = "This page is not live just now"


async def signed_in(page: Page, home: House, path: str) -> None:
    await page.goto(f"/sign-in?next={path}")
    await page.get_by_label("Token").fill(home.token)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"**{path}")


async def test_control_that_was_opened_does_not_become_another(
    tmp_path: Path, migrated_sqlite_url: str, chromium: Chromium
) -> None:
    """Where "Drain" was there is "Resume" after somebody else has drained: a tap must not undo that."""
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        chromium.visit(home.port) as page,
    ):
        await signed_in(page, home, "/squad")
        await page.locator("#mode summary", has_text="Drain").click()
        await expect(page.get_by_role("button", name="Drain now")).to_be_visible()
        await emergency.drain(home.box.runtime, home.box.person)
        await expect(page.locator("#mode summary", has_text="Resume")).to_be_visible()
        await expect(page.get_by_role("button", name="Resume now")).to_be_hidden()
        await page.locator("#mode summary", has_text="Stop").click()
        await emergency.pause(home.box.runtime, home.box.person)
        await expect(page.locator("#mode")).to_contain_text("paused")
        await expect(page.get_by_role("button", name="Stop now")).to_be_visible()


async def test_card_that_has_just_moved_takes_no_tap(
    tmp_path: Path, migrated_sqlite_url: str, chromium: Chromium
) -> None:
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        chromium.visit(home.port, phone=True) as page,
    ):
        await home.box.runtime.store.write(put, [question(n, alike=None) for n in (1, 2)])
        await signed_in(page, home, "/approvals")
        second = page.locator("[data-live=apr_00002] form.answer > button", has_text="Approve").first
        await expect(second).to_be_enabled()
        await page.evaluate(WATCH)
        await signing.approve(home.box.runtime, home.box.person, "apr_00001")
        await expect(page.locator("[data-live=apr_00001]")).to_have_count(0)
        await expect(second).to_be_enabled()
        assert await page.evaluate("window.wasDisabled") is True
        await second.tap()
        await expect(page.get_by_role("heading", name="Approved:")).to_be_visible()


WATCH = """() => {
  window.wasDisabled = false;
  const button = document.querySelector("[data-live=apr_00002] form.answer > button");
  new MutationObserver(() => { window.wasDisabled ||= button.disabled; }).observe(button, {attributes: true});
}"""


async def test_answers_of_forms_stay_live_and_keep_what_was_typed(
    tmp_path: Path, migrated_sqlite_url: str, chromium: Chromium
) -> None:
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        chromium.visit(home.port, expects=["status of 422"]) as page,
    ):
        await home.box.runtime.store.write(put, [question(1)])
        await signed_in(page, home, "/approvals/apr_00001")
        await page.get_by_text("Approve with other arguments").click()
        await page.locator("textarea[name=args]").fill("{oops")
        await page.get_by_role("button", name="Approve with these").click()
        await expect(page.get_by_role("alert")).to_contain_text("not JSON")
        await emergency.pause(home.box.runtime, home.box.person)
        await expect(page.locator("#mode")).to_contain_text("paused")
        await expect(page.locator("textarea[name=args]")).to_have_value("{oops")
        await expect(page.get_by_text(NOTICE)).to_be_hidden()
        await page.reload()
        await expect(page.get_by_role("alert")).to_be_visible()


async def test_keyboard_stays_where_it_was_when_a_card_changes(
    tmp_path: Path, migrated_sqlite_url: str, chromium: Chromium
) -> None:
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        chromium.visit(home.port) as page,
    ):
        await home.box.runtime.store.write(put, [question(1)])
        await signed_in(page, home, "/squad")
        await page.locator("#mode summary", has_text="Stop").focus()
        await home.box.runtime.store.write(put, [question(2)])
        await expect(page.locator(".count")).to_have_text("2")
        await expect(page.locator("#mode summary", has_text="Stop")).to_be_focused()
