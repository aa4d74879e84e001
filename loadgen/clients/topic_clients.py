"""Clients that create, expand and delete topics and retry what a quota refuses (KIP-599)."""

import asyncio
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from loadgen.clients.load_client import Event, Run
from loadgen.clients.load_connection import LoadConnection
from loadgen.clients.sequential_client import BACKOFF_S, SequentialClient
from loadgen.plan.plan import Tenant
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

_TIMEOUT_MS = 30_000


ResponseT = TypeVar(
    "ResponseT",
    "messages.CreateTopicsResponse",
    "messages.CreatePartitionsResponse",
    "messages.DeleteTopicsResponse",
)


class TopicResult(Protocol):
    """What a response says of a topic."""

    @property
    def name(self) -> str | None:
        """The topic."""

    @property
    def error_code(self) -> int:
        """Kafka's error code."""


class TopicClient(SequentialClient, Generic[ResponseT]):
    """Sends one request for many topics per event, and again for those that the quota refused."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._connection: LoadConnection | None = None
        self._node = -1

    def request(self, names: Sequence[str]) -> "messages.Request[ResponseT]":
        """Return the message that changes these topics."""
        raise NotImplementedError

    def results(self, response: ResponseT) -> Sequence[TopicResult]:
        """Return the results of a response."""
        raise NotImplementedError

    @property
    def topic_mutations(self) -> int:
        """The mutations of one topic: the partitions that are created or deleted."""
        return self.tenant.partitions

    async def disconnect(self) -> None:
        """See `SequentialClient`."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        spec, tenant = self.run.spec, self.tenant
        names = [
            spec.topic_name(tenant, event.event_id, index)
            for index in range(tenant.topics_per_request)
        ]
        for attempt in range(1, tenant.retries + 2):
            if self._connection is None or self._connection.is_lost:
                self._connection, self._node = await self.connect(
                    lambda _: self.run.topology.controller()
                )
            response = await self.send_request(
                event,
                self._connection,
                self._node,
                self.request(names),
                self._outcome,
                attempt=attempt,
                topic=names[0],
            )
            names = [
                result.name
                for result in self.results(response)
                if result.name and result.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
            ]
            if not names or self.run.is_over:
                return
            if not response.throttle_time_ms:
                await asyncio.sleep(BACKOFF_S)

    def _outcome(self, response: ResponseT) -> tuple[int, int]:
        codes = [result.error_code for result in self.results(response)]
        mutations = codes.count(ErrorCode.NONE) * self.topic_mutations
        return next((code for code in codes if code), 0), mutations


class TopicCreator(TopicClient["messages.CreateTopicsResponse"]):
    """Creates topics."""

    api = ApiKey.CREATE_TOPICS

    def request(self, names: Sequence[str]) -> "messages.CreateTopicsRequest":
        """See `TopicClient`."""
        topic_class = messages.CreateTopicsRequest.CreatableTopic
        return messages.CreateTopicsRequest(
            topics=[
                topic_class(
                    name=name,
                    num_partitions=self.tenant.partitions,
                    replication_factor=1,
                    assignments=[],
                    configs=[],
                )
                for name in names
            ],
            timeout_ms=_TIMEOUT_MS,
            validate_only=False,
        )

    def results(self, response: "messages.CreateTopicsResponse") -> Sequence[TopicResult]:
        """See `TopicClient`."""
        return response.topics


class TopicExpander(TopicClient["messages.CreatePartitionsResponse"]):
    """Adds partitions to topics that the preparation created with one partition."""

    api = ApiKey.CREATE_PARTITIONS

    def request(self, names: Sequence[str]) -> "messages.CreatePartitionsRequest":
        """See `TopicClient`."""
        topic_class = messages.CreatePartitionsRequest.CreatePartitionsTopic
        count = 1 + self.tenant.partitions
        return messages.CreatePartitionsRequest(
            topics=[topic_class(name=name, count=count, assignments=None) for name in names],
            timeout_ms=_TIMEOUT_MS,
            validate_only=False,
        )

    def results(self, response: "messages.CreatePartitionsResponse") -> Sequence[TopicResult]:
        """See `TopicClient`."""
        return response.results


class TopicDeleter(TopicClient["messages.DeleteTopicsResponse"]):
    """Deletes topics that the preparation created."""

    api = ApiKey.DELETE_TOPICS

    def request(self, names: Sequence[str]) -> "messages.DeleteTopicsRequest":
        """See `TopicClient`."""
        return messages.DeleteTopicsRequest(
            topics=[messages.DeleteTopicsRequest.DeleteTopicState(name=name) for name in names],
            topic_names=list(names),  # versions before 6 have this instead
            timeout_ms=_TIMEOUT_MS,
        )

    def results(self, response: "messages.DeleteTopicsResponse") -> Sequence[TopicResult]:
        """See `TopicClient`."""
        return response.responses
