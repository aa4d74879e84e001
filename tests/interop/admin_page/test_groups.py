"""Groups of all types, their members, lag and buttons."""

import re

from confluent_kafka import Consumer, ShareConsumer
from playwright.sync_api import Page, expect

from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.screenshots import keep_in_both_schemes
from tests.interop.admin_page.served_cluster import EVIL, Cluster, polled_members


def test_the_page_lists_groups_of_all_types_and_controls_them(
    cluster: Cluster, page: Page, accessibility: Accessibility
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
        accessibility.check(page)
        keep_in_both_schemes(page, "groups")
        reports.get_by_role("button", name="Fence").click()
        # 2 is the generation of the group without the member, 3 that of the member that is back.
        expect(reports).to_contain_text(re.compile(r"generation [23]\b"))
    assert page.locator("#groups img").count() == 0


def test_every_group_is_found_by_its_id_and_by_its_page(cluster: Cluster, page: Page) -> None:
    committed = {"topic": "orders", "partition": 0, "offset": 0}
    offsets = [{"group": f"billing-{number:02}", **committed} for number in range(60)]
    topics = [{"name": "orders", "partitions": [{}]}]
    cluster.ask("PUT", "/v1/snapshot", {"topics": topics, "offsets": offsets})
    titles = page.locator("#groups .title")
    expect(titles).to_have_count(50)
    expect(page.locator("#groups-count")).to_have_text("60 groups")
    page.get_by_label("Next groups").click()
    expect(page.locator("#groups-pager")).to_contain_text("51 to 60 of 60")
    expect(titles).to_have_text([f"billing-{number}" for number in range(50, 60)])
    page.get_by_label("Search groups").fill("billing-5")
    expect(titles).to_have_text([f"billing-{number}" for number in range(50, 60)])
    page.get_by_label("Search groups").fill("billing-07")
    expect(titles).to_have_text(["billing-07"])


def test_the_offsets_of_a_group_are_reset(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    cluster.produce("checkout", "orders", *(b"one coffee",) * 5)
    members = (Consumer, "reports", "reports-1", {"auto.offset.reset": "earliest"})
    with polled_members(cluster, members):
        page.goto(f"{cluster.url}/#/groups/reports")
        reset = page.get_by_role("button", name="Reset offsets")
        expect(reset).to_be_disabled()
    cluster.ask("PUT", "/v1/groups/reports/offsets", {"to": "latest", "topic": "orders"})
    lag = page.locator("#groups .opened td:nth-child(3)")
    expect(lag).to_have_text(["0"] * 4)
    reset.click()
    dialog = page.get_by_role("dialog")
    accessibility.check(page)
    dialog.get_by_role("combobox").select_option("this time")
    with page.expect_response(lambda response: response.status == 422):
        dialog.get_by_role("button", name="Reset").click()
    expect(dialog.get_by_role("alert")).to_contain_text("give one of")
    dialog.get_by_role("combobox").select_option("the earliest record")
    dialog.get_by_role("button", name="Reset").click()
    expect(dialog).to_be_hidden()
    lags = [entry["lag"] for entry in cluster.ask("GET", "/v1/groups/reports/offsets")]
    assert sum(lags) == 5
    expect(page.locator("#groups-count")).to_have_text("1 group · 0 members · lag 5")
    expect(page.locator("#groups .member-group-line")).to_contain_text("lag 5")
    expect(lag).to_have_text([str(count) for count in lags])
