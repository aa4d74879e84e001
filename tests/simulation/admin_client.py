"""An admin client that creates, expands and deletes topics, or alters quotas, one by one."""

from collections.abc import Callable
from random import Random
from typing import Any

from client.resources import Address
from protocol import messages
from protocol.errors import ErrorCode
from simulation.network import Network
from simulation.timeline import Scheduled
from tests.simulation.client_link import ClientLink, Responded
from tests.simulation.history import Alteration, Deletion, History, Mutation, Place, QuotaChange

REQUEST_TIMEOUT_MS = 1_000
RECONNECT_MS = 50
PARTITIONS_MAX = 4
_TIMEOUT_MS = 30_000
_TOPIC_RESOURCE = 2
_SCRAM_SHA_256 = 1
_ITERATIONS = 4096

Job = Callable[[], None]


class AdminClient:
    """Send requests; retry a quota's refusal exactly after its throttle time."""

    def __init__(
        self,
        name: str,
        user: str,
        network: Network,
        history: History,
        random: Random,
        bootstrap: list[Address],
    ) -> None:
        self.name = name
        self.user = user
        self._network = network
        self._history = history
        self._random = random
        self._bootstrap = bootstrap
        self._link: ClientLink | None = None
        self._jobs: list[tuple[Any, Callable[[Any, Responded], None]]] = []
        self._timeout: Scheduled | None = None
        self._next: Scheduled | None = None
        self._is_asking = False
        self._attempt_count = 0
        self._is_waiting = False
        self._lost_ms = 0
        self.topics: dict[str, int] = {}
        """Topics that exist as far as the client knows, and their partition counts."""
        self._topic_number = 0

    @property
    def is_busy(self) -> bool:
        """Whether a request is not complete."""
        return bool(self._jobs) or self._is_asking

    def close(self) -> None:
        """Stop."""
        self._jobs.clear()
        for event in (self._timeout, self._next):
            if event is not None:
                event.cancel()
        if self._link is not None:
            self._link.close()

    # Operations --------------------------------------------------------------------------------

    def churn(self) -> None:
        """Create, expand or delete a topic."""
        choice = self._random.random()
        if choice < 0.4 and self.topics:
            self._delete(self._random.choice(sorted(self.topics)))
        elif choice < 0.6 and self.topics:
            name = self._random.choice(sorted(self.topics))
            self.grow(name, self.topics[name] + self._random.randint(1, PARTITIONS_MAX))
        else:
            names = [f"{self.name}-{self._topic_number + index}" for index in range(2)]
            self._topic_number += 2
            count = self._random.randint(1, PARTITIONS_MAX)
            self._create(names[: self._random.randint(1, 2)], count)

    def grow(self, name: str, count: int, on_done: Callable[[], None] | None = None) -> None:
        """Increase the partitions of a topic to `count`."""
        request = messages.CreatePartitionsRequest(
            topics=[
                messages.CreatePartitionsRequest.CreatePartitionsTopic(
                    name=name, count=count, assignments=None
                )
            ],
            timeout_ms=_TIMEOUT_MS,
            validate_only=False,
        )

        def done(response: Any, responded: Responded) -> None:
            error_code = response.results[0].error_code
            # After a lost request the previous count is unknown.
            before = count - 1 if self._lost_ms else self.topics.get(name, count - 1)
            self._note(error_code, count - before, response.throttle_time_ms, responded)
            if error_code == ErrorCode.NONE:
                if name in self.topics:
                    self.topics[name] = count
                if on_done is not None:
                    on_done()

        self._do(request, done)

    def alter_quota(self, user: str, key: str, value: float | None) -> None:
        """Set or remove one quota of a user."""
        entry_class = messages.AlterClientQuotasRequest.EntryData
        request = messages.AlterClientQuotasRequest(
            entries=[
                entry_class(
                    entity=[entry_class.EntityData(entity_type="user", entity_name=user)],
                    ops=[entry_class.OpData(key=key, value=value or 0.0, remove=value is None)],
                )
            ],
            validate_only=False,
        )
        now_ms = self._network.schedule.time_ms
        self._history.quota_changes.append(QuotaChange(user, key, value, now_ms))

        def done(response: Any, _responded: Responded) -> None:
            assert response.entries[0].error_code == ErrorCode.NONE, response

        self._do(request, done)

    def alter_topic(self, name: str, values: dict[str, str]) -> None:
        """Set some keys of the configuration of a topic."""
        resource = messages.IncrementalAlterConfigsRequest.AlterConfigsResource
        request = messages.IncrementalAlterConfigsRequest(
            resources=[
                resource(
                    resource_type=_TOPIC_RESOURCE,
                    resource_name=name,
                    configs=[
                        resource.AlterableConfig(name=key, config_operation=0, value=value)
                        for key, value in values.items()
                    ],
                )
            ],
            validate_only=False,
        )
        now_ms = self._network.schedule.time_ms
        alterations = [Alteration(name, key, value, now_ms) for key, value in values.items()]
        self._history.alterations += alterations

        def done(response: Any, responded: Responded) -> None:
            for alteration in alterations:
                alteration.response_ms = responded.handled_ms
                alteration.is_refused = response.responses[0].error_code != ErrorCode.NONE
                alteration.was_repeated = self._attempt_count > 1

        self._do(request, done)

    def alter_scram(self, users: list[str], *, is_deletion: bool) -> None:
        """Set or delete the SCRAM credentials of users."""
        salted = bytes(32)
        request = messages.AlterUserScramCredentialsRequest(
            deletions=[
                messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion(
                    name=user, mechanism=_SCRAM_SHA_256
                )
                for user in users
                if is_deletion
            ],
            upsertions=[
                messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
                    name=user,
                    mechanism=_SCRAM_SHA_256,
                    iterations=_ITERATIONS,
                    salt=b"salt",
                    salted_password=salted,
                )
                for user in users
                if not is_deletion
            ],
        )
        self._do(request, lambda _response, _responded: None)

    def reassign(self, place: Place, replicas: list[int] | None) -> None:
        """Move a partition to other brokers, or cancel a move that is not complete."""
        topic = messages.AlterPartitionReassignmentsRequest.ReassignableTopic
        partition = topic.ReassignablePartition(partition_index=place[1], replicas=replicas)
        request = messages.AlterPartitionReassignmentsRequest(
            timeout_ms=_TIMEOUT_MS,
            topics=[topic(name=place[0], partitions=[partition])],
            allow_replication_factor_change=True,
        )
        self._do(request, lambda _response, _responded: None)

    def elect_leader(self, place: Place) -> None:
        """Let the preferred replica lead a partition."""
        topic = messages.ElectLeadersRequest.TopicPartitions
        request = messages.ElectLeadersRequest(
            election_type=0,
            topic_partitions=[topic(topic=place[0], partitions=[place[1]])],
            timeout_ms=_TIMEOUT_MS,
        )
        self._do(request, lambda _response, _responded: None)

    def delete_records(self, place: Place, offset: int, leader: Address) -> None:
        """Delete the records before an offset; -1 stands for the high watermark.

        A request to a broker that does not lead the partition is not repeated.
        """
        if self._is_asking:
            return
        if self._link is not None and self._bootstrap != [leader]:
            self._link.close()
            self._link = None
        self._bootstrap = [leader]
        topic = messages.DeleteRecordsRequest.DeleteRecordsTopic
        partition = topic.DeleteRecordsPartition(partition_index=place[1], offset=offset)
        request = messages.DeleteRecordsRequest(
            topics=[topic(name=place[0], partitions=[partition])], timeout_ms=_TIMEOUT_MS
        )
        deletions = self._history.deletions
        deletion = Deletion(place, offset, None, self._network.schedule.time_ms, 0)
        number = len(deletions)
        deletions.append(deletion)

        def done(response: Any, responded: Responded) -> None:
            (result,) = response.topics[0].partitions
            if result.error_code == ErrorCode.NONE:
                deletions[number] = deletion._replace(
                    low_watermark=result.low_watermark, handled_ms=responded.handled_ms
                )

        self._do(request, done)

    def _create(self, names: list[str], count: int) -> None:
        topic_class = messages.CreateTopicsRequest.CreatableTopic
        request = messages.CreateTopicsRequest(
            topics=[
                topic_class(
                    name=name,
                    num_partitions=count,
                    replication_factor=1,
                    assignments=[],
                    configs=[],
                )
                for name in names
            ],
            timeout_ms=_TIMEOUT_MS,
            validate_only=False,
        )

        def done(response: Any, responded: Responded) -> None:
            for topic in response.topics:
                self._note(topic.error_code, count, response.throttle_time_ms, responded)
                if topic.error_code in {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}:
                    self.topics[topic.name] = count

        self._do(request, done)

    def _delete(self, name: str) -> None:
        count = self.topics[name]
        request = messages.DeleteTopicsRequest(
            topics=[messages.DeleteTopicsRequest.DeleteTopicState(name=name)],
            topic_names=[name],
            timeout_ms=_TIMEOUT_MS,
        )

        def done(response: Any, responded: Responded) -> None:
            error_code = response.responses[0].error_code
            self._note(error_code, count, response.throttle_time_ms, responded)
            if error_code in {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}:
                self.topics.pop(name, None)

        self._do(request, done)

    def _note(
        self, error_code: int, count: int, throttle_time_ms: int, responded: Responded
    ) -> None:
        if error_code not in {ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED}:
            return
        is_admitted = error_code == ErrorCode.NONE
        now_ms = self._network.schedule.time_ms
        self._history.mutations.append(
            Mutation(
                self.user,
                count,
                is_admitted,
                responded.sent_ms,
                now_ms,
                throttle_time_ms,
                must_be_admitted=self._is_waiting,
            )
        )
        # Later topics of one request may be refused because of the earlier ones.
        self._is_waiting = False

    # One request at a time -------------------------------------------------------------------

    def _do(self, request: Any, on_response: Callable[[Any, Responded], None]) -> None:
        self._jobs.append((request, on_response))
        if not self._is_asking:
            self._is_asking = True
            self._go_on()

    def _go_on(self) -> None:
        if not self._jobs:
            self._is_asking = False
            return
        if self._link is None:
            self._connect()
            return
        if not self._link.is_ready or self._link.in_flight_count:
            return
        request, on_response = self._jobs[0]
        link = self._link

        def take(response: Any, responded: Responded) -> None:
            if self._network.is_traced:
                self._network.trace(f"{self.name} from its broker: {response}")
            if self._timeout is not None:
                self._timeout.cancel()
            on_response(response, responded)
            is_refused = ErrorCode.THROTTLING_QUOTA_EXCEEDED in error_codes(response)
            if is_refused and self._random.random() < 0.8:
                self._wait(response.throttle_time_ms)
                return
            self._is_waiting = False
            self._jobs.pop(0)
            self._attempt_count = 0
            self._go_on()

        if self._network.is_traced:
            self._network.trace(f"{self.name} to its broker: {request}")
        self._attempt_count += 1
        link.ask(request, take, version_max=None)
        self._timeout = self._network.schedule.after(REQUEST_TIMEOUT_MS, lambda: self._drop(link))

    def _wait(self, throttle_time_ms: int) -> None:
        # The effect of a lost request on the bucket is unknown.
        self._is_waiting = not self._lost_ms
        self._go_on_after(throttle_time_ms)

    def _go_on_after(self, delay_ms: int) -> None:
        if self._next is not None:
            self._next.cancel()
        self._next = self._network.schedule.after(delay_ms, self._go_on)

    def _connect(self) -> None:
        link = ClientLink(
            self._network,
            self._history,
            user=self.user,
            client_id=self.name,
            says_hello=False,
            versions_max={},
            on_open=self._go_on,
            on_lost=lambda _reason: self._lost(),
        )
        self._link = link
        link.open(self._random.choice(self._bootstrap))
        self._timeout = self._network.schedule.after(
            REQUEST_TIMEOUT_MS, lambda: None if link.is_ready else self._drop(link)
        )

    def _drop(self, link: ClientLink) -> None:
        if self._link is link:
            link.close()
            self._lost()

    def _lost(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
        self._link = None
        self._is_waiting = False
        self._lost_ms = self._network.schedule.time_ms
        self._go_on_after(RECONNECT_MS)


def error_codes(response: Any) -> set[int]:
    """Return the error codes of all topics in a response."""
    for name in ("topics", "responses", "results", "entries"):
        if hasattr(response, name):
            return {getattr(result, "error_code", 0) for result in getattr(response, name)}
    return set()
