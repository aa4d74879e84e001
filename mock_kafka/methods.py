"""The methods of a running cluster: control it, and query its state."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from mock_kafka.acl_methods import AclMethods
from mock_kafka.arguments import ClockMode, Ports
from mock_kafka.config_value import ConfigValue, config_text
from mock_kafka.control import Control
from mock_kafka.fault_methods import FaultMethods
from mock_kafka.group_methods import GroupMethods
from mock_kafka.quota_methods import QuotaMethods
from mock_kafka.request_methods import RequestMethods
from mock_kafka.snapshot_methods import SnapshotMethods
from mock_kafka.topic_methods import TopicMethods

if TYPE_CHECKING:  # `BrokerProcess` imports them while the broker starts
    from mock_kafka.audit import AuditReport
    from mock_kafka.views import Transaction

__tracebackhide__ = True  # pytest shows the line of the caller


class ClusterMethods(
    AclMethods,
    FaultMethods,
    GroupMethods,
    QuotaMethods,
    RequestMethods,
    SnapshotMethods,
    TopicMethods,
):
    """The methods of a cluster. Each is one HTTP request, and returns when its effect is visible.

    All raise `ControlError` with the reason if the cluster refuses the request, and
    ConnectionError if the cluster is not running any more.
    """

    @property
    @abstractmethod
    def control(self) -> Control:
        """The admin port of the running cluster."""

    # Time ----------------------------------------------------------------------------------

    def advance(self, *, seconds: float | None = None, ms: int | None = None) -> int:
        """Move the clock forward; return its new time in ms since the epoch.

        Everything that becomes due happens in order before this returns: mutes end, group members
        time out, records expire, delayed responses are sent.
        """
        body = {"seconds": seconds, "ms": ms}
        given = {name: value for name, value in body.items() if value is not None}
        now_ms: int = self.control.ask("POST", "/v1/clock/advance", given)["now_ms"]
        return now_ms

    def now_ms(self) -> int:
        """Return the cluster's time in ms since the epoch."""
        now_ms: int = self.control.ask("GET", "/v1/clock")["now_ms"]
        return now_ms

    def set_clock(self, mode: ClockMode, factor: float | None = None) -> None:
        """Run the clock in real time, `factor` times as fast (`scaled`), or stop it."""
        self.control.ask("PUT", "/v1/clock", {"mode": mode, "factor": factor})

    # Brokers and leaders -------------------------------------------------------------------

    def stop_broker(self, broker: int, *, elect: bool = True, controlled: bool = False) -> None:
        """Close a broker's connections and refuse new ones.

        Its replicas end where they are. When it starts again they fetch what they lack, unless an
        unclean election makes one of them the leader: then the rest is lost.

        With `elect` leaders and coordinators move to other brokers. With `controlled` they move
        first, as on SIGTERM: the broker refers clients to the new leaders, and its connections
        close 50 ms later by the cluster's clock. With
        `controller.mutation.time.us` the election waits in the controller's queue behind topic
        requests: this returns at once, and Metadata has the old leaders until then (see `advance`).
        """
        body = {"elect": elect, "controlled": controlled}
        self.control.ask("POST", f"/v1/brokers/{broker}/stop", body)

    def isolate_broker(self, broker: int, *, elect: bool = False) -> None:
        """Keep a broker's connections open, but pass no data through them."""
        self.control.ask("POST", f"/v1/brokers/{broker}/isolate", {"elect": elect})

    def start_broker(
        self, broker: int, *, config: Mapping[str, ConfigValue | None] | None = None
    ) -> None:
        """Start a broker that was stopped, isolated or fenced.

        It becomes leader only of partitions without a leader. `config` changes the configuration
        of this broker only, such as `broker.api.versions` for an upgrade. None removes a key. A key
        that all brokers share is a ControlError.
        """
        own = {
            key: None if value is None else config_text(value)
            for key, value in (config or {}).items()
        }
        self.control.ask("POST", f"/v1/brokers/{broker}/start", {"config": own})

    def add_broker(self, broker: int | None = None, *, rack: str | None = None) -> int:
        """Add a broker on a new port; return its node id.

        It can lead new partitions, and partitions that are moved to it. By default it gets the next
        node id. A broker that was decommissioned returns on its old port.
        """
        body = {"node_id": broker, "rack": rack}
        given = {key: value for key, value in body.items() if value is not None}
        node_id: int = self.control.ask("POST", "/v1/brokers", given)["node_id"]
        return node_id

    def decommission_broker(self, broker: int) -> None:
        """Stop a broker and remove it from the cluster; its leaders move."""
        self.control.ask("DELETE", f"/v1/brokers/{broker}")

    def advertise(self, broker: int, host: str, port: int, *, listener: str | None = None) -> None:
        """Advertise another address of a broker, such as that of a proxy or a mapped port.

        Clients get it from their next request on, also after a reset. `listener` is its name in
        `listeners`, by default the first. The broker still listens where it did, and
        `bootstrap_servers` does not change.
        """
        body = {"host": host, "port": port, "listener": listener}
        self.control.ask("PUT", f"/v1/brokers/{broker}/advertised", body)

    def fence_broker(self, broker: int) -> None:
        """Remove a broker from Metadata and move its leaders; it still serves its connections.

        `start_broker` ends this.
        """
        self.control.ask("POST", f"/v1/brokers/{broker}/fence")

    def move_leader(self, topic: str, partition: int, broker: int | None) -> None:
        """Make a broker the leader of a partition; None leaves it without a leader."""
        path = f"/v1/topics/{quote(topic, safe='')}/partitions/{partition}/leader"
        self.control.ask("PUT", path, {"broker": broker})

    def move_coordinator(self, group: str, broker: int) -> None:
        """Make a broker the coordinator of a group or transactional id.

        It leads the group's partition of `__consumer_offsets` from then on, so all groups of this
        partition move.
        """
        path = f"/v1/groups/{quote(group, safe='')}/coordinator"
        self.control.ask("PUT", path, {"broker": broker})

    # Transactions --------------------------------------------------------------------------

    def transactions(self) -> "list[Transaction]":
        """Return all transactional ids with the state, producer, partitions and age of each."""
        from mock_kafka.views import transaction_of  # noqa: PLC0415 - see `BrokerProcess`

        return list(map(transaction_of, self.control.ask("GET", "/v1/transactions")))

    def abort_transaction(self, transactional_id: str) -> "Transaction":
        """Abort an ongoing transaction, as its coordinator does after its timeout.

        Its producer is fenced.

        Raises:
            ControlError: there is no such transactional id, or its transaction is not ongoing.
        """
        path = f"/v1/transactions/{quote(transactional_id, safe='')}/abort"
        from mock_kafka.views import transaction_of  # noqa: PLC0415 - see `BrokerProcess`

        return transaction_of(self.control.ask("POST", path))

    def expire_transactional_id(self, transactional_id: str) -> None:
        """Remove a transactional id, as after `transactional.id.expiration.ms`.

        The next request of its producer gets INVALID_PRODUCER_ID_MAPPING.

        Raises:
            ControlError: there is no such transactional id, or it has a transaction.
        """
        self.control.ask("DELETE", f"/v1/transactions/{quote(transactional_id, safe='')}")

    # The audit -----------------------------------------------------------------------------

    def audit(self) -> "AuditReport":
        """Compare the acknowledgements that were sent since the start or reset with the logs.

        `audit().raise_on_findings()` raises an AuditError if there are any. It reads all logs, and
        the cluster serves no request during that time.

        Raises:
            ControlError: the cluster was not started with `audit=True`.
        """
        from mock_kafka.audit import audit_report_of  # noqa: PLC0415 - see `BrokerProcess`

        return audit_report_of(self.control.ask("GET", "/v1/audit"))

    # Reset ---------------------------------------------------------------------------------

    def reset(self, *, ports: Ports = "same") -> None:
        """Restore the state after the start and close all connections.

        This applies to topics, groups, producers, quotas, access control lists, configurations,
        users, faults, past requests, the audit, the clock and the brokers. It takes about a
        millisecond, and more if it loads the snapshot of `MockKafka(snapshot=...)` again.

        With `ports="new"` the brokers move to new ports. Clients from before the reset, such as
        those that a test could not close, get refused connections and no entry in `requests()`.
        `bootstrap_servers` has the new addresses.

        Raises:
            ControlError: the cluster was started with fixed ports, which can't be new.
        """
        self.control.unanswered.clear()
        if ports == "same":
            self.control.ask("POST", "/v1/reset")
            return
        self.control.ask("POST", "/v1/reset", {"ports": ports})
        brokers = self.control.ask("GET", "/v1/brokers")
        self._note_addresses(
            {
                listener: ",".join(broker["endpoints"][listener] for broker in brokers)
                for listener in brokers[0]["endpoints"]
            }
        )

    @abstractmethod
    def _note_addresses(self, addresses: Mapping[str, str]) -> None:
        """Have clients use these addresses, by listener, the first listener first."""
