"""Find clients that go on during a throttle (KIP-219).

Sources: KIP-219, `shouldClientThrottle` of the response classes of Kafka's clients.
"""

from collections.abc import Iterable

from mock_kafka.views import Request

CLIENT_WAITS_FROM = {
    "Produce": 6,
    "Fetch": 8,
    "ListOffsets": 3,
    "Metadata": 6,
    "OffsetCommit": 4,
    "OffsetFetch": 4,
    "FindCoordinator": 2,
    "JoinGroup": 3,
    "Heartbeat": 2,
    "LeaveGroup": 2,
    "SyncGroup": 2,
    "DescribeGroups": 2,
    "ListGroups": 2,
    "ApiVersions": 2,
    "CreateTopics": 3,
    "DeleteTopics": 2,
    "DescribeConfigs": 2,
    "IncrementalAlterConfigs": 0,
    "OffsetDelete": 0,
}
"""The version of each API from which a client waits for the throttle time in the response."""
OTHERS_WAIT_FROM = 1
IN_FLIGHT_MS = 50
"""What arrives so soon after the response may have been sent before it."""
ROUNDING_MS = 5

KIND = "requests during a throttle"


def requests_during_throttles(requests: Iterable[Request]) -> list[str]:
    """Return one line for each request that a client sent while it should have waited.

    A broker does not read a muted connection, so only throttles without a mute show this.
    """
    waits: dict[int | None, tuple[Request, float, float]] = {}
    lines = []
    for request in requests:
        if request.kind != "request":
            continue
        throttled = waits.get(request.connection)
        if throttled is not None:
            response, sent_ms, until_ms = throttled
            if sent_ms + IN_FLIGHT_MS < request.received_ms < until_ms - ROUNDING_MS:
                lines.append(
                    f"#{request.number} {request.api} of {request.client_id or '(no client id)'}"
                    f" came {until_ms - request.received_ms:.0f} ms before the end of the throttle"
                    f" of {response.throttle_time_ms} ms in the response to"
                    f" #{response.number} {response.api}"
                )
        version_min = CLIENT_WAITS_FROM.get(request.api, OTHERS_WAIT_FROM)
        if request.throttle_time_ms and not request.muted and request.version >= version_min:
            sent_ms = request.received_ms + (request.duration_us or 0) / 1000
            until_ms = sent_ms + request.throttle_time_ms
            if throttled is None or until_ms > throttled[2]:
                waits[request.connection] = request, sent_ms, until_ms
    return lines
