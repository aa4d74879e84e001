"""Put the real cluster's ids into a response of our broker, and learn which ids belong together.

Both responses are field dicts. Ids at the same place of both belong together, unless one of them
has a partner already: then ours stays, and differs.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from proxy.diff.field_comparison import KEYS, keyed_entries
from proxy.diff.id_map import IdMap
from proxy.diff.mapped_fields import SYNONYMS, TIME_FIELDS
from proxy.diff.request_ids import GENERATIONS

ID_KINDS = frozenset(
    {
        "cluster_id",
        "hmac",
        "incarnation_id",
        "log_dir",
        "member_id",
        "producer_id",
        "session_id",
        "token_id",
        "topic_id",
    }
)
_ADDRESSES = frozenset({"host", "port"})
"""Where a broker listens; which broker it is, its node id says."""
_NO_VALUES: frozenset[Any] = frozenset({"", -1, 0, None, str(UUID(int=0))})
_NEAR_NOW_MS = 600_000
_TEXT_KINDS = ("topic_id", "member_id", "cluster_id", "log_dir")


class ResponseIds:
    """Translates responses to the requests of one API."""

    def __init__(self, ids: IdMap, api: str, request: Mapping[str, Any], now_ms: int) -> None:
        """`request` has the fields of the request, with the ids of the real cluster."""
        self._ids = ids
        self._api = api
        self._now_ms = now_ms
        self._group_id: str = request.get("group_id") or ""
        self._member_id: str = request.get("member_id") or ""

    def with_real_ids(self, real: Any, ours: Any) -> Any:
        """Return our response with the ids of the real one."""
        return self._merged("", real, ours, self._group_id, self._member_id, -1)

    def _merged(
        self, name: str, real: Any, ours: Any, group_id: str, member_id: str, producer_id: int
    ) -> Any:
        if isinstance(real, dict) and isinstance(ours, dict):
            if real.keys() == {"hex"} == ours.keys() and name == "hmac":
                return {"hex": self._id("hmac", real["hex"], ours["hex"])}
            group_id = real.get("group_id") or group_id
            member_id = real.get("member_id") or member_id
            producer_id = real.get("producer_id", producer_id)
            return {
                field: self._merged(field, real[field], value, group_id, member_id, producer_id)
                if field in real
                else value
                for field, value in ours.items()
            }
        if isinstance(real, list) and isinstance(ours, list):
            return [
                self._merged(name, partner, entry, group_id, member_id, producer_id)
                for partner, entry in self._partners(real, ours)
            ]
        if real is None or ours is None:
            return ours
        kind = SYNONYMS.get((self._api, name), name)
        if kind in ID_KINDS:
            return self._id(kind, real, ours)
        if kind in _ADDRESSES and real not in _NO_VALUES and ours not in _NO_VALUES:
            return real
        if name in GENERATIONS:
            return self._number("generation", real, ours, (group_id, member_id), 1)
        if name == "producer_epoch":
            return self._number(name, real, ours, producer_id, 0)
        if name in TIME_FIELDS and self._is_near_now(real) and self._is_near_now(ours):
            return real
        if name.endswith("message") and isinstance(ours, str) and ours != real:
            return self._text(real, ours)
        return ours

    def _number(self, kind: str, real: int, ours: int, scope: Any, first: int) -> int:
        """Return the real number if both are some: each cluster counts from another one."""
        if real < first or ours < first:
            return ours
        self._ids.pair(kind, real, ours, scope)
        return real

    def _id(self, kind: str, real: Any, ours: Any) -> Any:
        if kind == "producer_id":
            is_none = -1 in {real, ours}  # 0 is an id
        else:
            is_none = ours in _NO_VALUES or real in _NO_VALUES
        if is_none:
            return ours
        known = self._ids.known_real(kind, ours)
        if known is not None:
            return known
        if self._ids.known_ours(kind, real) is not None:
            return ours
        self._ids.pair(kind, real, ours)
        return real

    def _is_near_now(self, value: Any) -> bool:
        return isinstance(value, int) and abs(value - self._now_ms) < _NEAR_NOW_MS

    def _text(self, real: Any, ours: str) -> str:
        """Return a message with the real ids, as far as the real message has them."""
        for word in set(ours.replace("'", " ").replace(",", " ").rstrip(".").split()):
            for kind in _TEXT_KINDS:
                known = self._ids.known_real(kind, word)
                if known is not None and str(known) in str(real):
                    ours = ours.replace(word, str(known))
        return ours

    def _partners(self, real: list[Any], ours: list[Any]) -> list[tuple[Any, Any]]:
        """Return each of our entries, with real ids as its key, behind the entry of the same key.

        Of those whose key is an id that nobody has seen, the first belongs to the first.
        """
        known = [self._with_known_key(entry) for entry in ours]
        real_keys, our_keys = keyed_entries(real), keyed_entries(known)
        new_real = [entry for key, entry in real_keys.items() if key not in our_keys]
        pairs = []
        for key, entry in our_keys.items():
            partner = real_keys.get(key)
            if partner is None and self._has_id_as_key(entry):
                place = next(
                    (n for n, one in enumerate(new_real) if self._may_be(one, entry)), None
                )
                partner = None if place is None else new_real.pop(place)
            pairs.append((partner, entry))
        return pairs

    def _key_field(self, entry: Any) -> str | None:
        if not isinstance(entry, dict):
            return None
        return next((name for name in KEYS if entry.get(name) not in (None, "")), None)

    def _has_id_as_key(self, entry: Any) -> bool:
        return self._key_field(entry) in ID_KINDS

    def _may_be(self, real: Any, ours: Any) -> bool:
        """Whether two entries with different keys may be the same, because no id is known."""
        name = self._key_field(ours)
        return (
            name is not None
            and name == self._key_field(real)
            and self._ids.known_ours(name, real[name]) is None
            and self._ids.known_real(name, ours[name]) is None
        )

    def _with_known_key(self, entry: Any) -> Any:
        name = self._key_field(entry)
        if name not in ID_KINDS:
            return entry
        known = self._ids.known_real(name, entry[name])
        return entry if known is None else {**entry, name: known}
