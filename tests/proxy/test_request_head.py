import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_request
from proxy.request_head import IncompleteError, expects_response, has_response


def produce(version: int, acks: int, transactional_id: str | None = None) -> bytes:
    request = messages.ProduceRequest(
        transactional_id=transactional_id, acks=acks, timeout_ms=1, topic_data=[]
    )
    return encode_request(1, "a-client", ApiKey.PRODUCE, version, request)


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("transactional_id", [None, "t" * 200])
def test_produce_has_a_response_unless_acks_is_0(
    version: int, transactional_id: str | None
) -> None:
    for acks in (-1, 0, 1):
        request = produce(version, acks, transactional_id)
        assert expects_response(request, version) is (acks != 0)


@pytest.mark.parametrize("version", [3, 8, 9, 13])
def test_as_long_as_acks_are_not_there_more_is_needed(version: int) -> None:
    frame = produce(version, 0, "id")
    data = len(frame).to_bytes(4) + frame
    acks_end = len(data) - 6 - (3 if version < 9 else 0)
    for end in range(14, len(data)):
        try:
            assert not has_response(data[:end], 0, end, version)
        except IncompleteError:
            continue
        break
    assert acks_end - 3 <= end <= len(data)


def test_a_malformed_request_has_a_response() -> None:
    assert expects_response(b"\0\0\0\x09\0\0\0\1\0\2id", 9)
