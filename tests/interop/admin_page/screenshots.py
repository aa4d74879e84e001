"""Screenshots of the admin page, in `artifacts/screenshots`."""

from pathlib import Path

from playwright.sync_api import Page

SCREENSHOTS = Path(__file__).parent.parent.parent.parent / "artifacts" / "screenshots"


def keep(page: Page, name: str) -> None:
    """Save the whole page, without the effects of a pointer over it."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.mouse.move(2, 2)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=str(SCREENSHOTS / f"{name}.png"), full_page=True)


def keep_in_both_schemes(page: Page, name: str) -> None:
    """Save `name`-light and `name`-dark."""
    page.emulate_media(color_scheme="dark")
    keep(page, f"{name}-dark")
    page.emulate_media(color_scheme="light")
    keep(page, f"{name}-light")
