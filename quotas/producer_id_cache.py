"""The producer ids that the users of one broker have used recently (KIP-936)."""

import heapq
from collections.abc import Callable, Iterator

from protocol.pacing import may_pause, paced
from quotas.layered_bloom_filter import LayeredBloomFilter


class ProducerIdQuotaManagerCache:
    """A layered Bloom filter for each user; a filter is removed with its last layer.

    The KIP's class of this name has one method `track` that looks up an id and adds it. Here there
    are two methods, because a refused id is not added.
    """

    def __init__(
        self,
        *,
        window_ms: int,
        layer_count: int,
        false_positive_rate: float,
        new_seed: Callable[[], bytes],
    ) -> None:
        """`new_seed` gives 16 random bytes for the hashes: at the first id, and after `clear`."""
        self._window_ms = window_ms
        self._layer_count = layer_count
        self._false_positive_rate = false_positive_rate
        self._new_seed = new_seed
        self._seed: bytes | None = None
        self._filters: dict[str, LayeredBloomFilter] = {}
        # Has each filter once, at a time that is not after its next expiry.
        self._expiries: list[tuple[int, str]] = []

    @property
    def next_expiry_ms(self) -> int | None:
        """When `expire` must run next; None without any filter."""
        return self._expiries[0][0] if self._expiries else None

    @property
    def bytes_held(self) -> int:
        """Size of the filters of all users."""
        return sum(bloom_filter.bytes_held for bloom_filter in self._filters.values())

    def contains_and_refresh(self, user: str, producer_id: int, now_ms: int) -> bool:
        """Return whether the id is remembered; if so, remember it from now on."""
        layered = self._filters.get(user)
        return layered is not None and layered.contains_and_refresh(producer_id, now_ms)

    def add(self, user: str, producer_id: int, now_ms: int) -> None:
        """Add an id that is not remembered."""
        layered = self._filters.get(user)
        if layered is None:
            self._filters[user] = layered = self._new_filter()
            heapq.heappush(self._expiries, (now_ms + self._window_ms, user))
        layered.add(producer_id, now_ms)

    def known_until_ms(self, user: str) -> int:
        """Return until when an id that was just used needs no refresh; 0 is unknown."""
        layered = self._filters.get(user)
        return 0 if layered is None else layered.ends_ms

    def forget_user(self, user: str) -> None:
        """Forget the ids of one user."""
        layered = self._filters.get(user)
        if layered is not None:
            layered.clear()

    def clear(self) -> None:
        """Remove all ids and create a new seed; due times stay."""
        self._seed = None
        self._filters = {user: self._new_filter() for user in self._filters}

    def expire(self, now_ms: int) -> None:
        """Drop the layers whose window is over, and the filters that have none left."""
        expiries = self._expiries
        while expiries and expiries[0][0] <= now_ms:
            _expires_ms, user = heapq.heappop(expiries)
            layered = self._filters[user]
            layered.expire(now_ms)
            if layered.is_empty:
                del self._filters[user]
            else:
                heapq.heappush(expiries, (layered.expires_ms, user))

    def users(self) -> list[str]:
        """Return the users that have a filter, even if it is empty."""
        return list(self._filters)

    @may_pause
    def filters(self) -> Iterator[tuple[str, LayeredBloomFilter]]:
        """Yield the filters that have a layer, by user; their users may change during a pause."""
        for user, layered in paced(self._filters.items()):
            if not layered.is_empty and self._filters.get(user) is layered:
                yield user, layered

    def _new_filter(self) -> LayeredBloomFilter:
        if self._seed is None:
            self._seed = self._new_seed()
        return LayeredBloomFilter(
            self._window_ms, self._layer_count, self._false_positive_rate, self._seed
        )
