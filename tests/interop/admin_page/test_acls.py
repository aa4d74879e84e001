"""Access control on the page: rules, what they decide, and denied requests."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from mock_kafka import ApiError, open_admin
from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.served_cluster import EVIL, Cluster, serve

RULE = {
    "principal": "alice",
    "permission_type": "DENY",
    "operation": "ALL",
    "resource_type": "TOPIC",
    "resource_name": "ord",
    "pattern_type": "PREFIXED",
}


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[Cluster]:
    yield from serve("-o", "authorizer.class.name=acl", "-o", "super.users=User:root")


def test_the_page_adds_shows_and_removes_rules(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    expect(page.locator("#acls")).to_contain_text("No rules.")
    page.get_by_role("button", name="Add an ACL").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Who").fill(EVIL)
    dialog.get_by_label("Operation").fill("reed")
    dialog.get_by_role("textbox", name="Name").fill("orders")
    dialog.get_by_label("Pattern").select_option("names that begin so")
    accessibility.check(page)
    dialog.get_by_role("button", name="Add").click()
    expect(dialog.get_by_role("alert")).to_contain_text("did you mean READ?")
    dialog.get_by_label("Operation").fill("read")
    dialog.get_by_role("button", name="Add").click()
    row = page.locator("#acls tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(f"User:{EVIL}")
    expect(row).to_contain_text("TOPIC orders…")
    [rule] = cluster.ask("GET", "/v1/acls")
    assert (rule["operation"], rule["pattern_type"], rule["host"]) == ("READ", "PREFIXED", "*")
    accessibility.check(page)
    row.get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)
    assert cluster.ask("GET", "/v1/acls") == []


def test_the_page_says_what_a_user_may_do_and_why(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    allow = {**RULE, "permission_type": "ALLOW", "operation": "READ"}
    cluster.ask("POST", "/v1/acls", {"acls": [allow]})
    page.get_by_text("What may a user do?").click()
    page.get_by_label("User", exact=True).fill("alice")
    page.get_by_label("Name of the resource").fill("orders")
    page.get_by_role("button", name="Ask").click()
    rows = page.locator("#decisions tbody tr")
    expect(rows).to_have_count(8)
    expect(rows.nth(0)).to_contain_text("READ")
    expect(rows.nth(0)).to_contain_text("allowed")
    expect(rows.nth(0)).to_contain_text("User:alice ALLOW READ TOPIC ord…")
    expect(rows.nth(1)).to_contain_text("denied")
    expect(rows.nth(1)).to_contain_text("DefaultDeny")
    accessibility.check(page)
    cluster.ask("POST", "/v1/acls", {"acls": [RULE]})
    expect(rows.nth(0)).to_contain_text("denied")


def test_a_denied_request_says_what_was_denied(cluster: Cluster, page: Page) -> None:
    cluster.ask("POST", "/v1/topics", {"name": "orders"})
    with open_admin(cluster.bootstrap_servers) as admin:
        error = admin.describe_topics(["orders"])["orders"]
    assert str(error) == "TOPIC_AUTHORIZATION_FAILED"
    row = page.locator("#lines tr", has_text="denied DESCRIBE TOPIC orders").first
    expect(row).to_contain_text("TOPIC_AUTHORIZATION_FAILED")
    expect(row.get_by_title("DefaultDeny")).to_be_visible()


def test_names_in_rules_and_denials_are_text(cluster: Cluster, page: Page) -> None:
    rule = {**RULE, "principal": EVIL, "resource_type": "GROUP", "resource_name": EVIL}
    cluster.ask("POST", "/v1/acls", {"acls": [rule, {**rule, "principal": "*"}]})
    rows = page.locator("#acls tbody tr")
    expect(rows.filter(has_text=f"GROUP {EVIL}…")).to_have_count(2)

    with (
        open_admin(cluster.bootstrap_servers) as admin,
        pytest.raises(ApiError, match="GROUP_AUTHORIZATION_FAILED"),
    ):
        admin.describe_groups([EVIL])
    row = page.locator("#lines tr", has_text=f"denied DESCRIBE GROUP {EVIL}").first
    expect(row.get_by_title(f"User:* DENY ALL GROUP {EVIL}…")).to_be_visible()

    page.get_by_text("What may a user do?").click()
    page.get_by_label("User", exact=True).fill(EVIL)
    page.get_by_label("Name of the resource").fill(EVIL)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#decisions tbody tr").first).to_contain_text("DefaultDeny")
    assert page.locator("#acls img, #lines img, #decisions img").count() == 0
    expect(page).not_to_have_title("owned")
