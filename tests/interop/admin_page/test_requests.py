"""Requests, refused connections and fault rules."""

import socket

from playwright.sync_api import Page, expect

from tests.broker.connection_driver import metadata_frame
from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.served_cluster import PRODUCE, Cluster


def test_requests_can_be_filtered_and_paused(cluster: Cluster, page: Page) -> None:
    cluster.produce("checkout", "orders", b"1")
    expect(page.locator("#lines tr", has_text=PRODUCE)).to_have_count(1)
    page.locator("#requests-search").fill("produce orders")
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


def test_the_whole_journal_can_be_searched_and_paged(cluster: Cluster, page: Page) -> None:
    cluster.produce("checkout", "orders", b"1")
    send_metadata_requests(cluster, 1_000)
    expect(page.locator("#requests-pager")).to_contain_text("1 to 200 of 1,0")
    page.get_by_label("Next requests").click()
    expect(page.locator("#requests-pager")).to_contain_text("201 to 400 of 1,0")
    expect(page.locator("#lines tr")).to_have_count(200)

    # The page itself keeps the last 400.
    page.get_by_label("Search requests").fill("produce orders")
    expect(page.locator("#lines tr")).to_have_count(1)
    expect(page.locator("#requests-count")).to_have_text("1 found")
    page.get_by_label("Search requests").fill("no such words")
    expect(page.locator("#no-lines")).to_have_text("No request has these words.")


def send_metadata_requests(cluster: Cluster, count: int) -> None:
    host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
    frames = b"".join(map(metadata_frame, range(count)))
    with socket.create_connection((host, int(port)), timeout=20) as client:
        client.sendall(frames)
        client.shutdown(socket.SHUT_WR)
        while client.recv(65_536):
            pass
