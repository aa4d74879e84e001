"""One of KIP-599's experiments: topic requests, and brokers that fail while these are processed.

Time is that of the cluster's standing clock, in ms since the experiment began.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from client import open_admin
from mock_kafka import MockKafka
from protocol import messages
from protocol.errors import ErrorCode
from scenarios.controller_overload.polled_connection import PolledConnection

PROBE = "probe"
"""A topic with a partition for each broker to lead: its leaders tell when an election is over."""
REQUEST_TIMEOUT_MS = 30_000
RETRY_BACKOFF_MS = 1000
"""Shortest wait before refused topics are sent again: `retry.backoff.max.ms` of Java clients."""
_LOOK_INTERVAL_MS = 250
_SAMPLE_INTERVAL_MS = 1000
_TIME_MAX_MS = 3_600_000


_TopicResult: TypeAlias = (
    "messages.CreateTopicsResponse.CreatableTopicResult"
    " | messages.DeleteTopicsResponse.DeletableTopicResult"
)
TopicsResponse: TypeAlias = "messages.CreateTopicsResponse | messages.DeleteTopicsResponse"


class TopicRequests(NamedTuple):
    """What the client asks for.

    `build` makes a request of topic names. `batches` are the names of the requests: one each
    `interval_ms`.
    """

    build: Callable[[Sequence[str]], "messages.Request[TopicsResponse]"]
    batches: Sequence[Sequence[str]]
    interval_ms: int


class Failure(NamedTuple):
    """A broker and when it is stopped."""

    at_ms: int
    broker: int


class Sample(NamedTuple):
    """How long the controller's queue was: its work in ms."""

    at_ms: int
    queue_ms: float


@dataclass(slots=True)
class OverloadResult:
    """What came of an experiment."""

    done: int = 0
    """Topics whose result was no error."""
    timed_out: int = 0
    """Topics whose result was REQUEST_TIMED_OUT: the controller gets to them later."""
    refusals: int = 0
    """Results with THROTTLING_QUOTA_EXCEEDED; each was sent again."""
    others: int = 0
    """Results with any other error."""
    drained_ms: int = 0
    """When the client had all responses and the queue was empty."""
    latency_ms: dict[Failure, int] = field(default_factory=dict)
    """Time from the failure until Metadata named another leader."""
    samples: list[Sample] = field(default_factory=list)


def create_requests(batches: Sequence[Sequence[str]], interval_ms: int) -> TopicRequests:
    """Topics of four partitions with three replicas."""

    def build(names: Sequence[str]) -> "messages.CreateTopicsRequest":
        topic = messages.CreateTopicsRequest.CreatableTopic
        return messages.CreateTopicsRequest(
            topics=[
                topic(name=name, num_partitions=4, replication_factor=3, assignments=[], configs=[])
                for name in names
            ],
            timeout_ms=REQUEST_TIMEOUT_MS,
            validate_only=False,
        )

    return TopicRequests(build, batches, interval_ms)


def delete_request(names: Sequence[str]) -> TopicRequests:
    """All topics in one request."""

    def build(some: Sequence[str]) -> "messages.DeleteTopicsRequest":
        state = messages.DeleteTopicsRequest.DeleteTopicState
        return messages.DeleteTopicsRequest(
            topics=[state(name=name) for name in some], timeout_ms=REQUEST_TIMEOUT_MS
        )

    return TopicRequests(build, [names], 1)


def run_experiment(
    lab: MockKafka, requests: TopicRequests, failures: Sequence[Failure]
) -> OverloadResult:
    """Send the requests and stop the brokers; return when all is done and elected."""
    with ExitStack() as stack:
        experiment = _Experiment(lab, requests, failures, stack)
        experiment.run()
    return experiment.outcome


class _Experiment:
    """A strict client, brokers that fail, and the clock that is moved for both."""

    def __init__(
        self,
        lab: MockKafka,
        requests: TopicRequests,
        failures: Sequence[Failure],
        stack: ExitStack,
    ) -> None:
        self.outcome = OverloadResult()
        self._lab = lab
        self._server = lab.bootstrap_servers_list[0]
        self._stack = stack
        self._requests = requests
        self._admin = stack.enter_context(open_admin(self._server))
        self._connections: list[PolledConnection] = []
        self._arriving = deque(requests.batches)
        self._batch_size = max(map(len, requests.batches))
        self._unsent: deque[str] = deque()
        self._quiet_until_ms = 0
        self._failures = deque(failures)
        self._electing: list[Failure] = []
        self._now_ms = 0

    def run(self) -> None:
        next_batch_ms, next_sample_ms = 0, 0
        while self._now_ms < _TIME_MAX_MS:
            if self._arriving and next_batch_ms <= self._now_ms:
                self._unsent.extend(self._arriving.popleft())
                next_batch_ms += self._requests.interval_ms
            self._send()
            self._receive()
            self._fail_brokers()
            self._see_elections()
            queue_ms = self._lab.control.ask("GET", "/v1/controller")["remaining_ms"]
            if next_sample_ms <= self._now_ms:
                self.outcome.samples.append(Sample(self._now_ms, queue_ms))
                next_sample_ms = self._now_ms + _SAMPLE_INTERVAL_MS
            if not self._is_client_waiting() and not queue_ms and not self.outcome.drained_ms:
                self.outcome.drained_ms = self._now_ms
            if self.outcome.drained_ms and not self._failures and not self._electing:
                return
            self._advance_to(min(self._next_times(next_batch_ms, next_sample_ms)))
        raise TimeoutError(f"the experiment is not over after {_TIME_MAX_MS} ms")

    def _is_client_waiting(self) -> bool:
        return bool(
            self._arriving
            or self._unsent
            or any(connection.is_busy for connection in self._connections)
        )

    def _next_times(self, next_batch_ms: int, next_sample_ms: int) -> Iterator[int]:
        yield next_sample_ms
        if self._arriving:
            yield next_batch_ms
        if self._unsent:
            yield max(self._quiet_until_ms, self._now_ms + 1)
        if self._failures:
            yield self._failures[0].at_ms
        if self._electing or any(connection.is_busy for connection in self._connections):
            yield self._now_ms + _LOOK_INTERVAL_MS

    def _advance_to(self, target_ms: int) -> None:
        step_ms = max(1, target_ms - self._now_ms)
        self._lab.advance(ms=step_ms)
        self._now_ms += step_ms

    def _send(self) -> None:
        """Send the next topics on a connection that is free, unless the quota said to wait."""
        if not self._unsent or self._now_ms < self._quiet_until_ms:
            return
        count = min(self._batch_size, len(self._unsent))
        names = [self._unsent.popleft() for _ in range(count)]
        connection, before = self._free_connection(), self._last_number()
        connection.send(self._requests.build(names))
        # The clock must not move before the broker has read it.
        while self._last_number() == before:
            pass

    def _last_number(self) -> int:
        number: int = self._lab.control.ask("GET", "/v1/requests/status")["last_number"]
        return number

    def _free_connection(self) -> PolledConnection:
        for connection in self._connections:
            if not connection.is_busy:
                return connection
        connection = PolledConnection(self._server, "overload")
        self._stack.callback(connection.close)
        self._connections.append(connection)
        return connection

    def _receive(self) -> None:
        for connection in self._connections:
            if connection.is_busy and (response := connection.poll()) is not None:
                assert isinstance(
                    response, messages.CreateTopicsResponse | messages.DeleteTopicsResponse
                )
                self._count(response)

    def _count(self, response: TopicsResponse) -> None:
        outcome, refused = self.outcome, []
        topics: Sequence[_TopicResult]
        if isinstance(response, messages.CreateTopicsResponse):
            topics = response.topics
        else:
            topics = response.responses
        for result in topics:
            match result.error_code:
                case ErrorCode.NONE:
                    outcome.done += 1
                case ErrorCode.REQUEST_TIMED_OUT:
                    outcome.timed_out += 1
                case ErrorCode.THROTTLING_QUOTA_EXCEEDED:
                    refused.append(result.name or "")
                case _:
                    outcome.others += 1
        outcome.refusals += len(refused)
        self._unsent.extendleft(reversed(refused))
        if refused:
            wait_ms = max(response.throttle_time_ms, RETRY_BACKOFF_MS)
            self._quiet_until_ms = max(self._quiet_until_ms, self._now_ms + wait_ms)

    def _fail_brokers(self) -> None:
        while self._failures and self._failures[0].at_ms <= self._now_ms:
            failure = self._failures.popleft()
            self._lab.stop_broker(failure.broker)
            self._electing.append(failure)

    def _see_elections(self) -> None:
        if not self._electing:
            return
        leaders = self._leaders()
        for failure in list(self._electing):
            if failure.broker not in leaders:
                self._electing.remove(failure)
                self.outcome.latency_ms[failure] = self._now_ms - failure.at_ms

    def _leaders(self) -> set[int]:
        description = self._admin.describe_topics([PROBE])[PROBE]
        assert not isinstance(description, Exception)
        return {partition.leader_id for partition in description.partitions}
