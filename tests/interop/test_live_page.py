"""The live page of a load in Chromium."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from loadgen.live.page_server import PageServer
from tests.interop.admin_page.screenshots import keep_in_both_schemes
from tests.interop.chromium import chromium, errors_in
from tests.loadgen.live.made_batches import batch_of_second, figures_of, lateness

FAULTS = [
    {"name": "leader moves", "begun_s": 0.5, "ended_s": None, "lasts": False},
    {"name": "broker 3 is down", "begun_s": 1.2, "ended_s": 2.0, "lasts": True},
    {
        "name": "a name too long for its chart",
        "begun_s": 2.6,
        "ended_s": None,
        "lasts": True,
    },
    {"name": "not read yet", "begun_s": 9.0, "ended_s": None, "lasts": True},
]
RUN = {"run": "small-1", "plan": "small", "target": "a:1", "duration_s": 10.0}


@pytest.fixture
def browser() -> Iterator[Browser]:
    yield from chromium()


def test_the_live_page_follows_the_run_until_it_is_over(browser: Browser) -> None:
    content: dict[str, Any] = {"run": RUN, "state": "running", "note": None, "figures": None}
    content["faults"] = []
    server = PageServer("127.0.0.1", 0, lambda: content)
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    errors = errors_in(page)
    try:
        page.goto(server.url)
        expect(page.locator("#subtitle")).to_have_text("waiting for the first rows")
        figures = figures_of(batch_of_second(0))
        content["figures"] = figures.as_dict()
        expect(page.locator("#tenants tr").last).to_contain_text("shop")
        expect(page.locator("#verdicts")).to_contain_text("passed so far")
        for second in range(1, 4):
            figures.take(replace(batch_of_second(second), lateness=[lateness(0, second, 90_000)]))
        content["figures"] = figures.as_dict()
        expect(page.locator("#tiles")).to_contain_text("40requests")
        expect(page.locator("#verdicts")).to_contain_text("failed so far")
        expect(page.locator("#charts svg")).to_have_count(4)
        content["faults"] = FAULTS
        rates = page.locator("#charts svg").first
        expect(rates.locator("rect.fault")).to_have_count(3)
        names = rates.locator("text.fault").evaluate_all(
            "found => found.map(t => t.firstChild.data)"
        )
        assert names == ["leader moves", "broker 3 is down", "a name too long for its…"]
        widths = [float(band.get_attribute("width") or 0) for band in rates.locator("rect").all()]
        assert [round(width) for width in widths] == [0, 121, 61]
        content["note"] = "the figures stopped: no memory"
        expect(page.get_by_role("status")).to_have_text("the figures stopped: no memory")
        final = [{**row, "is_provisional": False} for row in content["figures"]["verdicts"]]
        content["figures"] = {**content["figures"], "verdicts": final}
        content["state"] = "over"
        expect(page.locator("#subtitle")).to_contain_text("over")
        expect(page.locator("#verdicts")).not_to_contain_text("so far")
        keep_in_both_schemes(page, "live-page")
    finally:
        page.close()
        server.close()
    assert errors == []
