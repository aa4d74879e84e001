"""`mock-kafka groups` with Apache Kafka, and beside Kafka's own tools."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ShareConsumer

from client.blocking_admin import open_admin
from client.resources import NewTopic, PartitionOffset
from mock_kafka import MockKafka, cli
from scenarios.clients.deadline import Deadline
from scenarios.clients.java import java_command
from scenarios.maven import CannotRunError
from tests.client.streams_member import StreamsMember
from tests.differential.tools import TOOLS, fetch_tools
from tests.interop.apache_kafka import ApacheKafka

CONFIG: dict[str, str | int | float | bool] = {
    "broker.api.versions": "4.4",
    "group.initial.rebalance.delay.ms": 0,
    **{
        f"group.{kind}.{name}heartbeat.interval.ms": 100
        for kind in ("consumer", "share")
        for name in ("", "min.")
    },
}
COMPARED = [
    ("consumer-groups", "--list --type consumer,classic --state"),
    ("consumer-groups", "--describe --group new --verbose"),
    ("consumer-groups", "--describe --group new --members --verbose"),
    ("consumer-groups", "--describe --group old --state --verbose"),
    ("consumer-groups", "--reset-offsets --group empty --topic t --to-latest --execute"),
    (
        "consumer-groups",
        "--reset-offsets --group empty --topic t --to-latest --export --timeout 9000 --dry-run",
    ),
    ("consumer-groups", "--reset-offsets --group empty --from-file {plan} --execute"),
    ("consumer-groups", "--validate-regex [a"),
    ("consumer-groups", "--delete --group empty"),
    ("share-groups", "--describe --group share"),
    ("share-groups", "--describe --group share --verbose"),
    ("share-groups", "--describe --group share --members --verbose"),
    ("streams-groups", "--describe --group streams"),
    ("streams-groups", "--describe --group streams --verbose"),
    ("streams-groups", "--describe --group streams --members"),
    ("streams-groups", "--describe --group streams --members --verbose"),
    ("streams-groups", "--describe --group streams --state"),
    ("streams-groups", "--describe --group streams --state --verbose"),
    ("streams-groups", "--reset-offsets --group idle --input-topic t --to-latest --dry-run"),
    ("streams-groups", "--reset-offsets --group idle --all-input-topics --to-current --execute"),
    ("streams-groups", "--delete-offsets --group idle --input-topic t:0"),
    (
        "streams-groups",
        (
            "--reset-offsets --group idle --all-input-topics --to-latest --execute"
            " --delete-internal-topic idle-store-changelog"
        ),
    ),
    ("streams-groups", "--delete --group idle"),
    ("streams-groups", "--delete --group idle --delete-all-internal-topics"),
]


def run_ours(servers: str, words: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    status = cli.main(["groups", "--bootstrap-server", servers, *words.split()])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    return captured.out


@pytest.mark.long
def test_the_tool_works_with_apache_kafka(
    apache_kafka: ApacheKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = apache_kafka.bootstrap_servers

    def run(words: str) -> list[list[str]]:
        lines = run_ours(servers, words, capsys).splitlines()
        return [line.split() for line in lines if line]

    with open_admin(servers) as admin:
        admin.create_topics([NewTopic("tool", partition_count=2, replication_factor=1)])
        deadline = Deadline()
        while "tool" not in admin.list_topics() and deadline.holds("the topic"):
            pass
        run("--reset-offsets --group g-tool --topic tool --to-latest --execute")
        assert admin.group_offsets("g-tool") == {
            ("tool", index): PartitionOffset(0) for index in range(2)
        }
    assert ["g-tool", "Classic", "Empty"] in run("--list --type --state")
    assert [row[1:6] for row in run("--describe --group g-tool")[1:]] == [
        ["tool", "0", "0", "0", "0"],
        ["tool", "1", "0", "0", "0"],
    ]
    assert run("--delete-offsets --group g-tool --topic tool:1")[-1] == ["tool", "1", "Successful"]
    run("--delete --group g-tool")
    assert ["g-tool"] not in run("--list")


@contextmanager
def groups(kafka: MockKafka) -> Iterator[None]:
    """Run two consumers, one of the classic protocol and a share consumer; keep polling them."""
    servers = kafka.bootstrap_servers
    is_over = threading.Event()
    members: list[Any] = []

    def join(kind: Any, group_id: str, **settings: str) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        member = kind({"bootstrap.servers": servers, "group.id": group_id, **named})
        member.subscribe(["t"])
        members.append(member)

    def poll() -> None:
        while not is_over.is_set():
            for member in members:
                member.poll(0.02)

    join(Consumer, "new", group_protocol="consumer", client_id="a")
    join(Consumer, "new", group_protocol="consumer", client_id="b", group_instance_id="i")
    join(Consumer, "old", client_id="c")
    join(ShareConsumer, "share", client_id="d")
    thread = threading.Thread(target=poll)
    thread.start()
    try:
        for group_id, count in (("new", 2), ("old", 1), ("share", 1)):
            kafka.wait_for_stable(group_id, members=count)
        yield
    finally:
        is_over.set()
        thread.join()
        with ExitStack() as stack:
            for member in members:
                stack.callback(member.close)


@pytest.mark.long
def test_the_output_is_that_of_kafkas_tools(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Kafka's tools print partitions in the order of a hash table, and CSV with an empty line."""
    try:
        jars = fetch_tools("4.4")
    except CannotRunError as error:
        pytest.skip(str(error))
    plan = tmp_path / "plan.csv"
    plan.write_text("empty,t,0,0\nempty,t,2,0\n")
    with MockKafka(config=CONFIG) as kafka:
        kafka.create_topic("t", 3)
        servers = kafka.bootstrap_servers

        def run_kafkas(tool: str, words: str) -> str:
            command = java_command(f"{jars}/*", TOOLS[tool], log_level="off")
            done = subprocess.run(
                [*command, "--bootstrap-server", servers, *words.split()],
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
            return done.stdout

        with groups(kafka), open_admin(servers) as admin:
            kafka.produce("t", b"1", partition=0)
            member = StreamsMember(admin, "streams")

            def prepare() -> None:
                member.stay()
                StreamsMember(admin, "idle", changelog="idle-store-changelog").leave()
                admin.alter_group_offsets("empty", {("t", 0): PartitionOffset(0)})
                offsets = {("t", index): PartitionOffset(0) for index in range(3)}
                admin.alter_group_offsets("idle", offsets)

            for tool, template in COMPARED:
                words = template.format(plan=plan)
                prepare()
                kafkas = run_kafkas(tool, words)
                prepare()
                ours = run_ours(servers, words, capsys)
                found, expected = ours.splitlines(), kafkas.rstrip("\n").splitlines()
                if tool == "streams-groups" and "--reset-offsets" in words:
                    # It is the only tool of 4.4 that still has columns of a fixed width.
                    found, expected = (
                        [" ".join(line.split()) for line in lines] for lines in (found, expected)
                    )
                assert sorted(found) == sorted(expected), words
