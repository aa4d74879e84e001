"""The admin page in a real browser: it shows and controls the cluster, and escapes names.

Every test saves a screenshot of the page at its end in `artifacts/screenshots`; one of the light
scheme is in docs/pictures. Without Chromium the tests are skipped: Debian has it as the package
`chromium`; the environment variable CHROMIUM names another binary.
"""

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import Consumer, ShareConsumer
from kafka import KafkaProducer
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.interop.transactional_clients import Confluent

SCREENSHOTS = Path(__file__).parent.parent.parent / "artifacts" / "screenshots"
EVIL = "<img src=x onerror=\"document.title='owned'\"><b>x</b>"
CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
TOKEN = "sesame"
AXE = "axe-core", "4.14.1", "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
"""The checker of WCAG rules for the tests (MPL-2.0): its package, version and SHA-256."""
PRODUCE = re.compile(r"Produce v\d")
"""A line of a Produce request, not of InitProducerId."""

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium: apt-get install chromium, or set CHROMIUM"
)


@dataclass
class Cluster:
    """A broker process and its two addresses."""

    bootstrap_servers: str
    url: str

    def ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {TOKEN}"}
        request = Request(self.url + path, data, headers, method=method)
        with urlopen(request, timeout=20) as response:
            return json.loads(response.read() or b"null")

    def produce(self, client_id: str, topic: str, *values: bytes) -> None:
        producer = KafkaProducer(bootstrap_servers=self.bootstrap_servers, client_id=client_id)
        for value in values:
            producer.send(topic, value, key=b"customer").get(20)
        producer.close()


def serve(*arguments: str) -> Iterator[Cluster]:
    command = [sys.executable, "-P", "-m", "broker", "serve", "--port", "0", "--brokers", "3"]
    with subprocess.Popen(
        [*command, "--admin-port", "0", "--log-level", "error", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        yield Cluster(first.partition("=")[2].strip(), second.partition("=")[2].strip())
        process.terminate()


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[Cluster]:
    heartbeats = [
        f"group.{kind}.{limit}heartbeat.interval.ms=100"
        for kind in ("consumer", "share")
        for limit in ("min.", "")
    ]
    settings = [
        *("num.partitions=4", "default.replication.factor=2", "cluster.features=share.version=1"),
        *("group.initial.rebalance.delay.ms=0", *heartbeats),
    ]
    yield from serve(*(word for setting in settings for word in ("-o", setting)))


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Cluster:
    shared_cluster.ask("POST", "/v1/reset")
    return shared_cluster


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Chromium's sandbox needs privileges that a container rarely has.
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


def is_wrong(line: ConsoleMessage) -> bool:
    """Return whether a console message is an error, except that of a refused request."""
    return line.type == "error" and "the server responded with a status" not in line.text


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Browser, cluster: Cluster) -> Iterator[Page]:
    """Open the page; fail on errors in it and on requests to other hosts."""
    opened = browser.new_page(viewport={"width": 1440, "height": 1000})
    wrongs: list[str] = []
    opened.on("pageerror", lambda error: wrongs.append(str(error)))
    opened.on("console", lambda line: wrongs.append(line.text) if is_wrong(line) else None)
    requested: list[str] = []
    opened.on("request", lambda request: requested.append(request.url))
    opened.goto(cluster.url)
    expect(opened.locator("#pulse")).to_have_class("up")
    yield opened
    keep(opened, re.sub(r"\W+", "-", request.node.name).strip("-"))
    assert wrongs == []
    assert [url for url in requested if not url.startswith((cluster.url, "data:"))] == []
    opened.close()


def keep(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.mouse.move(2, 2)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=str(SCREENSHOTS / f"{name}.png"), full_page=True)


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the source of axe-core, from npm the first time."""
    package, version, digest = AXE
    kept = SCREENSHOTS.parent / f"{package}-{version}.js"
    if not kept.exists():
        if shutil.which("npm") is None:
            pytest.skip("axe-core comes from npm, and there is no npm here")
        folder = tmp_path_factory.mktemp(package)
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
        if subprocess.run(command, cwd=folder, timeout=60, check=False).returncode:
            pytest.skip("npm could not download axe-core")
        with tarfile.open(folder / f"{package}-{version}.tgz") as files:
            files.extract("package/axe.min.js", folder, filter="data")
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder / "package" / "axe.min.js", kept)
    content = kept.read_bytes()
    assert hashlib.sha256(content).hexdigest() == digest
    return content.decode()


def findings(page: Page, axe: str) -> list[str]:
    """Return what axe finds wrong with the page as it is now."""
    page.mouse.move(2, 2)
    page.evaluate(axe)
    found = page.evaluate("axe.run()")
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


@contextmanager
def polled_members(
    cluster: Cluster, *joins: tuple[Any, str, str, dict[str, str]]
) -> Iterator[None]:
    """Run members until the end: each with its class, group, client id and other settings."""
    is_over = threading.Event()
    members = []
    for kind, group_id, client_id, settings in joins:
        addresses = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group_id}
        member = kind({**addresses, "client.id": client_id, **settings})
        member.subscribe(["orders"])
        members.append(member)

    def poll() -> None:
        while not is_over.is_set():
            for member in members:
                member.poll(0.02)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        for member in members:
            member.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_shows_the_state_and_new_requests(
    cluster: Cluster, page: Page, scheme: Any, axe: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    cluster.ask("PUT", "/v1/quotas", {"entity": {"user": None}, "values": {"producer_ids_rate": 9}})
    quota = {"controller_mutation_rate": 2, "producer_byte_rate": 5000}
    cluster.ask("PUT", "/v1/quotas", {"entity": {"user": "ANONYMOUS"}, "values": quota})
    cluster.ask("POST", "/v1/faults", {"api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "nth": 2})
    cluster.produce("checkout", "orders", *(b"one coffee",) * 20)
    billing = Confluent(cluster.bootstrap_servers, "billing-1")
    billing.start()
    billing.begin()
    billing.send("orders", b"one coffee")
    cluster.ask("POST", "/v1/brokers/3/stop", {})

    expect(page.locator("#topics .title")).to_have_text(["orders"])
    expect(page.locator("#topics .tile")).to_have_count(4)
    expect(page.locator("#brokers .broker").nth(2)).to_contain_text("stopped")
    expect(page.locator("#faults")).to_contain_text("1 of")
    expect(page.locator("#quotas")).to_contain_text("bytes produced")
    expect(page.locator("#quotas")).to_contain_text("topic changes")
    expect(page.locator("#filters")).to_contain_text("2 ids ·")
    expect(page.locator("#transactions")).to_contain_text("billing-1")
    row = page.locator("#lines tr", has_text="NOT_ENOUGH_REPLICAS").first
    expect(row).to_contain_text("checkout")
    row.get_by_role("button").press("Enter")
    expect(page.locator("#detail")).to_contain_text('"error_code": "NOT_ENOUGH_REPLICAS"')
    assert findings(page, axe) == []
    keep(page, f"request-{scheme}")
    page.locator(".tile").nth(0).click()
    expect(page.locator(".opened")).to_contain_text("Leader")
    expect(page.locator("#detail")).to_be_hidden()
    members = (Consumer, "reports", "reports-1", {"group.protocol": "consumer"})
    with polled_members(cluster, members, (ShareConsumer, "mails", "mails-1", {})):
        expect(page.locator("#groups .title")).to_have_text(["mails", "reports"])
        expect(page.locator("#groups-count")).to_have_text("2 groups · 2 members")
        assert findings(page, axe) == []
        keep(page, f"all-{scheme}")
    billing.close()


def test_the_page_lists_a_connection_that_a_rule_refused(cluster: Cluster, page: Page) -> None:
    cluster.ask("POST", "/v1/faults", [{"broker": 1, "refuse_connection": True}])
    host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        peer = "{}:{}".format(*client.getsockname())
        row = page.locator("#lines tr", has_text="new connection").first
        expect(row).to_contain_text(peer)
    expect(row).to_contain_text("refused")
    expect(row).to_contain_text("#1 refuse_connection")


def test_the_page_shows_which_clients_shadow_quotas_would_throttle(
    cluster: Cluster, page: Page
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
    page.locator("#clear-shadow").click()
    expect(page.locator("#shadow")).to_have_text("No client went beyond a quota in shadow mode.")


def test_the_page_lists_transactions_and_aborts_one(cluster: Cluster, page: Page) -> None:
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
    expect(rows.nth(0).locator("td").nth(1)).to_have_attribute(
        "title", re.compile(r"The coordinator is broker \d")
    )
    rows.nth(0).get_by_role("button", name="Abort").click()
    expect(rows.filter(has_text="CompleteAbort").locator("td:first-child")).to_have_text(["open"])
    expect(page.locator("#transactions-count")).to_have_text("1 ongoing · 3 ids")
    assert page.locator("#transactions img").count() == 0
    for producer in producers:
        producer.close()


def test_the_page_lists_groups_of_all_types_and_controls_them(
    cluster: Cluster, page: Page, axe: str
) -> None:
    topic = {"name": "orders", "partitions": 4, "replication_factor": 1}
    cluster.ask("POST", "/v1/topics", topic)
    new = {"group.protocol": "consumer"}
    with polled_members(
        cluster,
        (Consumer, "billing", "billing-1", new),
        (Consumer, "billing", EVIL, {**new, "group.instance.id": "i"}),
        (Consumer, "reports", "reports-1", {}),
        (ShareConsumer, "mails", "mails-1", {}),
    ):
        for group_id, count in (("billing", 2), ("reports", 1), ("mails", 1)):
            assert cluster.ask("GET", f"/v1/groups/{group_id}/stable?members={count}") is not None
        expect(page.locator("#groups-count")).to_have_text("3 groups · 4 members")
        parts = page.locator("#groups .member-group")
        expect(parts.locator(".title")).to_have_text(["billing", "mails", "reports"])
        billing, mails, reports = parts.nth(0), parts.nth(1), parts.nth(2)
        expect(billing.locator("tbody tr")).to_have_count(2)
        expect(billing.locator("tbody tr").nth(0)).to_contain_text("orders ")
        expect(billing).to_contain_text("uniform")
        expect(reports.locator("tbody tr")).to_contain_text(re.compile(r"orders 0.3"))
        expect(reports).to_contain_text("generation 1")
        expect(mails.locator("table").nth(1).locator("tbody tr")).to_have_count(4)
        expect(mails).to_contain_text("0 acquired")

        before = cluster.ask("GET", "/v1/groups/billing")["group_epoch"]
        billing.get_by_role("button", name="Rebalance").click()
        expect(billing).to_contain_text(f"epoch {before + 1},")
        billing.get_by_role("button", name="billing", exact=True).click()
        expect(billing.locator(".opened tbody tr")).to_have_count(4)
        assert findings(page, axe) == []
        keep(page, "groups")
        reports.get_by_role("button", name="Fence").click()
        expect(reports).to_contain_text("generation 2")
    assert page.locator("#groups img").count() == 0


def test_the_page_fits_a_phone_screen(cluster: Cluster, page: Page, axe: str) -> None:
    quota = {"entity": {"user": "ANONYMOUS"}, "values": {"producer_byte_rate": 5000}}
    cluster.ask("PUT", "/v1/quotas", quota)
    cluster.produce("checkout", "orders", b"one coffee")
    page.set_viewport_size({"width": 400, "height": 850})
    page.get_by_role("button", name="orders", exact=True).click()
    expect(page.locator(".messages tbody tr")).to_be_visible()
    row = page.locator("#lines tr", has_text=PRODUCE)
    for part in (row.get_by_text("ok"), page.locator("#quotas td.num").first):
        box = part.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 400
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    keep(page, "phone")
    row.get_by_role("button").click()
    expect(page.locator("#detail")).to_be_in_viewport()
    assert findings(page, axe) == []
    page.screenshot(path=str(SCREENSHOTS / "phone-request.png"))


def test_the_focus_and_the_scroll_position_stay_when_the_page_refreshes(
    cluster: Cluster, page: Page
) -> None:
    for number in range(20):
        topic = {"name": f"t{number:02}", "partitions": 1, "replication_factor": 1}
        cluster.ask("POST", "/v1/topics", topic)
    expect(page.locator("#topics .topic")).to_have_count(20)
    button = page.get_by_role("button", name="t19", exact=True)
    button.focus()
    before = page.locator("#topics").evaluate("(topics) => topics.scrollTop")
    assert before > 0
    cluster.ask("POST", "/v1/topics", {"name": "t20", "partitions": 1, "replication_factor": 1})
    cluster.ask("POST", "/v1/topics/t19/records", {"records": [{"value": "1"}]})
    expect(page.locator("#topics .topic")).to_have_count(21)
    expect(button).to_be_focused()
    assert page.locator("#topics").evaluate("(topics) => topics.scrollTop") == before
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("button", name="t18", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/topics/t18$"))
    expect(page.locator(".opened")).to_contain_text("No records.")
    page.keyboard.press("Escape")
    expect(page.locator(".opened")).to_have_count(0)


def test_a_deep_link_opens_a_message_with_headers_as_json(
    cluster: Cluster, page: Page, axe: str
) -> None:
    cluster.ask("POST", "/v1/topics", {"name": "orders", "partitions": 3, "replication_factor": 1})
    headers = [{"key": "trace", "value": "abc-7"}]
    for partition in range(3):
        value = json.dumps({"item": f"coffee {partition}"})
        record = {"partition": partition, "key": "k", "value": value, "headers": headers}
        cluster.ask("POST", "/v1/topics/orders/records", {"records": [record]})
    page.goto(f"{cluster.url}/#/topics/orders/2/0")
    page.reload()
    expect(page.locator(".message")).to_contain_text('"item": "coffee 2"\n')
    expect(page.locator(".message tbody tr")).to_have_text(re.compile("trace.*abc-7"))
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator(".message")).to_contain_text('{"item": "coffee 2"}')
    assert findings(page, axe) == []
    page.goto(f"{cluster.url}/#/topics/orders")
    rows = page.locator(".messages tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_label("Filter messages").fill("coffee 1")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("coffee 1")
    expect(page.get_by_label("Filter messages")).to_be_focused()

    newer = {"records": [{"partition": 2, "value": str(number)} for number in range(60)]}
    cluster.ask("POST", "/v1/topics/orders/records", newer)
    page.goto(f"{cluster.url}/#/topics/orders/2/0")
    page.reload()
    expect(page.locator(".message")).to_contain_text('"item": "coffee 2"')


def test_the_page_creates_a_topic_configures_it_and_produces_to_it(
    cluster: Cluster, page: Page, axe: str
) -> None:
    page.get_by_role("button", name="New topic").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("orders")
    dialog.get_by_label("Partitions").fill("2")
    dialog.get_by_label("Configuration").fill("retention.ms=often")
    assert findings(page, axe) == []
    with page.expect_response(lambda response: response.status == 422):
        dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("INVALID_CONFIG")
    dialog.get_by_label("Configuration").fill("retention.ms=1000")
    dialog.get_by_role("button", name="Create").click()
    page.get_by_role("button", name="orders", exact=True).click()

    page.get_by_role("button", name="Configuration", exact=True).click()
    expect(dialog.get_by_label("retention.ms", exact=True)).to_have_value("1000")
    dialog.get_by_label("retention.ms", exact=True).fill("")
    dialog.get_by_label("cleanup.policy", exact=True).fill("compact")
    assert findings(page, axe) == []
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    assert cluster.ask("GET", "/v1/topics/orders")["config"] == {"cleanup.policy": "compact"}

    page.get_by_role("button", name="Produce", exact=True).click()
    dialog.get_by_label("Key").fill("k")
    dialog.get_by_label("Value", exact=True).fill("one coffee")
    dialog.get_by_label("Headers").fill("trace: 7")
    dialog.get_by_label("Partition").fill("1")
    assert findings(page, axe) == []
    dialog.get_by_role("button", name="Produce").click()
    expect(page.locator(".messages tbody tr")).to_contain_text("one coffee")
    (record,) = cluster.ask("GET", "/v1/topics/orders/records")["records"]
    assert (record["partition"], record["headers"][0]["value"]) == (1, {"text": "7"})


def test_the_page_sets_edits_and_removes_quotas(cluster: Cluster, page: Page, axe: str) -> None:
    page.get_by_role("button", name="Set a quota").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Which user").select_option("this user")
    dialog.get_by_label("Name of the user").fill("alice")
    dialog.get_by_label("producer_byte_rate").fill("5000")
    dialog.get_by_label("request_percentage").fill("50")
    assert findings(page, axe) == []
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


def test_the_buttons_control_the_cluster(cluster: Cluster, page: Page) -> None:
    cluster.ask("POST", "/v1/topics", {"name": "orders", "partitions": 1, "replication_factor": 1})
    page.get_by_role("button", name="Lose the next Produce response").click()
    expect(page.locator("#faults tbody tr")).to_have_count(1)
    (fault,) = cluster.ask("GET", "/v1/faults")
    assert fault["rule"] == {"api": "Produce", "drop": "before_response", "times": 1}

    page.get_by_role("button", name="Standing").click()
    expect(page.locator("[data-mode=standing]")).to_have_class("on")
    before_ms = cluster.ask("GET", "/v1/clock")["now_ms"]
    page.get_by_role("button", name="+1 h").click()
    expect(page.locator("#notice")).to_be_hidden()
    hour_later = page.evaluate(
        "async (ms) => (await import('/page/format.js')).dateText(ms)", before_ms + 3_600_000
    )
    expect(page.locator("#time")).to_have_text(hour_later)
    assert cluster.ask("GET", "/v1/clock") == {
        "mode": "standing",
        "factor": 0,
        "now_ms": before_ms + 3_600_000,
    }

    card = page.locator("#brokers .broker").nth(1)
    card.get_by_role("button", name="Stop").click()
    expect(card).to_contain_text("stopped")
    card.get_by_role("button", name="Start").click()
    expect(card).not_to_contain_text("stopped")

    page.locator(".tile").click()
    page.get_by_label("Leader", exact=True).select_option("broker 3")
    expect(page.locator(".tile")).to_have_attribute("title", re.compile("led by broker 3"))
    page.get_by_label("Leader", exact=True).select_option("nobody")
    expect(page.locator(".tile")).to_have_class(re.compile("none"))
    assert cluster.ask("GET", "/v1/topics/orders")["partitions"][0]["leader"] is None

    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Reset").click()
    expect(page.locator("#topics")).to_contain_text("No topic yet.")
    assert cluster.ask("GET", "/v1/faults") == []


def test_an_invalid_rule_shows_the_error(page: Page) -> None:
    page.get_by_text("Add a rule").click()
    page.locator("#rule").fill('{"api": "Prodcue", "delay_ms": 5}')
    with page.expect_response(lambda response: response.status == 400):
        page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("Produce")


def test_names_are_escaped(cluster: Cluster, page: Page) -> None:
    values = {"producer_byte_rate": 5000}
    cluster.ask("PUT", "/v1/quotas", {"entity": {"user": EVIL}, "values": values})
    cluster.ask("POST", "/v1/faults", {"client_id": EVIL, "name": EVIL, "delay_ms": 1})
    cluster.produce(EVIL, "orders", EVIL.encode())
    end = [part["log_end_offset"] for part in cluster.ask("GET", "/v1/topics/orders")["partitions"]]
    page.locator(".tile").nth(end.index(1)).click()

    expect(page.locator(".opened")).to_contain_text(EVIL)
    page.locator(".opened tbody .row-button").click()
    expect(page.locator(".message")).to_contain_text(EVIL)
    expect(page.locator("#lines")).to_contain_text(EVIL)
    expect(page.locator("#faults")).to_contain_text(EVIL)
    expect(page.locator("#quotas")).to_contain_text("onerror")
    page.locator("#lines tr", has_text=PRODUCE).get_by_role("button").first.click()
    expect(page.locator("#detail")).to_contain_text("onerror")
    assert page.locator("main img, main b b, td b b").count() == 0
    assert page.title() == "mock-kafka"


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


def test_the_page_asks_for_the_token_if_one_is_set(browser: Browser) -> None:
    for cluster in serve("-o", f"broker.admin.token={TOKEN}"):
        page = browser.new_page()
        page.goto(cluster.url)
        expect(page.locator("#login")).to_be_visible()
        assert page.locator("#brokers .broker").count() == 0
        keep(page, "page-token")
        page.locator("#token").fill(TOKEN)
        page.get_by_role("button", name="Enter").click()
        expect(page.locator("#brokers .broker")).to_have_count(3)
        expect(page.locator("#login")).to_be_hidden()
        page.close()
