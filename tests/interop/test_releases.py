"""Our broker as 3.9, 4.0 and 4.1, beside Apache Kafka of the same release."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.config.features import FEATURES
from broker.routes import ROUTES
from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from scenarios.maven import CannotRunError
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.raw_client import RawClient

RELEASES = ("3.9.1", "4.0.0", "4.1.0")
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
SUPPORTED_COUNTS = {"3.9.1": 2, "4.0.0": 5, "4.1.0": 6}


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
    kafka = ApacheKafka(
        tmp_path_factory.mktemp(f"apache-kafka-{release}"), version=release, features={}
    )
    try:
        kafka.start()
    except CannotRunError as error:
        pytest.skip(str(error))
    with MockKafka(config={"broker.api.versions": release}) as ours:
        yield Pair(ours.bootstrap_servers, kafka.bootstrap_servers, release)
    kafka.stop()


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


def same_api_versions(ours: str, kafkas: str) -> None:
    for version in range(5):
        our_response = ask_api_versions(ours, version)
        kafkas_response = ask_api_versions(kafkas, version)
        advertised = spans(our_response)
        expected = spans(kafkas_response)
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

    def test_features_are_updated_alike(self, pair: Pair) -> None:
        highest = {"3.9.1": 21, "4.0.0": 25, "4.1.0": 27}[pair.release]
        lowest_safe = {"3.9.1": 18, "4.0.0": 23, "4.1.0": 23}[pair.release]
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
