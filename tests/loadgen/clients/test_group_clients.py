"""Group members share a topic's partitions, read its records, and commit."""

from hypothesis import given
from hypothesis import strategies as st

from loadgen.clients.group_clients import decode_assignment, encode_assignment, encode_subscription
from tests.loadgen.runs import of_api, plan_of, run


@given(st.dictionaries(st.text(max_size=20), st.lists(st.integers(0, 2**31 - 1), max_size=20)))
def test_an_assignment_is_decoded_as_encoded(partitions: dict[str, list[int]]) -> None:
    assert decode_assignment(encode_assignment(partitions)) == partitions


def test_an_empty_assignment_has_no_partitions() -> None:
    assert decode_assignment(b"") == {}


def test_a_subscription_has_kafkas_encoding() -> None:
    assert encode_subscription(["ab"]) == bytes.fromhex("0000 00000001 0002") + b"ab" + b"\xff" * 4


def test_members_join_read_and_commit(servers: str) -> None:
    plan = plan_of(
        "[{name: w, behaviour: steady, topic: t, clients: 4, rate: 100},"
        " {name: r, behaviour: consumer-group, topic: t, clients: 2, rate: 30}]",
        1.0,
    )
    rows = run(plan, servers)
    joined = [row for row in of_api(rows, "JoinGroup") if row["error_code"] == 0]
    assert {row["client"] for row in joined} == {4, 5}
    fetches = of_api(rows, "Fetch")
    assert {row["error_code"] for row in fetches if row["status"] == "responded"} == {0}
    assert len({row["client"] for row in fetches}) == 2
    assert {row["error_code"] for row in of_api(rows, "OffsetCommit")} <= {0, 22, 27}
    assert any(row["error_code"] == 0 for row in of_api(rows, "OffsetCommit"))
