"""Requests, refused connections and fault rules."""

import socket

from playwright.sync_api import Page, expect

from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.served_cluster import PRODUCE, Cluster


def test_requests_can_be_filtered_and_paused(cluster: Cluster, page: Page) -> None:
    cluster.produce("checkout", "orders", b"1")
    expect(page.locator("#lines tr", has_text=PRODUCE)).to_have_count(1)
    page.locator("#search").fill("produce orders")
    expect(page.locator("#lines tr")).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    cluster.produce("checkout", "orders", b"2")
    expect(page.locator("#lines tr")).to_have_count(1)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#lines tr")).to_have_count(2)


def test_the_page_lists_a_connection_that_a_rule_refused(cluster: Cluster, page: Page) -> None:
    cluster.ask("POST", "/v1/faults", [{"broker": 1, "refuse_connection": True}])
    host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        peer = "{}:{}".format(*client.getsockname())
        row = page.locator("#lines tr", has_text="new connection").first
        expect(row).to_contain_text(peer)
    expect(row).to_contain_text("refused")
    expect(row).to_contain_text("#1 refuse_connection")


def test_an_invalid_rule_shows_the_error(page: Page, accessibility: Accessibility) -> None:
    page.get_by_text("Add a rule").click()
    page.locator("#rule").fill('{"api": "Prodcue", "delay_ms": 5}')
    with page.expect_response(lambda response: response.status == 400):
        page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("Produce")
    accessibility.check(page)
