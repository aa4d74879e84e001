"""The client instances that asked a broker which metrics to push (KIP-714).

The broker has no receiver for metrics: it answers clients, and drops what they push. Sources:
Kafka's `ClientMetricsManager`, `ClientMetricsInstance` and `ClientMetricsInstanceMetadata`.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from broker.config.broker_config import BrokerConfig
from broker.config.values import split_list
from protocol.checksum import crc32c
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause
from protocol.regular_expressions import full_match

PUSH_INTERVAL_DEFAULT_MS = 300_000
ACCEPTED_COMPRESSION_TYPES = (4, 3, 1, 2)
"""zstd, lz4, gzip, snappy, the best first."""

ALL_METRICS = "*"
NO_INSTANCE_ID = UUID(int=0)
RESERVED_IDS = frozenset({NO_INSTANCE_ID, UUID(int=1)})

_INSTANCES_MAX = 16_384
_EXPIRY_MIN_MS = 60_000
_COMPRESSION_TYPE_MAX = 4
_UNTHROTTLED_ERRORS = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
_NEVER_MS = -(1 << 62)


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a client shall push, and how often."""

    metrics: tuple[str, ...]
    push_interval_ms: int

    def id_for(self, instance_id: UUID) -> int:
        """Return the id of the subscription, a signed number of 32 bits."""
        text = f"[{', '.join(self.metrics)}]{self.push_interval_ms}"
        halves = instance_id.int >> 64 ^ instance_id.int & (1 << 64) - 1
        value = int(crc32c(text.encode())) ^ halves >> 32 ^ halves & 0xFFFFFFFF
        return value - (1 << 32) if value >> 31 else value


@dataclass(slots=True)
class ClientInstance:
    """One client: its subscription, and its last requests."""

    instance_id: UUID
    subscription: Subscription
    used_at_ms: int
    asked_at_ms: int = _NEVER_MS
    pushed_at_ms: int = _NEVER_MS
    is_terminating: bool = False
    last_error: ErrorCode = ErrorCode.NONE

    @property
    def subscription_id(self) -> int:
        """Return the id that its pushes must have."""
        return self.subscription.id_for(self.instance_id)

    def ask(self, now_ms: int) -> ErrorCode:
        """Return whether it may get its subscription now: not before the next push interval."""
        latest_ms = max(self.asked_at_ms, self.pushed_at_ms)
        if now_ms - latest_ms >= self.subscription.push_interval_ms:
            self.asked_at_ms = now_ms
        elif self.last_error not in _UNTHROTTLED_ERRORS:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        self.last_error = ErrorCode.NONE
        return ErrorCode.NONE

    def push(
        self,
        subscription_id: int,
        compression_type: int,
        size_bytes: int,
        now_ms: int,
        *,
        is_terminating: bool,
        size_bytes_max: int,
    ) -> ErrorCode:
        """Return the error of a push of at most `size_bytes_max`, NONE if the broker takes it."""
        self.last_error = self._check_push(
            subscription_id,
            compression_type,
            now_ms,
            is_terminating=is_terminating,
            is_too_large=size_bytes > size_bytes_max,
        )
        self.is_terminating = is_terminating
        return self.last_error

    def _check_push(
        self,
        subscription_id: int,
        compression_type: int,
        now_ms: int,
        *,
        is_terminating: bool,
        is_too_large: bool,
    ) -> ErrorCode:
        if self.is_terminating:
            return ErrorCode.INVALID_REQUEST
        # The first push after a subscription may come earlier, since clients add a jitter.
        has_asked = self.asked_at_ms > self.pushed_at_ms
        if has_asked or now_ms - self.pushed_at_ms >= self.subscription.push_interval_ms:
            self.pushed_at_ms = now_ms
        elif not is_terminating:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if subscription_id != self.subscription_id:
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        if not 0 <= compression_type <= _COMPRESSION_TYPE_MAX:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if is_too_large:
            return ErrorCode.TELEMETRY_TOO_LARGE
        return ErrorCode.NONE


class ClientInstances:
    """The client instances of every broker; the least recently used are forgotten first."""

    def __init__(self) -> None:
        self._instances: OrderedDict[tuple[int, UUID], ClientInstance] = OrderedDict()
        self._of_connections: dict[int, tuple[int, UUID]] = {}
        """The instance that was made for a connection, until that closes."""

    def find(
        self,
        broker_id: int,
        connection_id: int,
        instance_id: UUID,
        subscription: Subscription,
        now_ms: int,
    ) -> ClientInstance:
        """Return the instance, a new one if it is unknown, expired, or its subscription changed."""
        name = (broker_id, instance_id)
        instance = self._instances.get(name)
        if (
            instance is None
            or instance.subscription != subscription
            or now_ms - instance.used_at_ms > _expiry_ms(subscription)
        ):
            instance = self._instances[name] = ClientInstance(instance_id, subscription, now_ms)
            self._of_connections[connection_id] = name
        instance.used_at_ms = now_ms
        self._instances.move_to_end(name)
        if len(self._instances) > _INSTANCES_MAX:
            self._instances.popitem(last=False)
        return instance

    def disconnect(self, connection_id: int) -> None:
        """Forget the instance that was made for a connection: it has closed."""
        name = self._of_connections.pop(connection_id, None)
        if name is not None:
            self._instances.pop(name, None)


def _expiry_ms(subscription: Subscription) -> int:
    return max(_EXPIRY_MIN_MS, 3 * subscription.push_interval_ms)


@may_pause
def subscription_of(config: BrokerConfig, attributes: Mapping[str, str | None]) -> Subscription:
    """Return what the client-metrics resources together ask of a client with these attributes."""
    metrics: dict[str, None] = {}
    push_interval_ms = PUSH_INTERVAL_DEFAULT_MS
    for (kind, _name), layer in config.resources.items():
        if kind is not ResourceType.CLIENT_METRICS:
            continue
        if _matches(split_list(layer.get("match", "")), attributes):
            metrics |= dict.fromkeys(split_list(layer.get("metrics", "")))
            interval_ms = int(layer.get("interval.ms", PUSH_INTERVAL_DEFAULT_MS))
            push_interval_ms = min(push_interval_ms, interval_ms)
    names = [ALL_METRICS] if ALL_METRICS in metrics else in_hash_order(metrics, string_hash)
    return Subscription(tuple(names), push_interval_ms)


def _matches(patterns: Iterable[str], attributes: Mapping[str, str | None]) -> bool:
    for pattern in patterns:
        name, _, expression = (part.strip() for part in pattern.partition("="))
        value = attributes.get(name)
        if value is None or not full_match(expression, value):
            return False
    return True
