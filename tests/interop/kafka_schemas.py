"""Apache Kafka's own schemas, read from its jars, and values of messages that fit them.

A value is what Kafka's JsonConverter classes read: names in camel case, uuids and bytes as base64.
A tagged field that has its default is left out.
"""

import json
import random
import re
import zipfile
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from protocol.message_schema import schema_of

Fields = list[dict[str, Any]]

_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_ALPHABET = 'abcXYZ019-._ äß€語😀\n"\\'
_ZERO_UUID = UUID(int=0)
# Our names of fields where Kafka's would do harm, and kafka-python's of some sets of bits.
_OTHER_NAMES = {
    "Version": "image_version",
    "TopicAuthorizedOperations": "authorized_operations",
    "ClusterAuthorizedOperations": "authorized_operations",
}
_ALL_OPERATIONS_UNKNOWN = -(1 << 31)


class Schema:
    """The schema of one message."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.name: str = content["name"]
        self.api_key: int | None = content.get("apiKey")
        self.listeners: list[str] = content.get("listeners", [])
        self.versions = parse_versions(content["validVersions"])
        self.fields: Fields = content.get("fields", [])
        structs = {struct["name"]: struct["fields"] for struct in content.get("commonStructs", [])}
        for fields in (self.fields, *structs.values()):
            _resolve(fields, structs)

    def value(self, version: int, variety: "Variety") -> dict[str, Any]:
        """Return a value of a message of this version."""
        return _struct_value(self.fields, version, variety)


class Variety:
    """What values are made of: the same for the same seed.

    `fullness` 0 is empty, null and zero wherever the schema permits it, 1 is the opposite.
    """

    def __init__(self, seed: str, fullness: float) -> None:
        self.random = random.Random(seed)
        self.fullness = fullness

    def is_there(self) -> bool:
        return self.random.random() < self.fullness

    def count(self) -> int:
        return self.random.randint(1, 3) if self.is_there() else 0

    def integer(self, low: int, high: int) -> int:
        if not self.is_there():
            return 0
        return self.random.choice((low, high, max(low, -1), 1, self.random.randint(low, high)))

    def text(self) -> str:
        length = self.random.choice((1, 5, 200)) if self.is_there() else 0
        return "".join(self.random.choices(_ALPHABET, k=length))

    def octets(self) -> bytes:
        return self.random.randbytes(self.random.choice((1, 20, 300)) if self.is_there() else 0)


def read_schemas(jar: Path) -> dict[str, Schema]:
    """Return the schemas in a jar by the names of their messages."""
    with zipfile.ZipFile(jar) as archive:
        texts = [
            archive.read(name).decode()
            for name in archive.namelist()
            if re.fullmatch(r"common/message/\w+\.json", name)
        ]
    contents = (json.loads(_COMMENT.sub("", text)) for text in texts)
    schemas = [Schema(content) for content in contents if content["validVersions"] != "none"]
    return {schema.name: schema for schema in schemas}


def parse_versions(text: str | None) -> range:
    """Return the versions that `text` names: `1`, `1-3`, `2+` or `none`."""
    if text in {None, "", "none"}:
        return range(0)
    low, _, high = str(text).partition("-")
    if low.endswith("+"):
        return range(int(low[:-1]), 1 << 15)
    return range(int(low), int(high or low) + 1)


def as_message(message_class: Any, fields: Fields, version: int, value: Any) -> Any:
    """Return a message or struct of our class with a value."""
    attributes = {}
    for field in _in_version(fields, version):
        name = _json_name(field)
        if name in value:
            ours = _our_field(message_class, field)
            attributes[ours.name] = _to_python(ours, field, version, value[name])
    return message_class(**attributes)


def as_value(message: Any, fields: Fields, version: int) -> dict[str, Any]:
    """Return the value of a decoded message or struct of our class."""
    value = {}
    for field in _in_version(fields, version):
        ours = _our_field(type(message), field)
        found = _from_python(ours, field, version, getattr(message, ours.name))
        is_absent = found is None and version not in _nullable(field)
        if version not in _tagged(field) or not (is_absent or found == _default(field, version)):
            value[_json_name(field)] = found
    return value


def _resolve(fields: Fields, structs: Mapping[str, Fields]) -> None:
    for field in fields:
        kind = field["type"].removeprefix("[]")
        if kind in structs:
            field["fields"] = structs[kind]
        elif "fields" in field:
            _resolve(field["fields"], structs)


def _tagged(field: Mapping[str, Any]) -> range:
    return parse_versions(field.get("taggedVersions"))


def _nullable(field: Mapping[str, Any]) -> range:
    return parse_versions(field.get("nullableVersions"))


def _in_version(fields: Fields, version: int) -> Iterator[dict[str, Any]]:
    for field in fields:
        if version in parse_versions(field.get("versions", field.get("taggedVersions"))):
            yield field


def _json_name(field: Mapping[str, Any]) -> str:
    name: str = field["name"]
    return name[0].lower() + name[1:]


def _our_field(message_class: Any, field: Mapping[str, Any]) -> Any:
    ours = schema_of(message_class).fields
    name: str = field["name"]
    return ours.get(re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()) or ours[_OTHER_NAMES[name]]


def _struct_value(fields: Fields, version: int, variety: Variety) -> dict[str, Any]:
    value = {}
    for field in _in_version(fields, version):
        found = None
        if version not in _nullable(field) or variety.is_there():
            found = _value(field, version, variety)
        if version not in _tagged(field) or found != _default(field, version):
            value[_json_name(field)] = found
    return value


def _value(field: Mapping[str, Any], version: int, variety: Variety) -> Any:
    kind: str = field["type"]
    if not kind.startswith("[]"):
        return _element(kind, field, version, variety)
    count = variety.count()
    if count and "fields" not in field and variety.random.random() < 0.05:
        count = 150  # the size takes two bytes
    return [_element(kind[2:], field, version, variety) for _ in range(count)]


def _element(kind: str, field: Mapping[str, Any], version: int, variety: Variety) -> Any:
    if "fields" in field:
        return _struct_value(field["fields"], version, variety)
    if kind in _BITS:
        bound = 1 << _BITS[kind] - 1
        return variety.integer(-bound, bound - 1)
    match kind:
        case "uint16":
            return variety.integer(0, (1 << 16) - 1)
        case "bool":
            return variety.is_there()
        case "float64":
            return float(variety.integer(-(1 << 60), 1 << 60)) / 3
        case "string":
            return variety.text()
        case "uuid":
            return _uuid_text(
                UUID(int=variety.random.getrandbits(128) if variety.is_there() else 0)
            )
        case "bytes" | "records":
            return b64encode(variety.octets()).decode()
        case _:
            raise AssertionError(f"unknown type {kind}")


def _default(field: Mapping[str, Any], version: int) -> Any:
    """Return the value that a tagged field has when it is left out."""
    default = field.get("default")
    if default == "null":
        return None
    kind: str = field["type"]
    if kind.startswith("[]"):
        return []
    if "fields" in field:
        fields = _in_version(field["fields"], version)
        return {_json_name(declared): _default(declared, version) for declared in fields}
    if kind in _BITS or kind == "uint16":
        return int(str(default or 0), 0)
    if kind == "bool":
        return str(default).lower() == "true"
    if kind == "uuid":
        return _uuid_text(_ZERO_UUID)
    return default or ("" if kind != "float64" else 0.0)


def _uuid_text(uuid: UUID) -> str:
    return urlsafe_b64encode(uuid.bytes).decode().rstrip("=")


def _to_python(ours: Any, field: Mapping[str, Any], version: int, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_to_python(ours.array_of, field, version, element) for element in value]
    if isinstance(value, dict):
        return as_message(ours.data_class, field["fields"], version, value)
    match ours.type_str.removeprefix("[]"):
        case "bitfield":
            bits = {bit for bit in range(32) if value >> bit & 1}
            return None if value == _ALL_OPERATIONS_UNKNOWN else bits
        case "uuid":
            return UUID(bytes=urlsafe_b64decode(f"{value}=="))
        case "bytes" | "records":
            return b64decode(value)
        case _:
            return value


def _from_python(ours: Any, field: Mapping[str, Any], version: int, value: Any) -> Any:
    if ours.is_array():
        return value and [_from_python(ours.array_of, field, version, element) for element in value]
    kind = ours.type_str
    if kind == "uuid":
        return _uuid_text(value or _ZERO_UUID)
    if kind == "bitfield":
        bits = sum(1 << bit for bit in ({31} if value is None else value))
        return bits - (bits >> 31 << 32)
    if value is None:
        return None
    if kind in {"bytes", "records"}:
        return b64encode(value).decode()
    return as_value(value, field["fields"], version) if "fields" in field else value
