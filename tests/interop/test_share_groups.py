"""KafkaShareConsumer and the admin client of kafka-clients 4.1 and 4.4: share groups (KIP-932)."""

from pathlib import Path

import pytest

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.java import compile_java, java_command, kafka_clients_jars
from scenarios.maven import CannotRunError
from tests.interop.client_program import ClientProgram

VERSIONS = ("4.1.0", "4.4.0")
"""The first version with share groups, a preview, and the newest."""
SOURCE = Path(__file__).with_name("java") / "ShareClients.java"
CONFIG = {
    "cluster.features": "share.version=1",
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "100",
}


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_share_consumers_acknowledge_divide_lose_and_give_up_records(
    tmp_path: Path, version: str
) -> None:
    try:
        jars = kafka_clients_jars(version)
        compile_java([SOURCE], f"{jars}/*", tmp_path)
    except CannotRunError as error:
        pytest.skip(str(error))
    program = ClientProgram(java_command(f"{tmp_path}:{jars}/*", "ShareClients", log_level="error"))
    with MockKafka(brokers=1, config=CONFIG) as kafka:
        create_topic(kafka.bootstrap_servers, "t", partition_count=1)

        lines = program.run(kafka.bootstrap_servers, kafka.admin_url, "t")

    groups = [f"t.{name}:Optional[Share]:Empty" for name in ("acknowledge", "divide", "expire")]
    assert [line for line in lines if line[0] != "groups"] == [
        ["delivered", "0:1 1:1 2:1 3:1 4:1 5:1"],
        ["released", "1:2 4:2"],
        ["group", "Stable", "1", "1"],
        ["divided", "[0, 1, 2, 3, 4, 5]", "6", "true"],
        ["held", "0:1 1:1 2:1 3:1 4:1 5:1"],
        ["taken", "0:2 1:2 2:2 3:2 4:2 5:2"],
        ["commit", "InvalidRecordStateException"],
        ["limited", "[1, 2, 3, 4, 5]", "true"],
        ["offset", "5"],  # the last record was delivered alone: it had failed half as often
        ["altered", "2"],
        ["deleted", "null"],
        ["left", "false"],
    ]
    (listed,) = (line[1] for line in lines if line[0] == "groups")
    assert listed == f"[{', '.join(groups)}, t.limit:Optional[Share]:Empty]"
