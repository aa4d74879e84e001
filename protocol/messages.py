"""The messages of the Kafka protocol: kafka-python's schema classes and ours, found by API key.

The rest of the project uses `messages.CreateTopicsResponse` or `request_class(ApiKey.FETCH)` and
never imports `kafka`.

Type checkers know the fields from `message_types.pyi`, which `scripts/message_stubs.py` generates
from the schemas. Quote an annotation, as in `request: "messages.FetchRequest"`: it then makes no
class, and `messages.Request` and `messages.Message` have none.

A message is built with `MetadataResponse(version=9, brokers=[...])`; its nested structs are class
attributes (`MetadataResponse.MetadataResponseBroker`). A handler can set all fields: the encoder
leaves out those that the version lacks.

A class is made when its name is first used. kafka-python reads the schemas of all messages that it
imports together, and a broker can respond to its first request long before it needs most of them.
"""

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from protocol import schema_messages
from protocol.api_keys import ApiKey
from protocol.message_schema import schema_of
from protocol.suggestions import did_you_mean

if TYPE_CHECKING:  # `__getattr__` imports the classes
    from protocol.message_types import *  # noqa: F403 - generated from the schemas

_APIS_BY_PACKAGE = {
    "consumer": (
        "Fetch",
        "Heartbeat",
        "JoinGroup",
        "LeaveGroup",
        "ListOffsets",
        "OffsetCommit",
        "OffsetDelete",
        "OffsetFetch",
        "OffsetForLeaderEpoch",
        "SyncGroup",
    ),
    "metadata": (
        "FindCoordinator",
        "Metadata",
    ),
    "producer": (
        "AddOffsetsToTxn",
        "AddPartitionsToTxn",
        "EndTxn",
        "InitProducerId",
        "Produce",
        "WriteTxnMarkers",
    ),
    "sasl": (
        "SaslAuthenticate",
        "SaslHandshake",
    ),
}
_PACKAGES = {name: package for package, names in _APIS_BY_PACKAGE.items() for name in names}
"""Where kafka-python has the messages of an API: the package in `kafka.protocol`, else `admin`."""

API_NAMES: dict[ApiKey, str] = {key: key.name.title().replace("_", "") for key in sorted(ApiKey)}
"""The name of every API as Kafka writes it, such as `InitProducerId`."""

_APIS = {f"{name}{kind}": name for name in API_NAMES.values() for kind in ("Request", "Response")}
MESSAGE_NAMES = tuple(sorted(_APIS))

_KEYS_BY_LETTERS = {name.lower(): key for key, name in API_NAMES.items()}


if not TYPE_CHECKING:  # else it would allow any name

    def __getattr__(name: str) -> Any:
        """Return the class of a message, which from then on is an attribute of this module."""
        api_name = _APIS.get(name)
        if api_name is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if api_name in schema_messages.API_NAMES:
            made = schema_messages.make_class(name)
        else:
            import kafka.protocol as packages  # noqa: PLC0415 - see ADR 24

            package = _PACKAGES.get(api_name, "admin")
            made = getattr(import_module(f"{packages.__name__}.{package}"), name)
        globals()[name] = made
        return made


class _Classes(dict[ApiKey, Any]):
    """The classes of the requests or of the responses, by API key; made when first used."""

    def __init__(self, suffix: str) -> None:
        super().__init__()
        self._suffix = suffix

    def __missing__(self, api_key: ApiKey) -> Any:
        made = self[api_key] = getattr(_THIS, API_NAMES[api_key] + self._suffix)
        return made


_THIS = sys.modules[__name__]
_REQUESTS, _RESPONSES = _Classes("Request"), _Classes("Response")


def api_key_of(name: str) -> ApiKey:
    """Return the key of an API by its name: `InitProducerId` or INIT_PRODUCER_ID.

    Raises:
        ValueError: there is no such API; the message suggests the nearest name.
    """
    letters = name.replace("_", "").lower()
    key = _KEYS_BY_LETTERS.get(letters)
    if key is None:
        raise ValueError(f"there is no {name}{did_you_mean(name, API_NAMES.values())}")
    return key


def request_class(api_key: ApiKey) -> Any:
    """Return the request class of an API key; KeyError for an API without schema here."""
    return _REQUESTS[api_key]


def response_class(api_key: ApiKey) -> Any:
    """Return the response class of an API key; KeyError for an API without schema here."""
    return _RESPONSES[api_key]


@cache
def begins_with_throttle(api_key: ApiKey, api_version: int) -> bool:
    """Return whether `throttle_time_ms` is the first field of this version's response."""
    fields = schema_of(response_class(api_key)).fields.values()
    first = next(field for field in fields if field.for_version_q(api_version))
    return bool(first.name == "throttle_time_ms")


@cache
def has_throttle_time(api_key: ApiKey, api_version: int) -> bool:
    """Return whether this version's response has a `throttle_time_ms`."""
    found = schema_of(response_class(api_key)).fields.get("throttle_time_ms")
    return found is not None and bool(found.for_version_q(api_version))


def request_fields(api_key: ApiKey, api_version: int) -> dict[str, Any]:
    """Return a request's field names: arrays of structs with the names inside, others with None."""
    return _fields_of(schema_of(request_class(api_key)), api_version)


def response_fields(api_key: ApiKey, api_version: int) -> dict[str, Any]:
    """Return a response's field names, as `request_fields` does."""
    return _fields_of(schema_of(response_class(api_key)), api_version)


def _fields_of(struct: Any, api_version: int) -> dict[str, Any]:
    return {
        name: _fields_of(field.array_of, api_version) if field.is_struct_array() else None
        for name, field in struct.fields.items()
        if field.for_version_q(api_version)
    }


def entry_class(message: Any, field_name: str) -> Any:
    """Return the class of the entries of an array field of a message or struct."""
    return schema_of(message).fields[field_name].array_of.data_class


def schema_versions(api_key: ApiKey) -> tuple[int, int]:
    """Return the lowest and highest version (inclusive) in Kafka's schema of the request."""
    low, high = request_class(api_key).valid_versions
    return int(low), int(high)


def is_flexible(api_key: ApiKey, api_version: int) -> bool:
    """Return whether this version uses compact types and tagged fields (KIP-482)."""
    return bool(request_class(api_key).flexible_version_q(api_version))
