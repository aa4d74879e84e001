"""The operations of the admin port, as its HTTP server calls them, without HTTP."""

from collections.abc import Callable
from random import Random
from traceback import format_exception
from typing import Any, cast

import msgspec

from broker.clock import BrokerClock
from broker.faults import FaultRule
from broker.http_admin import web  # noqa: F401 - declares all operations
from broker.http_admin.faults import FaultView, add_rules
from broker.http_admin.operation import OPERATIONS, Operation, Problem, encode_result
from broker.http_admin.state import Admin
from simulation.network import Network
from tests.simulation.brokers import SimulatedServer
from tests.simulation.chaos import Chaos
from tests.simulation.history import History


def _add_fault(admin: Admin, body: FaultRule) -> FaultView:
    (view,) = add_rules(admin, [body])
    return view


_BY_NAME = {declared.operation_id: declared for declared in OPERATIONS}
_IN_ONE_GO: dict[str, Callable[..., Any]] = {"add_faults": _add_fault}
"""What an operation does between requests; here it does so without a pause."""
_READS = (
    "get_health",
    "get_metrics",
    "get_clock",
    "get_controller",
    "get_audit",
    "list_brokers",
    "list_connections",
    "list_faults",
    "list_groups",
    "list_producers",
    "list_quotas",
    "list_measurements",
    "list_filters",
    "list_shadow_report",
    "list_requests",
    "get_journal",
    "list_topics",
    "list_transactions",
)


class AdminPort:
    """Call one operation after the other while clients work."""

    def __init__(
        self,
        server: SimulatedServer,
        network: Network,
        history: History,
        chaos: Chaos,
        random: Random,
    ) -> None:
        self._admin = Admin(server, cast("BrokerClock", server.clock))
        self._network = network
        self._history = history
        self._chaos = chaos
        self._random = random
        self._changes: tuple[Callable[[], None], ...] = (
            self._stop_broker,
            self._isolate_broker,
            self._fence_broker,
            self._start_broker,
            self.upgrade_broker,
            self.upgrade_broker,
            self._cut_connection,
            self._move_leader,
            self._move_coordinator,
            self._add_fault,
            self._remove_faults,
            self._put_quota,
        )

    def do_something(self) -> None:
        """Call an operation that reads, or one that changes something."""
        if self._random.random() < 0.4:
            self._call(self._random.choice(_READS))
        elif self._random.random() < 0.2:
            topic = self._random.choice(list(self._admin.cluster.topics.all()))
            self._call("get_records", {"name": topic.name})
        else:
            self._random.choice(self._changes)()

    def _call(self, name: str, path: dict[str, Any] | None = None, body: Any = None) -> Any:
        """Return the result, decoded from JSON; None after a problem that the operation reports."""
        operation: Operation = _BY_NAME[name]
        texts = {key: str(value) for key, value in (path or {}).items()}
        data = b"" if body is None else msgspec.json.encode(body)
        self._network.trace(f"admin port: {operation.method} {operation.path} {texts} {body}")
        try:
            arguments = operation.read_input(texts, {}, data)
            result = _IN_ONE_GO.get(name, operation.handler)(self._admin, **arguments)
            if operation.media_type != "application/json":
                return result
            return msgspec.json.decode(encode_result(result))
        except Problem as problem:
            self._network.trace(f"admin port: {problem.status} {problem.detail}")
        except Exception as error:  # noqa: BLE001 - reported as a violation
            text = "".join(format_exception(error))
            self._history.internal_errors.append(f"admin port, {name}: {text}")
        return None

    # Operations --------------------------------------------------------------------------------

    def _node_id(self) -> int:
        return self._random.choice(tuple(self._admin.cluster.brokers))

    def _stop_broker(self) -> None:
        node_id = self._node_id()
        is_controlled = self._random.random() < 0.5
        body = {"controlled": is_controlled, "elect": is_controlled or self._random.random() < 0.5}
        self._call("stop_broker", {"node_id": node_id}, body)
        self._chaos.come_back(node_id)

    def _isolate_broker(self) -> None:
        node_id = self._node_id()
        self._call("isolate_broker", {"node_id": node_id}, {"elect": self._random.random() < 0.5})
        self._chaos.come_back(node_id)

    def _fence_broker(self) -> None:
        node_id = self._node_id()
        self._call("fence_broker", {"node_id": node_id})
        self._chaos.come_back(node_id)

    def _start_broker(self) -> None:
        self._call("start_broker", {"node_id": self._node_id()}, {})

    def upgrade_broker(self) -> None:
        """Start a broker with another rule for duplicates, as a rolling upgrade does."""
        self._history.has_upgrades = True
        config = {"producer.state.batches": self._random.choice(("1", "5"))}
        self._call("start_broker", {"node_id": self._node_id()}, {"config": config})

    def _cut_connection(self) -> None:
        found = self._call("list_connections")
        if found:
            connection = self._random.choice(found)["connection"]
            self._call("cut_connection", {"connection": connection})

    def _move_leader(self) -> None:
        topics = [found for found in self._admin.cluster.topics.all() if not found.is_internal]
        topic = self._random.choice(topics)
        path = {"name": topic.name, "partition": self._random.randrange(len(topic.partitions))}
        self._call("put_leader", path, {"broker": self._node_id()})

    def _move_coordinator(self) -> None:
        groups = self._admin.cluster.groups.table.group_ids()
        if groups:
            path = {"group_id": self._random.choice(groups)}
            self._call("put_coordinator", path, {"broker": self._node_id()})

    def _add_fault(self) -> None:
        self._call("add_faults", body=self._chaos.some_rule().to_json())

    def _remove_faults(self) -> None:
        known = self._call("list_faults")
        if known and self._random.random() < 0.7:
            self._call("remove_fault", {"id": self._random.choice(known)["id"]})
        else:
            self._call("clear_faults")

    def _put_quota(self) -> None:
        """Set a quota of a user who does nothing, which enables all checks of quotas."""
        values = {
            "producer_byte_rate": 1_000,
            "consumer_byte_rate": 1_000,
            "producer_ids_rate": 1,
            "controller_mutation_rate": 1,
        }
        key = self._random.choice(tuple(values))
        body = {
            "entity": {"user": "nobody"},
            "values": {key: self._random.choice((values[key], None))},
            "shadow": self._random.choice((True, False, None)),
        }
        self._call("put_quotas", body=body)
