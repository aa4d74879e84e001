"""What a broker's keys require of each other, and how far they may change at run time.

Sources: Kafka's `KafkaConfig.validateValues`, `DynamicThreadPool`, `LogCleaner` and
`DynamicLogConfig`. Messages are Kafka's.
"""

from collections.abc import Mapping
from typing import Any

from broker.config.authorizer_settings import AUTHORIZER_CLASS, super_users
from broker.config.ip_limits import IP_LIMITS_KEY, parse_ip_limits
from broker.config.values import elements_of

LOG_DIR = "/mock-kafka/broker-{}"
"""Path of the log directory of a broker whose configuration names none, by its node id."""

DEFAULT_LOG_DIR = ("/tmp/kafka-logs",)  # noqa: S108 - nothing is written
"""Kafka's default of `log.dir`, in place of which a broker has a directory with its own name."""

ALL_LOG_DIRS = "*"
"""The value of `cordoned.log.dirs` for all directories."""

_THREAD_KEYS = (
    "background.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.reader.threads",
)
_MIB = 1024 * 1024
_FOLLOWS_RETENTION = -2
"""The value of `log.local.retention.*` for "as long as anywhere"."""


def requirement_problem(values: Mapping[str, Any]) -> str | None:
    """Return why values contradict each other, or None.

    Raises:
        ConfigError: they do, in other words.
    """
    low, high = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
    if values[low] > values[high]:
        return f"{low} ({values[low]}) must not be more than {high} ({values[high]})"
    broker_id, node_id = values["broker.id"], values["node.id"]
    if broker_id >= 0 and node_id is not None and broker_id != node_id:
        return "You must set `node.id` to the same value as `broker.id`."
    parse_ip_limits(values[IP_LIMITS_KEY])
    if values[AUTHORIZER_CLASS]:
        super_users(values)
    problem = _log_problem(values) or _cordoned_problem(values) or _connection_problem(values)
    return None if problem is None else f"requirement failed: {problem}"


def _log_problem(values: Mapping[str, Any]) -> str | None:
    if not _is_unlimited_or_positive(values["log.retention.ms"]):
        return "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
    for name, low in (("log.roll.ms", 1), ("log.roll.jitter.ms", 0)):
        if values[name] is not None and values[name] < low:
            return f"{name} must be greater than or equal to {low}"
    threads = values["log.cleaner.threads"]
    if threads and values["log.cleaner.dedupe.buffer.size"] // threads <= _MIB:
        return "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
    return None


def named_log_dirs(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the log directories that a configuration names, each once; none by default."""
    named = elements_of(values["log.dirs"])
    if not named and values["log.dir"] != DEFAULT_LOG_DIR:
        named = elements_of(values["log.dir"])
    return tuple(dict.fromkeys(named))


def _cordoned_problem(values: Mapping[str, Any]) -> str | None:
    """Kafka's `KafkaConfig.validateCordonedLogDirs`."""
    cordoned = values["cordoned.log.dirs"]
    if ALL_LOG_DIRS in cordoned:
        return (
            "When cordoned.log.dirs is set to *, it must not contain other values"
            if len(cordoned) > 1
            else None
        )
    known = named_log_dirs(values)
    unknown = [path for path in cordoned if path not in known and not _is_log_dir(path)]
    if not unknown:
        return None
    return (
        "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries :"
        f" {', '.join(unknown)}"
    )


def _is_log_dir(path: str) -> bool:
    beginning = LOG_DIR.format("")
    return path.startswith(beginning) and path.removeprefix(beginning).isdecimal()


def _is_unlimited_or_positive(value: int | None) -> bool:
    return value is None or value != 0


def _connection_problem(values: Mapping[str, Any]) -> str | None:
    per_ip = "max.connections.per.ip"
    if values[per_ip] == 0 and not parse_ip_limits(values[IP_LIMITS_KEY]):
        return f"{per_ip} can be set to zero only if {IP_LIMITS_KEY} property is set."
    return None


def change_problem(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """Return why a broker cannot change from one configuration to another, or None.

    Another release has other default numbers of threads: a broker may change to it all the same.
    """
    if before["broker.api.versions"] == after["broker.api.versions"]:
        for name in _THREAD_KEYS:
            problem = thread_problem(name, before[name], after[name])
            if problem is not None:
                return problem
    return (
        _cleaner_problem(before, after)
        or _local_retention_problem(after)
        or _remote_copy_problem(after)
    )


def thread_problem(name: str, before: int, after: int) -> str | None:
    """Return why a number of threads cannot change so far, or None."""
    if after == before:
        return None
    failed = f"Dynamic thread count update validation failed for {name}={after}, value should"
    if after < before // 2:
        return f"{failed} be at least half the current value {before}"
    if after > before * 2:
        return f"{failed} not be greater than double the current value {before}"
    return None


def _cleaner_problem(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    threads, current = after["log.cleaner.threads"], before["log.cleaner.threads"]
    if threads < 1:
        return "Log cleaner threads should be at least 1"
    if threads < current // 2:
        return (
            f"Log cleaner threads cannot be reduced to less than half the current value {current}"
        )
    if threads > current * 2:
        return (
            "Log cleaner threads cannot be increased to more than double the current value"
            f" {current}"
        )
    return None


def _local_retention_problem(values: Mapping[str, Any]) -> str | None:
    for unit, limit in (("ms", retention_ms(values)), ("bytes", values["log.retention.bytes"])):
        name, local = f"log.local.retention.{unit}", values[f"log.local.retention.{unit}"]
        if limit < 0 or local == _FOLLOWS_RETENTION or 0 <= local <= limit:
            continue
        invalid = f"Invalid value {local} for configuration {name}: Value must not be"
        if local < 0:
            return f"{invalid} -1 as log.retention.{unit} value is set as {limit}."
        return f"{invalid} more than log.retention.{unit} property value: {limit}"
    return None


def _remote_copy_problem(values: Mapping[str, Any]) -> str | None:
    """Kafka's `DynamicLogConfig`: what moves later than it may be deleted would never move."""
    for unit, limit in (("ms", retention_ms(values)), ("bytes", values["log.retention.bytes"])):
        name, local = f"log.remote.copy.lag.{unit}", values[f"log.local.retention.{unit}"]
        kept = limit if local == _FOLLOWS_RETENTION else local
        if values[name] > kept >= 0:
            return (
                f"Invalid value {values[name]} for configuration {name}: Value must not exceed"
                f" log.local.retention.{unit} (effective value: {kept})"
            )
    return None


def retention_ms(values: Mapping[str, Any]) -> int:
    """Return `log.retention.*` in milliseconds; any negative value is -1, unlimited."""
    if values["log.retention.ms"] is not None:
        kept_ms = values["log.retention.ms"]
    elif values["log.retention.minutes"] is not None:
        kept_ms = values["log.retention.minutes"] * 60_000
    else:
        kept_ms = values["log.retention.hours"] * 3_600_000
    return max(int(kept_ms), -1)
