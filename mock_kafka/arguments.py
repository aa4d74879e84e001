"""The types of the arguments of a cluster's methods."""

from typing import Literal, TypedDict

ClockMode = Literal["real", "scaled", "standing"]
IsolationLevel = Literal["read_uncommitted", "read_committed"]
MarkerKind = Literal["abort", "commit"]
Ports = Literal["same", "new"]
At = Literal["before_handling", "before_response"]
Level = Literal["top", "part"]


class QuotaValues(TypedDict, total=False):
    """Values of quotas under Kafka's names; None removes a quota."""

    producer_byte_rate: float | None
    consumer_byte_rate: float | None
    request_percentage: float | None
    controller_mutation_rate: float | None
    producer_ids_rate: float | None
    connection_creation_rate: float | None


class Resource(TypedDict, total=False):
    """Resources by their type; `*` is any. There is one cluster, which `cluster=True` names."""

    topic: str
    group: str
    transactional_id: str
    cluster: bool
    user: str
    delegation_token: str


class RequestFilter(TypedDict, total=False):
    """Select requests: all fields that are set must match. Names of APIs and errors ignore case.

    `since` selects entries with a higher number, `since_ms` those from this time of the cluster's
    clock on. `fault` matches a part of the description of what rules did. `denied` selects requests
    that were not allowed to do something, or with False all others. The kind `connection`
    selects connections that a rule refused or delayed, `disconnect` the ends of connections.
    """

    topic: str
    group: str
    client_id: str
    user: str
    broker: int
    connection: int
    error: str
    outcome: Literal["waiting", "held", "responded", "no_response", "closed", "refused", "delayed"]
    fault: str
    denied: bool
    since: int
    since_ms: int
    kind: Literal["request", "connection", "disconnect"]
