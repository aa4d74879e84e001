"""The description that a Kafka Streams application sends of its topology (KIP-1331)."""

import subprocess
import time
from pathlib import Path

import pytest

from client.blocking_admin import open_admin
from client.resources import GroupDescription
from client.topology import TopologyStatus
from mock_kafka import MockKafka, cli
from scenarios.clients.deadline import Deadline
from scenarios.clients.java import java_command
from scenarios.maven import CannotRunError
from tests.differential.tools import TOOLS, fetch_tools
from tests.interop.kafka_streams import BROKER_ASSIGNS_VERSION, WordCount

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("jvm")]

GROUP, TOPIC = "counts", "lines"
STREAMS = {"client_id": "app", "group_protocol": "streams"}
CONFIG = {
    "broker.api.versions": "4.4",
    "group.streams.topology.description.plugin.class": "org.example.Plugin",
}


def test_an_application_sends_its_topology_which_tools_print(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        jars = fetch_tools("4.4")
        application = WordCount(tmp_path, version=BROKER_ASSIGNS_VERSION)
    except CannotRunError as error:
        pytest.skip(str(error))
    with MockKafka(config=CONFIG) as kafka:
        for name in (TOPIC, f"{TOPIC}.{GROUP}"):
            kafka.create_topic(name, 2)
        servers = kafka.bootstrap_servers
        arguments = ["--bootstrap-server", servers, "--describe", "--group", GROUP, "--topology"]
        with (
            application.instance("app", servers, TOPIC, {GROUP: "at_least_once"}, STREAMS),
            open_admin(servers) as admin,
        ):
            deadline = Deadline(60)
            status = TopologyStatus.NOT_STORED
            while status is not TopologyStatus.AVAILABLE and deadline.holds("the topology"):
                group = admin.describe_groups([GROUP], with_topology=True)[GROUP]
                if isinstance(group, GroupDescription):
                    status = group.topology_status
                time.sleep(0.2)
            command = java_command(f"{jars}/*", TOOLS["streams-groups"], log_level="off")
            kafkas = subprocess.run(
                [*command, *arguments], capture_output=True, text=True, timeout=60, check=True
            )
            capsys.readouterr()
            assert cli.main(["groups", *arguments]) == 0
    printed = capsys.readouterr().out
    assert printed == kafkas.stdout
    assert "Source: KSTREAM-SOURCE-0000000000 (topics: [lines])" in printed
