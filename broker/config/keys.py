"""What a configuration key is: its name, type, default, check and sentence (Kafka's `ConfigDef`).

The keys themselves are data, in `broker_keys`, `ignored_keys` and `topic_keys`; how text becomes a
value and back is in `values`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

Check = Callable[[Any], str | None]
"""Given a parsed value, says in a few words why it will not do, or None when it will."""


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


class ResourceType(IntEnum):
    """What can be configured, numbered as in Kafka's `ConfigResource.Type`."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Where a value comes from, numbered as in DescribeConfigs' `config_source`."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class ConfigError(ValueError):
    """One line that names the key (or the line of a file) and what is wrong with it."""


def shortened(text: str) -> str:
    """The beginning of a text in one line: for messages, which have bounded room on the wire."""
    line = " ".join(text[:1000].split())
    return line if len(line) <= 200 else f"{line[:200]}..."


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key. `default` is a parsed value: None is "not set", a list is a tuple of strings.

    `is_dynamic`: can be changed at run time through AlterConfigs.
    `is_per_broker`: brokers of one cluster may have different values. Any other key has one value
    for all of them.
    `is_enforced`: the broker acts on it; otherwise it is accepted and described, and changes
    nothing.
    `is_mock_only`: Kafka has no such key.
    `broker_synonym`: for a topic's key, the broker's key its default comes from.
    """

    name: str
    config_type: ConfigType
    default: Any
    doc: str
    check: Check | None = None
    is_dynamic: bool = False
    is_per_broker: bool = False
    is_enforced: bool = True
    is_mock_only: bool = False
    broker_synonym: str | None = None

    @property
    def is_sensitive(self) -> bool:
        """Whether the value is never told to a client."""
        return self.config_type is ConfigType.PASSWORD


def by_name(*groups: tuple[ConfigKey, ...]) -> dict[str, ConfigKey]:
    """The keys of several groups, sorted by name; a name that occurs twice is an assertion."""
    keys = sorted((key for group in groups for key in group), key=lambda key: key.name)
    named = {key.name: key for key in keys}
    assert len(named) == len(keys), "a key is defined twice"
    return named
