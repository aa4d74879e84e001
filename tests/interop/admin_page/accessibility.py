"""axe-core, the checker of WCAG rules (MPL-2.0), which npm downloads once."""

import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page

from tests.interop.admin_page.screenshots import SCREENSHOTS

PACKAGE, VERSION = "axe-core", "4.14.1"
SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
DOWNLOAD_TIMEOUT_S = 60
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


class NoAxeError(Exception):
    """axe-core could not be downloaded; the message says why."""


def axe_source(folder: Path) -> str:
    """Return the source of axe-core; the first time npm downloads it into `folder`."""
    kept = SCREENSHOTS.parent / f"{PACKAGE}-{VERSION}.js"
    if not kept.exists():
        if shutil.which("npm") is None:
            raise NoAxeError("axe-core comes from npm, and there is no npm here")
        command = ["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"]
        try:
            subprocess.run(command, cwd=folder, timeout=DOWNLOAD_TIMEOUT_S, check=True)
        except subprocess.SubprocessError as error:
            raise NoAxeError("npm could not download axe-core") from error
        with tarfile.open(folder / f"{PACKAGE}-{VERSION}.tgz") as files:
            files.extract("package/axe.min.js", folder, filter="data")
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder / "package" / "axe.min.js", kept)
    content = kept.read_bytes()
    assert hashlib.sha256(content).hexdigest() == SHA256
    return content.decode()


def violations(page: Page, axe: str) -> list[str]:
    """Return what axe finds wrong with the page as it is now; `axe` is its source."""
    page.evaluate(axe)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    assert found["passes"]
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


class Accessibility:
    """Check pages with axe-core, or remember why none was checked."""

    def __init__(self, axe: str | NoAxeError) -> None:
        self.axe = axe
        self.reason_unchecked: str | None = None

    def check(self, page: Page) -> None:
        """Assert that axe finds nothing wrong with the page as it is now, in both schemes."""
        if isinstance(self.axe, NoAxeError):
            self.reason_unchecked = f"accessibility was not checked: {self.axe}"
            return
        # The list of requests stands: otherwise axe looks at each of its rows again and again.
        page.locator("#pause").dispatch_event("click")
        page.mouse.move(2, 2)
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert [f"{found} ({scheme})" for found in violations(page, self.axe)] == []
        page.emulate_media(color_scheme="light", reduced_motion="no-preference")
        page.locator("#pause").dispatch_event("click")
