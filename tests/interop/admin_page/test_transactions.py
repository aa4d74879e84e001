"""Transactions: the list, what is opened, and the button that aborts."""

import re

from playwright.sync_api import Page, expect

from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.screenshots import keep
from tests.interop.admin_page.served_cluster import EVIL, Cluster
from tests.interop.transactional_clients import Confluent


def test_the_page_lists_transactions_and_aborts_one(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    topic = {"name": "orders", "partitions": 3, "replication_factor": 1}
    cluster.ask("POST", "/v1/topics", topic)
    producers = [Confluent(cluster.bootstrap_servers, name) for name in ("finished", "open", EVIL)]
    for producer in producers:
        producer.start()
        producer.begin()
        producer.send("orders", b"one coffee")
    producers[0].commit()

    rows = page.locator("#transactions tbody tr")
    expect(page.locator("#transactions-count")).to_have_text("2 ongoing · 3 ids")
    expect(rows.locator("td:first-child")).to_have_text(["open", EVIL, "finished"])
    expect(rows.nth(0)).to_contain_text("orders 0")
    page.get_by_role("button", name="open", exact=True).press("Enter")
    expect(page.locator("#transactions .message")).to_contain_text("Partitions: orders 0")
    accessibility.check(page)
    keep(page, "transaction")
    page.keyboard.press("Escape")
    expect(page.locator("#transactions .message")).to_have_count(0)
    expect(rows.nth(0).locator("td").nth(1)).to_have_attribute(
        "title", re.compile(r"The coordinator is broker \d")
    )
    rows.nth(0).get_by_role("button", name="Abort").click()
    expect(rows.filter(has_text="CompleteAbort").locator("td:first-child")).to_have_text(["open"])
    expect(page.locator("#transactions-count")).to_have_text("1 ongoing · 3 ids")
    assert page.locator("#transactions img").count() == 0
    for producer in producers:
        producer.close()
