"""The operations of an alteration, applied to a layer of a configuration.

Source: Kafka's `ConfigurationControlManager.incrementalAlterConfigResource`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from broker.config.keys import ConfigKey, ConfigType
from broker.config.values import format_value
from broker.errors import Refusal
from protocol.configs import ConfigOperation
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause, paced

_KINDS = frozenset(ConfigOperation)


@dataclass(frozen=True, slots=True)
class Operation:
    """One key to change. `kind` is as sent and may be an invalid ConfigOperation."""

    name: str
    kind: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Alteration:
    """Changes to one resource; a replacement first removes everything that was set."""

    resource_type: int
    resource_name: str
    operations: tuple[Operation, ...]
    is_replacement: bool


UNKNOWN_OPERATION = Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)
"""Kafka's controller fails at an operation that it does not know, and with it the request."""


@may_pause
def apply_operations(
    layer: Mapping[str, str],
    operations: Sequence[Operation],
    keys: Mapping[str, ConfigKey],
    *,
    has_lists: bool = True,
) -> dict[str, str] | Refusal:
    """Return the layer after the operations, of which each has another key.

    Of several errors it is the one that Kafka finds first in its hash map.

    Only lists can be appended to or subtracted from; an element occurs once. A list that is not set
    begins with Kafka's default. Kafka knows no lists of groups and client metrics: `has_lists`.
    """
    changed = dict(layer)
    for operation in paced(
        in_hash_order(operations, lambda operation: string_hash(operation.name))
    ):
        name, text = operation.name, operation.text or ""
        if operation.kind not in _KINDS:
            return UNKNOWN_OPERATION
        if operation.kind == ConfigOperation.SET:
            changed[name] = text
        elif operation.kind == ConfigOperation.DELETE:
            changed.pop(name, None)
        else:
            key = keys.get(name) if has_lists else None
            if key is None or key.config_type is not ConfigType.LIST:
                kind = ConfigOperation(operation.kind).name
                message = f"Can't {kind} to key {name} because its type is not LIST."
                return Refusal(ErrorCode.INVALID_CONFIG, message)
            before = changed.get(name, format_value(key.default) or "")
            changed[name] = change_list(before, operation.kind, text)
    return changed


def change_list(before: str, kind: int, operand: str) -> str:
    """Return a list after APPEND or SUBTRACT of the elements of another, joined by commas."""
    elements = [element for element in before.split(",") if element]
    for element in operand.split(","):
        if kind == ConfigOperation.APPEND and element not in elements:
            elements.append(element)
        elif kind == ConfigOperation.SUBTRACT and element in elements:
            elements.remove(element)
    return ",".join(elements)
