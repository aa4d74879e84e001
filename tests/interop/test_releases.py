"""Our broker as 3.9 and each release from 4.0 to 4.4, beside Apache Kafka of the same release."""

import re
import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.config.broker_config import BROKER_KEYS
from broker.config.features import FEATURES
from broker.config.keys import ConfigKey
from broker.routes import ROUTES
from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ResourceType
from scenarios.clients.java import java_command
from scenarios.maven import CannotRunError, fetch_jars
from tests.interop.apache_kafka import VERSION, ApacheKafka
from tests.interop.raw_client import RawClient
from tests.interop.started_kafka import started

RELEASES = ("3.9.1", "4.0.0", "4.1.0", "4.2.0", "4.3.0", "4.4.0")
TOOLS = (
    f"org.apache.kafka:kafka_2.13:{VERSION}",
    f"org.apache.kafka:kafka-tools:{VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
)
TOOL_TIMEOUT_S = 60
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
REMOVED_TOPIC_KEYS = ("downconversion.enable", "format.version", "timestamp.difference.max.ms")
# Keys of Kafka's that it doesn't describe.
UNDESCRIBED = {"producer.id.expiration.check.interval.ms"}
SET_BY_THE_FIXTURE = {
    "controller.listener.names",
    "controller.quorum.voters",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "offsets.topic.replication.factor",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
    "process.roles",
    "sasl.enabled.mechanisms",
    "ssl.keystore.location",
    "ssl.keystore.type",
}
# docs/compatibility.md lists what differs; eligible leader replicas set min.insync.replicas.
OTHER_DEFAULTS = {"ssl.truststore.type", "min.insync.replicas", "security.inter.broker.protocol"}
SUPPORTED_COUNTS = {"3.9.1": 2, "4.0.0": 5, "4.1.0": 6, "4.2.0": 7, "4.3.0": 7, "4.4.0": 7}
HIGHEST_METADATA_VERSIONS = {
    "3.9.1": 21,
    "4.0.0": 25,
    "4.1.0": 27,
    "4.2.0": 29,
    "4.3.0": 30,
    "4.4.0": 33,
}
# Below are records that a safe downgrade would lose.
LOWEST_SAFE_METADATA_VERSIONS = {
    "3.9.1": 18,
    "4.0.0": 23,
    "4.1.0": 23,
    "4.2.0": 29,
    "4.3.0": 30,
    "4.4.0": 33,
}
# Keys of groups whose default is 0 here, so that nobody has to wait.
OTHER_INTERVALS = re.compile(
    r"(group\.)?(consumer|share|streams)\.(assignment\.interval|initial\.rebalance\.delay)\.ms"
)


class Pair(NamedTuple):
    """Bootstrap servers of our broker and of Apache Kafka."""

    ours: str
    kafkas: str
    release: str


@pytest.fixture(scope="module", params=RELEASES)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """Both brokers of one release, with its default features."""
    release = request.param
    folder = tmp_path_factory.mktemp(f"apache-kafka-{release}")
    with (
        started(ApacheKafka(folder, version=release, features={})) as kafka,
        MockKafka(config={"broker.api.versions": release}) as ours,
    ):
        yield Pair(ours.bootstrap_servers, kafka.bootstrap_servers, release)


def ask(servers: str, request: Any, version: int) -> Any:
    api_key = ApiKey(request.API_KEY)
    with RawClient(servers) as client:
        return client.ask(request, messages.response_class(api_key), api_key, version)


def ask_api_versions(servers: str, version: int) -> Any:
    request = messages.ApiVersionsRequest(
        version=version, client_software_name="raw", client_software_version="1"
    )
    return ask(servers, request, version)


def spans(response: Any) -> dict[int, tuple[int, int]]:
    return {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}


def supported(response: Any) -> list[tuple[str, int, int]]:
    """The features in their order."""
    return [(f.name, f.min_version, f.max_version) for f in response.supported_features]


def finalized(response: Any) -> list[tuple[str, int]]:
    """The features in their order, without levels that our broker does not implement."""
    levels = [
        (f.name, min(f.max_version_level, FEATURES[f.name].implemented_max))
        for f in response.finalized_features
    ]
    return [(name, level) for name, level in levels if level > 0]


def described(servers: str, resource_type: ResourceType, name: str) -> dict[str, Any]:
    """The values by key, or the error."""
    request_class = messages.DescribeConfigsRequest
    resource = request_class.DescribeConfigsResource(
        version=4, resource_type=resource_type, resource_name=name, configuration_keys=None
    )
    request = request_class(version=4, resources=[resource], include_synonyms=True)
    (result,) = ask(servers, request, 4).results
    if result.error_code:
        return {"error": (result.error_code, result.error_message)}
    return {config.name: config.value for config in result.configs}


def create_topic(servers: str, name: str) -> None:
    request_class = messages.CreateTopicsRequest
    topic = request_class.CreatableTopic(
        version=5, name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    request = request_class(version=5, topics=[topic], timeout_ms=30_000, validate_only=False)
    assert ask(servers, request, 5).topics[0].error_code == 0


def has_other_interval(name: str) -> bool:
    return OTHER_INTERVALS.fullmatch(name) is not None


def is_kafkas(key: ConfigKey) -> bool:
    return not (key.is_mock_only or key.name.startswith("producer.id.quota"))


def same_api_versions(ours: str, kafkas: str) -> None:
    for version in range(5):
        our_response = ask_api_versions(ours, version)
        kafkas_response = ask_api_versions(kafkas, version)
        advertised = spans(our_response)
        expected = spans(kafkas_response)
        removed = {4, 5, 6, 7, 56, 58, 67}
        assert expected.keys() - advertised.keys() <= removed
        # Our broker lacks the versions that Kafka 4.0 removed.
        assert advertised == {
            api_key: (
                max(ROUTES[api_key].advertised_min, expected[api_key][0]),
                expected[api_key][1],
            )
            for api_key in advertised
        }
        assert not {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY} & expected.keys()
        if version >= 3:
            assert supported(our_response) == supported(kafkas_response)
            assert finalized(our_response) == finalized(kafkas_response)


def test_by_default_versions_and_features_are_those_of_4_1(
    untouched_kafka: MockKafka, apache_kafka: ApacheKafka
) -> None:
    same_api_versions(untouched_kafka.bootstrap_servers, apache_kafka.bootstrap_servers)


@pytest.mark.long
@pytest.mark.xdist_group("jvm")
class TestRelease:
    """What a client sees of a release."""

    def test_versions_and_features_are_those_of_the_release(self, pair: Pair) -> None:
        same_api_versions(pair.ours, pair.kafkas)
        listed = supported(ask_api_versions(pair.ours, 4))
        assert len(listed) == SUPPORTED_COUNTS[pair.release]

    @pytest.mark.parametrize(("api_key", "version"), [(9999, 0), (4, 0), (57, 9), (0, 99)])
    def test_an_unknown_api_or_version_closes_the_connection(
        self, pair: Pair, api_key: int, version: int
    ) -> None:
        for servers in (pair.ours, pair.kafkas):
            with RawClient(servers) as client:
                client.send_body(api_key, version, bytes(20), is_flexible=True)
                assert client.is_closed_by_peer()

    def test_an_unknown_version_of_api_versions_gets_the_same_bytes(self, pair: Pair) -> None:
        frames = []
        for servers in (pair.ours, pair.kafkas):
            with RawClient(servers) as client:
                client.send_body(ApiKey.API_VERSIONS, 99, bytes(20), is_flexible=True)
                frames.append(client.receive_frame())
        assert frames[0] == frames[1]

    @pytest.mark.parametrize(
        ("name", "entity_type"),
        [
            ("producer_byte_rate", "user"),
            ("request_percentage", "client-id"),
            ("controller_mutation_rate", "user"),
            ("connection_creation_rate", "ip"),
            ("no_such_rate", "user"),
        ],
    )
    def test_the_same_quota_keys_are_accepted(
        self, pair: Pair, name: str, entity_type: str
    ) -> None:
        request_class = messages.AlterClientQuotasRequest
        entry_class = request_class.EntryData
        entity = entry_class.EntityData(
            version=1,
            entity_type=entity_type,
            entity_name="10.0.0.1" if entity_type == "ip" else "quota-test",
        )
        change = entry_class.OpData(version=1, key=name, value=1.0, remove=False)
        request = request_class(
            version=1,
            entries=[entry_class(version=1, entity=[entity], ops=[change])],
            validate_only=True,
        )
        codes = [
            ask(servers, request, 1).entries[0].error_code for servers in (pair.ours, pair.kafkas)
        ]
        assert codes[0] == codes[1]

    def test_topics_have_the_same_keys_and_defaults(self, pair: Pair) -> None:
        for servers in (pair.ours, pair.kafkas):
            create_topic(servers, "described")
        ours, kafkas = (
            described(servers, ResourceType.TOPIC, "described")
            for servers in (pair.ours, pair.kafkas)
        )
        # Keys for clients older than any that Kafka 4 serves.
        missing = {name for name in kafkas if name not in ours}
        removed = {f"message.{name}" for name in REMOVED_TOPIC_KEYS}
        assert missing == (removed if pair.release == "3.9.1" else set())
        del kafkas["min.insync.replicas"]  # eligible leader replicas set it for all brokers
        assert {name: ours[name] for name in kafkas if name in ours} == {
            name: text for name, text in kafkas.items() if name in ours
        }

    def test_brokers_have_the_keys_and_defaults_of_the_release(self, pair: Pair) -> None:
        ours, kafkas = (
            described(servers, ResourceType.BROKER, "1") for servers in (pair.ours, pair.kafkas)
        )
        known = {name for name in ours if name in BROKER_KEYS and is_kafkas(BROKER_KEYS[name])}
        assert known - kafkas.keys() <= UNDESCRIBED
        own = {"listeners", "advertised.listeners", "log.dir", "log.dirs", "node.id", "broker.id"}
        names = known & kafkas.keys() - own - SET_BY_THE_FIXTURE - OTHER_DEFAULTS
        names = {name for name in names if not has_other_interval(name)}
        assert {name: ours[name] for name in names} == {name: kafkas[name] for name in names}
        assert len(names) > 80
        missing = {name for name in kafkas if name not in ours}
        if pair.release.startswith("4"):
            assert {name for name in missing if not name.startswith("listener.name.")} == set()

    @pytest.mark.parametrize(
        "resource_type", [ResourceType.GROUP, ResourceType.CLIENT_METRICS], ids=lambda t: t.name
    )
    def test_groups_and_client_metrics_have_the_keys_of_the_release(
        self, pair: Pair, resource_type: ResourceType
    ) -> None:
        ours, kafkas = (
            described(servers, resource_type, "none") for servers in (pair.ours, pair.kafkas)
        )
        assert ours.keys() == kafkas.keys()
        names = {name for name in kafkas if not has_other_interval(name)}
        assert {name: ours[name] for name in names} == {name: kafkas[name] for name in names}

    def test_telemetry_is_answered_and_not_advertised(self, pair: Pair) -> None:
        api_key = ApiKey.GET_TELEMETRY_SUBSCRIPTIONS
        response_class = messages.response_class(api_key)
        with RawClient(pair.ours) as ours, RawClient(pair.kafkas) as kafkas:
            for number in (5, 5, 6):
                request = messages.GetTelemetrySubscriptionsRequest(
                    version=0, client_instance_id=UUID(int=number)
                )
                responses = [
                    client.ask(request, response_class, api_key, 0).to_dict()
                    for client in (ours, kafkas)
                ]
                assert responses[0] == responses[1]

    def test_features_are_updated_alike(self, pair: Pair) -> None:
        highest = HIGHEST_METADATA_VERSIONS[pair.release]
        lowest_safe = LOWEST_SAFE_METADATA_VERSIONS[pair.release]
        updates = [
            ("metadata.version", highest + 1, UPGRADE),
            ("metadata.version", lowest_safe, UPGRADE),
            ("metadata.version", lowest_safe, 9),
            ("metadata.version", lowest_safe - 1, SAFE_DOWNGRADE),
            ("metadata.version", lowest_safe - 1, UNSAFE_DOWNGRADE),
            ("metadata.version", -1, UPGRADE),
            ("nope", 1, UPGRADE),
            ("nope", 0, UPGRADE),
            ("streams.version", 1, UPGRADE),
            ("streams.version", 0, UPGRADE),
            ("metadata.version", lowest_safe, SAFE_DOWNGRADE),
            ("metadata.version", highest, SAFE_DOWNGRADE),
            ("metadata.version", highest, UPGRADE),
        ]
        for version in range(2 if pair.release.startswith("3") else 3):
            for update in updates:
                responses = [
                    self._update(servers, version, *update) for servers in (pair.ours, pair.kafkas)
                ]
                assert responses[0] == responses[1], (version, update)

    @staticmethod
    def _update(
        servers: str, version: int, name: str, level: int, upgrade_type: int
    ) -> tuple[Any, ...]:
        request_class = messages.UpdateFeaturesRequest
        update = request_class.FeatureUpdateKey(
            version=version,
            feature=name,
            max_version_level=level,
            allow_downgrade=False,
            upgrade_type=upgrade_type,
        )
        request = request_class(
            version=version, timeout_ms=60_000, feature_updates=[update], validate_only=False
        )
        response = ask(servers, request, version)
        results = [(r.feature, r.error_code, r.error_message) for r in response.results or ()]
        return response.error_code, response.error_message, results


@pytest.mark.long
@pytest.mark.xdist_group("jvm")
def test_kafkas_feature_command_describes_and_changes_features() -> None:
    try:
        jars = fetch_jars(f"kafka-tools-{VERSION}", TOOLS)
    except CannotRunError as error:
        pytest.skip(str(error))
    with MockKafka(config={"cluster.features": "metadata.version=27"}) as kafka:

        def run(words: str) -> tuple[int, str]:
            command = java_command(f"{jars}/*", heap_mb=128)
            command += ["org.apache.kafka.tools.FeatureCommand"]
            command += ["--bootstrap-server", kafka.bootstrap_servers, *words.split()]
            done = subprocess.run(
                command, check=False, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S
            )
            lines = (done.stdout + done.stderr).splitlines()
            shown = (" ".join(line.split()) for line in lines if "[main]" not in line)
            return done.returncode, "\n".join(shown)

        status, described_features = run("describe")
        assert status == 0
        line = "Feature: metadata.version SupportedMinVersion: 3.3-IV3 SupportedMaxVersion: 4.4-IV2"
        assert f"{line} FinalizedVersionLevel: 4.1-IV1 Epoch: " in described_features
        assert described_features.count("Feature: ") == SUPPORTED_COUNTS["4.4.0"]

        assert run("downgrade --metadata 4.0 --dry-run")[0] == 0
        assert "FinalizedVersionLevel: 4.1-IV1" in run("describe")[1]
        status, printed = run("downgrade --metadata 4.0")
        assert (status, "metadata.version was downgraded to 25." in printed) == (0, True)
        assert "FinalizedVersionLevel: 4.0-IV3" in run("describe")[1]
        status, printed = run("upgrade --metadata 4.1")
        assert (status, "metadata.version was upgraded to 27." in printed) == (0, True)
        status, printed = run("downgrade --feature metadata.version=7")
        assert status == 1
        assert "Refusing to perform the requested downgrade" in printed
        assert run("disable --feature streams.version")[0] == 0
