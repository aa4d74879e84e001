"""Compare requests that are read by hand with those that the schema's codec decodes."""

from collections.abc import Callable
from typing import Any

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_body, decode_request, encode_message
from protocol.fetch import PartitionRows

Reader = Callable[[int, bytes | bytearray, int, int], Any]


def assert_same(found: Any, request: Any) -> None:
    """Check each field of a request that was read by hand."""
    for name, value in found._asdict().items():
        expected: Any = getattr(request, name, None)
        if isinstance(value, list | PartitionRows):
            assert len(value) == len(expected)
            for element, expected_element in zip(value, expected, strict=True):
                assert_same(element, expected_element)
        elif value == ():
            assert not expected
        elif expected is not None and expected != "":
            assert (value, name) == (expected, name)


def read_both(read: Reader, request: Any, version: int, before: bytes = b"") -> tuple[Any, Any]:
    """Return what the reader and the codec read in an encoded request, behind some bytes."""
    body = encode_message(request, version)
    frame = before + body + b"\0"
    request_class = messages.request_class(ApiKey(request.API_KEY))
    return (
        read(version, frame, len(before), len(before) + len(body)),
        decode_body(request_class, version, memoryview(body)),
    )


def check_arbitrary_bytes(read: Reader, api_key: ApiKey, version: int, body: bytes) -> bool:
    """Check that bytes are read as by the codec, or not at all; return whether they were."""
    found = read(version, body, 0, len(body))
    if found is None:
        return False
    try:
        request = decode_request(api_key, version, body, 0, len(body))
    except DecodeError as error:
        raise AssertionError(f"the codec refuses {body!r}: {error}") from error
    assert_same(found, request)
    return True
