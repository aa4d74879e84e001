"""The load checks every response, and pairs latencies with the right requests."""

import socket
from collections.abc import Iterator

import pytest

from benchmarks import kfake, raw_load, request_bytes, server_process
from benchmarks.raw_load import LoadConnection
from benchmarks.request_bytes import LoadError
from protocol import messages
from scenarios.maven import CannotRunError


def _response(correlation_id: int, base_offset: int, error_code: int = 0) -> bytes:
    version = request_bytes.PRODUCE_VERSION
    topic = messages.ProduceResponse.TopicProduceResponse
    partition = topic.PartitionProduceResponse(
        version=version, index=0, error_code=error_code, base_offset=base_offset, record_errors=[]
    )
    response = messages.ProduceResponse(
        version=version,
        responses=[
            topic(version=version, name=raw_load.TOPIC, partition_responses=[partition]),
        ],
    )
    response.with_header(correlation_id=correlation_id)
    return bytes(response.encode(header=True, framed=True))


@pytest.fixture
def connection() -> Iterator[LoadConnection]:
    with socket.socket() as unused:
        requests = request_bytes.produce_requests(raw_load.TOPIC, 1)
        yield LoadConnection(unused, requests)


def test_valid_responses_pass_in_any_chunks(connection: LoadConnection) -> None:
    responses = _response(0, 0) + _response(1, 1) + _response(2, 2)
    connection.responses += [responses[:70], responses[70:75], responses[75:]]

    raw_load.check_responses([connection], 3, _response(0, 0))


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        (_response(1, 1, error_code=45), "error code 45"),
        (_response(2, 1), "correlation id 2"),
        (_response(1, 0), "base offsets"),
        (_response(1, 7), "base offsets"),
        (b"", "bytes of responses"),
    ],
)
def test_one_invalid_response_is_found(
    connection: LoadConnection, second: bytes, complaint: str
) -> None:
    connection.responses += [_response(0, 0), second]

    with pytest.raises(LoadError, match=complaint):
        raw_load.check_responses([connection], 2, _response(0, 0))


def test_latency_starts_with_the_send_of_the_request() -> None:
    sends = [(100, 2), (150, 3)]
    reads = [(120, 1), (160, 1), (200, 3)]

    assert list(raw_load.pair_latencies(sends, reads)) == [20, 100, 50]


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.parametrize(("connection_count", "in_flight"), [(1, 50), (10, 1)])
@pytest.mark.parametrize("is_idempotent", [False, True])
@pytest.mark.parametrize("rival", ["rdmock", "kfake"])
def test_the_load_runs_against_librdkafkas_mock(
    connection_count: int, in_flight: int, is_idempotent: bool, rival: server_process.ServerName
) -> None:
    if rival == "kfake":
        try:
            kfake.executable()
        except CannotRunError as error:
            pytest.skip(str(error))
    with server_process.serve(rival) as server:
        figures = raw_load.measure(
            server.address,
            server.pid,
            connection_count=connection_count,
            in_flight=in_flight,
            requests=500,
            warm_up=20,
            is_idempotent=is_idempotent,
        )

    assert figures["responses"] == 500
    assert figures["server_us_per_request"] > 0
