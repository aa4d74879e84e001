"""A lane runs experiments of one client one after another, with clusters and a process it keeps."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from atlas.adapter_process import AdapterProcess
from atlas.adapters.adapter import UNANSWERED
from atlas.cell import cell
from atlas.clients import CLIENTS, Client
from atlas.clusters import ADVANCE, Clusters, has_happened, heal, prepare
from atlas.data_verdict import data_verdict
from atlas.experiment import (
    Command,
    Delivery,
    Experiment,
    Observation,
    Phase,
    Result,
    SeenRequest,
    StoredRecord,
)
from atlas.manners import judged_api, manners
from atlas.situation import Situation
from atlas.steps import HEAL, LANE_STEPS, LOOK, Reply, Session, Step
from atlas.workloads import WORKLOADS
from client import clock
from mock_kafka import MockKafka, Request
from mock_kafka.control import ControlError

GRACE_MS = 1_500
"""How much longer than a call may take the lane waits for the event that ends it."""
_AT_ONCE_MS = 1_000
_BEGIN_MS = 5_000
_REQUESTS_MAX = 3_000
_MESSAGES_MAX = 300
_EXIT_S = 1.0
"""How long a process may take to exit after the end of its output."""
_CLOSING_CHECKS = 5
_CLOSING_CHECK_S = 0.02
_READERS = {"consume", "group", "rebalance", "share", "process"}


class _Marks(NamedTuple):
    """The numbers of the last requests of the main phase, and before the client was closed."""

    main: int | None = None
    afterwards: int | None = None

    def phase_of(self, number: int) -> Phase:
        if self.main is None or number <= self.main:
            return "main"
        if self.afterwards is None or number <= self.afterwards:
            return "afterwards"
        return "close"


class Lane:
    """Runs experiments of one client; one thread uses it at a time."""

    def __init__(self, client: str | Client) -> None:
        """Start nothing yet; a client is in the table of the atlas, or any other.

        Raises:
            KeyError: there is no such client.
        """
        self._client = CLIENTS[client] if isinstance(client, str) else client
        self.client = self._client.name
        self._clusters = Clusters()
        self._adapter: AdapterProcess | None = None
        self.client_version = ""

    def run(self, experiment: Experiment) -> Result:
        """Run an experiment, and judge it.

        Raises:
            CannotRunError: the client can't run here.
            AdapterError: its adapter did not start.
            ControlError: the cluster refuses the situation.
            KeyError: there is no such workload.
        """
        situation = experiment.situation
        workload = WORKLOADS[situation.workload]
        cluster = self._clusters.ready(situation)
        prepare(cluster, situation, experiment.seed)
        adapter = self._running_adapter()
        adapter.clear_log()
        expected = _expected(situation)
        run = _Run(cluster, adapter, experiment)
        run.begin()
        run.follow(workload(run.session))
        observation = run.observe()
        log = adapter.log()
        if run.is_lost:
            adapter.kill()
            self._adapter = None
        data = data_verdict(
            observation,
            workload=situation.workload,
            isolation=situation.arguments.get("isolation"),
            expected=expected,
        )
        behaviour = manners(observation, api=judged_api(situation), expected=expected)
        colour, reasons = cell(situation, observation, data, behaviour)
        return Result(
            experiment=experiment,
            client_version=self.client_version,
            cell=colour,
            reasons=reasons,
            data=data.data,
            manners=behaviour,
            observation=observation,
            log=log,
            started_ms=run.started_ms,
            duration_ms=clock.now_ms() - run.began_ms,
        )

    def close(self) -> None:
        """Stop the adapter and the clusters."""
        if self._adapter is not None:
            self._adapter.end()
            self._adapter = None
        self._clusters.close()

    def _running_adapter(self) -> AdapterProcess:
        if self._adapter is not None and not self._adapter.is_running:
            self._adapter.kill()
            self._adapter = None
        if self._adapter is None:
            command = self._client.start()
            self._adapter = AdapterProcess(command.words, command.environment)
            self.client_version = str(self._adapter.ready["version"])
        return self._adapter


class _Run:
    """One experiment while it runs."""

    def __init__(self, cluster: MockKafka, adapter: AdapterProcess, experiment: Experiment) -> None:
        self._cluster = cluster
        self._adapter = adapter
        self._experiment = experiment
        situation = experiment.situation
        self.session = Session(
            situation.arguments,
            {name: topic.partitions for name, topic in situation.topics.items()},
            situation.records,
        )
        self._commands: list[Command] = []
        self._deliveries: list[Delivery] = []
        self._marks = _Marks()
        self._offset_ms = 0.0
        self._last_ended_ms = 0.0
        self._has_happened: bool | None = None
        self.is_lost = False
        self.has_crashed = False
        self.began_ms = clock.now_ms()
        self.started_ms = clock.wall_ms()
        self._cluster_began_ms = 0
        self._first_number = 0
        self._moves: list[tuple[int, int]] = []

    # Commands --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Have the adapter forget what was before, and begin to count the time."""
        servers = self._cluster.bootstrap_servers
        arguments = {"bootstrap": servers, "experiment": self._experiment.situation.id}
        self._ask(Step("begin", arguments, "close", _BEGIN_MS))
        self._commands.clear()
        self._last_ended_ms = 0.0
        self.began_ms = clock.now_ms()
        self._cluster_began_ms = self._cluster.now_ms()
        self._first_number = self._cluster.last_request_number() + 1
        for advance in self._experiment.situation.advance_s:
            count = advance.after.count
            fault = self._cluster.add_fault(
                name=ADVANCE, api=advance.after.api, nth=count, delay_ms=0
            )
            threading.Thread(
                target=self._advance_after, args=(fault, advance.s), daemon=True
            ).start()

    def _advance_after(self, fault: Any, seconds: float) -> None:
        try:
            fault.wait(timeout_s=self._experiment.limit_s)
            now_ms = self._cluster.advance(seconds=seconds)
            self._moves.append((now_ms, round(seconds * 1000)))
        except (ControlError, TimeoutError, OSError, RuntimeError):
            return  # the experiment is over

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
                number = self._cluster.last_request_number()
                main = number if self._marks.main is None else self._marks.main
                self._marks = _Marks(main, number)
            reply = self._ask(step)
            if reply.outcome == "unsupported":
                break
        steps.close()

    def _lane_step(self, step: Step) -> Mapping[str, Any]:
        """Do what the lane does itself in a workload; return the values of the reply."""
        if step.name == LOOK:
            groups = {group.group_id: group for group in self._cluster.groups()}
            found = groups.get(step.arguments["group"])
            return {"members": len(found.members), "state": found.state} if found else {}
        if step.name == HEAL:
            self._marks = _Marks(self._cluster.last_request_number())
            self._note_rules()
            heal(self._cluster)
        if "topic" in step.arguments:
            topic, value = step.arguments["topic"], step.arguments["value"]
            for partition in range(self.session.partitions.get(topic, 1)):
                self._cluster.produce(topic, value, partition=partition)
        return {}

    def _note_rules(self) -> None:
        situation = self._experiment.situation
        if self._has_happened is None:
            self._has_happened = has_happened(self._cluster, situation)

    def _ask(self, step: Step) -> Reply:
        """Send a command, and wait for its end."""
        number = len(self._commands) + 1
        begun = clock.now_ms()
        # The two clocks differ by the time of a message: no command is sent before the last ended.
        sent_ms = max(float(begun - self.began_ms), self._last_ended_ms)
        command = Command(number, step.name, step.arguments, step.phase, sent_ms)
        limit_ms = (step.timeout_ms or _AT_ONCE_MS) + GRACE_MS
        left_ms = self.began_ms + self._experiment.limit_s * 1000 - begun
        give_up_ms = begun + min(limit_ms, left_ms)
        self._adapter.write({"n": number, "command": step.name, **step.arguments})
        while (wait_ms := give_up_ms - clock.now_ms()) > 0:
            event = self._adapter.next_event(wait_ms / 1000)
            if event is None:
                break
            if event.get("n") == number:
                if step.name == "begin":
                    self._offset_ms = float(event["at_ms"])
                command = _ended(command, event, max(self._at_ms(event), sent_ms))
                self._last_ended_ms = command.ended_ms or 0.0
                break
            self._take(event)
        if command.ended_ms is None:
            self.is_lost = True
            is_early = clock.now_ms() < give_up_ms
            if self._adapter.has_ended(_EXIT_S if is_early else 0):
                self.has_crashed = True
                command = replace(command, outcome="ended")
        self._commands.append(command)
        return Reply(number, command.outcome, command.values)

    def _at_ms(self, event: Mapping[str, Any]) -> float:
        return float(event["at_ms"]) - self._offset_ms

    def _take(self, event: Mapping[str, Any]) -> None:
        """Keep what a client reports of a record."""
        if "send" not in event:
            return
        is_delivered = event["event"] == "delivered"
        self._deliveries.append(
            Delivery(
                event["send"],
                self._at_ms(event),
                event.get("offset"),
                event.get("error"),
                event.get("class"),
                event.get("message"),
            )
        )
        self.session.delivered.setdefault(event["send"], is_delivered)

    # What was seen -----------------------------------------------------------------------------

    def observe(self) -> Observation:
        """Return what the client, the journal and the log have."""
        self._note_rules()
        connections = 0 if self.is_lost else self._connections_left()
        while (event := self._adapter.next_event(0)) is not None:
            self._take(event)
        return Observation(
            commands=tuple(self._commands),
            deliveries=tuple(self._deliveries),
            requests=self._requests(),
            records=self._records(),
            log_starts={
                (topic.name, partition.partition): partition.log_start_offset
                for topic in self._cluster.topics()
                for partition in topic.partitions
                if partition.log_start_offset
            },
            is_usable=self.session.is_usable,
            connections_left=connections,
            has_crashed=self.has_crashed,
            has_happened=bool(self._has_happened),
        )

    def _connections_left(self) -> int:
        """Return how many connections are open a moment after the last command."""
        count = 0
        for _ in range(_CLOSING_CHECKS):
            count = len(self._cluster.control.ask("GET", "/v1/connections"))
            if not count:
                break
            threading.Event().wait(_CLOSING_CHECK_S)
        return count

    def _requests(self) -> tuple[SeenRequest, ...]:
        found = self._cluster.requests(has_messages=False, limit=_REQUESTS_MAX)
        produced = {
            request.number: _batches(request.request)
            for request in self._cluster.requests(api="Produce", limit=_MESSAGES_MAX)
        }
        return tuple(
            seen_request(
                request,
                self._cluster_began_ms + self._moved_ms(request.received_ms),
                self._marks.phase_of(request.number),
                produced.get(request.number, ()),
            )
            for request in found
            if request.number >= self._first_number
        )

    def _moved_ms(self, received_ms: int) -> int:
        """Return by how much the clock had been moved then."""
        return sum(moved_ms for now_ms, moved_ms in self._moves if received_ms >= now_ms)

    def _records(self) -> tuple[StoredRecord, ...]:
        return tuple(
            StoredRecord(
                record.topic,
                record.partition,
                record.offset,
                None if record.value is None else record.value.decode(errors="replace"),
                record.transaction,
            )
            for topic in self._cluster.topics()
            for record in self._cluster.records(topic.name)
        )


def seen_request(
    request: Request, began_ms: int, phase: Phase, records: tuple[Any, ...] = ()
) -> SeenRequest:
    """Return an entry of the journal with times since the experiment began."""
    latency_ms = None
    if request.duration_us is not None and request.outcome in {"responded", "no_response"}:
        latency_ms = request.duration_us / 1000
    return SeenRequest(
        number=request.number,
        at_ms=request.received_ms - began_ms,
        broker=request.broker,
        connection=request.connection,
        api=request.api,
        api_version=request.version,
        size_bytes=request.request_bytes,
        outcome=request.close_reason or request.outcome,
        phase=phase,
        errors=tuple(error for error in request.errors if error != "NONE"),
        throttle_time_ms=request.throttle_time_ms,
        is_muted=request.muted,
        fault=request.fault,
        latency_ms=latency_ms,
        topics=request.topics,
        groups=request.groups,
        transactional_ids=request.transactional_ids,
        records=records,
    )


def _batches(message: Any) -> tuple[Any, ...]:
    """Return what identifies the batches of a Produce request: each by sequence and by time."""
    if not message:
        return ()
    return tuple(
        (str(topic.get("name") or topic.get("topic_id")), partition["index"], *key)
        for topic in message["topic_data"]
        for partition in topic["partition_data"]
        for batch in ((partition["records"] or {}).get("batches") or ())
        for key in _batch_keys(batch)
    )


def _batch_keys(batch: Mapping[str, Any]) -> tuple[tuple[Any, ...], ...]:
    by_time = ("time", batch["max_timestamp"], batch["record_count"])
    if batch["producer_id"] < 0:
        return (by_time,)
    numbers = (batch["producer_id"], batch["producer_epoch"], batch["base_sequence"])
    return (by_time, ("sequence", *numbers))


def _ended(command: Command, event: Mapping[str, Any], at_ms: float) -> Command:
    outcome = str(event["event"])
    if outcome == "failed" and event.get("error") == UNANSWERED:
        outcome = "unanswered"
    values = {k: v for k, v in event.items() if k not in {"n", "event", "at_ms"}}
    return replace(command, outcome=outcome, ended_ms=at_ms, values=values)


def _expected(situation: Situation) -> int:
    """Return how many records the consumers of a situation should read."""
    if situation.workload not in _READERS:
        return 0
    topic = situation.arguments.get("topic", "orders")
    stored = situation.records.get(topic, 0)
    count: int = situation.arguments.get("records", stored)
    return min(count, stored)
