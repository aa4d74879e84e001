"""A large cluster under load: the page stays quick, and draws what is in view."""

import threading

from kafka import KafkaProducer
from playwright.sync_api import Page, expect

from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.screenshots import keep_in_both_schemes
from tests.interop.admin_page.served_cluster import Cluster

TOPICS, PARTITIONS, GROUPS = 1_000, 5, 200
LOADED_TOPICS = 20
NODES_MAX = 12_000
"""Elements of the page, whatever the cluster has."""
CLICK_MS_MAX = 3_000
"""From a click until the page shows what it opened, on a machine that does other things, too."""


def test_a_large_cluster_under_load_is_browsed(
    cluster: Cluster, page: Page, accessibility: Accessibility
) -> None:
    offsets = [
        {"group": f"billing-{n:03}", "topic": f"orders-{n}", "partition": partition, "offset": 0}
        for n in range(GROUPS)
        for partition in range(PARTITIONS)
    ]
    partitions = [{"records": [{"value": "x"}]}] * PARTITIONS
    topics = [{"name": f"orders-{n}", "partitions": partitions} for n in range(TOPICS)]
    cluster.ask("PUT", "/v1/snapshot", {"topics": topics, "offsets": offsets})
    is_over = threading.Event()

    def load() -> None:
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, client_id="load")
        number = 0
        while not is_over.is_set():
            producer.send(f"orders-{number % LOADED_TOPICS}", b"one coffee")
            number += 1
            if number % 50 == 0:
                producer.flush()
        producer.close()

    thread = threading.Thread(target=load)
    thread.start()
    try:
        expect(page.locator("#topics-pager")).to_contain_text("1 to 200 of 1,000")
        expect(page.locator("#groups-count")).to_have_text("200 groups")
        expect(page.locator("#groups .member-group").first).to_contain_text("lag")
        expect(page.locator("#lines tr", has_text="load").first).to_be_visible()
        assert page.evaluate("document.querySelectorAll('*').length") < NODES_MAX
        took_ms = page.evaluate(
            """
            async () => {
              const began = performance.now();
              document.querySelector("#topic-orders-7 .title").click();
              const isOpen = () => document.querySelector('.messages tbody tr');
              while (!isOpen()) await new Promise(requestAnimationFrame);
              return performance.now() - began;
            }
            """
        )
        assert took_ms < CLICK_MS_MAX
        page.get_by_label("Search everything").fill("orders-99")
        results = page.get_by_role("navigation", name="Results")
        expect(results).to_contain_text("Topics: 11 results")
        page.keyboard.press("Escape")
    finally:
        is_over.set()
        thread.join()
    accessibility.check(page)
    keep_in_both_schemes(page, "large-cluster")
