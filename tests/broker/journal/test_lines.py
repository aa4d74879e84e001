"""What the lines of the journal keep, and make when somebody looks at them."""

from broker.journal.journal import Journal
from broker.responses import EncodedParts
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import NOW_MS, make_context
from tests.broker.connection_driver import metadata_frame


def test_the_parts_of_a_response_are_joined() -> None:
    journal = Journal(1, 1000)
    entry = journal.begin(make_context(ApiKey.METADATA, 9), b"request", 0, len(b"request"), 0)
    journal.end(entry, EncodedParts([b"one", b"two"], 6), 0)

    assert entry.response == b"onetwo"
    assert entry.byte_count == len(b"request") + 6


def test_requests_that_share_a_context_have_their_own_when_somebody_looks() -> None:
    journal = Journal(10, 1000)
    shared = make_context(ApiKey.METADATA, 9)
    shared.is_shared = True
    entries = []
    for number in range(2):
        frame = metadata_frame(number)
        shared.now_ms, shared.correlation_id = NOW_MS + number, number
        shared.size_bytes = len(frame) - 4
        entries.append(journal.begin(shared, frame, 4, len(frame), 0))
    shared.throttle(100, journal, NOW_MS)  # type: ignore[arg-type]  # of a request behind them

    contexts = [entry.context for entry in entries]
    assert [context.correlation_id for context in contexts] == [0, 1]
    assert [context.now_ms for context in contexts] == [NOW_MS, NOW_MS + 1]
    assert [context.size_bytes for context in contexts] == [len(metadata_frame(0)) - 4] * 2
    assert [context.throttle_time_ms for context in contexts] == [0, 0]
    assert [entry.context for entry in entries] == contexts


def test_a_frame_that_is_not_kept_has_its_context_at_once() -> None:
    journal = Journal(10, 3)
    shared = make_context(ApiKey.METADATA, 9)
    shared.is_shared = True
    shared.correlation_id = 7
    entry = journal.begin(shared, b"request", 0, len(b"request"), 0)
    shared.correlation_id = 8

    assert entry.frame is None
    assert entry.context.correlation_id == 7
