"""A headless Chromium for the tests of pages, which are skipped without one."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


EXPECT_TIMEOUT_MS = 30_000
"""The page reads all its parts once a second, which takes long where other tests use all cores."""


def chromium() -> Iterator[Browser]:
    """Yield a browser, or skip the test."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: apt-get install chromium, or set CHROMIUM")
    expect.set_options(timeout=EXPECT_TIMEOUT_MS)
    with sync_playwright() as playwright:
        # Chromium's sandbox needs privileges that a container rarely has.
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


def errors_in(page: Page) -> list[str]:
    """Return a list that gets the errors of a page, except those of refused requests."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("console", lambda line: found.append(line.text) if _is_wrong(line) else None)
    return found


def _is_wrong(line: ConsoleMessage) -> bool:
    return line.type == "error" and "the server responded with a status" not in line.text
