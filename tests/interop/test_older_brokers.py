"""Clients and a broker with the API versions of an older release."""

import confluent_kafka
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from mock_kafka import MockKafka, Request, StartError, cli
from protocol.messages import api_key_of
from protocol.releases import release_versions
from scenarios.clients.confluent_kafka import confluent_consumer
from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.interface import Client, Record
from scenarios.clients.python_clients import CLIENTS

RELEASES = ("0.11", "1.1", "2.8", "3.9")
KEY = "broker.api.versions"
RECORDS = [Record(b"%d" % number, key=b"k") for number in range(20)]


def highest(requests: list[Request], api: str) -> int:
    return max(request.version for request in requests if request.api == api)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
@pytest.mark.parametrize(
    "release",
    [
        RELEASES[0],
        RELEASES[-1],
        *(pytest.param(release, marks=pytest.mark.long) for release in RELEASES[1:-1]),
    ],
)
def test_records_are_written_and_read_in_the_versions_of_the_release(
    release: str, client: Client
) -> None:
    with MockKafka(config={KEY: release}) as kafka:
        kafka.create_topic("t")
        sent = client.produce(kafka.bootstrap_servers, "t", RECORDS, is_idempotent=True)
        assert client.read(kafka.bootstrap_servers, "t", 1, len(RECORDS)) == sent

        requests = kafka.requests()
        versions = release_versions(release)
        for request in requests:
            low, high = versions[api_key_of(request.api)]
            assert low <= request.version <= high, request
        with MockKafka() as today:
            today.create_topic("t")
            client.produce(today.bootstrap_servers, "t", RECORDS)
            own = highest(today.requests(api="Produce"), "Produce")
        advertised = versions[api_key_of("Produce")][1]
        assert highest(requests, "Produce") == min(own, advertised)


def test_groups_work_with_the_apis_of_an_older_release() -> None:
    with MockKafka(config={KEY: "1.1"}) as kafka:
        kafka.create_topic("t")
        CLIENTS[2].produce(kafka.bootstrap_servers, "t", RECORDS[:3])
        settings = {"group.id": "g", "heartbeat.interval.ms": 200}
        with confluent_consumer(kafka.bootstrap_servers, **settings) as consumer:
            consumer.subscribe(["t"])
            found = consumer.consume(3, DEADLINE_S)
            assert [message.value() for message in found] == [b"0", b"1", b"2"]
            consumer.commit(asynchronous=False)
        assert highest(kafka.requests(api="JoinGroup"), "JoinGroup") == 2
        assert highest(kafka.requests(api="OffsetCommit"), "OffsetCommit") == 3


def test_single_apis_can_be_limited_or_be_missing() -> None:
    with MockKafka(config={KEY: "Produce=7,InitProducerId=-1"}) as kafka:
        kafka.create_topic("t")
        CLIENTS[2].produce(kafka.bootstrap_servers, "t", RECORDS)
        assert highest(kafka.requests(api="Produce"), "Produce") == 7
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True}
        )
        producer.produce("t", b"never")
        with pytest.raises(KafkaException, match="Idempotent producer not supported"):
            producer.flush(DEADLINE_S)
        assert len(kafka.records("t")) == len(RECORDS)


def test_a_broker_is_upgraded_while_it_runs() -> None:
    with MockKafka(config={KEY: "2.8"}) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        entry = ConfigEntry(KEY, "3.9", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource("broker", "1", incremental_configs=[entry])
        for future in admin.incremental_alter_configs([resource]).values():
            future.result(DEADLINE_S)
        kafka.create_topic("t")
        CLIENTS[2].produce(kafka.bootstrap_servers, "t", RECORDS)
        highest_now = highest(kafka.requests(api="Produce"), "Produce")
        kafka.reset()
        kafka.create_topic("t")
        CLIENTS[2].produce(kafka.bootstrap_servers, "t", RECORDS)
        assert highest(kafka.requests(api="Produce"), "Produce") == 9 < highest_now


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("0.10.2", r"there is no release 0\.10\.2; there are 0\.11, "),
        ("Prodcue=7", r"there is no Prodcue; did you mean Produce\?"),
    ],
)
def test_an_unsupported_release_is_a_start_error_of_one_line(value: str, problem: str) -> None:
    with pytest.raises(StartError, match=problem):
        MockKafka(config={KEY: value}).start()


@pytest.mark.parametrize(("release", "is_known"), [("2.6", False), ("2.7", True)])
def test_a_release_refuses_a_quota_key_that_it_does_not_know(
    release: str, is_known: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """KIP-599: an older broker returns INVALID_REQUEST."""
    with MockKafka(config={KEY: release}) as kafka:
        tool = ["configs", "--bootstrap-server", kafka.bootstrap_servers, "--alter", "--user", "u"]
        status = cli.main([*tool, "--add-config", "controller_mutation_rate=10"])
        [altered] = kafka.requests(api="AlterClientQuotas")
    assert altered.errors == (() if is_known else ("INVALID_REQUEST",))
    assert status == (0 if is_known else 1)
    refusal = "Invalid configuration key controller_mutation_rate"
    assert (refusal in capsys.readouterr().err) is not is_known
