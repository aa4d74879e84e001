"""Clients that create, expand and delete topics; what a quota refuses is tried again (KIP-599)."""

import asyncio
from collections.abc import Sequence
from typing import Any

from loadgen.clients.load_client import Event, Run
from loadgen.clients.load_connection import Link
from loadgen.clients.sequential_client import BACKOFF_S, Stepper
from loadgen.plan.plan import Tenant
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

_TIMEOUT_MS = 30_000


class TopicStepper(Stepper):
    """A request for many topics per event; again for those that the quota refused."""

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._link: Link | None = None

    def request(self, names: Sequence[str]) -> Any:
        """The message that changes these topics."""
        raise NotImplementedError

    def results(self, response: Any) -> Any:
        """What a response says about each topic: objects with `name` and `error_code`."""
        raise NotImplementedError

    @property
    def topic_mutations(self) -> int:
        """What one topic costs: the partitions that are created or deleted."""
        return self.tenant.partitions

    async def disconnect(self) -> None:
        """See `Stepper`."""
        link, self._link = self._link, None
        if link is not None:
            link.abort()

    async def step(self, event: Event) -> None:
        """See `Stepper`."""
        spec, tenant = self.run.spec, self.tenant
        names = [
            spec.topic_name(tenant, event.event_id, index)
            for index in range(tenant.topics_per_request)
        ]
        node = self.run.topology.controller()
        for attempt in range(1, tenant.retries + 2):
            if self._link is None or self._link.is_lost:
                self._link = await self.connect(node)
            response = await self.ask(
                event,
                self._link,
                node,
                self.request(names),
                self._outcome,
                attempt=attempt,
                topic=names[0],
            )
            names = [
                each.name
                for each in self.results(response)
                if each.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
            ]
            if not names or self.run.is_over:
                return
            if not response.throttle_time_ms:
                await asyncio.sleep(BACKOFF_S)

    def _outcome(self, response: Any) -> tuple[int, int]:
        codes = [each.error_code for each in self.results(response)]
        mutations = codes.count(ErrorCode.NONE) * self.topic_mutations
        return next((code for code in codes if code), 0), mutations


class TopicCreator(TopicStepper):
    """Creates topics."""

    api = ApiKey.CREATE_TOPICS

    def request(self, names: Sequence[str]) -> Any:
        """See `TopicStepper`."""
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

    def results(self, response: Any) -> Any:
        """See `TopicStepper`."""
        return response.topics


class TopicExpander(TopicStepper):
    """Adds partitions to topics that were there, with one, before the load began."""

    api = ApiKey.CREATE_PARTITIONS

    def request(self, names: Sequence[str]) -> Any:
        """See `TopicStepper`."""
        topic_class = messages.CreatePartitionsRequest.CreatePartitionsTopic
        count = 1 + self.tenant.partitions
        return messages.CreatePartitionsRequest(
            topics=[topic_class(name=name, count=count, assignments=None) for name in names],
            timeout_ms=_TIMEOUT_MS,
            validate_only=False,
        )

    def results(self, response: Any) -> Any:
        """See `TopicStepper`."""
        return response.results


class TopicDeleter(TopicStepper):
    """Deletes topics that were there before the load began."""

    api = ApiKey.DELETE_TOPICS

    def request(self, names: Sequence[str]) -> Any:
        """See `TopicStepper`."""
        return messages.DeleteTopicsRequest(
            topics=[messages.DeleteTopicsRequest.DeleteTopicState(name=name) for name in names],
            topic_names=list(names),  # what versions before 6 have in its place
            timeout_ms=_TIMEOUT_MS,
        )

    def results(self, response: Any) -> Any:
        """See `TopicStepper`."""
        return response.responses
