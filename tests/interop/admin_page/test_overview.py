"""The whole page: its state, on a phone, with the keyboard, and its buttons."""

import re

from confluent_kafka import Consumer, ShareConsumer
from playwright.sync_api import Page, expect

from mock_kafka import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ResourceType,
    open_admin,
)
from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.screenshots import SCREENSHOTS, keep_in_both_schemes
from tests.interop.admin_page.served_cluster import EVIL, PRODUCE, Cluster, polled_members
from tests.interop.transactional_clients import Confluent

PHONE_WIDTH = 360


def test_the_page_shows_the_state_and_new_requests(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
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
    expect(page.locator("#detail")).to_contain_text("Fault#1 error NOT_ENOUGH_REPLICAS")
    accessibility.check(page)
    keep_in_both_schemes(page, "request")
    page.locator(".tile").nth(0).click()
    expect(page.locator(".opened")).to_contain_text("Leader")
    expect(page.locator("#detail")).to_be_hidden()
    members = (Consumer, "reports", "reports-1", {"group.protocol": "consumer"})
    with polled_members(cluster, members, (ShareConsumer, "mails", "mails-1", {})):
        expect(page.locator("#groups .title")).to_have_text(["mails", "reports"])
        expect(page.locator("#groups-count")).to_have_text("2 groups · 2 members")
        accessibility.check(page)
        keep_in_both_schemes(page, "all")
    billing.close()


def test_keys_without_an_effect_are_under_the_brokers(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    expect(page.locator("#brokers .broker")).to_have_count(3)
    expect(page.locator("#configs-part")).to_be_hidden()
    key = "replica.alter.log.dirs.io.max.bytes.per.second"
    broker = ConfigResource(ResourceType.BROKER, "1")
    with open_admin(cluster.bootstrap_servers) as admin:
        changed = admin.incremental_alter_configs(
            {broker: [ConfigChange(key, ConfigOperation.SET, "1000")]}
        )
    assert changed == {broker: None}
    expect(page.locator("#configs-count")).to_have_text("1 key without an effect")
    page.locator("#configs-count").click()
    row = page.locator("#configs tr").last
    expect(row).to_contain_text(key)
    expect(row).to_contain_text("broker 1")
    expect(row).to_contain_text("its log is in memory")
    accessibility.check(page)


def test_the_page_fits_a_phone_screen(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    quota = {"entity": {"user": "ANONYMOUS"}, "values": {"producer_byte_rate": 5000}}
    cluster.ask("PUT", "/v1/quotas", quota)
    cluster.produce("checkout", "orders", b"one coffee")
    page.set_viewport_size({"width": PHONE_WIDTH, "height": 780})
    page.get_by_role("button", name="orders", exact=True).click()
    expect(page.locator(".messages tbody tr")).to_be_visible()
    row = page.locator("#lines tr", has_text=PRODUCE)
    for part in (row.get_by_text("ok"), page.locator("#quotas td.num").first):
        box = part.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= PHONE_WIDTH
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE_WIDTH
    keep_in_both_schemes(page, "phone")
    page.get_by_label("Search everything").fill("orders")
    results = page.get_by_role("navigation", name="Results")
    expect(results.get_by_role("link", name="orders", exact=True)).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE_WIDTH
    page.keyboard.press("Escape")
    row.get_by_role("button").click()
    expect(page.locator("#detail")).to_be_in_viewport()
    accessibility.check(page)
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
