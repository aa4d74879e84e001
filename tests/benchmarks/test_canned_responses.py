"""The canned responses are valid responses for a load client."""

from typing import Any, cast

from benchmarks.canned_responses import PRODUCE_VERSION, TOPIC, Canned
from client.protocol_codec import ProtocolCodec
from loadgen.clients.produce_frames import ProduceFrames
from protocol import messages


class Outgoing:
    """A transport that records what is written."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    def taken(self) -> bytes:
        data, self.data = self.data, b""
        return data


def connection() -> tuple[Canned, Outgoing]:
    canned, outgoing = Canned(), Outgoing()
    canned.connection_made(cast("Any", outgoing))
    return canned, outgoing


def test_a_client_completes_the_handshake_and_gets_a_producer_id() -> None:
    canned, outgoing = connection()
    wire = ProtocolCodec("test")
    canned.data_received(wire.api_versions_request())
    wire.feed(outgoing.taken())
    found = wire.next_response()
    assert found is not None
    assert wire.on_api_versions(found) is None
    request = messages.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    canned.data_received(wire.request(request))
    wire.feed(outgoing.taken())
    response: Any = wire.next_response()
    assert (response.error_code, response.producer_id) == (0, 1)


def test_each_produce_frame_gets_a_response_for_any_chunks() -> None:
    frames = ProduceFrames(
        version=PRODUCE_VERSION,
        client_id="a",
        topic=TOPIC,
        partition=3,
        records=1,
        record_bytes=10,
        timestamp_ms=0,
    )
    sent = b"".join(frames.frame(number, 1, 0, number, number) for number in range(5))
    for chunk in (1, 100, len(sent)):
        canned, outgoing = connection()
        for first in range(0, len(sent), chunk):
            canned.data_received(sent[first : first + chunk])
        responses = outgoing.taken()
        size = len(responses) // 5
        for number in range(5):
            start = number * size + 4
            assert frames.read(responses, start, (number + 1) * size) == (number, 0, 0, 0)
