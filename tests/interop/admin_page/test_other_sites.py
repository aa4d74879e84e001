"""Pages of other sites in a real browser: they may neither change the cluster nor read it."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page

from tests.interop.admin_page.served_cluster import Cluster
from tests.interop.admin_page.served_pages import serving_pages
from tests.interop.chromium import CHROMIUM

SEND = """
async ([url, options]) => {
  try {
    const response = await fetch(url, options);
    return [response.type, response.status];
  } catch (error) {
    return [error.constructor.name, 0];
  }
}
"""
SUBMIT = """
(url) => {
  const form = document.createElement('form');
  Object.assign(form, { method: 'POST', action: url, enctype: 'text/plain', target: 'answer' });
  const input = document.createElement('input');
  Object.assign(input, { name: '{"name": "stolen", "x": "', value: '"}' });
  form.append(input);
  document.body.append(form);
  form.submit();
}
"""
FRAMES = '<title>attack</title><iframe name="answer"></iframe>'


@contextmanager
def other_site() -> Iterator[str]:
    """Serve a page at another port of this machine."""
    page = 200, {"Content-Type": "text/html"}, FRAMES.encode()
    with serving_pages(lambda _path: page) as port:
        yield f"http://localhost:{port}/"


@pytest.fixture
def attack(browser: Browser) -> Iterator[Page]:
    """A page of another site, at another host and port."""
    with other_site() as url:
        page = browser.new_page()
        page.goto(url)
        yield page
        page.close()


def names(cluster: Cluster) -> list[str]:
    return [topic["name"] for topic in cluster.ask("GET", "/v1/topics")]


def test_a_page_of_another_site_cannot_change_the_cluster(cluster: Cluster, attack: Page) -> None:
    cluster.ask("POST", "/v1/topics", {"name": "orders", "partitions": 1, "replication_factor": 1})
    body = '{"name": "stolen"}'
    for path, options in (
        ("/v1/topics", {"method": "POST", "body": body, "mode": "no-cors"}),
        ("/v1/topics", {"method": "POST", "body": body}),
        ("/v1/topics", {"method": "POST", "body": body, "headers": {"Content-Type": "text/plain"}}),
        ("/v1/reset", {"method": "POST", "mode": "no-cors"}),
        ("/v1/topics/orders", {"method": "DELETE"}),
        ("/v1/quotas", {"method": "PUT", "body": "{}"}),
    ):
        kind, _status = attack.evaluate(SEND, [cluster.url + path, options])
        assert kind in {"TypeError", "opaque"}, (path, options)
        assert names(cluster) == ["orders"], (path, options)

    with attack.expect_response(lambda response: response.url.startswith(cluster.url)) as info:
        attack.evaluate(SUBMIT, f"{cluster.url}/v1/topics")
    assert info.value.status == 403
    attack.evaluate(
        'url => navigator.sendBeacon(url, \'{"name": "stolen"}\')', f"{cluster.url}/v1/topics"
    )
    # The beacon has its answer when a later request has.
    assert attack.evaluate(SEND, [f"{cluster.url}/healthz", {"mode": "no-cors"}])[0] != "basic"
    assert names(cluster) == ["orders"]


def test_a_page_of_another_site_cannot_read_or_frame_the_page(
    cluster: Cluster, attack: Page
) -> None:
    for path in ("/v1/brokers", "/v1/topics", "/v1/snapshot"):
        assert attack.evaluate(SEND, [cluster.url + path, {}]) == ["TypeError", 0]
    with attack.expect_response(lambda response: response.url.startswith(cluster.url)):
        attack.evaluate("url => { document.querySelector('iframe').src = url; }", f"{cluster.url}/")
    frame = attack.frame(name="answer")
    assert frame is not None
    frame.wait_for_load_state()
    assert frame.locator("#topics").count() == 0


def test_a_name_that_another_site_controls_does_not_reach_the_port(
    cluster: Cluster, browser: Browser
) -> None:
    """DNS rebinding: for the browser the name and the port are one site."""
    port = cluster.url.rpartition(":")[2]
    rules = ["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"]
    rebound = browser.browser_type.launch(executable_path=CHROMIUM, args=rules)
    page = rebound.new_page()
    response = page.goto(f"http://evil.example:{port}/")
    assert response is not None
    assert response.status == 403
    options = {"method": "POST", "body": '{"name": "stolen"}'}
    assert page.evaluate(SEND, ["/v1/topics", options]) == ["basic", 403]
    assert page.evaluate(SEND, ["/v1/topics", {}]) == ["basic", 403]
    assert names(cluster) == []
    rebound.close()
