"""Clients and a cluster whose brokers differ, as in a rolling upgrade."""

from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from mock_kafka import ControlError, MockKafka, StartError, cli
from protocol.messages import api_key_of
from protocol.releases import release_versions
from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.interface import Client, Record
from scenarios.clients.python_clients import CLIENTS
from tests.interop.conftest import CONFIG

RECORDS = [Record(b"%d" % number, key=b"k") for number in range(20)]
BATCHES, VERSIONS = "producer.state.batches", "broker.api.versions"
RELEASES = {1: "3.9", 2: "2.8", 3: ""}
MIXED = {
    f"broker.{broker}.{key}": value
    for broker, release in RELEASES.items()
    for key, value in ((VERSIONS, release), (BATCHES, "1" if broker == 3 else "5"))
}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_uses_the_versions_of_each_broker_of_a_mixed_cluster(client: Client) -> None:
    with MockKafka(brokers=3, config=MIXED) as kafka:
        kafka.create_topic("t", 1, 3)
        sent = []
        for leader in RELEASES:
            kafka.move_leader("t", 0, leader)
            sent += client.produce(kafka.bootstrap_servers, "t", RECORDS, is_idempotent=True)
        assert len(client.read(kafka.bootstrap_servers, "t", 1, len(sent))) == 3 * len(RECORDS)

        requests = kafka.requests()
        assert {request.broker for request in requests if request.api == "Produce"} == {1, 2, 3}
        for request in requests:
            release = RELEASES[request.broker]
            if release:
                low, high = release_versions(release)[api_key_of(request.api)]
                assert low <= request.version <= high, request


def set_config(kafka: MockKafka, broker: int, key: str, value: str) -> None:
    """Set a key of one broker with librdkafka's admin client, which sends it to that broker."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource("broker", str(broker), incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(DEADLINE_S)


def produce_again(kafka: MockKafka, topic: str) -> str:
    """Return the leader's error for a retry whose first response was lost."""
    kafka.drop_response(api="Produce", topic=topic, times=1)
    since = kafka.last_request_number()
    CLIENTS[2].produce(kafka.bootstrap_servers, topic, RECORDS[:1], is_idempotent=True)
    *_, last = kafka.requests(api="Produce", since=since)
    return ",".join(last.errors) or "NONE"


def test_a_broker_changed_at_run_time_responds_by_its_own_rule() -> None:
    with MockKafka(2, CONFIG) as kafka:
        for broker in (1, 2):
            kafka.create_topic(f"t{broker}", 1, 1)
            kafka.move_leader(f"t{broker}", 0, broker)
        set_config(kafka, 2, BATCHES, "5")
        assert [produce_again(kafka, topic) for topic in ("t1", "t2")] == [
            "DUPLICATE_SEQUENCE_NUMBER",
            "NONE",
        ]
        kafka.move_leader("t2", 0, 1)
        assert produce_again(kafka, "t2") == "DUPLICATE_SEQUENCE_NUMBER"


def test_a_key_that_brokers_share_is_refused_for_one_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MockKafka(2, CONFIG) as kafka:
        with pytest.raises(KafkaException, match="one value for all brokers of the cluster"):
            set_config(kafka, 2, "log.memory.max.bytes", "1000")
        tool = ["configs", "--bootstrap-server", kafka.bootstrap_servers, "--alter"]
        tool += ["--entity-type", "brokers", "--entity-name", "2", "--add-config"]
        assert cli.main([*tool, "log.memory.max.bytes=1000"]) == 1
        assert "one value for all brokers of the cluster" in capsys.readouterr().err
        assert cli.main([*tool, f"{BATCHES}=5"]) == 0
        kafka.create_topic("t", 1, 1)
        kafka.move_leader("t", 0, 2)
        assert produce_again(kafka, "t") == "NONE"


def test_clients_continue_when_a_broker_is_upgraded_by_a_restart() -> None:
    with MockKafka(brokers=3, config=MIXED) as kafka:
        kafka.create_topic("t", 1, 3)
        kafka.move_leader("t", 0, 2)
        assert produce_again(kafka, "t") == "NONE"
        kafka.stop_broker(2)
        with pytest.raises(ControlError, match=r"num\.partitions has one value for all brokers"):
            kafka.start_broker(2, config={"num.partitions": 3})
        kafka.start_broker(2, config={VERSIONS: None, BATCHES: 1})
        kafka.move_leader("t", 0, 2)
        since = kafka.last_request_number()
        assert produce_again(kafka, "t") == "DUPLICATE_SEQUENCE_NUMBER"
        requests = kafka.requests(api="Produce", broker=2, since=since)
        assert max(request.version for request in requests) > release_versions("2.8")[0][1]


def test_a_key_of_an_unknown_broker_is_a_start_error() -> None:
    with pytest.raises(StartError, match=r"broker\.7\.\*: there are brokers 1 to 3 only"):
        MockKafka(brokers=3, config={f"broker.7.{BATCHES}": 5}).start()


@pytest.mark.long
def test_the_upgrade_in_two_phases_loses_duplicates_and_reorders_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["scenario", "rolling-upgrade", "--out", str(tmp_path)]) == 0
    table = capsys.readouterr().out
    assert "no record was lost, duplicated or reordered" in table
    for client in ("ours", "librdkafka"):
        assert f"\n{client} " in table
    assert (tmp_path / "rolling-upgrade.svg").exists()
