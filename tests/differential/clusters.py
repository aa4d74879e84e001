"""The two clusters of a comparison: Apache Kafka from its jars, and ours."""

import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from broker.config.features import SHARE_VERSION
from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.differential.conversation import RELEASE
from tests.differential.player import Link
from tests.interop.apache_kafka import PASSWORD, USERNAME, VERSION, ApacheKafka

RELEASES = {"3.9": "3.9.1", "4.0": "4.0.0", "4.1": "4.1.0", "4.4": VERSION}
_WITH_SHARE_GROUPS = ("4.4",)
"""Releases whose clusters have share groups by default."""
REBALANCE_DELAY_MS = 3000
REPLAY_REBALANCE_DELAY_MS = 50
"""The delay shows in no answer, so a replay need not wait for it."""
_SETTLE_S = 0.06
_SETTLE_OF_MANY_S = 0.4
_WARM_UP_S = 30
_IDS_IN_ALL_PARTITIONS = 1000
_WARM_UP_TOPIC_ID = UUID(int=1)

SHARE_KEYS = (
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.min.isr",
)
_DELAYS = (
    *(f"group.{kind}.assignment.interval.ms" for kind in ("consumer", "share", "streams")),
    "group.streams.initial.rebalance.delay.ms",
)
"""Keys whose default is 0 here and more in Kafka."""
# A busy machine must not fence a broker.
_PATIENCE = {"broker.session.timeout.ms": "60000"}
SUPER_USER = "root"
"""A super user who authenticates, as the owner of a delegation token must."""
_OAUTH_JAAS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_MECHANISMS = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"}
AUTHORIZER_CONFIG = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:ANONYMOUS;User:{SUPER_USER}",
    "delegation.token.secret.key": "secret-of-both",
    "sasl.enabled.mechanisms": f"{_MECHANISMS['sasl.enabled.mechanisms']},OAUTHBEARER",
}
_APACHE_OAUTH = {
    "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": f"{_OAUTH_JAAS} required;"
}
Versions = tuple[int, int]


class BrokerControl(Protocol):
    """Stops and starts brokers, as `MockKafka` does."""

    def stop_broker(self, broker: int, /) -> None:
        """Shut a broker down, so that it hands over its leaders."""

    def start_broker(self, broker: int, /) -> object:
        """Start it again, with its data."""


class ApacheBrokers:
    """The processes of a cluster of Apache Kafka."""

    def __init__(self) -> None:
        self.by_id: dict[int, ApacheKafka] = {}

    def stop_broker(self, broker: int, /) -> None:
        """Shut a broker down, so that it hands over its leaders."""
        self.by_id[broker].stop()

    def kill_broker(self, broker: int, /) -> None:
        """End its process at once."""
        self.by_id[broker].kill()

    def start_broker(self, broker: int, /) -> None:
        """Start it again, with its data."""
        self.by_id[broker].start()


class ComparedCluster:
    """A running cluster's addresses; `settle_s` is how long its metadata takes to spread."""

    def __init__(
        self,
        addresses: Mapping[tuple[int, str], str],
        settle_s: float,
        control: BrokerControl | None = None,
    ) -> None:
        self._addresses = dict(addresses)
        self._control = control
        self.settle_s = settle_s

    def address(self, node_id: int, listener: str) -> tuple[str, int]:
        """Return host and port of a broker's listener."""
        host, _, port = self._addresses[node_id, listener].rpartition(":")
        return host, int(port)

    @property
    def servers(self) -> str:
        """The bootstrap servers of clients without TLS and SASL."""
        listeners = self._addresses.items()
        return ",".join(address for (_, name), address in listeners if name == "PLAINTEXT")

    def stop_broker(self, node_id: int) -> None:
        """Shut a broker down.

        Raises:
            AssertionError: only the process that started the cluster can do that.
        """
        assert self._control is not None
        self._control.stop_broker(node_id)

    def kill_broker(self, node_id: int) -> None:
        """End a broker without a shutdown; errors as in `stop_broker`."""
        assert self._control is not None
        if isinstance(self._control, ApacheBrokers):
            self._control.kill_broker(node_id)
        else:
            self._control.stop_broker(node_id)

    def start_broker(self, node_id: int) -> None:
        """Start it again; errors as in `stop_broker`."""
        assert self._control is not None
        self._control.start_broker(node_id)

    def settling(self, settle_s: float) -> "ComparedCluster":
        """Return the same cluster with more or less time for its metadata."""
        return ComparedCluster(self._addresses, settle_s, self._control)

    def for_other_processes(self) -> "ComparedCluster":
        """Return the same cluster for processes that cannot stop its brokers."""
        return ComparedCluster(self._addresses, self.settle_s)

    def ask(self, api_key: ApiKey, version: int, **fields: Any) -> dict[str, Any]:
        """Send one request to the first broker and return the fields of the response."""
        link = Link(self.address(1, "PLAINTEXT"), "comparison")
        request = messages.request_class(api_key)(version=version, **fields)
        link.send(api_key, version, bytes(request.encode(version=version)))
        _, response = link.receive()
        link.close()
        assert isinstance(response, dict)
        return response

    def api_versions(self) -> dict[int, Versions]:
        """Return the versions of each API key that the first broker advertises."""
        return {
            entry["api_key"]: (entry["min_version"], entry["max_version"])
            for entry in self._describe_api()["api_keys"]
        }

    def _describe_api(self) -> dict[str, Any]:
        return self.ask(
            ApiKey.API_VERSIONS, 3, client_software_name="x", client_software_version="1"
        )

    def is_healthy(self) -> bool:
        """Return whether all brokers are in the metadata."""
        listed = self.ask(ApiKey.METADATA, 1, topics=[]).get("brokers", ())
        return {broker["node_id"] for broker in listed} == {key[0] for key in self._addresses}

    def warm_up(self) -> None:
        """Have it create what Kafka creates on first use, and wait until coordinators answer."""
        deadline_s = time.monotonic() + _WARM_UP_S
        while time.monotonic() < deadline_s:
            responses = [
                self.ask(
                    ApiKey.INIT_PRODUCER_ID, 1, transactional_id=None, transaction_timeout_ms=1000
                ),
                *(self.ask(ApiKey.FIND_COORDINATOR, 1, key="", key_type=key) for key in (0, 1)),
                self.ask(ApiKey.LIST_GROUPS, 1),
                self.ask(ApiKey.LIST_TRANSACTIONS, 0),
            ]
            has_errors = any(found["error_code"] for found in responses)
            if (
                self.is_healthy()
                and not has_errors
                and self._coordinates_transactions()
                and self._coordinates_share_groups()
            ):
                return
            time.sleep(0.2)
        raise AssertionError("the coordinators did not start")

    def _coordinates_share_groups(self) -> bool:
        """Return whether every partition of `__share_group_state` is there, if it is needed."""
        features = self._describe_api()["finalized_features"]
        if SHARE_VERSION not in {feature["name"] for feature in features}:
            return True
        keys = [f"warm-up:{urlsafe_b64encode(_WARM_UP_TOPIC_ID.bytes).decode().rstrip('=')}:0"]
        self.ask(ApiKey.FIND_COORDINATOR, 6, key_type=2, coordinator_keys=keys)
        topic_class = messages.ReadShareGroupStateSummaryRequest.ReadStateSummaryData
        partitions = [
            topic_class.PartitionData(partition=index) for index in range(_IDS_IN_ALL_PARTITIONS)
        ]
        topic = topic_class(topic_id=_WARM_UP_TOPIC_ID, partitions=partitions)
        read = self.ask(
            ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 0, group_id="warm-up", topics=[topic]
        )
        error_codes = {found["error_code"] for found in read["results"][0]["partitions"]}
        if self._has_many_brokers:
            error_codes.discard(ErrorCode.NOT_COORDINATOR)
        return error_codes == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}

    @property
    def _has_many_brokers(self) -> bool:
        return len({node_id for node_id, _listener in self._addresses}) > 1

    def _coordinates_transactions(self) -> bool:
        """Return whether a single broker has loaded every partition of `__transaction_state`."""
        if self._has_many_brokers:
            return True
        transactional_ids = [f"warm-up-{number}" for number in range(_IDS_IN_ALL_PARTITIONS)]
        described = self.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=transactional_ids)
        error_codes = {state["error_code"] for state in described["transaction_states"]}
        return error_codes == {ErrorCode.TRANSACTIONAL_ID_NOT_FOUND}


@dataclass(frozen=True, slots=True)
class Setup:
    """What both clusters of a comparison have in common.

    `share_version` is the level of the feature share.version, 0 for that of the release; `config`
    has more keys of brokers. With `has_authorizer` clients without SASL are super users.
    """

    release: str = RELEASE
    rebalance_delay_ms: int = REBALANCE_DELAY_MS
    brokers: int = 1
    share_version: int = 0
    config: Mapping[str, str] = field(default_factory=dict)
    has_authorizer: bool = False

    def broker_config(self) -> dict[str, str]:
        """Return the configuration of brokers, without their addresses."""
        has_share_groups = self.share_version or self.release in _WITH_SHARE_GROUPS
        share_config = dict.fromkeys(SHARE_KEYS, "1") if has_share_groups else {}
        at_once = dict.fromkeys(_DELAYS, "0") if self.release in _WITH_SHARE_GROUPS else {}
        return {
            "offsets.topic.replication.factor": str(self.brokers),
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": str(self.rebalance_delay_ms),
            **share_config,
            **at_once,
            **(AUTHORIZER_CONFIG if self.has_authorizer else {}),
            **self.config,
        }


@contextmanager
def apache_cluster(folder: Path, setup: Setup) -> Iterator[ComparedCluster]:
    """Run brokers of Apache Kafka with the default features of their release.

    Raises:
        CannotRunError: no java, no mvn, or nothing comes from Maven Central.
    """
    addresses = {}
    with ExitStack() as stack:
        controller = None
        processes = ApacheBrokers()
        for node_id in range(1, setup.brokers + 1):
            broker_folder = folder / str(node_id)
            broker_folder.mkdir()
            kafka = ApacheKafka(
                broker_folder,
                version=RELEASES[setup.release],
                features={SHARE_VERSION: setup.share_version} if setup.share_version else {},
                properties={
                    **_PATIENCE,
                    **setup.broker_config(),
                    **(_APACHE_OAUTH if setup.has_authorizer else {}),
                },
                node_id=node_id,
                controller=controller,
            )
            controller = controller or kafka
            processes.by_id[node_id] = kafka
            stack.callback(kafka.stop)
            kafka.start()
            addresses[node_id, "PLAINTEXT"] = kafka.bootstrap_servers
            addresses[node_id, "SASL_PLAINTEXT"] = kafka.sasl_servers
        settle_s = _SETTLE_S if setup.brokers == 1 else _SETTLE_OF_MANY_S
        cluster = ComparedCluster(addresses, settle_s, processes)
        cluster.warm_up()
        yield cluster


@contextmanager
def our_cluster(setup: Setup) -> Iterator[ComparedCluster]:
    """Run our brokers so that they should behave like this release."""
    with MockKafka(setup.brokers, config=our_config(setup)) as kafka:
        cluster = compared(kafka)
        cluster.warm_up()
        yield cluster


def our_config(setup: Setup) -> dict[str, str]:
    """Return the configuration of our brokers that behave like this release."""
    share = {"cluster.features": f"{SHARE_VERSION}={setup.share_version}"}
    return {
        "listeners": "PLAINTEXT://:0,SASL_PLAINTEXT://:0",
        "sasl.users": f"{USERNAME}:{PASSWORD}",
        **_MECHANISMS,
        "producer.state.batches": "5",
        "broker.api.versions": setup.release,
        **(share if setup.share_version else {}),
        **setup.broker_config(),
    }


def compared(kafka: MockKafka) -> ComparedCluster:
    """Return the addresses of a running cluster of ours."""
    addresses = {}
    for name, servers in (
        ("PLAINTEXT", kafka.bootstrap_servers),
        ("SASL_PLAINTEXT", kafka.bootstrap_servers_of("SASL_PLAINTEXT")),
    ):
        for node_id, address in enumerate(servers.split(","), 1):
            addresses[node_id, name] = address
    return ComparedCluster(addresses, 0, kafka)
