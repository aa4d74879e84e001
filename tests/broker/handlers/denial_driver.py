"""A broker with an authorizer, and a client that may do only what a test allows."""

from collections.abc import Iterator
from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA, SHARE_GROUP_STATE, TRANSACTION_STATE
from broker.cluster.transactions import follow_leaders
from broker.pending_response import PendingResponse
from broker.routes import ROUTES
from protocol import messages
from protocol.acls import CLUSTER_NAME
from protocol.api_keys import ApiKey
from protocol.codec import encode_message
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import AUTHORIZER, allow, authorizer_of, deny, noted
from tests.broker.cluster_builder import ALL_VERSIONS, NOW_MS, make_cluster, make_context

GROUP = "g"
EVERYTHING = ("ALL TOPIC *", "ALL GROUP *", "ALL TRANSACTIONAL_ID *", "ALL CLUSTER")
_DESCRIPTION_PLUGIN = "group.streams.topology.description.plugin.class"


class DenialDriver:
    """The topics t and u have two partitions. `noted` has the denials of the last request."""

    def __init__(self, *rights: str, **overrides: str) -> None:
        keys = {"group.initial.rebalance.delay.ms": "0", _DESCRIPTION_PLUGIN: "p", **ALL_VERSIONS}
        self.cluster = make_cluster(1, **(keys | AUTHORIZER | overrides))
        self.allow(*rights)
        self.topics = [self.cluster.create_topic(name, [(1,), (1,)], {}) for name in ("t", "u")]
        for internal in (GROUP_METADATA, SHARE_GROUP_STATE, TRANSACTION_STATE):
            ensure_internal_topic(self.cluster, internal)
        follow_leaders(self.cluster)
        self.now_ms = NOW_MS
        self.noted: list[str] = []

    def allow(self, *rights: str) -> None:
        """Let the client do more."""
        allow(self.cluster, *rights)

    def deny(self, right: str) -> None:
        """Add a rule that denies one right."""
        deny(self.cluster, right)

    def forbid_all(self) -> None:
        """Remove all that the client may do."""
        forbid_all(self.cluster)

    def take_shortcut(self, api_key: ApiKey, version: int, **fields: Any) -> bool:
        """Return whether the shortcut of an API takes a request."""
        body = messages.request_class(api_key)(version=version, **fields).encode(version=version)
        context = make_context(api_key, version, now_ms=self.now_ms)
        shortcut = ROUTES[api_key].shortcut
        assert shortcut is not None
        response = shortcut(context, bytes(body), 0, len(body), self.cluster)
        self.noted = noted(context)
        return response is not None

    def ask(self, api_key: ApiKey, version: int, **fields: Any) -> Any:
        """Send a request; return its response. Both are encoded and decoded."""
        request_class = messages.request_class(api_key)
        sent = request_class(version=version, **fields).encode(version=version)
        request = request_class.decode(sent, version=version)
        context = make_context(api_key, version, now_ms=self.now_ms)
        route = ROUTES[api_key]
        if route.read_short is not None:
            body = encode_message(request, version)
            request = route.read_short(version, body, 0, len(body)) or request
        response = route.handler(context, request, self.cluster)
        self.cluster.timers.run_due(self.now_ms)
        if isinstance(response, PendingResponse):
            assert response.is_done
            response = response.response
        self.noted = noted(context)
        if not isinstance(response, bytes | bytearray):
            response = response.encode(version=version)
        return messages.response_class(api_key).decode(bytes(response), version=version)


def forbid_all(cluster: Cluster) -> None:
    """Remove all rules."""
    authorizer = authorizer_of(cluster)
    for rule in authorizer.acls():
        authorizer.remove(rule)


def noted_right(right: str) -> str:
    """Return a right as the denials of a request have it."""
    return f"{right} {CLUSTER_NAME}" if right.endswith("CLUSTER") else right


def error_codes(response: Any) -> set[ErrorCode]:
    """Return all error codes that a response has, wherever they are."""
    return set(_codes(response.to_dict()))


def _codes(value: Any) -> Iterator[ErrorCode]:
    if isinstance(value, dict):
        for name, field in value.items():
            if name.endswith("error_code"):
                yield ErrorCode(field)
            else:
                yield from _codes(field)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _codes(entry)


def entry(message: Any, field: str, version: int, **fields: Any) -> Any:
    """Return an element of an array of a message, given by class."""
    return messages.entry_class(message(version=version), field)(version=version, **fields)
