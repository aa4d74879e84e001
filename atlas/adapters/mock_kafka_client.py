"""The adapter of this project's own producer and admin client, which have no consumer."""

import importlib.metadata
import logging
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TextIO

import structlog

from atlas.adapters.adapter import Adapter, Failure, encoded, main, mapped
from atlas.adapters.kafka_python_names import PRODUCER
from atlas.adapters.loop_thread import LoopThread
from client import Producer, ProducerSettings, open_admin
from client.admin import Admin
from client.errors import ApiError, ClientError, error_name
from client.producer.delivery import Delivered, DeliveryTimeoutError
from client.producer.transaction_errors import (
    FatalTransactionError,
    TransactionAbortableError,
    TransactionTimeoutError,
)
from client.resources import ConfigChange, ConfigResource, NewPartitions, NewTopic
from client.security import Security, security_of
from protocol.configs import ConfigOperation, ResourceType
from protocol.errors import RETRIABLE_ERRORS

_CALL_MS = 5_000
_ADMIN_MS = 3_000


class MockKafkaClientAdapter(Adapter):
    """`client.Producer` and `client.Admin`."""

    client = "mock-kafka-client"
    version = importlib.metadata.version("mock-kafka")
    supports = ("producer", "idempotence", "transactions", "admin")

    def __init__(self, output: TextIO) -> None:
        super().__init__(output)
        self._thread = LoopThread()

    def failure_of(self, error: BaseException) -> Failure:
        """Classify by the class of the error, or by the code in the response."""
        if isinstance(error, TransactionAbortableError):
            cause = self.failure_of(error.cause)
            return Failure(type(error).__name__, f"{cause.error}: {error}", "abortable")
        if isinstance(error, FatalTransactionError):
            return Failure(type(error).__name__, str(error), "fatal")
        if isinstance(error, DeliveryTimeoutError | TransactionTimeoutError):
            return Failure(type(error).__name__, str(error), "timeout")
        if isinstance(error, ApiError):
            kind = "retriable" if error.error_code in RETRIABLE_ERRORS else "fatal"
            return Failure(error_name(error.error_code), str(error), kind)
        return Failure(type(error).__name__, str(error))

    # Producers -----------------------------------------------------------------------------

    def producer(self, id: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Create a producer; it waits for calls as long as for deliveries."""
        timeout_ms = settings.get("delivery_timeout_ms", _CALL_MS)
        security = _security(settings.pop("security", None))
        known, ignored = mapped(settings, PRODUCER)
        if known.get("acks", -1) != -1:
            known.setdefault("enable_idempotence", False)
        known["max_block_ms"] = timeout_ms

        async def start() -> None:
            producer = Producer(self.bootstrap, ProducerSettings(**known), security=security)
            self.handles[id] = producer
            if "transactional_id" in known:
                await producer.init_transactions()

        self._thread.run(start(), timeout_ms)
        return {"ignored": ignored}

    def send(
        self,
        number: int,
        producer: Any,
        topic: str,
        value: str | None,
        key: str | None,
        partition: int | None,
    ) -> None:
        """Send a record; it waits for memory only."""
        data, key_data = encoded(value, key)

        async def send() -> None:
            future = await producer.send(topic, data, key_data, partition)
            future.add_done_callback(settle)

        def settle(future: Any) -> None:
            outcome: Delivered | ClientError = future.exception() or future.result()
            if isinstance(outcome, Delivered):
                self.delivered(number, outcome.offset)
            else:
                self.undelivered(number, self.failure_of(outcome))

        self._thread.run(send(), _CALL_MS)

    def flush(self, producer: Any, timeout_ms: int) -> None:
        """Wait for the outcome of all records."""
        self._thread.run(producer.flush(), timeout_ms)

    def begin_transaction(self, producer: Any) -> None:
        """Begin a transaction."""

        async def begin() -> None:
            producer.begin_transaction()

        self._thread.run(begin(), _CALL_MS)

    def commit_transaction(self, producer: Any, timeout_ms: int) -> None:
        """Commit."""
        self._thread.run(producer.commit_transaction(), timeout_ms)

    def abort_transaction(self, producer: Any, timeout_ms: int) -> None:
        """Abort."""
        self._thread.run(producer.abort_transaction(), timeout_ms)

    # Administration ------------------------------------------------------------------------

    def admin(self, id: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Create an admin client."""
        security = _security(settings.pop("security", None))
        known, ignored = mapped(settings, {"request_timeout_ms": "request_timeout_ms"})
        opened = open_admin(
            self.bootstrap, security=security, default_api_timeout_ms=_ADMIN_MS, **known
        )
        self.handles[id] = _OpenAdmin(opened)
        return {"ignored": ignored}

    def create_topic(
        self, admin: "_OpenAdmin", topic: str, partitions: int = 1, replication_factor: int = 1
    ) -> None:
        """Create a topic."""
        new_topic = NewTopic(topic, partitions, replication_factor)
        _raise_first(admin.admin.create_topics([new_topic]))

    def delete_topic(self, admin: "_OpenAdmin", topic: str) -> None:
        """Delete a topic."""
        _raise_first(admin.admin.delete_topics([topic]))

    def create_partitions(self, admin: "_OpenAdmin", topic: str, partitions: int) -> None:
        """Have a topic with so many partitions."""
        _raise_first(admin.admin.create_partitions({topic: NewPartitions(partitions)}))

    def describe_topic(self, admin: "_OpenAdmin", topic: str) -> None:
        """Describe a topic; raise the error of its description."""
        _raise_first(admin.admin.describe_topics([topic]))

    def list_topics(self, admin: "_OpenAdmin") -> dict[str, Any]:
        """List the topics."""
        return {"topics": admin.admin.list_topics()}

    def describe_configs(self, admin: "_OpenAdmin", topic: str) -> None:
        """Describe the configuration of a topic."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        _raise_first(admin.admin.describe_configs([resource]))

    def alter_config(self, admin: "_OpenAdmin", topic: str, config: dict[str, str]) -> None:
        """Set configuration keys of a topic."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        changes = [ConfigChange(name, ConfigOperation.SET, value) for name, value in config.items()]
        _raise_first(admin.admin.incremental_alter_configs({resource: changes}))

    def list_groups(self, admin: "_OpenAdmin") -> None:
        """List the groups."""
        admin.admin.list_groups()

    def describe_group(self, admin: "_OpenAdmin", group: str) -> None:
        """Describe a group; raise the error of its description."""
        _raise_first(admin.admin.describe_groups([group]))

    def delete_group(self, admin: "_OpenAdmin", group: str) -> None:
        """Delete a group."""
        _raise_first(admin.admin.delete_groups([group]))

    def describe_cluster(self, admin: "_OpenAdmin") -> None:
        """Describe the cluster."""
        admin.admin.describe_cluster()

    # Closing -------------------------------------------------------------------------------

    def stop(self, handle: Any, timeout_ms: int) -> None:
        """See `Adapter`."""
        if isinstance(handle, Producer):
            self._thread.run(handle.close(), timeout_ms)
        else:
            handle.close()

    def forget(self, handle: Any) -> None:
        """See `Adapter`."""
        if isinstance(handle, Producer):
            closing = handle.close(is_flushing=False, is_aborting=False)
            self._thread.run(closing, 500)
        else:
            handle.close()


class _OpenAdmin:
    """An admin client outside of its `with` block."""

    def __init__(self, opened: AbstractContextManager[Admin]) -> None:
        self._stack = ExitStack()
        self.admin = self._stack.enter_context(opened)

    def close(self) -> None:
        """Close its connections."""
        self._stack.close()


def _security(given: Mapping[str, str] | None) -> Security | None:
    if not given:
        return None
    return security_of(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": given["mechanism"],
            "sasl.username": given["username"],
            "sasl.password": given["password"],
        }
    )


def _raise_first(results: Mapping[Any, Any]) -> None:
    for result in results.values():
        if isinstance(result, Exception):
            raise result


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    main(MockKafkaClientAdapter)
