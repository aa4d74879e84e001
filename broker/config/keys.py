"""What a configuration key is: its name, type, default, check and documentation (`ConfigDef`).

The `*_keys` modules list the keys, one row each. `values` parses and formats their values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import partial
from typing import Any

Check = Callable[[Any], str | None]
"""Return why a parsed value is invalid, in a few words, or None if it is valid."""


class ConfigType(IntEnum):
    """Type of a value, numbered as in DescribeConfigs' `config_type`."""

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
    PER_BROKER = "per-broker"
    """Can be changed through AlterConfigs, for all brokers or for one."""


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key. `default` is a parsed value: None is "not set", a list is a tuple of strings.

    `is_enforced`: the broker acts on it; otherwise it accepts and describes the key only.
    `is_mock_only`: Kafka has no such key.
    `broker_synonym`: for a topic's key, the broker's key that its default comes from.
    """

    name: str
    config_type: ConfigType
    default: Any
    check: Check | None
    update_mode: UpdateMode
    doc: str
    is_enforced: bool = True
    is_mock_only: bool = False
    broker_synonym: str | None = None

    @property
    def is_dynamic(self) -> bool:
        """Whether AlterConfigs can change it."""
        return self.update_mode in {UpdateMode.CLUSTER_WIDE, UpdateMode.PER_BROKER}

    @property
    def is_per_broker(self) -> bool:
        """Whether brokers of one cluster may have different values."""
        return self.update_mode in {UpdateMode.PER_BROKER, UpdateMode.STATIC_PER_BROKER}

    @property
    def is_sensitive(self) -> bool:
        """Whether clients never see the value."""
        return self.config_type is ConfigType.PASSWORD


# Names for the tables of keys, which have one row per key.
BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD = ConfigType
READ_ONLY, STATIC_PER_BROKER, CLUSTER_WIDE, PER_BROKER = UpdateMode
mock_key = partial(ConfigKey, is_mock_only=True)
ignored_key = partial(ConfigKey, is_enforced=False)


def by_name(*groups: tuple[ConfigKey, ...]) -> dict[str, ConfigKey]:
    """Return the keys of several tuples by name, sorted; a duplicate name is an AssertionError."""
    keys = sorted((key for group in groups for key in group), key=lambda key: key.name)
    named = {key.name: key for key in keys}
    assert len(named) == len(keys), "a key is defined twice"
    return named
