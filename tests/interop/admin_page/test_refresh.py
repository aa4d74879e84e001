"""What a refresh costs, the address, the keyboard, and a broker that is gone."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from tests.free_ports import free_port_run
from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.screenshots import keep_in_both_schemes
from tests.interop.admin_page.served_cluster import Cluster

TOPIC_COUNT = 305
STOPS_MAX = 17
"""Four of the head, the brokers, those of the topics, and ten topics."""
FOCUSED_TEXT = "document.activeElement.textContent"


HTTP_OK = 200


def is_list(response: Response) -> bool:
    return "/v1/search/topics" in response.url


def refresh(page: Page) -> Response:
    """Wait for the next response to the list of topics."""
    with page.expect_response(is_list) as info:
        pass
    return info.value


def create_topics(cluster: Cluster) -> None:
    topics = [{"name": f"orders-{n}", "partitions": [{}] * 4} for n in range(TOPIC_COUNT)]
    cluster.ask("PUT", "/v1/snapshot", {"topics": topics})


def test_a_refresh_sends_what_changed(cluster: Cluster, page: Page) -> None:
    create_topics(cluster)
    expect(page.locator("#topics-pager")).to_contain_text("1 to 200 of 305")
    refresh(page)
    unchanged = [refresh(page) for _ in range(2)]
    assert [
        (response.status, response.headers.get("content-length", "0")) for response in unchanged
    ] == [
        (304, "0"),
        (304, "0"),
    ]
    before_version = unchanged[-1].url
    with page.expect_response(
        lambda response: is_list(response) and response.status == HTTP_OK
    ) as info:
        cluster.ask("POST", "/v1/topics/orders-7/records", {"records": [{"value": "1"}]})
    changed = info.value
    assert changed.url == before_version
    assert [topic["name"] for topic in changed.json()["topics"]] == ["orders-7"]
    assert len(changed.body()) < 2_000
    row = page.locator("#topics .topic", has_text="orders-7").first
    expect(row).to_contain_text("1 record")


def test_only_rows_in_view_have_tiles(cluster: Cluster, page: Page) -> None:
    create_topics(cluster)
    expect(page.locator("#topics .topic")).to_have_count(200)
    tiles = page.locator("#topics .tile")
    expect(tiles.first).to_be_visible()
    assert tiles.count() < 200
    last = page.locator("#topics .topic").last
    expect(last.locator(".tile")).to_have_count(0)
    last.scroll_into_view_if_needed()
    expect(last.locator(".tile")).to_have_count(4)
    assert tiles.count() < 200
    # A row that is out of view follows changes, too.
    cluster.ask("POST", "/v1/topics/orders-0/records", {"records": [{"value": "1"}]})
    expect(page.locator("#topics .topic").first).to_contain_text("1 record")


def test_topics_beyond_the_200th_open_by_address_and_by_search(
    cluster: Cluster, page: Page
) -> None:
    create_topics(cluster)
    cluster.ask("POST", "/v1/topics/orders-300/records", {"records": [{"value": "far away"}]})
    page.goto(f"{cluster.url}/#/topics/orders-300")
    expect(page.locator(".messages")).to_contain_text("far away")
    page.goto(f"{cluster.url}/#/")
    expect(page.locator(".messages")).to_have_count(0)
    page.get_by_label("Search topics").fill("orders-300")
    page.get_by_role("button", name="orders-300", exact=True).click()
    expect(page.locator(".messages")).to_contain_text("far away")
    expect(page).to_have_url(re.compile("#/topics/orders-300$"))


@pytest.mark.parametrize("shown", ["orders-150", "orders-150/0/3", "orders-300"])
def test_a_deep_link_scrolls_to_what_it_names(cluster: Cluster, page: Page, shown: str) -> None:
    create_topics(cluster)
    records = [{"value": str(number), "partition": 0} for number in range(60)]
    cluster.ask("POST", "/v1/topics/orders-150/records", {"records": records})
    page.set_viewport_size({"width": 400, "height": 500})
    page.goto(f"{cluster.url}/#/topics/{shown}")
    page.reload()
    name, _, message = shown.partition("/")
    target = page.locator(f"#record-{name}-0-3") if message else page.get_by_text(name, exact=True)
    expect(target.first).to_be_in_viewport()
    # Later refreshes leave the reader where he is.
    page.locator("#topics").evaluate("(list) => { list.scrollTop = 0; }")
    cluster.ask("POST", "/v1/topics/orders-150/records", {"records": records})
    for _ in range(2):
        refresh(page)
    assert page.locator("#topics").evaluate("(list) => list.scrollTop") == 0


def test_the_keyboard_reaches_the_tenth_topic_soon(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    create_topics(cluster)
    expect(page.locator("#topics .topic")).to_have_count(200)
    stops: list[str] = []
    while "orders-9" not in stops and len(stops) < STOPS_MAX:
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUSED_TEXT))
    assert stops[-1] == "orders-9"
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tile-orders-9-0")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/topics/orders-9/1$"))
    accessibility.check(page)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED_TEXT) == "orders-10"
    page.locator("[data-mode=real]").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-mode=scaled]")).to_be_focused()


@dataclass
class Restarted:
    """A broker process that starts again at the same addresses."""

    admin_port: int
    port: int
    process: "subprocess.Popen[str] | None" = None

    def start(self) -> None:
        command = [sys.executable, "-P", "-m", "broker", "serve", "--brokers", "1"]
        ports = ["--port", str(self.port), "--admin-port", str(self.admin_port)]
        self.process = subprocess.Popen(
            [*command, *ports, "--log-level", "error"], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()
        self.process.stdout.readline()

    def stop(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    @property
    def cluster(self) -> Cluster:
        return Cluster(f"127.0.0.1:{self.port}", f"http://127.0.0.1:{self.admin_port}")


@pytest.fixture
def restarted() -> Iterator[Restarted]:
    first_port = free_port_run(2)
    started = Restarted(first_port, first_port + 1)
    started.start()
    yield started
    started.stop()


def test_the_page_says_that_the_broker_is_gone_and_recovers(
    restarted: Restarted, browser: Browser, accessibility: Accessibility
) -> None:
    cluster = restarted.cluster
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(cluster.url)
    cluster.ask("POST", "/v1/topics", {"name": "before"})
    expect(page.locator("#topics .title")).to_have_text(["before"])
    gone = page.get_by_role("alert").filter(has_text="has not answered since")
    expect(gone).to_be_hidden()

    restarted.stop()
    expect(gone).to_be_visible()
    box = gone.bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, 1440)
    expect(page.locator("#pulse")).to_have_class("down")
    # The clock may show one more response that was on its way.
    times = []
    for _ in range(3):
        with page.expect_event("requestfailed"):
            pass
        times.append(page.locator("#time").inner_text())
    assert len(set(times)) == 1
    expect(page.locator("#topics .title")).to_have_text(["before"])
    page.get_by_role("button", name="Standing").click()
    expect(page.locator("#notice")).to_have_text("The broker does not answer.")
    accessibility.check(page)
    keep_in_both_schemes(page, "gone")

    restarted.start()
    cluster.ask("POST", "/v1/topics", {"name": "after"})
    expect(gone).to_be_hidden()
    expect(page.locator("#topics .title")).to_have_text(["after"])
    expect(page.locator("#time")).not_to_have_text(times[-1])
    cluster.produce("checkout", "after", b"one coffee")
    expect(page.locator("#lines tr", has_text="Produce").first).to_be_visible()
    page.close()
