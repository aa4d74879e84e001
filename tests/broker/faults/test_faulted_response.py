"""Errors, patches and wrong bytes replace a response, and keep its throttle and close."""

from typing import Any

import broker.handlers  # noqa: F401 - registers every API
from broker.faults import FaultTable, fault_rule
from broker.faults.faulted_response import FaultedResponse
from broker.faults.injection import FaultThrottle
from broker.responses import Close, Throttled, frame_of
from broker.routes import ROUTES
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context
from tests.broker.faults.requests import sample_request

FRAME = (14).to_bytes(4, "big") + (7).to_bytes(4, "big") + bytes(10)


def faulted(**rule: Any) -> tuple[FaultedResponse, list[BaseException]]:
    """Return the response to a Heartbeat under a rule, and the reported bugs."""
    cluster, bugs = make_cluster(), []
    table = FaultTable(cluster)
    table.add(fault_rule(**rule), NOW_MS)
    context = make_context(ApiKey.HEARTBEAT, 3)
    request = sample_request(ApiKey.HEARTBEAT, 3)
    decision = table.evaluate(context, lambda: request)
    assert decision is not None
    response = FaultedResponse(
        cluster,
        lambda error, _context: bugs.append(error),
        ROUTES[ApiKey.HEARTBEAT],
        context,
        decision,
        request,
        None,
        (),
        table,
    )
    return response, bugs


def test_an_error_replaces_the_frame_and_a_throttle_stays() -> None:
    response, bugs = faulted(error="NOT_COORDINATOR", at="before_response")
    quota = FaultThrottle()
    failed = response.with_error(Throttled(FRAME, 70, quota))
    assert isinstance(failed, Throttled)
    assert (failed.throttle_time_ms, failed.frame != FRAME, bugs) == (70, True, [])


def test_a_missing_response_is_not_patched_or_corrupted() -> None:
    response, _bugs = faulted(api="Heartbeat", response={"error_code": "NOT_COORDINATOR"})
    assert response.with_patch(None) is None
    assert response.with_wrong_bytes(None) is None
    assert response.with_patch(Close("over")) == Close("over")


def test_a_frame_that_cannot_be_patched_closes_the_connection() -> None:
    response, _bugs = faulted(api="Heartbeat", response={"error_code": "NOT_COORDINATOR"})
    assert isinstance(response.with_patch(FRAME[:9]), Close)


def test_a_drop_within_the_response_sends_its_beginning() -> None:
    response, _bugs = faulted(drop="within_response", drop_after_bytes=5)
    cut = response.with_wrong_bytes(FRAME)
    assert isinstance(cut, Close)
    assert frame_of(cut) == FRAME[:5]
    assert response.with_wrong_bytes(None) == response.dropped()


def test_wrong_bytes_keep_the_correlation_id() -> None:
    response, _bugs = faulted(corrupt_bytes=3, oversize_bytes=2, announce_bytes=9)
    frame = frame_of(response.with_wrong_bytes(FRAME))
    assert frame is not None
    assert (frame[:4], frame[4:8], len(frame)) == ((9).to_bytes(4, "big"), FRAME[4:8], 20)
