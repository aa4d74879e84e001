"""A cluster of three brokers, its page in Chromium, and axe.

Every test saves a screenshot of the page at its end in `artifacts/screenshots`; one of the light
scheme is in docs/pictures. Without Chromium the tests are skipped: Debian has it as the package
`chromium`; the environment variable CHROMIUM names another binary. Without axe-core the tests run,
and each check that was left out is reported as skipped.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.interop.admin_page.accessibility import Accessibility, NoAxeError, axe_source
from tests.interop.admin_page.screenshots import keep
from tests.interop.admin_page.served_cluster import Cluster, serve
from tests.interop.chromium import chromium, errors_in


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[Cluster]:
    heartbeats = [
        f"group.{kind}.{limit}heartbeat.interval.ms=100"
        for kind in ("consumer", "share")
        for limit in ("min.", "")
    ]
    settings = [
        *("num.partitions=4", "default.replication.factor=2", "cluster.features=share.version=1"),
        *("group.initial.rebalance.delay.ms=0", *heartbeats),
    ]
    yield from serve(*(word for setting in settings for word in ("-o", setting)))


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Cluster:
    shared_cluster.ask("POST", "/v1/reset")
    return shared_cluster


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium()


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Browser, cluster: Cluster) -> Iterator[Page]:
    """Open the page; fail on errors in it and on requests to other hosts."""
    opened = browser.new_page(viewport={"width": 1440, "height": 1000})
    wrongs = errors_in(opened)
    requested: list[str] = []
    opened.on("request", lambda request: requested.append(request.url))
    opened.goto(cluster.url)
    expect(opened.locator("#pulse")).to_have_class("up")
    yield opened
    keep(opened, re.sub(r"\W+", "-", request.node.name).strip("-"))
    assert wrongs == []
    assert [url for url in requested if not url.startswith((cluster.url, "data:"))] == []
    opened.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str | NoAxeError:
    """The source of axe-core, or why it is not here."""
    try:
        return axe_source(tmp_path_factory.mktemp("axe-core"))
    except NoAxeError as error:
        return error


@pytest.fixture
def accessibility(axe: str | NoAxeError) -> Iterator[Accessibility]:
    """Check pages with axe; the test is also reported as skipped if that was not possible."""
    checker = Accessibility(axe)
    yield checker
    if checker.reason_unchecked is not None:
        pytest.skip(checker.reason_unchecked)
