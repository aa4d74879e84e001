"""Topics: creation, configuration, messages and deep links to them."""

import json
import re

from playwright.sync_api import Page, expect

from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.served_cluster import Cluster


def test_the_page_creates_a_topic_configures_it_and_produces_to_it(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    page.get_by_role("button", name="New topic").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("orders")
    dialog.get_by_label("Partitions").fill("2")
    dialog.get_by_label("Configuration").fill("retention.ms=often")
    accessibility.check(page)
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
    accessibility.check(page)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    assert cluster.ask("GET", "/v1/topics/orders")["config"] == {"cleanup.policy": "compact"}

    page.get_by_role("button", name="Produce", exact=True).click()
    dialog.get_by_label("Key").fill("k")
    dialog.get_by_label("Value", exact=True).fill("one coffee")
    dialog.get_by_label("Headers").fill("trace: 7")
    dialog.get_by_label("Partition").fill("1")
    accessibility.check(page)
    dialog.get_by_role("button", name="Produce").click()
    expect(page.locator(".messages tbody tr")).to_contain_text("one coffee")
    (record,) = cluster.ask("GET", "/v1/topics/orders/records")["records"]
    assert (record["partition"], record["headers"][0]["value"]) == (1, {"text": "7"})


def test_a_deep_link_opens_a_message_with_headers_as_json(
    cluster: Cluster, page: Page, accessibility: Accessibility
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
    accessibility.check(page)
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


def test_every_topic_is_found_by_its_name_and_by_its_page(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    setup = {"topics": [{"name": f"orders-{n}", "partitions": [{}]} for n in range(1, 252)]}
    cluster.ask("PUT", "/v1/snapshot", setup)
    titles = page.locator("#topics .title")
    expect(titles).to_have_count(200)
    expect(page.locator("#topics-count")).to_have_text("251")
    expect(page.locator("#topics-pager")).to_contain_text("1 to 200 of 251")
    expect(page.get_by_label("Previous topics")).to_be_disabled()
    accessibility.check(page)

    page.get_by_label("Next topics").click()
    expect(page.locator("#topics-pager")).to_contain_text("201 to 251 of 251")
    expect(titles).to_have_text([f"orders-{n}" for n in range(201, 252)])

    page.get_by_label("Search topics").fill("ORDERS-20")
    expect(titles).to_have_text(["orders-20", *[f"orders-{n}" for n in range(200, 210)]])
    expect(page.locator("#topics-pager")).to_be_empty()
    page.get_by_label("Search topics").fill("nothing")
    expect(page.locator("#topics")).to_have_text("No topic has such a name.")

    # What the address opens is shown, too, wherever it is.
    page.goto(f"{cluster.url}/#/topics/orders-251")
    expect(titles).to_have_text(["orders-251"])
    page.get_by_label("Search topics").fill("")
    expect(titles).to_have_count(201)
