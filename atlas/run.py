"""One experiment while it runs: the adapter is asked, and what it reports is kept."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from atlas.adapter_process import AdapterProcess
from atlas.adapters.adapter import UNANSWERED
from atlas.experiment import (
    Command,
    Delivery,
    Experiment,
    Observation,
    Phase,
    SeenRequest,
    StoredRecord,
)
from atlas.steps import HEAL, LANE_STEPS, LOOK, Reply, Session, Step
from client import clock

GRACE_MS = 1_500
"""How much longer than a call may take the lane waits for the event that ends it."""
DELEGATION_TOKENS = "delegation_tokens"
"""What an adapter has in `supports` if its library authenticates with them (KIP-48)."""
_AT_ONCE_MS = 1_000
_BEGIN_MS = 5_000
_EXIT_S = 1.0
"""How long a process may take to exit after the end of its output."""


class Marks(NamedTuple):
    """The numbers of the last requests of the main phase, and before the client was closed."""

    main: int | None = None
    afterwards: int | None = None

    def phase_of(self, number: int) -> Phase:
        """Return the phase in which a request came."""
        if self.main is None or number <= self.main:
            return "main"
        if self.afterwards is None or number <= self.afterwards:
            return "afterwards"
        return "close"


class Run(ABC):
    """One experiment while it runs; a subclass knows the cluster and what can be seen of it."""

    def __init__(
        self, bootstrap_servers: str, adapter: AdapterProcess, experiment: Experiment
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self.adapter = adapter
        self._experiment = experiment
        situation = experiment.situation
        self.session = Session(
            situation.arguments,
            {name: topic.partitions for name, topic in situation.topics.items()},
            situation.records,
        )
        self._commands: list[Command] = []
        self._deliveries: list[Delivery] = []
        self._marks = Marks()
        self._number_before = adapter.last_number
        """The number of the last command that is not of this experiment."""
        self._offset_ms = 0.0
        self._last_ended_ms = 0.0
        self.is_lost = False
        self.has_crashed = False
        self.began_ms = clock.now_ms()
        self.started_ms = clock.wall_ms()
        self._healing_ms = 0

    # Commands --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Have the adapter forget what was before, and begin to count the time."""
        name = self._experiment.situation.id
        arguments = {"bootstrap": self._bootstrap_servers, "experiment": name}
        self._ask(Step("begin", arguments, "close", _BEGIN_MS))
        self._commands.clear()
        self._number_before = self.adapter.last_number
        self._last_ended_ms = 0.0
        self.began_ms = clock.now_ms()
        self._watch()

    def follow(self, steps: Any) -> None:
        """Run the steps of a workload until its end, or until the client can't go on."""
        reply: Reply | None = None
        while not self.is_lost:
            try:
                step = steps.send(reply)
            except StopIteration:
                break
            if step.name in LANE_STEPS:
                reply = Reply(0, "done", self._lane_step(step))
                continue
            if step.phase == "close" and self._marks.afterwards is None:
                number = self._request_number()
                main = number if self._marks.main is None else self._marks.main
                self._marks = Marks(main, number)
            reply = self._ask(step)
            if reply.outcome == "unsupported":
                break
        steps.close()

    def _lane_step(self, step: Step) -> Mapping[str, Any]:
        """Do what the lane does itself in a workload; return the values of the reply."""
        if step.name == LOOK:
            return self._look(step.arguments["group"])
        if step.name == HEAL:
            self._marks = Marks(self._request_number())
            began_ms = clock.now_ms()
            self._heal()
            self._healing_ms = clock.now_ms() - began_ms
        if "topic" in step.arguments:
            topic, value = step.arguments["topic"], step.arguments["value"]
            for partition in range(self.session.partitions.get(topic, 1)):
                self._write(topic, partition, value)
        return {}

    def _ask(self, step: Step) -> Reply:
        """Send a command, and wait for its end."""
        number = len(self._commands) + 1
        begun = clock.now_ms()
        # The two clocks differ by the time of a message: no command is sent before the last ended.
        sent_ms = max(float(begun - self.began_ms), self._last_ended_ms)
        command = Command(number, step.name, step.arguments, step.phase, sent_ms)
        if self._lacks_tokens(step):
            values = {"ignored": ["token_auth"]}
            self._commands.append(
                replace(command, outcome="unsupported", ended_ms=sent_ms, values=values)
            )
            return Reply(number, "unsupported", values)
        limit_ms = (step.timeout_ms or _AT_ONCE_MS) + GRACE_MS
        # A broker that starts again takes its time, which is not the client's.
        limit_end_ms = self.began_ms + self._healing_ms + self._experiment.limit_s * 1000
        left_ms = limit_end_ms - begun
        give_up_ms = begun + min(limit_ms, left_ms)
        sent_number = self._number_before + number
        self.adapter.write({"n": sent_number, "command": step.name, **step.arguments})
        while (wait_ms := give_up_ms - clock.now_ms()) > 0:
            event = self.adapter.next_event(wait_ms / 1000)
            if event is None:
                break
            if event.get("n") == sent_number:
                if step.name == "begin":
                    self._offset_ms = float(event["at_ms"])
                command = _ended(command, event, max(self._at_ms(event), sent_ms))
                self._last_ended_ms = command.ended_ms or 0.0
                break
            self._take(event)
        if command.ended_ms is None:
            self.is_lost = True
            is_early = clock.now_ms() < give_up_ms
            if self.adapter.has_ended(_EXIT_S if is_early else 0):
                self.has_crashed = True
                command = replace(command, outcome="ended")
        self._commands.append(command)
        return Reply(number, command.outcome, command.values)

    def _lacks_tokens(self, step: Step) -> bool:
        """Return whether it needs delegation tokens and the library has none.

        It is not asked then: with the id of a token as a user name it would not succeed.
        """
        needs_token = step.arguments.get("settings", {}).get("token_auth", False)
        return needs_token and DELEGATION_TOKENS not in self.adapter.ready.get("supports", ())

    def _at_ms(self, event: Mapping[str, Any]) -> float:
        return float(event["at_ms"]) - self._offset_ms

    def _take(self, event: Mapping[str, Any]) -> None:
        """Keep what a client reports of a record of this experiment.

        A client that was forgotten may report one of an experiment before it.
        """
        number = event.get("send", 0) - self._number_before
        if number <= 0:
            return
        is_delivered = event["event"] == "delivered"
        self._deliveries.append(
            Delivery(
                number,
                self._at_ms(event),
                event.get("offset"),
                event.get("error"),
                event.get("class"),
                event.get("message"),
            )
        )
        self.session.delivered.setdefault(number, is_delivered)

    # What was seen -----------------------------------------------------------------------------

    def observe(self) -> Observation:
        """Return what the client, the journal and the log have."""
        has_happened = self._has_happened()
        connections = 0 if self.is_lost else self._connections_left()
        while (event := self.adapter.next_event(0)) is not None:
            self._take(event)
        return Observation(
            commands=tuple(self._commands),
            deliveries=tuple(self._deliveries),
            requests=self._requests(),
            records=self._records(),
            log_starts=self._log_starts(),
            is_usable=self.session.is_usable,
            connections_left=connections,
            has_crashed=self.has_crashed,
            has_happened=has_happened,
        )

    # The cluster -------------------------------------------------------------------------------

    @abstractmethod
    def _watch(self) -> None:
        """Do what is to be done with the cluster when the time begins to count."""

    @abstractmethod
    def _request_number(self) -> int:
        """Return the number of the last request that the cluster has got."""

    @abstractmethod
    def _look(self, group_id: str) -> Mapping[str, Any]:
        """Return the number of members of a group and its state, or nothing."""

    @abstractmethod
    def _heal(self) -> None:
        """Make the cluster healthy again."""

    @abstractmethod
    def _write(self, topic: str, partition: int, value: str) -> None:
        """Write a record."""

    @abstractmethod
    def _has_happened(self) -> bool:
        """Return whether the client met what the situation is about."""

    @abstractmethod
    def _connections_left(self) -> int:
        """Return how many connections are open a moment after the last command."""

    @abstractmethod
    def _requests(self) -> tuple[SeenRequest, ...]:
        """Return the requests that the cluster got from the client."""

    @abstractmethod
    def _records(self) -> tuple[StoredRecord, ...]:
        """Return the records of all topics that the client may have written to."""

    @abstractmethod
    def _log_starts(self) -> Mapping[tuple[str, int], int]:
        """Return the first offset of each partition that has lost records."""


def _ended(command: Command, event: Mapping[str, Any], at_ms: float) -> Command:
    outcome = str(event["event"])
    if outcome == "failed" and event.get("error") == UNANSWERED:
        outcome = "unanswered"
    values = {k: v for k, v in event.items() if k not in {"n", "event", "at_ms"}}
    return replace(command, outcome=outcome, ended_ms=at_ms, values=values)
