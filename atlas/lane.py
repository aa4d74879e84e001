"""A lane runs experiments of one client one after another, with clusters and a process it keeps."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from atlas.adapter_process import AdapterProcess
from atlas.cell import cell
from atlas.clients import CLIENTS, Client
from atlas.clusters import ADVANCE, Clusters, has_happened, heal, prepare
from atlas.data_verdict import data_verdict
from atlas.delegation_token import with_token
from atlas.experiment import (
    Experiment,
    Phase,
    Result,
    SeenRequest,
    StoredRecord,
)
from atlas.manners import judged_api, manners
from atlas.run import Run
from atlas.situation import Situation
from atlas.warm_up import plain
from atlas.workloads import WORKLOADS
from client import clock
from mock_kafka import MockKafka, Request
from mock_kafka.control import ControlError

_REQUESTS_MAX = 3_000
_MESSAGES_MAX = 300
_CLOSING_CHECKS = 5
_CLOSING_CHECK_S = 0.02
_READERS = {"consume", "group", "rebalance", "share", "process"}


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
        self._warm: set[str] = set()
        """The workloads that the process of the adapter has run before."""
        self.client_version = ""

    def run(self, experiment: Experiment) -> Result:
        """Run an experiment, and judge it.

        Raises:
            CannotRunError: the client can't run here.
            AdapterError: its adapter did not start.
            ControlError: the cluster refuses the situation.
            StartError: the cluster does not start.
            KeyError: there is no such workload.
        """
        situation = experiment.situation
        workload = WORKLOADS[situation.workload]
        run = self._prepared_run(experiment)
        adapter = run.adapter
        adapter.clear_log()
        expected = _expected(situation)
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

    def _prepared_run(self, experiment: Experiment) -> Run:
        """Bring a cluster into the situation."""
        adapter = self._warm_adapter(experiment.situation.workload)
        cluster = self._clusters.ready(experiment.situation)
        prepare(cluster, experiment.situation, experiment.seed)
        situation = with_token(experiment.situation, cluster.bootstrap_servers)
        return _MockRun(cluster, adapter, replace(experiment, situation=situation))

    def _warm_adapter(self, workload: str) -> AdapterProcess:
        """Return the adapter; if its client warms up, it has run the workload before."""
        adapter = self._running_adapter()
        if not self._client.warms_up or workload in self._warm:
            return adapter
        self._warm.add(workload)
        situation = plain(workload)
        cluster = self._clusters.ready(situation)
        prepare(cluster, situation, seed=1)
        run = _MockRun(cluster, adapter, Experiment(self.client, situation))
        run.begin()
        run.follow(WORKLOADS[workload](run.session))
        if run.is_lost:
            adapter.kill()
        return self._running_adapter()

    def _running_adapter(self) -> AdapterProcess:
        if self._adapter is not None and not self._adapter.is_running:
            self._adapter.kill()
            self._adapter = None
        if self._adapter is None:
            command = self._client.start()
            self._adapter = AdapterProcess(command.words, command.environment)
            self._warm.clear()
            self.client_version = str(self._adapter.ready["version"])
        return self._adapter


class _MockRun(Run):
    """An experiment on a `MockKafka`, whose journal has all requests."""

    def __init__(self, cluster: MockKafka, adapter: AdapterProcess, experiment: Experiment) -> None:
        super().__init__(cluster.bootstrap_servers, adapter, experiment)
        self._cluster = cluster
        self._fired: bool | None = None
        self._cluster_began_ms = 0
        self._first_number = 0
        self._moves: list[tuple[int, int]] = []

    def _watch(self) -> None:
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

    def _request_number(self) -> int:
        return self._cluster.last_request_number()

    def _look(self, group_id: str) -> Mapping[str, Any]:
        groups = {group.group_id: group for group in self._cluster.groups()}
        found = groups.get(group_id)
        return {"members": len(found.members), "state": found.state} if found else {}

    def _heal(self) -> None:
        self._fired = self._has_happened()
        heal(self._cluster)

    def _write(self, topic: str, partition: int, value: str) -> None:
        self._cluster.produce(topic, value, partition=partition)

    def _has_happened(self) -> bool:
        if self._fired is None:
            self._fired = has_happened(self._cluster, self._experiment.situation)
        return self._fired

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

    def _log_starts(self) -> Mapping[tuple[str, int], int]:
        return {
            (topic.name, partition.partition): partition.log_start_offset
            for topic in self._cluster.topics()
            for partition in topic.partitions
            if partition.log_start_offset
        }


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


def _expected(situation: Situation) -> int:
    """Return how many records the consumers of a situation should read."""
    if situation.workload not in _READERS:
        return 0
    topic = situation.arguments.get("topic", "orders")
    stored = situation.records.get(topic, 0)
    count: int = situation.arguments.get("records", stored)
    return min(count, stored)
