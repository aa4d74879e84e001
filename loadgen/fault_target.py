"""What carries out the faults of a plan: an admin port, or Kafka's own API for moves of leaders."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Protocol

from loadgen.admin_port import AdminPort, NotFoundError
from loadgen.command_error import CommandError
from loadgen.fault_rows import FaultRow
from loadgen.leader_moves import KafkaLeaders
from loadgen.plan.faults import CutBroker, Fault, MoveLeader

_GATE = "mock-kafka load: never fires"


class FaultError(CommandError):
    """A fault of the plan cannot be carried out; the message is one line."""


class Leaders(Protocol):
    """Shows and moves leaders."""

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the leader of a partition; None if it has none."""

    def move_leader(self, topic: str, partition: int, node_id: int | None) -> None:
        """Make a broker the leader of a partition."""


class FaultTarget:
    """The cluster of a load, as faults see it."""

    def __init__(self, port: AdminPort | None, leaders: KafkaLeaders) -> None:
        """Use an admin port if there is one, of brokers or of a proxy, and the cluster's API."""
        self._given_port, self._kafka_leaders = port, leaders

    def check(self, faults: Sequence[Fault], leaders: Mapping[str, Sequence[int]]) -> None:
        """Check before the load that all faults can be carried out.

        Args:
            faults: those of the plan.
            leaders: the leader of each partition of the plan's topics.

        Raises:
            FaultError: there is no port, it refuses a rule, or there is no such broker, replica or
                partition.
        """
        if self._given_port is None and any(fault.move_leader is None for fault in faults):
            raise FaultError(
                "the plan has faults, which need the URL of mock-kafka's admin port: --admin URL"
            )
        for fault in faults:
            try:
                if fault.rule is not None:
                    self._check_rule(fault.rule)
                elif fault.move_leader is not None:
                    self._check_move(fault.move_leader, leaders)
                elif fault.cut_broker is not None:
                    self._check_cut(fault.cut_broker)
            except NotFoundError as error:
                raise FaultError(
                    f"fault {fault.name!r}: {fault.action} needs the admin port of the brokers:"
                    f" {error}"
                ) from error
            except CommandError as error:
                raise FaultError(f"fault {fault.name!r}: {error}") from error

    def carry_out(self, fault: Fault, row: FaultRow) -> Callable[[], None] | None:
        """Carry out a fault; return what ends it, or None for a move that stays.

        Raises:
            CommandError: the port or the cluster refuses it or does not respond.
        """
        if fault.rule is not None:
            [row.rule_id] = self._port.add_rules([fault.rule])
            return partial(self._port.remove_rule, row.rule_id)
        if fault.move_leader is not None:
            move = fault.move_leader
            before = self._leaders.leader(move.topic, move.partition)
            self._leaders.move_leader(move.topic, move.partition, move.to)
            back = partial(self._leaders.move_leader, move.topic, move.partition, before)
            return None if fault.for_s is None else back
        cut, port = fault.cut_broker, self._port
        assert cut is not None, "a fault has one action"
        cut_off = port.stop_broker if fault.stop_broker is not None else port.isolate_broker
        cut_off(cut.broker, elect=not self._is_proxied if cut.elect is None else cut.elect)
        return partial(port.start_broker, cut.broker)

    def fired(self, rule_id: int) -> int | None:
        """Return how often a rule has fired.

        Raises:
            AdminPortError: the port does not respond.
        """
        return self._port.fired_counts().get(rule_id)

    def clock_ms(self) -> int | None:
        """Return the time of the brokers or of the proxy in ms since 1970; None without a port.

        Raises:
            AdminPortError: the port does not respond.
        """
        return None if self._given_port is None else self._given_port.clock_ms()

    @cached_property
    def _is_proxied(self) -> bool:
        return self._port.is_proxy()

    @property
    def _port(self) -> AdminPort:
        assert self._given_port is not None, "check refuses faults that need a port"
        return self._given_port

    @property
    def _leaders(self) -> Leaders:
        has_brokers = self._given_port is not None and not self._is_proxied
        return self._port if has_brokers else self._kafka_leaders

    def _check_rule(self, rule: Mapping[str, object]) -> None:
        if not {"after", "until", "at_once"} & rule.keys():
            # The port checks a rule when it is added. Behind this gate it can match nothing.
            gate = {"name": _GATE, "api": "ApiVersions", "client_id": _GATE, "delay_ms": 0}
            for rule_id in self._port.add_rules([{**rule, "after": _GATE}, gate]):
                self._port.remove_rule(rule_id)

    def _check_move(self, move: MoveLeader, leaders: Mapping[str, Sequence[int]]) -> None:
        if move.topic not in leaders:
            raise FaultError(f"{move.topic!r} is not among topics: {sorted(leaders)}")
        if move.partition >= len(leaders[move.topic]):
            raise FaultError(f"{move.topic!r} has no partition {move.partition}")
        if self._leaders is not self._kafka_leaders:
            self._check_broker(move.to)
            return
        replicas = self._kafka_leaders.replicas(move.topic, move.partition)
        if move.to not in replicas:
            raise FaultError(
                f"broker {move.to} is no replica of {move.topic}-{move.partition}, which has"
                f" {list(replicas)}"
            )

    def _check_cut(self, cut: CutBroker) -> None:
        self._check_broker(cut.broker)
        if cut.elect and self._is_proxied:
            raise FaultError("elect: true needs the admin port of the brokers: a proxy elects none")

    def _check_broker(self, node_id: int) -> None:
        known = self._port.node_ids()
        if node_id not in known:
            raise FaultError(f"there is no broker {node_id}; brokers: {known}")
