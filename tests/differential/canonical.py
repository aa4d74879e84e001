"""Canonical names for what every cluster chooses by itself: ids, times, hosts, ports.

The first topic id that a conversation sees is `topic_id#0`, the second `topic_id#1`. Both clusters
see them in the same order if they behave alike, so a response that names the wrong topic still
differs. A value that the conversation itself sent stays as it is.
"""

import re
import secrets
from typing import Any
from uuid import UUID, uuid5

from proxy.diff.mapped_fields import MAPPED_FIELDS, SYNONYMS, TIME_FIELDS

_NO_VALUES: frozenset[Any] = frozenset({"", -1, 0, None, str(UUID(int=0))})
_NEAR_NOW_MS = 600_000
_SENT_ID_MIN = 1_000_000
_PREFIX = re.compile(r"zq[0-9a-f]{8}-")
_REFERENCE = re.compile(rf"({'|'.join(MAPPED_FIELDS)})#(\d+)")
_NOW = re.compile(r"now([+-]\d+)")
_REPEATED = re.compile(r"(\w)\{(\d+)\}")
"""`x{200}` stands for 200 times x."""
_REQUEST_IN_TEXT = re.compile(r"^Request .* needs (?=\w+ permission\.$)", re.DOTALL)
"""Kafka's denials of operations on the cluster contain the fields of a Java object."""
_CLUSTER_ID_IN_TEXT = re.compile(r'(?<=cluster id ")[\w-]{22}')
_TIME_IN_TEXT = re.compile(r"-?\b\d{13,19}\b")
_INT64_MAX = (1 << 63) - 1
_DAY_MS = 86_400_000
_LONG_RUN = re.compile(r"(\w)\1{99,}")
_NAMESPACE = UUID(int=0x6D6F636B)


def new_prefix() -> str:
    """Return a prefix for the names of one conversation, always of the same length."""
    return f"zq{secrets.token_hex(4)}-"


class Names:
    """The names of one conversation with one cluster."""

    def __init__(self, prefix: str, now_ms: int) -> None:
        self._prefix = prefix
        self._now_ms = now_ms
        self._names: dict[tuple[str, Any], str] = {}
        self._values: dict[str, Any] = {}
        self._counts: dict[str, int] = {}
        self._sent: set[Any] = set()

    def resolve(self, argument: Any) -> Any:
        """Return the value of this cluster for a name in an argument."""
        if not isinstance(argument, str):
            self._note_sent(argument)
            return argument
        if match := _REFERENCE.fullmatch(argument):
            return self._referenced(argument, match[1], int(match[2]))
        if match := _NOW.fullmatch(argument):
            time_ms = self._now_ms + int(match[1])
            self._note_sent(time_ms)
            return time_ms
        value = _REPEATED.sub(lambda found: found[1] * int(found[2]), argument)
        value = value.replace("~", self._prefix)
        self._note_sent(value)
        return value

    def _note_sent(self, value: Any) -> None:
        # Small numbers mean something else nearly everywhere.
        if isinstance(value, str) or (isinstance(value, int) and value >= _SENT_ID_MIN):
            self._sent.add(value)

    def _referenced(self, name: str, kind: str, number: int) -> Any:
        if name not in self._values:
            value: Any = f"unknown-{kind}-{number}"
            if kind in {"topic_id", "incarnation_id"}:
                value = str(uuid5(_NAMESPACE, name))
            elif kind == "hmac":
                value = uuid5(_NAMESPACE, name).hex
            elif kind in {"producer_id", "session_id", "port"}:
                value = 1_000_000_000 + number
            self._set(kind, value, name)
        return self._values[name]

    def _set(self, kind: str, value: Any, name: str) -> None:
        self._names[kind, value] = name
        self._values[name] = value

    def canonical(self, api: str, value: Any, field: str = "") -> Any:
        """Return a response's value with canonical names, without what others' names are in."""
        if field == "hmac" and isinstance(value, dict):
            value = value["hex"]
        if isinstance(value, dict):
            if field == "next_cursor" and self._is_foreign(value):
                return None
            if value.keys() == {"hex"}:
                return {"hex": value["hex"].replace(self._prefix.encode().hex(), b"~".hex())}
            return {name: self.canonical(api, entry, name) for name, entry in value.items()}
        if isinstance(value, list):
            self._name_topic_ids(value)
            return [
                self.canonical(api, element, field)
                for element in value
                if not self._is_foreign(element)
            ]
        kind = SYNONYMS.get((api, field), field)
        if kind in MAPPED_FIELDS:
            return self._named(kind, value)
        if field == "documentation" and value:
            return "documentation"  # Each project has its own words.
        if isinstance(value, str):
            return self._text(value)
        if field in TIME_FIELDS and isinstance(value, int):
            return self._time(value)
        return value

    def _name_topic_ids(self, entries: list[Any]) -> None:
        """Name the ids of topics in the order of their names: a list of them has any order."""
        topics = [
            entry
            for entry in entries
            if isinstance(entry, dict) and entry.keys() >= {"name", "topic_id"}
        ]
        for topic in sorted(topics, key=lambda topic: topic["name"] or ""):
            if not self._is_foreign(topic):
                self._named("topic_id", topic["topic_id"])

    def _is_foreign(self, entry: Any) -> bool:
        """Return whether this entry of a list belongs to another conversation."""
        if isinstance(entry, str):
            return any(found != self._prefix for found in _PREFIX.findall(entry))
        if not isinstance(entry, dict):
            return False
        direct = [element for element in entry.values() if isinstance(element, str)]
        direct += [
            part["entity_name"]
            for part in entry.get("entity") or ()
            if isinstance(part.get("entity_name"), str)
        ]
        return any(self._is_foreign(text) for text in direct)

    def _named(self, kind: str, value: Any) -> Any:
        if value in _NO_VALUES:
            return value
        if (kind, value) not in self._names:
            if value in self._sent:
                return self._text(value) if isinstance(value, str) else value
            number = self._counts.get(kind, 0)
            while f"{kind}#{number}" in self._values:
                number += 1
            self._counts[kind] = number + 1
            self._set(kind, value, f"{kind}#{number}")
        return self._names[kind, value]

    def _text(self, value: str) -> str:
        text = _REQUEST_IN_TEXT.sub("Request needs ", value.replace(self._prefix, "~"))
        text = _LONG_RUN.sub(lambda found: f"{found[1]}{{{len(found[0])}}}", text)
        text = _CLUSTER_ID_IN_TEXT.sub("cluster_id", text)
        text = _TIME_IN_TEXT.sub(self._time_in_text, text)
        for (kind, real), name in self._names.items():
            if kind in {"topic_id", "member_id", "cluster_id", "log_dir"} and str(real) in text:
                text = text.replace(str(real), name)
        return text

    def _time_in_text(self, found: re.Match[str]) -> str:
        value = int(found[0])
        is_near = min(abs(value - self._now_ms), abs(value + _INT64_MAX - self._now_ms))
        return "now" if is_near < _DAY_MS else found[0]

    def _time(self, value: int) -> Any:
        if value in self._sent:
            return f"now{value - self._now_ms:+d}"
        if abs(value - self._now_ms) < _NEAR_NOW_MS:
            return "now"
        return value
