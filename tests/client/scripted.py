"""A broker with scripted responses, and a clock that only sleeping moves."""

from collections.abc import Callable, Sequence
from typing import Any

from client.admin import Admin
from client.resources import Address
from protocol import messages

BOOTSTRAP = Address("one", 9092)
Response = Any | Exception


class Clock:
    """A clock in ms; `sleeps` has every sleep."""

    def __init__(self) -> None:
        self.now = 1_000
        self.sleeps: list[int] = []

    def now_ms(self) -> int:
        return self.now

    def sleep_ms(self, duration_ms: int) -> None:
        self.sleeps.append(duration_ms)
        self.now += duration_ms


class Peer:
    """A `Transport` that returns the next response to each request, and checks its type."""

    def __init__(self, *responses: Response | Callable[[Any], Response]) -> None:
        self.responses = list(responses)
        self.asked: list[tuple[Address, Any]] = []

    def ask(self, address: Address, request: Any) -> Any:
        self.asked.append((address, request))
        response = self.responses.pop(0)
        if isinstance(response, Exception):
            raise response
        assert type(response) is messages.response_class(request.API_KEY), type(request)
        return response

    @property
    def requests(self) -> list[Any]:
        return [request for _, request in self.asked]


def admin_of(
    *responses: Response,
    clock: Clock | None = None,
    bootstrap: Sequence[Address] = (BOOTSTRAP,),
) -> tuple[Admin, Peer]:
    """Return an admin client whose requests get these responses, and its transport."""
    clock = clock or Clock()
    peer = Peer(*responses)
    return Admin(bootstrap, peer, now_ms=clock.now_ms, sleep_ms=clock.sleep_ms), peer


def created(*results: tuple[str, int], throttle_time_ms: int = 0) -> Any:
    """Return a CreateTopics response of names with error codes."""
    result = messages.CreateTopicsResponse.CreatableTopicResult
    return messages.CreateTopicsResponse(
        throttle_time_ms=throttle_time_ms,
        topics=[result(name=name, error_code=code, error_message=None) for name, code in results],
    )


def partitions_created(*results: tuple[str, int, str | None], throttle_time_ms: int = 0) -> Any:
    """Return a CreatePartitions response of names with error codes and messages."""
    result = messages.CreatePartitionsResponse.CreatePartitionsTopicResult
    return messages.CreatePartitionsResponse(
        throttle_time_ms=throttle_time_ms,
        results=[result(name=n, error_code=code, error_message=text) for n, code, text in results],
    )


def deleted(*results: tuple[str, int], throttle_time_ms: int = 0) -> Any:
    """Return a DeleteTopics response of names with error codes."""
    result = messages.DeleteTopicsResponse.DeletableTopicResult
    return messages.DeleteTopicsResponse(
        throttle_time_ms=throttle_time_ms,
        responses=[
            result(name=name, error_code=code, error_message=None) for name, code in results
        ],
    )


def metadata(
    *topics: tuple[str, int], brokers: Sequence[tuple[int, str, int]] = ((1, "one", 9092),)
) -> Any:
    """Return a Metadata response of topics with partition counts; the last broker controls."""
    broker = messages.MetadataResponse.MetadataResponseBroker
    topic = messages.MetadataResponse.MetadataResponseTopic
    return messages.MetadataResponse(
        cluster_id="cluster",
        controller_id=brokers[-1][0],
        brokers=[broker(node_id=node, host=host, port=port) for node, host, port in brokers],
        topics=[
            topic(
                error_code=0,
                name=name,
                is_internal=name.startswith("__"),
                partitions=[
                    topic.MetadataResponsePartition(
                        error_code=0,
                        partition_index=index,
                        leader_id=1 if index else -1,
                        replica_nodes=[1, 2],
                        isr_nodes=[1],
                    )
                    for index in reversed(range(partition_count))
                ],
            )
            for name, partition_count in topics
        ],
    )


def configs(
    resource_type: int,
    name: str,
    *entries: tuple[str, str | None, int],
    error_code: int = 0,
    sensitive: Sequence[str] = (),
) -> Any:
    """Return a DescribeConfigs response for one resource: keys with values and sources."""
    result = messages.DescribeConfigsResponse.DescribeConfigsResult
    entry = result.DescribeConfigsResourceResult
    return messages.DescribeConfigsResponse(
        results=[
            result(
                error_code=error_code,
                error_message=None,
                resource_type=resource_type,
                resource_name=name,
                configs=[
                    entry(
                        name=key,
                        value=value,
                        config_source=source,
                        is_sensitive=key in sensitive,
                        synonyms=[
                            entry.DescribeConfigsSynonym(name=key, value=value, source=source)
                        ],
                    )
                    for key, value, source in entries
                ],
            )
        ]
    )


def configs_altered(resource_type: int, name: str, error_code: int = 0) -> Any:
    """Return an IncrementalAlterConfigs response for one resource."""
    response = messages.IncrementalAlterConfigsResponse
    return response(
        responses=[
            response.AlterConfigsResourceResponse(
                error_code=error_code,
                error_message=None,
                resource_type=resource_type,
                resource_name=name,
            )
        ]
    )


Entity = dict[str, str | None]


def quotas(*entries: tuple[Entity, dict[str, float]], error_code: int = 0) -> Any:
    """Return a DescribeClientQuotas response."""
    entry = messages.DescribeClientQuotasResponse.EntryData
    return messages.DescribeClientQuotasResponse(
        error_code=error_code,
        error_message=None,
        entries=[
            entry(
                entity=[entry.EntityData(entity_type=t, entity_name=n) for t, n in entity.items()],
                values=[entry.ValueData(key=key, value=value) for key, value in values.items()],
            )
            for entity, values in entries
        ],
    )


def quotas_altered(*entries: tuple[Entity, int]) -> Any:
    """Return an AlterClientQuotas response of entities with error codes."""
    entry = messages.AlterClientQuotasResponse.EntryData
    return messages.AlterClientQuotasResponse(
        entries=[
            entry(
                error_code=code,
                error_message=None,
                entity=[entry.EntityData(entity_type=t, entity_name=n) for t, n in entity.items()],
            )
            for entity, code in entries
        ]
    )


def credentials(*users: tuple[str, int]) -> Any:
    """Return a DescribeUserScramCredentials response of users with error codes."""
    result = messages.DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
    return messages.DescribeUserScramCredentialsResponse(
        error_code=0,
        error_message=None,
        results=[
            result(
                user=name,
                error_code=code,
                error_message=None,
                credential_infos=[]
                if code
                else [result.CredentialInfo(mechanism=1, iterations=8192)],
            )
            for name, code in users
        ],
    )
