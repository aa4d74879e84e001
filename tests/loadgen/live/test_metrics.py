"""The figures of a load as Prometheus text."""

from prometheus_client.parser import text_string_to_metric_families

from loadgen.live.figures import Batch
from loadgen.live.metrics import metrics_text
from tests.loadgen.live.made_batches import batch_of_second, figures_of, requests

RUN = {"run": "small-1", "plan": "small", "target": "a:1", "duration_s": 10.0}


def samples_of(content: dict[str, object]) -> dict[tuple[str, str], float]:
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(metrics_text(content))
        for sample in family.samples
    }


def test_figures_are_counters_and_gauges_by_tenant() -> None:
    throttled = requests(1, 3, error_code=89, throttled=3, throttle_total_ms=60, throttle_max_ms=30)
    figures = figures_of(batch_of_second(0), batch_of_second(1), Batch([throttled]))
    found = samples_of({"run": RUN, "state": "running", "figures": figures.as_dict()})
    assert found["kafka_load_is_over", ""] == 0
    assert found["kafka_load_requests_total", "Produce,NONE,new,responded,shop"] == 20
    assert found["kafka_load_throttled_total", "shop"] == 3
    assert found["kafka_load_throttle_time_ms_total", "shop"] == 60
    assert found["kafka_load_events_completed_total", "shop"] == 20
    assert 1.98 < found["kafka_load_latency_ms", "0.99,shop"] < 2.02
    assert found["kafka_load_read_s", ""] == 1.5
    checks = [value for (name, _), value in found.items() if name == "kafka_load_check_failed"]
    assert checks == [0, 0]  # of the throttles and of the generator


def test_a_run_without_rows_has_its_names_only() -> None:
    found = samples_of({"run": RUN, "state": "over", "figures": None})
    assert found == {
        ("kafka_load_run", "small,small-1,a:1"): 1,
        ("kafka_load_is_over", ""): 1,
    }
