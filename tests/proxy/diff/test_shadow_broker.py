"""Our broker without sockets."""

from proxy.diff.played_request import CLOSED
from proxy.diff.shadow_broker import Answer
from tests.proxy.diff.real_cluster import START_MS, Connection, broker_of, frame_of


def test_a_closed_connection_is_an_answer_and_an_unknown_topic_has_no_end() -> None:
    broker = broker_of(1)
    answers: list[Answer] = []
    frame = b"\x7f\x00" + frame_of(1, "ListGroups", 4, {})[2:]
    broker.play(frame, Connection(broker), START_MS, answers.append)
    assert answers == [CLOSED]
    assert broker.played_count == 1
    assert broker.log_end_offset("t", 0) is None
