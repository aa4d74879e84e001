from collections.abc import Iterator

from quotas.metrics import Measurement, MetricsRegistry, client_tags


def test_a_registry_reads_its_sources_at_the_given_time() -> None:
    def source(now_ms: int) -> Iterator[Measurement]:
        yield Measurement("Produce", "byte-rate", {"user": "u"}, now_ms)

    registry = MetricsRegistry()
    registry.add(source)
    registry.add(source, {"broker-id": "1"})

    assert list(registry.measure(5)) == [
        Measurement("Produce", "byte-rate", {"user": "u"}, 5),
        Measurement("Produce", "byte-rate", {"user": "u", "broker-id": "1"}, 5),
    ]


def test_a_users_name_is_percent_encoded_and_a_client_id_is_not() -> None:
    assert client_tags(("a b*~/ü", "c d*")) == {
        "user": "a%20b%2A%7E%2F%C3%BC",
        "client-id": "c d*",
    }
