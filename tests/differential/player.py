"""Play a conversation with one cluster."""

import json
import socket
import struct
import time
from base64 import urlsafe_b64encode
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_response
from protocol.errors import ErrorCode
from proxy.diff.message_values import as_values
from tests.differential.arguments import build
from tests.differential.canonical import Names, new_prefix
from tests.differential.conversation import (
    Connection,
    Conversation,
    Disconnect,
    Receive,
    Send,
    SendBytes,
    StartBroker,
    Step,
    StopBroker,
    Wait,
)

RESPONSE_TIMEOUT_S = 12
_LEADERS_TIMEOUT_S = 30
_CLOCK_SKEW_S = 60
_TOKEN_LIFETIME_S = 86_400
CLOSED = {"connection": "closed"}
SILENT = {"connection": "no response"}
_HAS_LATER_EFFECTS = frozenset(
    {
        "CreateAcls",
        "CreateDelegationToken",
        "DeleteAcls",
        "AlterClientQuotas",
        "AlterConfigs",
        "AlterPartitionReassignments",
        "AlterUserScramCredentials",
        "CreatePartitions",
        "CreateTopics",
        "DeleteTopics",
        "ElectLeaders",
        "EndTxn",
        "IncrementalAlterConfigs",
        "InitProducerId",
        "Metadata",
        "StreamsGroupHeartbeat",
        "UpdateFeatures",
    }
)


class PlayedCluster(Protocol):
    """What a conversation needs of a cluster."""

    settle_s: float
    """How long a change of the metadata takes to reach the brokers; 0 for no time."""

    def address(self, node_id: int, listener: str) -> tuple[str, int]:
        """Return host and port of a broker's listener."""

    def stop_broker(self, node_id: int) -> None:
        """Shut a broker down."""

    def start_broker(self, node_id: int) -> None:
        """Start it again."""


class Link:
    """One TCP connection, which may have several requests without a response."""

    def __init__(self, address: tuple[str, int], client_id: str, user: str = "") -> None:
        """Connect, and authenticate if there is a `user`."""
        self._socket = socket.create_connection(address, timeout=RESPONSE_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client_id = client_id.encode()
        self._correlation_id = 0
        self.pending: deque[tuple[ApiKey, int]] = deque()
        if user:
            self.ask(ApiKey.SASL_HANDSHAKE, 1, mechanism="OAUTHBEARER")
            token = f"n,,\x01auth=Bearer {_unsigned_token(user)}\x01\x01"
            answer = self.ask(ApiKey.SASL_AUTHENTICATE, 1, auth_bytes=token)
            assert answer["error_code"] == ErrorCode.NONE, answer

    def send(self, api_key: ApiKey, version: int, body: bytes) -> None:
        """Send a request; a closed connection shows when the response is read."""
        self._correlation_id += 1
        header = struct.pack(">hhih", api_key, version, self._correlation_id, len(self._client_id))
        tags = b"\x00" if messages.is_flexible(api_key, version) else b""
        self.send_frame(header + self._client_id + tags + body)
        self.pending.append((api_key, version))

    def post(self, api_key: ApiKey, version: int, **arguments: Any) -> None:
        """Send a request with these fields; others have the schema's default."""
        request = build(messages.request_class(api_key), version, arguments, lambda value: value)
        self.send(api_key, version, bytes(request.encode(version=version)))

    def ask(self, api_key: ApiKey, version: int, **arguments: Any) -> Any:
        """Send a request as `post` does, and return the fields of the response."""
        self.post(api_key, version, **arguments)
        return self.receive()[1]

    def send_frame(self, frame: bytes) -> None:
        """Send a frame behind its size."""
        with suppress(OSError):  # The next read finds the connection closed.
            self._socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive_frame(self) -> bytes | None:
        """Return the next frame with its correlation id, or None when the connection ends.

        Raises:
            TimeoutError: nothing came.
        """
        size = self._receive(4)
        return size and self._receive(int.from_bytes(size, "big"))

    def receive(self) -> tuple[str, Any]:
        """Return the API and the fields of the response to the oldest pending request."""
        api_key, version = self.pending.popleft()
        name = messages.API_NAMES[api_key]
        try:
            frame = self.receive_frame()
        except TimeoutError:
            return name, SILENT
        if frame is None:
            return name, CLOSED
        try:
            response = decode_response(b"\0\0\0\0" + frame, api_key, version)
        except DecodeError as error:
            return name, {"undecodable": str(error), "hex": frame[:200].hex()}
        return name, as_values(response, response.version)

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def _receive(self, size: int) -> bytes | None:
        data = bytearray()
        while len(data) < size:
            try:
                more = self._socket.recv(size - len(data))
            except ConnectionError:
                return None
            if not more:
                return None
            data += more
        return bytes(data)


class Play:
    """One run of a conversation with one cluster; `responses` are what came, step by step."""

    def __init__(self, cluster: PlayedCluster, prefix: str = "", now_ms: int = 0) -> None:
        self._cluster = cluster
        self._prefix = prefix or new_prefix()
        self._now_ms = now_ms or time.time_ns() // 1_000_000
        self.names = Names(self._prefix, self._now_ms)
        self._links: dict[str, Link] = {}
        self._described: Mapping[str, Connection] = {}
        self._has_several_brokers = False
        self.responses: list[tuple[str, Any] | None] = []
        """(API, fields) as they came; None for a step without a response."""
        self.answers: list[Any] = []
        """The same with canonical names."""
        self.topics: set[str] = set()

    def beside(self, cluster: PlayedCluster) -> "Play":
        """Return a play with another cluster, with the same names and time."""
        return Play(cluster, self._prefix, self._now_ms)

    def run(self, conversation: Conversation) -> "Play":
        """Play it to its end, close the connections and delete the topics."""
        self._described = conversation.connections
        self._has_several_brokers = conversation.brokers > 1
        try:
            for step in conversation.steps:
                response = self._play(step)
                self.responses.append(response)
                self.answers.append(response and self.names.canonical(*response))
        finally:
            for link in self._links.values():
                link.close()
            self._delete_topics()
            self._delete_rules()
        return self

    def _play(self, step: Step) -> tuple[str, Any] | None:
        match step:
            case Send():
                return self._send(step)
            case SendBytes():
                link = self._link(step.connection)
                response = _send_bytes(link, bytes.fromhex(step.hex))
                if response[1] in (CLOSED, SILENT):
                    self._drop(step.connection)
                return response
            case Receive():
                link = self._link(step.connection)
                return link.receive() if link.pending else None
            case Wait():
                time.sleep(step.duration_ms / 1000)
            case Disconnect():
                self._drop(step.connection)
            case StopBroker():
                self._cluster.stop_broker(step.node_id)
            case StartBroker():
                self._cluster.start_broker(step.node_id)
        return None

    def _send(self, step: Send) -> tuple[str, Any] | None:
        api_key = messages.api_key_of(step.api)
        request = build(
            messages.request_class(api_key), step.version, step.arguments, self._resolve
        )
        link = self._link(step.connection)
        link.send(api_key, step.version, bytes(request.encode(version=step.version)))
        if api_key == ApiKey.PRODUCE and request.acks == 0:
            link.pending.pop()
            return None
        if not step.is_awaited:
            return None
        while len(link.pending) > 1:
            link.receive()
        response = link.receive()
        if response[1] in (CLOSED, SILENT):
            self._drop(step.connection)
        elif self._cluster.settle_s and (
            step.api in _HAS_LATER_EFFECTS
            # Kafka's followers learn the high watermark from their next fetch.
            or (step.api == "Produce" and self._has_several_brokers)
        ):
            is_new = step.api == "CreateTopics" and not step.arguments.get("validate_only")
            if is_new and not self._has_several_brokers:
                self._wait_for_leaders(response[1])
            time.sleep(self._cluster.settle_s)
        return response

    def _wait_for_leaders(self, response: Mapping[str, Any]) -> None:
        """Wait until every new partition can be produced to: Kafka answers before."""
        created = [topic for topic in response["topics"] if topic["error_code"] == 0]
        request_class = messages.ListOffsetsRequest
        topic_class = request_class.ListOffsetsTopic
        topics = [
            topic_class(
                name=topic["name"],
                partitions=[
                    topic_class.ListOffsetsPartition(partition_index=index, timestamp=-1)
                    for index in range(topic.get("num_partitions", 1))
                ],
            )
            for topic in created
        ]
        request = request_class(version=1, replica_id=-1, topics=topics)
        link = Link(self._cluster.address(1, "PLAINTEXT"), "waiting")
        deadline_s = time.monotonic() + _LEADERS_TIMEOUT_S
        while created and time.monotonic() < deadline_s:
            link.send(ApiKey.LIST_OFFSETS, 1, bytes(request.encode(version=1)))
            _, listed = link.receive()
            errors = {
                partition["error_code"]
                for topic in listed["topics"]
                for partition in topic["partitions"]
            }
            if errors <= {0}:
                break
            time.sleep(0.01)
        link.close()

    def _resolve(self, argument: Any) -> Any:
        value = self.names.resolve(argument)
        if isinstance(value, str) and self._prefix in value:
            self.topics.add(value)
        return value

    def _link(self, name: str) -> Link:
        if name not in self._links:
            described = self._described.get(name, Connection())
            address = self._cluster.address(described.broker, described.listener)
            client_id, user = (
                text.replace("~", self._prefix) for text in (described.client_id, described.user)
            )
            self._links[name] = Link(address, client_id, user)
        return self._links[name]

    def _drop(self, name: str) -> None:
        link = self._links.pop(name, None)
        if link is not None:
            link.close()

    def _delete_topics(self) -> None:
        """Delete what may be a topic by now; most of the names are not."""
        if not self.topics:
            return
        link = Link(self._cluster.address(1, "PLAINTEXT"), "cleaner")
        request = messages.DeleteTopicsRequest(
            version=5, topic_names=sorted(self.topics), timeout_ms=10_000
        )
        link.send(ApiKey.DELETE_TOPICS, 5, bytes(request.encode(version=5)))
        link.receive()
        link.close()

    def _delete_rules(self) -> None:
        """Delete the rules of the users who authenticated."""
        users = [connection.user for connection in self._described.values() if connection.user]
        if not users:
            return
        link = Link(self._cluster.address(1, "PLAINTEXT"), "cleaner")
        filters = [
            {
                "resource_type_filter": 1,
                "resource_name_filter": None,
                "pattern_type_filter": 1,
                "principal_filter": f"User:{user.replace('~', self._prefix)}",
                "host_filter": None,
                "operation": 1,
                "permission_type": 1,
            }
            for user in users
        ]
        link.ask(ApiKey.DELETE_ACLS, 3, filters=filters)
        link.close()


def _unsigned_token(user: str) -> str:
    """Return a JSON Web Token without a signature, which names a user and is valid for a day."""
    now_s = int(time.time())
    claims = {"sub": user, "iat": now_s - _CLOCK_SKEW_S, "exp": now_s + _TOKEN_LIFETIME_S}
    parts = (
        urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "none"}, claims)
    )
    return f"{'.'.join(parts)}."


def _send_bytes(link: Link, frame: bytes) -> tuple[str, Any]:
    """Send a frame and return what comes, decoded if its API and version are known."""
    link.send_frame(frame)
    key, version = struct.unpack_from(">hh", frame)
    if key in messages.API_NAMES:
        low, high = messages.schema_versions(ApiKey(key))
        if low <= version <= high or key == ApiKey.API_VERSIONS:
            link.pending.append((ApiKey(key), version))
            return link.receive()
    try:
        received = link.receive_frame()
    except TimeoutError:
        return "bytes", SILENT
    return "bytes", CLOSED if received is None else {"hex": received[:200].hex()}
