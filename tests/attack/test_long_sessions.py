"""Small requests of a fetch session with many partitions take turns.

The clock of these tests ends a turn at each place where a request may pause. `scripts/bench attack`
measures the CPU time of the turns.
"""

import pytest

from protocol.pacing import LOOK_EVERY
from tests.attack.attacked_broker import PausingBroker
from tests.attack.long_sessions import LongSession

PARTITIONS = 5_000
LOOKS = PARTITIONS // LOOK_EVERY
"""Turns of a request that looks at all partitions once."""
CHANGES_ALL = {
    "opens a session",
    "gets records of all",
    "waits for records of all",
    "reads all again",
    "reads aborted transactions",
    "looks after a change",
    "is beyond the end of all",
    "has an error in all",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "isolation_level", "has_quota"), [(7, 0, True), (12, 1, False), (18, 0, False)]
)
def test_each_request_of_a_session_with_many_partitions_takes_turns(
    version: int, isolation_level: int, has_quota: bool
) -> None:
    broker = PausingBroker()
    if has_quota:
        broker.cluster.quotas.clients.alter((("user", "x"),), [("consumer_byte_rate", 1.0)])
    for name, send in LongSession(broker, PARTITIONS, version, isolation_level).requests():
        cost = send()
        assert cost.close_reason is None, name
        assert not broker.bugs, name
        # To read, to leave out, to encode, and to note in the session.
        assert cost.turns >= LOOKS * (4 if name in CHANGES_ALL else 1), name
        assert (cost.response_bytes > 30 * PARTITIONS) == (name in CHANGES_ALL), name
