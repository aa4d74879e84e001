"""Consumer groups: members that join, leave and are killed, and their commits."""

import select
import subprocess
import sys

import pytest

from mock_kafka import MockKafka
from scenarios.clients.aiokafka import AIOKAFKA
from scenarios.clients.confluent_kafka import CONFLUENT, ConfluentMember, create_topic
from scenarios.clients.interface import Client, Record, by_partition
from scenarios.clients.kafka_python import KAFKA_PYTHON
from scenarios.clients.python_clients import CLIENTS
from tests.interop.members import (
    MemberThread,
    member,
    poll_records,
    poll_until,
    share_out,
)

PARTITIONS = 4
RECORDS = [Record(value=b"%d" % index, partition=index % PARTITIONS) for index in range(400)]


@pytest.fixture
def filled(kafka: MockKafka, topic: str) -> str:
    """Return a topic of four partitions with 100 records each."""
    create_topic(kafka.bootstrap_servers, topic, PARTITIONS)
    AIOKAFKA.produce(kafka.bootstrap_servers, topic, RECORDS)
    return topic


def values_by_partition(records: list[Record]) -> dict[int, list[bytes | None]]:
    return {
        partition: [record.value for record in found]
        for partition, found in by_partition(records).items()
    }


ALL_VALUES = values_by_partition(RECORDS)


def test_a_single_member_reads_all_partitions_in_order(
    kafka: MockKafka, filled: str, client: Client
) -> None:
    with member(client, kafka.bootstrap_servers, filled, filled) as lone:
        found = poll_records([lone], len(RECORDS))
        assert lone.assigned() == set(range(PARTITIONS))
    assert values_by_partition(found) == ALL_VALUES


def test_a_group_resumes_after_the_committed_offset(
    kafka: MockKafka, filled: str, client: Client
) -> None:
    servers = kafka.bootstrap_servers
    with member(client, servers, filled, filled) as first:
        found = poll_records([first], len(RECORDS))
        for partition in range(PARTITIONS):
            first.commit_at(partition, 60, "")
    with member(client, servers, filled, filled) as second:
        rest = poll_records([second], 40 * PARTITIONS)
    assert values_by_partition(found) == ALL_VALUES
    assert values_by_partition(rest) == {p: values[60:] for p, values in ALL_VALUES.items()}


def test_commit_without_arguments_commits_the_polled_position(
    kafka: MockKafka, filled: str, client: Client
) -> None:
    servers = kafka.bootstrap_servers
    with member(client, servers, filled, filled) as first:
        poll_records([first], len(RECORDS))
        first.commit()
        assert [first.committed(p) for p in range(PARTITIONS)] == [(100, "")] * PARTITIONS
    more = [Record(value=b"more %d" % p, partition=p) for p in range(PARTITIONS)]
    client.produce(servers, filled, more)
    with member(client, servers, filled, filled) as second:
        found = poll_records([second], PARTITIONS)
    assert values_by_partition(found) == values_by_partition(more)


def test_a_commit_keeps_its_metadata_and_every_client_can_read_it(
    kafka: MockKafka, filled: str, client: Client
) -> None:
    servers = kafka.bootstrap_servers
    with member(client, servers, filled, filled) as writer:
        poll_until([writer], lambda: len(writer.assigned()) == PARTITIONS, "an assignment")
        assert writer.committed(0) is None
        writer.commit_at(0, 17, "as of ☕")
    for reader_client in CLIENTS:
        with member(reader_client, servers, filled, filled) as reader:
            share_out([reader], PARTITIONS)
            # librdkafka's Python binding includes the end of the C string in the text.
            offset, metadata = reader.committed(0) or (None, "")
            assert (offset, metadata.rstrip("\0")) == (17, "as of ☕"), reader_client.name
            assert reader.committed(1) is None, reader_client.name


def test_a_second_member_gets_half_of_the_partitions_until_it_leaves(
    kafka: MockKafka, filled: str, client: Client
) -> None:
    servers = kafka.bootstrap_servers
    with member(client, servers, filled, filled) as first:
        found = poll_records([first], len(RECORDS))
        first.commit()
        with member(client, servers, filled, filled) as second:
            found += share_out([first, second], PARTITIONS)
            assert len(first.assigned()) == len(second.assigned()) == 2
            more = [Record(value=b"more %d" % p, partition=p) for p in range(PARTITIONS)]
            client.produce(servers, filled, more)
            found += poll_records([first, second], PARTITIONS)
            first.commit()
            second.commit()
        # It sent LeaveGroup, so the session timeout of 10 s does not have to pass.
        found += poll_until(
            [first], lambda: first.assigned() == set(range(PARTITIONS)), "all partitions back"
        )
    assert values_by_partition(found) == {
        p: [*values, b"more %d" % p] for p, values in ALL_VALUES.items()
    }


def test_four_members_share_four_partitions_and_a_fifth_gets_none(
    kafka: MockKafka, filled: str
) -> None:
    servers = kafka.bootstrap_servers
    with (
        member(KAFKA_PYTHON, servers, filled, filled) as first,
        member(CONFLUENT, servers, filled, filled) as second,
        member(AIOKAFKA, servers, filled, filled) as third,
        member(CONFLUENT, servers, filled, filled) as fourth,
    ):
        four = [first, second, third, fourth]
        found = share_out(four, PARTITIONS)
        assert [len(member.assigned()) for member in four] == [1, 1, 1, 1]
        with member(CONFLUENT, servers, filled, filled) as fifth:
            rebalances = fifth.rebalances
            poll_until([*four, fifth], lambda: fifth.rebalances > rebalances, "a fifth member")
            found += share_out_among_some([*four, fifth])
        assert len({record.offset for record in found if record.partition == 0}) <= 100


def share_out_among_some(members: list[MemberThread]) -> list[Record]:
    return poll_until(
        members,
        lambda: sorted(len(member.assigned()) for member in members) == [0, 1, 1, 1, 1],
        "one idle member",
    )


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_members_of_three_libraries_share_one_group(
    kafka: MockKafka, filled: str, assignor: str
) -> None:
    servers = kafka.bootstrap_servers
    with (
        member(KAFKA_PYTHON, servers, filled, filled, assignor=assignor) as first,
        member(AIOKAFKA, servers, filled, filled, assignor=assignor) as second,
        member(CONFLUENT, servers, filled, filled, assignor=assignor) as third,
    ):
        members = [first, second, third]
        found = share_out(members, PARTITIONS)
        more = [Record(value=b"more %d" % p, partition=p) for p in range(PARTITIONS)]
        CONFLUENT.produce(servers, filled, more)
        expected = {record.value for record in (*RECORDS, *more)}
        seen = {record.value for record in found}

        def saw_all() -> bool:
            for member in members:
                seen.update(record.value for record in member.poll())
            return seen == expected

        poll_until([], saw_all, "every record")


DOOMED = """
import sys
from scenarios.clients.installed import load_client
from tests.interop.members import member, poll_until
name, servers, topic = sys.argv[1:]
with member(load_client(name), servers, topic, topic, session_timeout_ms=1000) as doomed:
    poll_until([doomed], lambda: bool(doomed.assigned()), "an assignment")
    print("assigned", flush=True)
    while True:
        doomed.poll()
"""


def test_a_member_that_is_killed_loses_its_partitions_after_its_session_timeout(
    kafka: MockKafka, filled: str, client: Client
) -> None:
    servers = kafka.bootstrap_servers
    with (
        member(client, servers, filled, filled, session_timeout_ms=1000) as survivor,
        subprocess.Popen(
            [sys.executable, "-c", DOOMED, client.name, servers, filled], stdout=subprocess.PIPE
        ) as doomed,
    ):
        assert doomed.stdout is not None
        output = doomed.stdout
        try:
            poll_until([survivor], lambda: bool(select.select([output], [], [], 0)[0]), "a peer")
            poll_until([survivor], lambda: len(survivor.assigned()) == 2, "half the partitions")
        finally:
            doomed.kill()
        doomed.wait()
        poll_until([survivor], lambda: len(survivor.assigned()) == PARTITIONS, "all partitions")


def test_a_static_member_that_returns_keeps_its_partitions_without_a_rebalance(
    kafka: MockKafka, filled: str, client: Client
) -> None:
    servers = kafka.bootstrap_servers
    with member(client, servers, filled, filled, instance_id="one") as first:
        with member(client, servers, filled, filled, instance_id="two") as second:
            share_out([first, second], PARTITIONS)
            partitions = second.assigned()
            rebalances = first.rebalances
        with member(client, servers, filled, filled, instance_id="two") as again:
            poll_until([first, again], lambda: bool(again.assigned()), "its partitions")
            assert again.assigned() == partitions
            assert first.rebalances == rebalances
            assert first.assigned() == set(range(PARTITIONS)) - partitions


def test_cooperative_members_keep_the_partitions_that_do_not_move(
    kafka: MockKafka, filled: str
) -> None:
    servers = kafka.bootstrap_servers

    def cooperative() -> ConfluentMember:
        return CONFLUENT.join(servers, filled, filled, assignor="cooperative-sticky")

    inner = cooperative()
    first = MemberThread(inner)
    try:
        found = poll_records([first], len(RECORDS))
        assert first.assigned() == set(range(PARTITIONS))
        second = MemberThread(cooperative())
        try:
            found += share_out([first, second], PARTITIONS)
            # The two partitions that move were revoked; the other two were not.
            assert set().union(*inner.revoked) == second.assigned()
            assert len(second.assigned()) == 2
        finally:
            second.close()
        found += poll_until(
            [first], lambda: len(first.assigned()) == PARTITIONS, "all partitions back"
        )
    finally:
        first.close()
    values = values_by_partition(found)
    assert {p: values[p][:100] for p in values} == ALL_VALUES


def test_a_group_works_on_the_broker_that_coordinates_it(
    kafka_of_three: MockKafka, topic: str, client: Client
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, PARTITIONS, replication_factor=3)
    AIOKAFKA.produce(servers, topic, RECORDS)
    for number in range(4):  # the name determines the coordinator
        with member(client, servers, topic, f"{topic}-{number}") as lone:
            found = poll_records([lone], len(RECORDS))
            lone.commit()
            assert [lone.committed(p) for p in range(PARTITIONS)] == [(100, "")] * PARTITIONS
        assert values_by_partition(found) == ALL_VALUES
