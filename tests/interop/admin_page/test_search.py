"""The search over everything, with the keyboard and the pointer."""

import re

from playwright.sync_api import Page, expect

from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.served_cluster import EVIL, Cluster


def test_one_field_finds_all_that_has_a_name(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    topics = [{"name": f"billing-{n}", "partitions": [{}]} for n in range(9)]
    offset = {"group": "billing-group", "topic": "billing-1", "partition": 0, "offset": 0}
    cluster.ask("PUT", "/v1/snapshot", {"topics": topics, "offsets": [offset]})
    config = {"config": {"retention.ms": "4711000"}}
    cluster.ask("PATCH", "/v1/topics/billing-7/config", config)
    cluster.ask("POST", "/v1/faults", {"client_id": "billing-client", "delay_ms": 1})
    cluster.ask("POST", "/v1/faults", {"client_id": EVIL, "delay_ms": 1})
    cluster.produce("billing-client", "billing-1", b"one coffee")

    page.keyboard.press("/")
    field = page.get_by_label("Search everything")
    expect(field).to_be_focused()
    field.fill("billing")
    results = page.get_by_role("navigation", name="Results")
    expect(results).to_contain_text("Topics: 9 results, the first 6")
    expect(results.get_by_role("link", name="billing-group (Empty)")).to_be_visible()
    expect(results).to_contain_text("Faults: 1 result")
    expect(results).to_contain_text(re.compile(r"Requests: \d+ results"))
    accessibility.check(page)  # it has clicked elsewhere, which closes the results
    expect(results).to_be_hidden()

    # The arrow keys go through the results, Enter opens one, Escape closes them.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(results.get_by_role("link").nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(results).to_be_hidden()
    expect(field).to_have_value("")

    for words, name, address, shown in (
        ("billing-4", "billing-4", "#/topics/billing-4$", "#topic-billing-4 .opened"),
        ("group", "billing-group (Empty)", "#/groups/billing-group$", "#groups .opened"),
        ("4711000", "retention.ms=4711000 of topic billing-7", "#/topics/billing-7$", ".opened"),
        ("delay_ms client", "#1 client_id billing-client, delay_ms 1", "#/faults/1$", "#fault-1"),
        ("onerror", f"#2 client_id {EVIL}, delay_ms 1", "#/faults/2$", "#fault-2"),
    ):
        field.fill(words)
        results.get_by_role("link", name=name, exact=True).click()
        expect(page).to_have_url(re.compile(address))
        expect(page.locator(shown).first).to_be_in_viewport()
        expect(results).to_be_hidden()

    field.fill("produce billing-client")
    results.get_by_role("link", name=re.compile("Produce billing-client")).click()
    expect(page.locator("#detail")).to_contain_text('"client_id": "billing-client"')
    field.fill("no such words")
    expect(results).to_have_text("Nothing has these words.")
    page.get_by_role("heading", name="mock-kafka").click()
    expect(results).to_be_hidden()
    assert page.locator("main img, nav img").count() == 0
