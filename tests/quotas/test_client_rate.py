import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.client_quotas import ClientQuotas
from quotas.client_rate import FETCH, PRODUCE, REQUEST, ClientRateQuotaManager
from quotas.counters import IDLE_MS
from quotas.entities import make_entity

P, C, R = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
MILLISECOND_NS = 1_000_000


class Setup:
    """A manager of bytes produced, with windows of a second."""

    def __init__(self, sample_count: int = 11) -> None:
        self.quotas = ClientQuotas()
        self.produce = ClientRateQuotaManager(self.quotas.limits[P], PRODUCE, sample_count, 1)

    def set(self, rate: float | None, **names: str | None) -> None:
        entity = make_entity((name.replace("_", "-"), value) for name, value in names.items())
        assert self.quotas.alter(entity, [(P, rate)]) is None

    def is_throttled(self, user: str, client_id: str | None, rate: int) -> bool:
        """Return whether one record of eleven seconds at this rate is throttled."""
        return self.produce.record(user, client_id, rate * 11, 0) > 0


def test_the_most_specific_quota_applies_and_its_entity_decides_who_shares_it() -> None:
    setup = Setup()
    throttled = setup.is_throttled
    setup.set(1000, user=None)
    setup.set(2000, client_id=None)
    setup.set(3000, user=None, client_id=None)
    setup.set(4000, user="A")
    setup.set(5000, user="A", client_id="c1")
    setup.set(6000, user="B")
    setup.set(7000, user="B", client_id="c1")
    setup.set(8000, user="B", client_id=None)
    setup.set(10_000, user="C")
    setup.set(9000, client_id="c1")

    assert not throttled("A", "c1", 4500)
    assert throttled("A", "c2", 4500)
    assert throttled("A", "c3", 0), "shares A's"
    assert not throttled("A", "c1", 0), "has its own"
    assert throttled("B", "c1", 8000)
    assert not throttled("B", "c2", 7000)
    assert not throttled("B", "c3", 7000)
    assert throttled("D", "c1", 3500)
    assert not throttled("D", "c2", 2500)
    assert not throttled("E", "c1", 2500)

    setup.set(None, user=None, client_id=None)
    assert not throttled("D", "c1", 0), "counts from zero under the other tags"
    assert throttled("E", "c4", 1500)
    assert not throttled("F", "c4", 800)
    assert throttled("F", "c5", 800), "shares F's"

    setup.set(None, user=None)
    assert not throttled("F", "c4", 0)
    assert not throttled("F", "c5", 0)
    assert throttled("F", "c5", 2500)
    assert throttled("G", "c5", 0), "shares the client id's"


def test_a_quota_change_applies_to_values_recorded_before() -> None:
    setup = Setup()
    setup.set(4000, client_id=None)
    setup.set(2000, client_id="c")
    assert setup.is_throttled("u", "c", 2500)
    setup.set(3000, client_id="c")
    assert not setup.is_throttled("u", "c", 0)
    setup.set(500, client_id="c")
    assert setup.is_throttled("u", "c", 0)
    setup.set(None, client_id="c")
    assert setup.produce.record("u", "c", 1000 * 11, 0) == 0


def test_nothing_is_kept_before_a_quota_was_set() -> None:
    setup = Setup()

    assert setup.produce.record("u", "c", 10**9, 0) == 0
    setup.produce.unrecord("u", "c", 10**9, 0)
    setup.produce.record_exempt(10**9, 0)
    assert setup.produce.bytes_max("u", "c") is None
    assert [measurement.name for measurement in setup.produce.measurements(0)] == ["queue-size"]
    setup.set(1, user="other")
    assert setup.produce.record("u", "c", 10**9, 0) == 0


def test_unrecorded_values_throttle_no_client() -> None:
    setup = Setup()
    setup.set(1000, user="u")

    assert setup.produce.record("u", "c", 20_000, 0) == 10_000
    setup.produce.unrecord("u", "c", 20_000, 0)
    assert setup.produce.record("u", "c", 10_000, 0) == 0


@pytest.mark.parametrize(
    ("rate", "sample_count", "bytes_max"), [(1000, 11, 10_000), (10, 4, 30), (None, 11, None)]
)
def test_bytes_max_is_what_one_window_allows(
    rate: int | None, sample_count: int, bytes_max: int | None
) -> None:
    quotas = ClientQuotas()
    fetch = ClientRateQuotaManager(quotas.limits[C], FETCH, sample_count, 1)
    quotas.alter(make_entity([("user", "other")]), [(C, 1.0)])
    quotas.alter(make_entity([("user", "u")]), [(C, rate)])

    assert fetch.bytes_max("u", "c") == bytes_max
    if bytes_max is not None:
        assert fetch.record("u", "c", bytes_max, 0) == 0
        assert fetch.record("u", "c", 1, 0) > 0


def request_manager() -> ClientRateQuotaManager:
    quotas = ClientQuotas()
    quotas.alter(make_entity([("user", "u")]), [(R, 1.0)])
    return ClientRateQuotaManager(quotas.limits[R], REQUEST, 11, 1)


def test_one_percent_of_request_time_is_ten_milliseconds_a_second() -> None:
    request = request_manager()
    waits_ms = [request.record("u", "c", 4 * MILLISECOND_NS, s * 1000) for s in range(10)]
    waits_ms.append(request.record("u", "c", 67 * MILLISECOND_NS + 100_000, 10_500))

    assert waits_ms == [0] * 10 + [210]
    rates = [
        measurement.value
        for measurement in request.measurements(10_500)
        if measurement.name == "request-time"
    ]
    assert rates == [pytest.approx(1.02)]


def test_request_time_throttles_a_client_for_at_most_one_window() -> None:
    request = request_manager()
    waits_ms = [request.record("u", "c", 500 * MILLISECOND_NS, 0)]
    waits_ms += [request.record("u", "c", 0, second * 1000) for second in range(1, 12)]

    assert waits_ms == [1000] * 11 + [0]


def test_exempt_request_time_is_measured_separately() -> None:
    request = request_manager()
    request.record_exempt(100 * MILLISECOND_NS, 0)

    exempt = [
        measurement
        for measurement in request.measurements(0)
        if measurement.name == "exempt-request-time"
    ]
    assert [(measurement.group, measurement.tags, measurement.value) for measurement in exempt] == [
        ("Request", {}, 1.0)
    ]


def test_measurements_have_kafkas_names() -> None:
    setup = Setup()
    setup.set(1000, client_id="c")
    setup.produce.record("u", "c", 20_000, 0)
    setup.produce.note_throttle("u", "c", 10_000, 0)
    tags = {"user": "", "client-id": "c"}

    assert [tuple(measurement) for measurement in setup.produce.measurements(0)] == [
        ("Produce", "queue-size", {}, 0),
        ("Produce", "byte-rate", tags, 2000),
        ("Produce", "throttle-time", tags, 10_000),
    ]
    assert len(list(setup.produce.measurements(IDLE_MS))) == 1


def test_a_burst_counts_for_all_its_windows_even_if_those_are_longer_than_an_hour() -> None:
    quotas = ClientQuotas()
    produce = ClientRateQuotaManager(quotas.limits[P], PRODUCE, 3, 3600)
    quotas.alter(make_entity([("user", "u")]), [(P, 1.0)])
    assert produce.record("u", "c", 4 * 3600, 0) == 2 * IDLE_MS

    assert produce.record("u", "c", 0, IDLE_MS) == 2 * IDLE_MS
    assert produce.record("u", "c", 0, 3 * IDLE_MS) == 0


def test_only_counters_of_the_last_hour_are_kept() -> None:
    setup = Setup()
    setup.set(1, client_id=None)
    for number in range(5000):
        setup.produce.record("u", f"c{number}", 1, number * 36_000)

    assert len(setup.produce._counters) <= 3 * 100


@given(
    st.lists(
        st.one_of(
            st.tuples(
                st.just("record"),
                st.sampled_from(("u", "v")),
                st.sampled_from(("c", "d", None)),
                st.integers(1, 30_000),
            ),
            st.tuples(st.just("wait"), st.sampled_from((1, 999, 1000, 12_000, IDLE_MS))),
            st.tuples(
                st.just("set"),
                st.sampled_from((None, 500.0, 2000.0)),
                st.sampled_from(
                    ({"user": "u"}, {"client_id": "c"}, {"user": "v", "client_id": None})
                ),
            ),
        ),
        max_size=40,
    )
)
def test_to_remember_the_last_client_changes_nothing(steps: list[tuple[object, ...]]) -> None:
    found = []
    for forgets in (False, True):
        setup, now_ms, waits_ms = Setup(), 0, []
        for step in steps:
            match step:
                case "record", str(user), client_id, int(value):
                    assert client_id is None or isinstance(client_id, str)
                    if forgets:
                        setup.produce._latest_client = None
                    waits_ms.append(setup.produce.record(user, client_id, value, now_ms))
                case "wait", int(duration_ms):
                    now_ms += duration_ms
                case "set", rate, dict(names):
                    assert rate is None or isinstance(rate, float)
                    setup.set(rate, **names)
                case _:
                    raise AssertionError(step)
        found.append((waits_ms, list(setup.produce.measurements(now_ms))))
    assert found[0] == found[1]
