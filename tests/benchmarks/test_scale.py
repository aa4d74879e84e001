import pytest

from benchmarks import scale


def test_every_member_joins_and_is_counted() -> None:
    figures = scale.measure_members(20)
    assert figures["lost"] == 0
    assert figures["heartbeat_us_p99"] > 0


def test_every_fetch_gets_records_or_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "PARTITIONS", 4)
    figures = scale.measure_fetches(10)
    assert figures["lost"] == 0
    assert figures["answered_with_records"] == 6
    assert figures["append_us_p99"] > 0


@pytest.mark.slow
def test_every_tls_connection_is_answered() -> None:
    figures = scale.measure_tls(10)
    assert figures["lost"] == 0
    assert figures["errors"] == []
