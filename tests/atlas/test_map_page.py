"""The map in a browser: filters, the cell that is opened, keys, and accessibility."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from atlas.map_page import LINES_MAX, render
from atlas.results import shown
from atlas.situation import load_situations
from tests.atlas.run_folder import request, row
from tests.interop.admin_page.accessibility import SCHEMES, NoAxeError, axe_source, violations
from tests.interop.chromium import chromium, errors_in

pytestmark = [pytest.mark.slow, pytest.mark.interop]
SITUATIONS = load_situations(["PRODUCE-CORRUPT*", "PRODUCE-INVALID_REC*", "METADATA-*"])
OPENED = "PRODUCE-CORRUPT_MESSAGE-once"


def rows_of(client: str, cells: dict[str, str]) -> list[dict[str, object]]:
    return [
        row(
            cells.get(name, "as_expected"),
            client=client,
            situation=name,
            cells=["wrong", "differs"],
        )
        for name in SITUATIONS
    ]


@pytest.fixture(scope="module")
def map_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    cells = rows_of("kafka-python", {OPENED: "wrong"}) + rows_of("aiokafka", {})
    for cell in cells:
        cell["is_flaky"] = cell["situation"] == OPENED
    requests = [request(str(cell["experiment_id"]), number=1) for cell in cells]
    requests += [
        request(f"kafka-python/3.0.12/{OPENED}/1", number=number, at_ms=number)
        for number in range(2, 200)
    ]
    matrix = {
        "command": "mock-kafka atlas --out DIR",
        "version": "1.0",
        "written": "2026-11-29",
        "situations": [shown(situation) for situation in SITUATIONS.values()],
        "clients": [("aiokafka", "3.0.12"), ("kafka-python", "3.0.12")],
    }
    path = tmp_path_factory.mktemp("map") / "map.html"
    path.write_text(render(matrix, cells, requests), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium()


@pytest.fixture
def page(browser: Browser, map_url: str) -> Iterator[Page]:
    """Open the map; fail on errors in it, and on requests to hosts."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    wrongs = errors_in(opened)
    requested: list[str] = []
    opened.on("request", lambda request: requested.append(request.url))
    opened.goto(map_url)
    yield opened
    assert wrongs == []
    assert requested == [map_url]
    opened.close()


def test_filters_leave_rows_and_columns(page: Page) -> None:
    rows = page.locator("#body tr")
    expect(rows).to_have_count(len(SITUATIONS))
    page.get_by_label("Text").fill("corrupt_message once")
    expect(rows).to_have_count(1)
    page.get_by_label("Text").fill("")
    page.get_by_label("Verdict").select_option("wrong")
    expect(rows).to_have_count(1)
    page.get_by_label("Verdict").select_option("apart")
    expect(rows).to_have_count(1)
    page.get_by_label("Verdict").select_option("")
    page.get_by_label("Family").select_option("METADATA")
    expect(rows).to_have_count(sum(name.startswith("METADATA") for name in SITUATIONS))
    page.get_by_role("checkbox", name="kafka-python").uncheck()
    expect(page.locator("#head th")).to_have_count(2)


def test_a_cell_opens_what_happened_and_how_to_repeat_it(page: Page) -> None:
    page.get_by_label(f"kafka-python 3.0.12, {OPENED}: wrong, flaky").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(SITUATIONS[OPENED].title)
    expect(dialog.locator(".timeline tr")).to_have_count(LINES_MAX)
    expect(dialog).to_contain_text("and 80 more")
    expect(dialog).to_contain_text("#1 Produce v13 orders -> responded CORRUPT_MESSAGE")
    expect(dialog).to_contain_text(f"mock-kafka atlas try kafka-python {OPENED} --seed 1")
    source = SITUATIONS[OPENED].sources[0]
    expect(dialog.get_by_role("link", name=source.name).first).to_have_attribute("href", source.url)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_arrow_keys_go_from_cell_to_cell(page: Page) -> None:
    page.locator("#body button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#body tr").nth(1).locator("button").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_a_phone_shows_the_map_without_a_wider_page(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing(page: Page, tmp_path: Path, scheme: str) -> None:
    try:
        axe = axe_source(tmp_path)
    except NoAxeError as error:
        pytest.skip(str(error))
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    assert violations(page, axe) == []
    page.get_by_label(f"kafka-python 3.0.12, {OPENED}: wrong").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page, axe) == []
