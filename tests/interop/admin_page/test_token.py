"""The form for the token of the admin port."""

from playwright.sync_api import Browser, expect

from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.screenshots import keep
from tests.interop.admin_page.served_cluster import TOKEN, serve


def test_the_page_asks_for_the_token_if_one_is_set(
    browser: Browser, accessibility: Accessibility
) -> None:
    for cluster in serve("-o", f"broker.admin.token={TOKEN}"):
        page = browser.new_page()
        page.goto(cluster.url)
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("Token")).to_be_focused()
        expect(dialog.get_by_role("alert")).to_be_hidden()
        assert page.locator("#brokers .broker").count() == 0
        accessibility.check(page)
        page.keyboard.type("open")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_have_text("The port does not accept this token.")
        accessibility.check(page)
        keep(page, "page-token")
        dialog.get_by_label("Token").fill(TOKEN)
        dialog.get_by_role("button", name="Enter").click()
        expect(page.locator("#brokers .broker")).to_have_count(3)
        expect(dialog).to_be_hidden()
        page.close()
