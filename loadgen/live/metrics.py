"""The figures of a load as Prometheus text: `kafka_load_requests_total{tenant="shop",...} 12.0`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from loadgen.analysis.event_figures import PERCENTILES

_TENANT = ("tenant",)
_THROTTLES = {
    "kafka_load_throttled": ("throttled", "Responses with a throttle time"),
    "kafka_load_throttle_time_ms": ("throttle_total_ms", "Sum of the throttle times"),
    "kafka_load_requests_sent_early": ("sent_early", "Requests sent while throttled"),
}


class _Families(Collector):
    """The metric families of one set of figures."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = content

    def collect(self) -> Iterator[Metric]:
        """Yield each family with its values."""
        run = self._content["run"]
        labels = ("run", "plan", "target")
        yield _gauge("kafka_load_run", "The run; always 1", labels, [(run, 1)])
        yield _gauge(
            "kafka_load_is_over",
            "Whether all requests have been sent and read",
            (),
            [({}, self._content["state"] != "running")],
        )
        figures = self._content["figures"]
        if figures is not None:
            yield from _of_figures(figures)


def _of_figures(figures: Mapping[str, Any]) -> Iterator[Metric]:
    yield _gauge(
        "kafka_load_read_s",
        "Seconds since the start of the measured part until which rows have been read",
        (),
        [({}, figures["read_s"])],
    )
    yield _counter(
        "kafka_load_requests",
        "Requests by their end; those that were due and not sent have the status not_sent",
        ("tenant", "api", "status", "kind", "error"),
        [(row, row["requests"]) for row in figures["requests"]],
    )
    tenants = figures["tenants"]
    events = [(row, row["events"]) for row in tenants]
    yield _counter("kafka_load_events", "Events that were due", _TENANT, events)
    completed = [(row, row["completed"]) for row in tenants]
    yield _counter("kafka_load_events_completed", "Completed events", _TENANT, completed)
    for name, key, text in (
        ("kafka_load_request_rate", "requests_per_s", "Requests of the newest complete second"),
        ("kafka_load_response_rate", "responses_per_s", "Responses of the newest complete second"),
    ):
        yield _gauge(name, text, _TENANT, [(row, row[key]) for row in tenants])
    latencies = [
        ({**row, "quantile": f"{share:g}"}, time_us / 1000)
        for row in tenants
        if row["response_us"] is not None
        for share, time_us in zip(PERCENTILES, row["response_us"], strict=True)
    ]
    yield _gauge(
        "kafka_load_latency_ms",
        "From the intended time of an event to the response that completes it",
        ("tenant", "quantile"),
        latencies,
    )
    for name, (key, text) in _THROTTLES.items():
        yield _counter(name, text, _TENANT, [(row, row[key]) for row in figures["throttles"]])
    yield _gauge(
        "kafka_load_throttle_time_max_ms",
        "The longest throttle time",
        _TENANT,
        [(row, row["throttle_max_ms"]) for row in figures["throttles"]],
    )
    lateness = zip((0.5, 0.99), figures["lateness_us"] or (), strict=False)
    yield _gauge(
        "kafka_load_lateness_ms",
        "How late the load generator itself was",
        ("quantile",),
        [({"quantile": f"{share:g}"}, time_us / 1000) for share, time_us in lateness],
    )
    checked = [row for row in figures["verdicts"] if row["verdict"] != "not checked"]
    yield _gauge(
        "kafka_load_check_failed",
        "1 if the check has failed so far, 0 if it has passed so far",
        ("check", "scope"),
        [(row, row["verdict"] == "failed") for row in checked],
    )


def metrics_text(content: Mapping[str, Any]) -> str:
    """Return the content of the live page in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Families(content))
    return generate_latest(registry).decode()


Values = Sequence[tuple[Mapping[str, Any], float]]


def _gauge(name: str, text: str, labels: Sequence[str], values: Values) -> Metric:
    return _filled(GaugeMetricFamily(name, text, labels=labels), labels, values)


def _counter(name: str, text: str, labels: Sequence[str], values: Values) -> Metric:
    return _filled(CounterMetricFamily(name, text, labels=labels), labels, values)


def _filled(
    family: GaugeMetricFamily | CounterMetricFamily, labels: Sequence[str], values: Values
) -> Metric:
    for row, value in values:
        family.add_metric([str(row[label] or "") for label in labels], value)
    return family
