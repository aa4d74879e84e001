"""The command line tools with Apache Kafka and with our broker: the same output and effects."""

import itertools
import re
from pathlib import Path

import pytest

from mock_kafka import cli
from scenarios.clients.deadline import Deadline
from tests.interop.apache_kafka import PASSWORD, USERNAME, ApacheKafka


class Tool:
    """Run the tools on one cluster."""

    def __init__(self, servers: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._servers = servers
        self._capsys = capsys

    def __call__(self, words: str) -> str:
        """Return the output of a tool, which must succeed."""
        status, printed = self.status_and_output(words)
        assert status == 0, printed
        return printed

    def status_and_output(self, words: str) -> tuple[int, str]:
        """Return the exit status, and standard output or, after a failure, standard error."""
        tool, *arguments = words.split()
        self._capsys.readouterr()
        status = cli.main([tool, "--bootstrap-server", self._servers, *arguments])
        captured = self._capsys.readouterr()
        assert bool(captured.err) == bool(status)
        printed = captured.err or captured.out
        return status, re.sub(r"TopicId: \S{22}\t", "TopicId: ID\t", printed)


@pytest.fixture
def run(servers: str, capsys: pytest.CaptureFixture[str]) -> Tool:
    return Tool(servers, capsys)


def refused(run: Tool, words: str) -> str:
    """Return the error line of a tool that fails."""
    status, line = run.status_and_output(words)
    assert (status, line.count("\n")) == (1, 1), line
    return line.rstrip("\n")


def comes_to(run: Tool, words: str, expected: str) -> None:
    """Wait until the tool prints this: Apache Kafka's broker lags behind its controller."""
    deadline = Deadline()
    while (printed := run(words)) != expected and deadline.holds(f"{expected!r}, not {printed!r}"):
        pass


def test_a_topic_is_created_described_altered_and_deleted(run: Tool) -> None:
    created = run(
        "topics --create --topic life --partitions 2 --config cleanup.policy=compact,delete"
    )
    assert created == "Created topic life.\n"
    description = (
        "Topic: life\tTopicId: ID\tPartitionCount: 2\tReplicationFactor: 1"
        "\tConfigs: min.insync.replicas=1,cleanup.policy=compact,delete\n"
        "\tTopic: life\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
        "\tTopic: life\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    )
    comes_to(run, "topics --describe --topic life --if-exists", description)
    assert "life" in run("topics --list").splitlines()
    assert run("topics --create --topic life --if-not-exists") == ""
    assert run("topics --alter --topic life --partitions 3") == ""
    third = "\tTopic: life\tPartition: 2\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    grown = description.replace("Count: 2", "Count: 3") + third
    comes_to(run, "topics --describe --topic li.e", grown)
    assert run("topics --delete --topic life") == ""
    comes_to(run, "topics --list --topic life", "")
    assert run("topics --delete --topic life --if-exists") == ""


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("--create --topic taken", "Topic 'taken' already exists."),
        (
            "--create --topic new/x",
            (
                "Topic name is invalid: 'new/x' contains one or more characters other than ASCII"
                " alphanumerics, '.', '_' and '-'"
            ),
        ),
        (
            "--create --topic new --replication-factor 3",
            (
                "Unable to replicate the partition 3 time(s): The target replication factor of 3"
                " cannot be reached because only 1 broker(s) are registered or some brokers"
                " have all their log directories cordoned."
            ),
        ),
        (
            "--alter --topic taken --partitions 1",
            "The topic taken currently has 2 partition(s); 1 would not be an increase.",
        ),
        ("--alter --topic taken --partitions 2", "Topic already has 2 partition(s)."),
        ("--alter --topic none --partitions 2", "Topic 'none' does not exist as expected"),
        ("--describe --topic none", "Topic 'none' does not exist as expected"),
    ],
)
def test_errors_have_the_text_of_kafkas_tool(words: str, error: str, run: Tool) -> None:
    run("topics --create --topic taken --partitions 2 --if-not-exists")
    comes_to(run, "topics --list --topic taken", "taken\n")
    assert refused(run, f"topics {words}") == f"Error while executing topic command : {error}"


def test_a_topics_configuration_is_set_described_and_removed(run: Tool) -> None:
    run("topics --create --topic set")
    comes_to(run, "topics --list --topic set", "set\n")
    topic = "--entity-type topics --entity-name set"
    changes = "max.message.bytes=5000,cleanup.policy=[compact,delete]"
    changed = run(f"configs --alter --add-config {changes} {topic}")
    assert changed == "Completed updating config for topic set.\n"
    comes_to(
        run,
        f"configs --describe {topic}",
        "Dynamic configs for topic set are:\n"
        "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:"
        "cleanup.policy=compact,delete, DEFAULT_CONFIG:log.cleanup.policy=delete}\n"
        "  max.message.bytes=5000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:"
        "max.message.bytes=5000, DEFAULT_CONFIG:message.max.bytes=1048588}\n",
    )
    run(f"configs --alter --delete-config max.message.bytes,cleanup.policy {topic}")
    comes_to(run, f"configs --describe {topic}", "Dynamic configs for topic set are:\n")
    assert "  segment.bytes=1073741824 " in run(f"configs --describe --all {topic}")
    run(f"configs --alter --delete-config max.message.bytes {topic}")
    assert "nonsense" in refused(run, f"configs --alter --add-config nonsense=1 {topic}")
    assert "nonsense" in refused(run, "topics --create --topic new --config nonsense=1")
    assert run("configs --describe --topic none") == (
        "The topic 'none' doesn't exist and doesn't have dynamic config.\n"
    )


@pytest.mark.parametrize(
    ("broker", "heading", "said", "source"),
    [
        (
            "--entity-name 1",
            "Dynamic configs for broker 1 are:",
            "config for broker 1.",
            "DYNAMIC_BROKER_CONFIG",
        ),
        (
            "--entity-default",
            "Default configs for brokers in the cluster are:",
            "default config for brokers in the cluster.",
            "DYNAMIC_DEFAULT_BROKER_CONFIG",
        ),
    ],
)
def test_a_brokers_configuration_is_set_described_and_removed(
    broker: str, heading: str, said: str, source: str, run: Tool
) -> None:
    broker = f"--entity-type brokers {broker}"
    changed = run(f"configs --alter --add-config message.max.bytes=5000 {broker}")
    assert changed == f"Completed updating {said}\n"
    entry = f"message.max.bytes=5000 sensitive=false synonyms={{{source}:message.max.bytes=5000"
    is_one_broker = "name" in broker
    default = ", DEFAULT_CONFIG:message.max.bytes=1048588" if is_one_broker else ""
    # Kafka 4.1 sets it for all brokers when it formats a cluster (KIP-966).
    name = "min.insync.replicas"
    min_isr = (
        "" if is_one_broker else f"  {name}=1 sensitive=false synonyms={{{source}:{name}=1}}\n"
    )
    comes_to(run, f"configs --describe {broker}", f"{heading}\n  {entry}{default}}}\n{min_isr}")
    run(f"configs --alter --delete-config message.max.bytes {broker}")
    comes_to(run, f"configs --describe {broker}", f"{heading}\n{min_isr}")


@pytest.mark.parametrize(
    ("entity", "said", "described"),
    [
        ("--user u", "config for user u.", "user-principal 'u'"),
        (
            "--client-defaults",
            "default config for clients in the cluster.",
            "the default client-id",
        ),
        (
            "--entity-type users --entity-name u --entity-type clients --entity-name c",
            "config for user u.",
            "user-principal 'u', client-id 'c'",
        ),
        (
            "--user-defaults --client-defaults",
            "default config for users in the cluster.",
            "the default user-principal, the default client-id",
        ),
    ],
)
def test_client_quotas_are_set_described_and_removed(
    entity: str, said: str, described: str, run: Tool
) -> None:
    changes = "controller_mutation_rate=10,producer_byte_rate=10485760"
    changed = run(f"configs --alter --add-config {changes} {entity}")
    assert changed == f"Completed updating {said}\n"
    comes_to(
        run,
        f"configs --describe {entity}",
        f"Quota configs for {described} are controller_mutation_rate=10.0,"
        " producer_byte_rate=1.048576E7\n",
    )
    run(f"configs --alter --delete-config producer_byte_rate {entity}")
    comes_to(
        run,
        f"configs --describe {entity}",
        f"Quota configs for {described} are controller_mutation_rate=10.0\n",
    )
    assert refused(run, f"configs --alter --delete-config producer_byte_rate {entity}") == (
        "Error while executing config command : Invalid config(s): producer_byte_rate"
    )
    run(f"configs --alter --delete-config controller_mutation_rate {entity}")
    comes_to(run, f"configs --describe {entity}", "")


def test_a_topic_change_above_the_quota_is_refused_with_its_throttle_time(
    run: Tool, tmp_path: Path
) -> None:
    run("configs --alter --add-config controller_mutation_rate=0.1 --client limited")
    comes_to(
        run,
        "configs --describe --client limited",
        "Quota configs for client-id 'limited' are controller_mutation_rate=0.1\n",
    )
    limited = f"--command-config {write(tmp_path / 'client.properties', client_id='limited')}"
    deadline = Deadline()
    for number in itertools.count():
        # The first exceeds the quota's burst and passes; the next one is throttled.
        words = f"topics --create --topic much{number} --partitions 40 {limited}"
        status, printed = run.status_and_output(words)
        if status:
            break
        assert deadline.holds("a refusal")
    assert number > 0
    found = re.fullmatch(
        "Error while executing topic command : The throttling quota has been exceeded."
        r" \(throttle_time_ms=(\d+)\)\n",
        printed,
    )
    assert found, printed
    assert 300_000 < int(found[1]) <= 400_000


def write(path: Path, **properties: str) -> str:
    path.write_text("".join(f"{k.replace('_', '.')}={v}\n" for k, v in properties.items()))
    return str(path)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize(("password", "status"), [(PASSWORD, 0), ("wrong", 1)])
def test_the_tool_authenticates_to_apache_kafka_with_a_password(
    mechanism: str,
    password: str,
    status: int,
    apache_kafka: ApacheKafka,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = write(
        tmp_path / "client.properties",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_jaas_config=f'LoginModule required username="{USERNAME}" password="{password}";',
    )
    words = ["topics", "--bootstrap-server", apache_kafka.sasl_servers, "--list"]
    assert cli.main([*words, "--command-config", config]) == status
    if status:
        assert "invalid" in capsys.readouterr().err.lower()


def test_the_tool_connects_to_apache_kafka_by_tls_only_with_its_certificate(
    apache_kafka: ApacheKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["topics", "--bootstrap-server", apache_kafka.tls_servers, "--list"]
    path = tmp_path / "client.properties"
    trusting = write(
        path, security_protocol="SSL", ssl_truststore_location=str(apache_kafka.certificate)
    )
    assert cli.main([*words, "--command-config", trusting]) == 0
    doubting = write(path, security_protocol="SSL")
    assert cli.main([*words, "--command-config", doubting]) == 1
    assert "certificate verify failed" in capsys.readouterr().err
