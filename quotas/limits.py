"""Find the limit of a client and the clients that share it: one `Limits` per quota key.

Source: Kafka's `DefaultQuotaCallback` (`quotaMetricTags`, `quotaLimit`).
`protocol.client_quotas.quota_levels` lists the eight levels, most specific first. A decision here
looks only at those that can apply.
"""

from fractions import Fraction
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from quotas.entities import CLIENT_ID, IP, USER, Entity, canonical_ip

_K = TypeVar("_K")

NAME_CHARACTERS_MAX = 249
"""Characters of a name that counters and metrics keep."""

Tags = tuple[str, str]
"""User and client id of a metric and its counter; "" where all users or client ids share it."""

_Level = tuple[str | None, str | None]
"""User and client id of an entity that has a limit."""

_ABSENT = ""
"""Placeholder for a user or client id that the entity doesn't have; names are never empty."""

_USER_LEVEL, _CLIENT_LEVEL, _BOTH_LEVEL = 1, 2, 4


class Scope(NamedTuple):
    """Clients with equal tags share one counter; `limit` None is unlimited."""

    tags: Tags
    limit: Fraction | None


class Limits:
    """The limits of one quota key, by entity.

    `version` changes with every change.
    `is_enabled`: whether the key was ever set. Once set, the key and its level stay enabled, as in
    Kafka until a broker's restart.
    A limit may be in shadow mode: evaluated, not enforced.
    """

    __slots__ = ("_by_ip", "_by_level", "_levels", "_shadow_levels", "is_enabled", "version")

    def __init__(self) -> None:
        self.is_enabled = False
        self._levels = 0
        self._by_level: dict[_Level, Fraction] = {}
        self._shadow_levels: set[_Level] = set()
        self._by_ip: dict[str | None, Fraction] = {}
        self.version = 0

    @property
    def is_by_user(self) -> bool:
        """Whether all clients of a user share a counter: there were only limits of users."""
        return self._levels == _USER_LEVEL

    def set(self, entity: Entity, limit: Fraction | None, *, is_shadow: bool = False) -> None:
        """Set or remove (None) the limit of an entity; it applies from the next decision."""
        self.version += 1
        names = dict(entity)
        if limit is not None:
            self.is_enabled = True
            self._levels |= _levels_bit(names)
        if IP in names:
            _put(self._by_ip, canonical_ip(names[IP]), limit)
        else:
            level = _level_of(names)
            _put(self._by_level, level, limit)
            if is_shadow and limit is not None:
                self._shadow_levels.add(level)
            else:
                self._shadow_levels.discard(level)

    def scope(self, user: str, client_id: str | None) -> Scope:
        """Return the tags of the counter that a client uses, and its limit."""
        tags = self._tags(user, client_id or _ABSENT)
        level = self._level(*tags)
        return Scope(tags, None if level is None else self._by_level[level])

    def is_shadow(self, user: str, client_id: str | None) -> bool:
        """Return whether the limit that applies to a client is in shadow mode."""
        levels = self._shadow_levels
        return bool(levels) and self._level(*self._tags(user, client_id or _ABSENT)) in levels

    def is_shadow_of(self, entity: Entity) -> bool:
        """Return whether this entity's own limit is in shadow mode."""
        return _level_of(dict(entity)) in self._shadow_levels

    def ip_limit(self, ip: str) -> Fraction | None:
        """Return the limit of an IP address; None is unlimited."""
        return self._by_ip.get(ip) or self._by_ip.get(None)

    def _tags(self, user: str, client_id: str) -> Tags:
        if self._levels in {0, _CLIENT_LEVEL}:
            return _ABSENT, client_id
        if self._levels == _USER_LEVEL:
            return user, _ABSENT
        if self._levels == _BOTH_LEVEL:
            return user, client_id
        limits = self._by_level
        if (user, client_id) in limits or (user, None) in limits:
            return user, client_id
        if (user, _ABSENT) in limits:
            return user, _ABSENT
        if (None, client_id) in limits or (None, None) in limits:
            return user, client_id
        if (None, _ABSENT) in limits:
            return user, _ABSENT
        return _ABSENT, client_id

    def _level(self, user: str, client_id: str) -> _Level | None:
        """Return the level whose limit applies; an empty client id has no default either."""
        levels: tuple[_Level, ...] = ()
        if user and client_id:
            levels = (user, client_id), (user, None), (None, client_id), (None, None)
        elif user:
            levels = (user, _ABSENT), (None, _ABSENT)
        elif client_id:
            levels = (_ABSENT, client_id), (_ABSENT, None)
        for level in levels:
            if level in self._by_level:
                return level
        return None


def shortened(name: str) -> str:
    """Return a name of a user or client, or the start of a long one with its checksum.

    Names may have 32,767 bytes, and an hour's counters and metrics are kept of each.
    """
    if len(name) <= NAME_CHARACTERS_MAX:
        return name
    digest = blake2b(name.encode(errors="surrogatepass"), digest_size=8).hexdigest()
    return f"{name[: NAME_CHARACTERS_MAX - len(digest) - 3]}...{digest}"


def _level_of(names: dict[str, str | None]) -> _Level:
    return names.get(USER, _ABSENT), names.get(CLIENT_ID, _ABSENT)


def _levels_bit(names: dict[str, str | None]) -> int:
    if USER in names:
        return _BOTH_LEVEL if CLIENT_ID in names else _USER_LEVEL
    return _CLIENT_LEVEL if CLIENT_ID in names else 0


def _put(limits: dict[_K, Fraction], key: _K, limit: Fraction | None) -> None:
    if limit is None:
        limits.pop(key, None)
    else:
        limits[key] = limit
