"""The response of a plan has the bytes of the ordinary one, and the session notes the same."""

import pytest

from broker.cluster.fetch_sessions import must_send
from broker.fetch.partition_read import read_partitions
from broker.fetch.session_plan import read_session
from broker.fetch.session_response import encode_found
from broker.fetch.short_response import encode_sent
from broker.responses import EncodedParts
from protocol.errors import ErrorCode
from protocol.fetch import encode_response
from tests.broker.fetch.planned_sessions import append, make_session, plan_of


@pytest.mark.parametrize("version", range(9, 19))
@pytest.mark.parametrize(
    "appends",
    [
        [],
        [("a", 1, 10)],
        [("a", 0, 10), ("a", 2, 10), ("b", 0, 10), ("b", 0, 10)],
        [("a", 0, 100_000), ("b", 2, 200_000)],
    ],
)
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_the_response_has_the_bytes_of_the_ordinary_one(
    version: int, appends: list[tuple[str, int, int]], isolation_level: int
) -> None:
    bodies, orders = [], []
    for is_planned in (True, False):
        cluster, session = make_session(version)
        plan = plan_of(cluster, session, version, isolation_level=isolation_level)
        bodies.append(b"")
        for part in ([], appends):
            for name, index, size in part:
                append(cluster, name, index, bytes(size))
            if is_planned:
                read = read_session(plan, session)
                assert read is not None
                response = encode_found(plan, session, read[0])
                is_large = sum(size for _name, _index, size in part) > 100_000
                assert isinstance(response, EncodedParts) is is_large
                bodies[-1] += response if isinstance(response, bytes) else response.joined()
            else:
                requested = list(session.partitions.values())
                result = read_partitions(cluster, plan.params, requested, omit_unchanged=True)
                sent = [entry for entry in result.partitions if must_send(*entry)]
                topics = encode_sent(version, sent)
                assert topics is not None
                session.note_sent(sent)
                bodies[-1] += encode_response(version, ErrorCode.NONE, 5, topics)
        orders.append(
            [
                (cached.topic_name, cached.partition_index, cached.high_watermark)
                for cached in session.partitions.values()
            ]
        )

    ids_differ = version >= 13  # each cluster has topic ids of its own
    assert ids_differ or bodies[0] == bodies[1]
    assert len(bodies[0]) == len(bodies[1])
    assert orders[0] == orders[1]
