"""Quotas: the form, and quotas in shadow mode."""

from playwright.sync_api import Page, expect

from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.served_cluster import PRODUCE, Cluster


def test_the_page_sets_edits_and_removes_quotas(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    page.get_by_role("button", name="Set a quota").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Which user").select_option("this user")
    dialog.get_by_label("Name of the user").fill("alice")
    dialog.get_by_label("producer_byte_rate").fill("5000")
    dialog.get_by_label("request_percentage").fill("50")
    accessibility.check(page)
    dialog.get_by_role("button", name="Save").click()
    rows = page.locator("#quotas tbody tr")
    expect(rows).to_have_count(2)
    rows.nth(0).get_by_role("button", name="Edit").click()
    expect(dialog.get_by_label("producer_byte_rate")).to_have_value("5000")
    dialog.get_by_label("producer_byte_rate").fill("")
    dialog.get_by_label("request_percentage").fill("75")
    dialog.get_by_role("button", name="Save").click()
    expect(rows).to_have_count(1)
    (quota,) = cluster.ask("GET", "/v1/quotas")
    assert (quota["entity"], quota["values"]) == ({"user": "alice"}, {"request_percentage": 75.0})


def test_the_page_shows_which_clients_shadow_quotas_would_throttle(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    quota = {"entity": {"user": "ANONYMOUS"}, "values": {"producer_byte_rate": 1}, "shadow": True}
    cluster.ask("PUT", "/v1/quotas", quota)
    cluster.produce("checkout", "orders", b"one coffee")

    cells = page.locator("#shadow tbody tr").first.locator("td")
    expect(cells.nth(0)).to_have_text("ANONYMOUS")
    expect(cells.nth(1)).to_have_text("producer_byte_rate")
    expect(cells.nth(3)).to_have_text("1")
    row = page.locator("#lines tr", has_text=PRODUCE).first
    expect(row).to_contain_text("producer_byte_rate would wait")
    accessibility.check(page)
    page.locator("#clear-shadow").click()
    expect(page.locator("#shadow")).to_have_text("No client went beyond a quota in shadow mode.")
