"""The keys of the page, the link that skips its head, and the colours that a reader chooses."""

from playwright.sync_api import Page, expect

from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.served_cluster import Cluster

GROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(246, 246, 243)", "rgb(21, 23, 26)"


def test_a_dialog_lists_the_keys(page: Page, accessibility: Accessibility) -> None:
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("search everything")
    accessibility.check(page)
    page.keyboard.press("/")
    expect(page.get_by_label("Search everything")).not_to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()

    # In a field they are characters.
    page.get_by_label("Search topics").focus()
    page.keyboard.type("/?")
    expect(page.get_by_label("Search topics")).to_have_value("/?")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Keys").click()
    expect(dialog).to_be_visible()


def test_a_link_skips_the_head(cluster: Cluster, page: Page, accessibility: Accessibility) -> None:
    cluster.ask("POST", "/v1/topics", {"name": "orders", "partitions": 1, "replication_factor": 1})
    title = page.get_by_role("button", name="orders", exact=True)
    expect(title).to_be_visible()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the topics")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    accessibility.check(page)
    skip.focus()
    page.keyboard.press("Enter")
    expect(title).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator(".opened")).to_contain_text("No records.")


def test_every_button_and_field_is_reached_with_the_keyboard(cluster: Cluster, page: Page) -> None:
    cluster.produce("checkout", "orders", b"one coffee")
    page.goto(f"{cluster.url}/#/topics/orders/0")
    expect(page.locator(".messages")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
    # What Tab does not reach is in a toolbar, or a tile of a topic, where the arrow keys reach it.
    unreached = page.evaluate(
        """
        [...document.querySelectorAll('button, input, select, textarea, a, summary')]
          .filter((each) => each.checkVisibility() && each.tabIndex < 0)
          .filter((each) => !each.closest('[role=toolbar], .topic .tiles'))
          .map((each) => each.outerHTML)
        """
    )
    assert unreached == []


def test_the_colours_are_chosen_and_remembered(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(GROUND) == DARK
    switch = page.locator("#scheme")
    expect(switch).to_have_text("Auto")
    switch.click()
    expect(switch).to_have_text("Light")
    assert page.evaluate(GROUND) == LIGHT
    page.reload()
    expect(switch).to_have_text("Light")
    assert page.evaluate(GROUND) == LIGHT
    page.emulate_media(color_scheme="light")
    switch.click()
    expect(switch).to_have_text("Dark")
    assert page.evaluate(GROUND) == DARK
    switch.click()
    expect(switch).to_have_text("Auto")
    assert page.evaluate(GROUND) == LIGHT
