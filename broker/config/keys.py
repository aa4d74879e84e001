"""What a configuration key is: its name, type, default, check and documentation (`ConfigDef`).

The `*_keys` modules list the keys, one row each. `values` parses and formats their values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import partial
from typing import Any, NamedTuple

from broker.config.effects import OF_A_PLUGIN, Effect


class Invalid(NamedTuple):
    """Why a value is invalid, in Kafka's words; `value` is the part to show."""

    value: Any
    reason: str


Check = Callable[[Any], Invalid | None]
"""Return what is wrong with a parsed value, or None if it is valid."""


class ListRule(NamedTuple):
    """What a LIST may hold (Kafka's `ConfigDef.ValidList`); a repeated element counts once.

    `allowed` are the words that it may have, or none for any word that is not empty.
    """

    allowed: tuple[str, ...] = ()
    is_empty_allowed: bool = True


class ConfigType(IntEnum):
    """Type of a value, numbered as in DescribeConfigs' `config_type`."""

    UNKNOWN = 0
    """The type of keys that only a plug-in knows."""
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigError(ValueError):
    """One line that names the key (or the line of a file) and the problem."""


def shortened(text: str) -> str:
    """Return the beginning of a text as one line, for error messages of bounded length."""
    line = " ".join(text[:1000].split())
    return line if len(line) <= 200 else f"{line[:200]}..."


class UpdateMode(Enum):
    """How a broker's key gets its value, in the words of Kafka's documentation."""

    READ_ONLY = "read-only"
    """Set at the start, with one value for all brokers."""
    STATIC_PER_BROKER = "read-only, per broker"
    """Set at the start; brokers may have different values."""
    CLUSTER_WIDE = "cluster-wide"
    """Can be changed through AlterConfigs, for all brokers."""
    PER_BROKER = "cluster-wide, per broker"
    """Can be changed through AlterConfigs, for all brokers or for one."""
    ONE_BROKER = "per-broker"
    """Can be changed through AlterConfigs, for single brokers only."""
    ONE_BROKER_OF_MOCK = "read-only in Kafka, per-broker here"
    """Can be changed through AlterConfigs, for single brokers only; Kafka refuses that."""
    DYNAMIC_ONLY = "dynamic only"
    """Can only be set through AlterConfigs; Kafka describes it as read-only."""


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key. `default` is a parsed value: None is "not set", a list is a tuple of strings.

    `effect`: whether the broker acts on it; `reason` says why it does not.
    `is_mock_only`: Kafka has no such key.
    `is_internal`: it is described only where it is set.
    `differs_at_start`: brokers may have different values from the start on, not from a restart on.
    `broker_synonym`: for a topic's key, the broker's key that its default comes from.
    """

    name: str
    config_type: ConfigType
    default: Any
    check: Check | ListRule | None
    update_mode: UpdateMode
    doc: str | None = None
    effect: Effect = Effect.ACTS
    is_mock_only: bool = False
    is_internal: bool = False
    differs_at_start: bool = False
    broker_synonym: str | None = None
    reason: str | None = None

    @property
    def is_enforced(self) -> bool:
        """Whether the broker acts on it; otherwise it accepts and describes the key only."""
        return self.effect is Effect.ACTS

    @property
    def documentation(self) -> str | None:
        """What DescribeConfigs says about it: of our own keys that they are not Kafka's."""
        return f"mock-kafka: {self.doc}" if self.is_mock_only else self.doc

    @property
    def is_dynamic(self) -> bool:
        """Whether AlterConfigs can change it."""
        return self.update_mode not in {UpdateMode.READ_ONLY, UpdateMode.STATIC_PER_BROKER}

    @property
    def is_described_read_only(self) -> bool:
        """Whether Kafka describes it as read-only."""
        beyond_kafka = {UpdateMode.DYNAMIC_ONLY, UpdateMode.ONE_BROKER_OF_MOCK}
        return not self.is_dynamic or self.update_mode in beyond_kafka

    @property
    def is_hidden(self) -> bool:
        """Whether it is described only where it is set."""
        return self.is_internal or self.update_mode is UpdateMode.DYNAMIC_ONLY

    @property
    def is_per_broker(self) -> bool:
        """Whether brokers of one cluster may have different values."""
        own = {UpdateMode.PER_BROKER, UpdateMode.STATIC_PER_BROKER}
        return self.update_mode in own or not self.is_enforced

    @property
    def is_sensitive(self) -> bool:
        """Whether clients never see the value."""
        return self.config_type in {ConfigType.PASSWORD, ConfigType.UNKNOWN}


# Names for the tables of keys, which have one row per key.
UNKNOWN, BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD = ConfigType
(
    READ_ONLY,
    STATIC_PER_BROKER,
    CLUSTER_WIDE,
    PER_BROKER,
    ONE_BROKER,
    ONE_BROKER_OF_MOCK,
    DYNAMIC_ONLY,
) = UpdateMode
mock_key = partial(ConfigKey, is_mock_only=True)
unseen_key = partial(ConfigKey, effect=Effect.UNSEEN)
missing_key = partial(ConfigKey, effect=Effect.MISSING)


def plugin_key(name: str) -> ConfigKey:
    """Return a key that only a plug-in knows: a secret, since it may be one."""
    return unseen_key(name, UNKNOWN, None, None, DYNAMIC_ONLY, reason=OF_A_PLUGIN)


def by_name(*groups: tuple[ConfigKey, ...]) -> dict[str, ConfigKey]:
    """Return the keys of several tuples by name, sorted; a duplicate name is an AssertionError."""
    keys = sorted((key for group in groups for key in group), key=lambda key: key.name)
    named = {key.name: key for key in keys}
    assert len(named) == len(keys), "a key is defined twice"
    return named
