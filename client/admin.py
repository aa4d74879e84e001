"""An admin client: topics, configurations, client quotas, groups, ACLs, the cluster.

Clock, sleep and network are arguments. An error for one topic or resource is an `ApiError` in the
result; an error of the whole request is raised as a `ClientError`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar
from uuid import UUID

from client.acl_admin import AclAdmin
from client.admin_messages import (
    creatable_topic,
    topic_description,
)
from client.config_admin import ConfigAdmin
from client.credential_admin import CredentialAdmin
from client.errors import ApiError, ThrottlingQuotaExceededError, UnreachableError, error_of
from client.group_admin import GroupAdmin, ResponseT
from client.resources import (
    Address,
    ClusterDescription,
    NewPartitions,
    NewTopic,
    QuotaChange,
    QuotaEntry,
    QuotaFilter,
    TopicDescription,
)
from protocol import messages
from protocol.errors import ErrorCode

API_TIMEOUT_MS = 60_000
REQUEST_TIMEOUT_MS = 30_000
RETRY_BACKOFF_MS = 100

_MutationResponseT = TypeVar(
    "_MutationResponseT",
    "messages.CreateTopicsResponse",
    "messages.CreatePartitionsResponse",
    "messages.DeleteTopicsResponse",
)
_MutationResult: TypeAlias = (
    "messages.CreateTopicsResponse.CreatableTopicResult"
    " | messages.CreatePartitionsResponse.CreatePartitionsTopicResult"
    " | messages.DeleteTopicsResponse.DeletableTopicResult"
)

Outcomes = dict[str, ApiError | None]
"""Each topic's error, or None for success."""


class Transport(Protocol):
    """The network of `Admin`: send a request to a broker, return the response."""

    def ask(self, address: Address, request: "messages.Request[ResponseT]") -> ResponseT:
        """Send a request and wait for its response.

        Raises:
            UnreachableError: nothing was sent.
            ConnectionLostError: the request may have taken effect.
            SecurityError: TLS or authentication failed.
            UnsupportedVersionError: no common version of this API.
        """


class Admin(AclAdmin, ConfigAdmin, CredentialAdmin, GroupAdmin):
    """An admin client; it uses the first reachable bootstrap broker until that is unreachable."""

    def __init__(
        self,
        bootstrap: Sequence[Address],
        transport: Transport,
        *,
        now_ms: Callable[[], int],
        sleep_ms: Callable[[int], None],
        default_api_timeout_ms: int = API_TIMEOUT_MS,
    ) -> None:
        """Create the client; nothing is sent yet.

        Args:
            bootstrap: brokers to try, in this order.
            transport: sends requests.
            now_ms: a monotonic clock.
            sleep_ms: sleeps.
            default_api_timeout_ms: after this time a call retries nothing.
        """
        self._bootstrap = list(bootstrap)
        self._transport = transport
        self._now_ms = now_ms
        self._sleep_ms = sleep_ms
        self._api_timeout_ms = default_api_timeout_ms
        self._controller: Address | None = None
        self._quiet_until_ms: dict[Address, int] = {}

    def describe_cluster(self) -> ClusterDescription:
        """Return cluster id (KIP-78), brokers and controller, from Metadata."""
        response = self._ask(messages.MetadataRequest(topics=[], allow_auto_topic_creation=False))
        return ClusterDescription(
            cluster_id=response.cluster_id,
            controller_id=response.controller_id,
            brokers={
                broker.node_id: Address(broker.host, broker.port) for broker in response.brokers
            },
        )

    def list_topics(self) -> list[str]:
        """Return the names of all topics, sorted."""
        return sorted(self._metadata_topics(None))

    def topic_names(self) -> dict[UUID, str]:
        """Return the names of all topics by id."""
        return {
            topic.topic_id: name
            for name, topic in self._metadata_topics(None).items()
            if topic.topic_id is not None
        }

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription | ApiError]:
        """Describe topics, without creating them."""
        return {
            name: error_of(topic.error_code) or topic_description(name, topic)
            for name, topic in self._metadata_topics(names).items()
        }

    def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
    ) -> Outcomes:
        """Create topics; retry those refused by the controller mutation quota (KIP-599)."""
        by_name = {topic.name: topic for topic in topics}

        def request(names: Sequence[str]) -> messages.CreateTopicsRequest:
            return messages.CreateTopicsRequest(
                topics=[creatable_topic(by_name[name]) for name in names],
                timeout_ms=REQUEST_TIMEOUT_MS,
                validate_only=validate_only,
            )

        return self._mutate(
            list(by_name),
            request,
            lambda response: response.topics,
            is_retrying=retry_on_quota_violation,
        )

    def create_partitions(
        self,
        counts: Mapping[str, NewPartitions],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
    ) -> Outcomes:
        """Add partitions to topics; quota refusals as in `create_topics`."""
        topic_class = messages.CreatePartitionsRequest.CreatePartitionsTopic

        def creatable(name: str) -> messages.CreatePartitionsRequest.CreatePartitionsTopic:
            new_partitions = counts[name]
            assignments = new_partitions.assignments
            return topic_class(
                name=name,
                count=new_partitions.total_count,
                assignments=None
                if assignments is None
                else [
                    topic_class.CreatePartitionsAssignment(broker_ids=list(broker_ids))
                    for broker_ids in assignments
                ],
            )

        def request(names: Sequence[str]) -> messages.CreatePartitionsRequest:
            return messages.CreatePartitionsRequest(
                topics=[creatable(name) for name in names],
                timeout_ms=REQUEST_TIMEOUT_MS,
                validate_only=validate_only,
            )

        return self._mutate(
            list(counts),
            request,
            lambda response: response.results,
            is_retrying=retry_on_quota_violation,
        )

    def delete_topics(
        self, names: Iterable[str], *, retry_on_quota_violation: bool = True
    ) -> Outcomes:
        """Delete topics; quota refusals as in `create_topics`."""

        def request(some: Sequence[str]) -> messages.DeleteTopicsRequest:
            return messages.DeleteTopicsRequest(
                topics=[messages.DeleteTopicsRequest.DeleteTopicState(name=name) for name in some],
                topic_names=list(some),  # versions before 6
                timeout_ms=REQUEST_TIMEOUT_MS,
            )

        return self._mutate(
            list(dict.fromkeys(names)),
            request,
            lambda response: response.responses,
            is_retrying=retry_on_quota_violation,
        )

    def describe_client_quotas(
        self, filters: Sequence[QuotaFilter], *, is_strict: bool
    ) -> list[QuotaEntry]:
        """Return the entities that match all filters; strict: without other types (KIP-546).

        Raises:
            ApiError: the broker refuses the request.
        """
        component = messages.DescribeClientQuotasRequest.ComponentData
        request = messages.DescribeClientQuotasRequest(
            components=[
                component(
                    entity_type=quota_filter.entity_type,
                    match_type=quota_filter.match,
                    match=quota_filter.name,
                )
                for quota_filter in filters
            ],
            strict=is_strict,
        )
        response = self._ask(request)
        error = error_of(response.error_code, response.error_message)
        if error is not None:
            raise error
        return [
            QuotaEntry(
                entity={part.entity_type: part.entity_name for part in entry.entity},
                quotas={value.key: value.value for value in entry.values},
            )
            for entry in response.entries or ()
        ]

    def alter_client_quotas(self, changes: Sequence[QuotaChange]) -> list[ApiError | None]:
        """Set and remove quotas; return the outcomes in the order of the changes (KIP-546)."""
        entry_class = messages.AlterClientQuotasRequest.EntryData
        request = messages.AlterClientQuotasRequest(
            entries=[
                entry_class(
                    entity=[
                        entry_class.EntityData(entity_type=entity_type, entity_name=name)
                        for entity_type, name in change.entity.items()
                    ],
                    ops=[
                        entry_class.OpData(key=key, value=value or 0.0, remove=value is None)
                        for key, value in change.quotas.items()
                    ],
                )
                for change in changes
            ],
            validate_only=False,
        )
        outcomes = {
            frozenset((part.entity_type, part.entity_name) for part in entry.entity): error_of(
                entry.error_code, entry.error_message
            )
            for entry in self._ask(request).entries
        }
        return [outcomes[frozenset(change.entity.items())] for change in changes]

    def _mutate(
        self,
        names: Sequence[str],
        request: "Callable[[Sequence[str]], messages.Request[_MutationResponseT]]",
        results: Callable[[_MutationResponseT], Iterable[_MutationResult]],
        *,
        is_retrying: bool,
    ) -> Outcomes:
        """Send and retry until all names have a final outcome or the API timeout is over (KIP-599).

        A wait ends at the timeout at the latest, and then nothing is sent again: the outcomes are
        those of the last response, with its throttle time.
        """
        deadline_ms = self._deadline_ms()
        outcomes: Outcomes = dict.fromkeys(names, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))
        pending = list(names)
        while pending:
            response = self._ask(request(pending), self._controller)
            throttle_time_ms = response.throttle_time_ms
            for result in results(response):
                if result.name is not None:
                    outcomes[result.name] = error_of(
                        result.error_code, result.error_message, throttle_time_ms
                    )
            refused = [name for name in pending if _is_quota_refusal(outcomes[name])]
            misplaced = [name for name in pending if _is_misplaced(outcomes[name])]
            pending = misplaced + (refused if is_retrying else [])
            if not pending:
                break
            wait_ms = max(throttle_time_ms, RETRY_BACKOFF_MS)
            if not self._sleep_before(deadline_ms, wait_ms):
                break
            if misplaced:
                cluster = self.describe_cluster()
                self._controller = cluster.brokers.get(cluster.controller_id)
        return outcomes

    def _ask(
        self, request: "messages.Request[ResponseT]", address: Address | None = None
    ) -> ResponseT:
        """Return the response of this broker, or by default of the first that can be reached."""
        if address is not None:
            return self._ask_at(address, request)
        while True:
            try:
                return self._ask_at(self._bootstrap[0], request)
            except UnreachableError:
                if len(self._bootstrap) == 1:
                    raise
                del self._bootstrap[0]

    def _ask_at(self, address: Address, request: "messages.Request[ResponseT]") -> ResponseT:
        """Send a request after the throttle time of the broker's last response (KIP-219).

        Raises:
            ThrottlingQuotaExceededError: the throttle time exceeds the API timeout.
        """
        wait_ms = self._quiet_until_ms.get(address, 0) - self._now_ms()
        if wait_ms >= self._api_timeout_ms:
            self._sleep_ms(self._api_timeout_ms)
            wait_ms -= self._api_timeout_ms
            raise ThrottlingQuotaExceededError(
                wait_ms, f"the broker throttles this client for another {wait_ms} ms"
            )
        if wait_ms > 0:
            self._sleep_ms(wait_ms)
        response = self._transport.ask(address, request)
        throttle_time_ms = getattr(response, "throttle_time_ms", 0)
        self._quiet_until_ms[address] = self._now_ms() + throttle_time_ms
        return response

    def _deadline_ms(self) -> int:
        return self._now_ms() + self._api_timeout_ms

    def _sleep_before(self, deadline_ms: int, wait_ms: int) -> bool:
        rest_ms = max(0, deadline_ms - self._now_ms())
        self._sleep_ms(min(wait_ms, rest_ms))
        return wait_ms < rest_ms

    def _metadata_topics(
        self, names: Sequence[str] | None
    ) -> dict[str, "messages.MetadataResponse.MetadataResponseTopic"]:
        """Return these topics, or all of them, by name."""
        named = (
            None
            if names is None
            else [messages.MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        )
        request = messages.MetadataRequest(topics=named, allow_auto_topic_creation=False)
        topics = self._ask(request).topics
        return {topic.name: topic for topic in topics if topic.name is not None}


def _is_quota_refusal(error: ApiError | None) -> bool:
    return isinstance(error, ThrottlingQuotaExceededError)


def _is_misplaced(error: ApiError | None) -> bool:
    return error is not None and error.error_code == ErrorCode.NOT_CONTROLLER
