"""The parts of a response are joined when somebody looks at them."""

from broker.journal.lines import Entry
from broker.responses import EncodedParts
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import make_context


def test_the_parts_of_a_response_are_joined() -> None:
    entry = Entry(1, make_context(ApiKey.METADATA, 9), b"request", len(b"request"), 0)
    entry.keep(EncodedParts([b"one", b"two"], 6), 6)

    assert entry.response == b"onetwo"
    assert entry.byte_count == len(b"request") + 6
