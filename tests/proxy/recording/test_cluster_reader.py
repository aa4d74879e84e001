"""What a cluster has beside records is read, and what it refuses is named."""

from collections.abc import Callable
from typing import Any

import pytest

from broker.http_admin.acls import AclBody
from broker.http_admin.quotas import QuotaView
from broker.http_admin.recorded_parts import RecordedBroker, RecordedGroup, RecordedUser
from broker.http_admin.snapshot_document import SavedConfig, SavedOffset
from client.errors import ApiError, UnsupportedVersionError
from client.resources import GroupListing, PartitionDescription, TopicDescription
from mock_kafka import MockKafka, ScramUpsertion, open_admin
from protocol.errors import ErrorCode
from protocol.releases import DEFAULT_VERSIONS, releases
from proxy.recording.cluster_reader import ClusterReader, release_of
from proxy.recording.log_reader import LogEnds
from proxy.recording.world_admin import WorldAdmin, open_world_admin


def reader(
    admin: WorldAdmin, topic_glob: str = "*", note: Callable[[str], None] = pytest.fail
) -> ClusterReader:
    return ClusterReader(admin, topic_glob, note)


def test_topics_have_their_own_configuration_and_ends(world_admin: WorldAdmin) -> None:
    found = reader(world_admin)
    topics = found.topics()
    assert [topic.name for topic in topics] == ["orders", "payments", "states"]
    assert found.configs(topics) == {
        "orders": {"retention.ms": "-1"},
        "payments": {},
        "states": {"cleanup.policy": "compact"},
    }
    ends = found.log_ends(topics)
    assert ends["orders", 0] == LogEnds(0, 0)
    assert ends["orders", 1] == LogEnds(2, 7)
    assert ends["payments", 0] == LogEnds(0, 12)


def test_a_glob_chooses_topics(world_admin: WorldAdmin) -> None:
    assert [topic.name for topic in reader(world_admin, "[!o]*").topics()] == ["payments", "states"]
    assert reader(world_admin, "none").topics() == []


def test_groups_have_offsets_for_the_topics(world_admin: WorldAdmin) -> None:
    found = reader(world_admin)
    groups = found.groups()
    offsets = [SavedOffset("billing", "orders", 1, 4, -1, "note")]
    assert found.offsets(groups, found.topics()) == offsets
    assert found.offsets([GroupListing("s", "Share", "", "")], found.topics()) == []
    assert found.offsets(groups, reader(world_admin, "states").topics()) == []


def test_quotas_and_access_control_lists_are_read(world_admin: WorldAdmin) -> None:
    found = reader(world_admin)
    assert found.quotas() == [
        QuotaView({"client-id": None}, {"request_percentage": 50.5}),
        QuotaView({"user": "ann"}, {"producer_byte_rate": 1e6}),
    ]
    assert found.acls() == [AclBody("User:ann", "ALLOW", "READ", "TOPIC", "orders")]


def test_configurations_of_groups_and_client_metrics_are_read(world_admin: WorldAdmin) -> None:
    assert reader(world_admin).other_configs() == [
        SavedConfig("client_metrics", "all", {"interval.ms": "1000"}),
        SavedConfig("group", "billing", {"consumer.session.timeout.ms": "50000"}),
    ]


def test_a_cluster_has_brokers_groups_and_a_release(
    world_admin: WorldAdmin, filled: MockKafka
) -> None:
    found = reader(world_admin)
    cluster = found.cluster(found.groups())
    assert cluster.brokers == [RecordedBroker(1, "east")]
    assert cluster.release == "4.4"
    assert cluster.api_versions["Produce"] == [0, 13]
    assert cluster.features["metadata.version"] == 33
    assert cluster.features["kraft.version"] == 0
    assert cluster.groups == [RecordedGroup("billing", "classic", "Empty")]
    assert cluster.cluster_id == filled.config["cluster.id"]


def test_users_have_no_secrets() -> None:
    with MockKafka(in_process=True) as kafka, open_admin(kafka.bootstrap_servers) as admin:
        for mechanism in ("SCRAM-SHA-512", "SCRAM-SHA-256"):
            upsertion = ScramUpsertion("ann", mechanism, 4096, "secret")
            assert admin.alter_user_scram_credentials([upsertion]) == {"ann": None}
        with open_world_admin(kafka.bootstrap_servers, {}) as world_admin:
            found = reader(world_admin)
            assert found.cluster([]).users == [
                RecordedUser("ann", "SCRAM-SHA-256", 4096),
                RecordedUser("ann", "SCRAM-SHA-512", 4096),
            ]
            assert found.acls() == []  # there is no authorizer


class Refusing:
    """An admin client that refuses."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, _name: str) -> Any:
        def refuse(*_arguments: Any, **_options: Any) -> Any:
            raise self.error

        return refuse


DENIED = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


@pytest.mark.parametrize("error", [DENIED, UnsupportedVersionError("too old")])
def test_a_refused_part_is_empty_and_noted(error: Exception) -> None:
    notes: list[str] = []
    admin: Any = Refusing(error)
    found = reader(admin, note=notes.append)
    assert (found.groups(), found.quotas(), found.acls(), found.other_configs()) == ([], [], [], [])
    configs = "configurations of groups and client metrics"
    parts = ("groups", "quotas", "access control lists", configs)
    assert notes == [f"{part} are left out: {error}" for part in parts]


def test_what_is_denied_for_one_group_or_topic_is_noted() -> None:
    notes: list[str] = []

    class Denying(Refusing):
        def list_topics(self) -> list[str]:
            return ["t"]

        def describe_topics(self, _names: Any) -> Any:
            return {"t": self.error}

        def describe_configs(self, resources: Any) -> Any:
            return dict.fromkeys(resources, self.error)

        def list_offsets(self, keys: Any, _timestamp: int) -> Any:
            return dict.fromkeys(keys, self.error)

    admin: Any = Denying(DENIED)
    found = reader(admin, note=notes.append)
    partition = PartitionDescription(0, 1, (1,), (1,))
    topic = TopicDescription("t", None, is_internal=False, partitions=(partition,))
    assert found.topics() == []
    assert found.configs([topic]) == {}
    assert found.log_ends([topic]) == {}
    assert found.offsets([GroupListing("g", "classic", "", "")], [topic]) == []
    assert notes == [
        f"topic t is left out: {DENIED}",
        f"the configuration of topic t is left out: {DENIED}",
        f"the log of t-0 is left out: {DENIED}",
        f"the offsets of group g are left out: {DENIED}",
    ]


def test_a_release_is_the_newest_that_fits() -> None:
    for release, versions in releases().items():
        text = ".".join(map(str, release))
        assert release_of(versions) in {text, _same_versions(versions)}
    older = {**DEFAULT_VERSIONS, 0: (0, 12)}
    assert release_of(older) != "4.4"
    assert release_of({**DEFAULT_VERSIONS, 1000: (0, 0), 0: (3, 14)}) == "4.4"
    assert release_of({0: (0, 1)}) is None


def _same_versions(versions: Any) -> str:
    """Return the newest release whose advertised versions are as high as these."""
    same = [
        release
        for release, found in releases().items()
        if set(found.items()) <= set(versions.items())
    ]
    return ".".join(map(str, max(same)))
