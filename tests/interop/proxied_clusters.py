"""Put a proxy in front of every cluster of the tests, so that all clients go through it.

PROXIED=passed scripts/test --interop, or PROXIED=noted: then the proxy has a journal, so that it
looks at every request.
"""

import os

import pytest

from mock_kafka import KafkaProxy, MockKafka

PROXIED = os.environ.get("PROXIED", "")


def install(patch: pytest.MonkeyPatch) -> None:
    """Give every plain cluster that starts from now on a proxy, whose address clients get."""
    start, stop, direct = MockKafka.start, MockKafka.stop, MockKafka.bootstrap_servers
    proxies: dict[int, KafkaProxy] = {}

    def start_both(kafka: MockKafka) -> MockKafka:
        start(kafka)
        has_own_listeners = "listeners" in kafka.config or "advertised.listeners" in kafka.config
        if not (kafka.tls or kafka.users or has_own_listeners):
            config = {"journal.enable": PROXIED == "noted"}
            proxies[id(kafka)] = KafkaProxy(direct.fget(kafka), config).start()  # type: ignore[attr-defined]
        return kafka

    def stop_both(kafka: MockKafka) -> None:
        proxy = proxies.pop(id(kafka), None)
        if proxy is not None:
            proxy.stop()
        stop(kafka)

    def bootstrap_servers(kafka: MockKafka) -> str:
        proxy = proxies.get(id(kafka))
        return direct.fget(kafka) if proxy is None else proxy.bootstrap_servers  # type: ignore[attr-defined]

    patch.setattr(MockKafka, "start", start_both)
    patch.setattr(MockKafka, "stop", stop_both)
    patch.setattr(MockKafka, "bootstrap_servers", property(bootstrap_servers))
