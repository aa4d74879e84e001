"""A layered Bloom filter of the producer ids that one user has used recently (KIP-936).

A layer takes the ids of one part of the window, `window_ms / layer_count`, and is dropped after a
window. An id that is used again is added to the newest layer. So an id is remembered for at least
the window less one part, and at most the window, after its last use. There are no false negatives.
The false positive rate of all live layers together is at most the configured rate.

A layer starts as one small Bloom filter. When it is full, the layer adds further filters, which
share the rate of the layer ("Scalable Bloom Filters", Almeida et al., 2007). A new filter is as
large as the memory bound of the layer allows, see `_BYTES_TO_THEORY`.

Source of shape and indices: Apache Commons Collections, `Shape` and `EnhancedDoubleHasher`.
"""

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import ceil, exp, gcd, log, log2, prod
from struct import Struct
from typing import NamedTuple

from mmh3 import mmh3_x64_128_utupledigest

SEED_BYTES = 16

CAPACITY_MIN = 32
"""Ids of the smallest segment: at the default rate its bits take 97 bytes."""

_START_FACTOR = 1.125
"""Initial capacity of a layer, as a multiple of the ids in the layer before it."""

_BYTES_TO_THEORY = 2.5
"""Maximum size of a layer that grows, as a multiple of the theoretical size for its ids."""

_LAYER_BYTES = 2048
"""A layer may always grow to this size."""

_GROWTH_MIN = 0.11
"""A layer grows by at least this part of its ids, even beyond its maximum size.

It exceeds it at rates above 0.01.
"""

_HASHES_TO_BEST = 0.9

_SMALL_FACTORS = prod((2, 3, 5, 7, 11, 13, 17, 19, 23))
_MASK_30 = (1 << 30) - 1
_BITS = tuple(1 << bit for bit in range(8))
_pack = Struct(f"<{SEED_BYTES}sq").pack


class Shape(NamedTuple):
    """The size of a Bloom filter in bits, and the number of hashes per id."""

    bit_count: int
    hash_count: int


def shape_for(id_count: int, false_positive_rate: float) -> Shape:
    """Return the shape that has this rate with `id_count` ids (1 or more; 0 < rate < 1)."""
    bit_count = ceil(id_count * log(false_positive_rate) / -(log(2) ** 2))
    hash_count = int(log(2) * bit_count / id_count + 0.5)
    return Shape(bit_count, max(1, hash_count))


def false_positive_rate(shape: Shape, id_count: int) -> float:
    """Return the false positive rate of a filter of this shape with `id_count` ids."""
    return float((1 - exp(-shape.hash_count * id_count / shape.bit_count)) ** shape.hash_count)


Hashes = tuple[int, int, int]
"""Of one id: the first index, the increment, and the change of the increment, modulo the size.

Numbers of 30 bits, which CPython divides in half the time of longer ones.
"""


def hashes_of(producer_id: int, seed: bytes) -> Hashes:
    """Return parts of the 128-bit MurmurHash3 of a seed (16 bytes) and an id (int64)."""
    first, second = mmh3_x64_128_utupledigest(_pack(seed, producer_id))
    return first >> 34, second >> 34, first & _MASK_30


def indices(hashes: Hashes, shape: Shape) -> Iterator[int]:
    """Positions of an id's bits by triple hashing; they may repeat.

    A change of 0 counts as 1, because otherwise some ids would have only one bit. Sizes with small
    factors have the same problem, see `_collision_free_shape`.
    """
    bit_count, hash_count = shape
    index, increment, change = (hash_part % bit_count for hash_part in hashes)
    change = change or 1
    for _ in range(hash_count):
        yield index
        index = (index - increment) % bit_count
        increment -= change


def fast_shape_for(id_count: int, false_positive_rate: float) -> Shape:
    """Return a shape of this rate with 0.9 of the best number of hashes.

    It takes less than one percent more bits, and the search for a known id reads fewer bits.
    Source: Commons' `Shape.fromNPK`.
    """
    hash_count = max(1, round(-log2(false_positive_rate) * _HASHES_TO_BEST))
    bits_per_id = -hash_count / log(1 - false_positive_rate ** (1 / hash_count))
    return Shape(ceil(id_count * bits_per_id), hash_count)


@lru_cache(maxsize=256)
def _collision_free_shape(id_count: int, rate: float) -> Shape:
    """Return the shape for this rate, with bits added until the rate includes index collisions.

    Three numbers modulo m bits make m ** 3 sequences of indices, of which two, in opposite order,
    have the same indices. So an unknown id has those of one of n others at a rate of 2 n / m ** 3.
    This matters for few ids at rates below 1e-6. If m had small factors, the indices of some ids
    would repeat a few positions.
    """
    bit_count, hash_count = fast_shape_for(id_count, rate)
    full_rate = false_positive_rate(Shape(bit_count, hash_count), id_count)
    while full_rate + 2 * id_count / bit_count**3 > rate:
        bit_count += bit_count // 256 + 1
        full_rate = false_positive_rate(Shape(bit_count, hash_count), id_count)
    while gcd(bit_count, _SMALL_FACTORS) > 1:
        bit_count += 1
    return Shape(bit_count, hash_count)


def _rate_share(capacity: int) -> float:
    """Return the share of a layer's rate for all its segments with this capacity.

    It stays below 1 for any capacity. Small segments get a small share: more bits for few ids cost
    little memory, and later segments hold most of the ids.
    """
    return float(1 - (1 + capacity / 256) ** -0.375)


_items = lru_cache(maxsize=None)(range)
"""One shared range for each number."""


class TimestampedBloomFilter:
    """One layer: its expiry time and its segments."""

    __slots__ = ("capacity", "expires_ms", "id_count", "newer_count")

    def __init__(self, expires_ms: int) -> None:
        self.expires_ms = expires_ms
        self.capacity = 0
        """The number of ids for which its segments are made."""
        self.id_count = 0
        self.newer_count = 0
        """The number of its ids that a newer layer also has."""


class _Segment(bytearray):
    """A Bloom filter of fixed size: a layer has one, and one more each time it is full."""

    __slots__ = ("bit_count", "further_hashes", "layer")

    def __init__(self, shape: Shape, layer: TimestampedBloomFilter) -> None:
        super().__init__(-(-shape.bit_count // 8))
        self.bit_count = shape.bit_count
        self.further_hashes = _items(shape.hash_count - 1)
        """A range with one item per hash except the first; shared by all segments."""
        self.layer = layer

    @property
    def shape(self) -> Shape:
        return Shape(self.bit_count, len(self.further_hashes) + 1)


_LAYER_OBJECT_BYTES = 340
"""Memory of a layer and its filter in CPython, without segments and shared objects."""

_SEGMENT_OBJECT_BYTES = 43 + sys.getsizeof(_Segment(Shape(8, 1), TimestampedBloomFilter(0))) - 1
"""Memory of a segment in CPython, without its bits: 140 bytes, and 180 from Python 3.15.

43 are for its number of bits and its place in the list.
"""


class FilterState(NamedTuple):
    """The figures of a layered filter for metrics."""

    live_layers: int
    fill: float
    """Number of ids in the newest layer divided by its capacity."""
    false_positive_rate: float
    """The estimated rate of all live layers together."""
    tracked_ids: int
    tracked_bytes: int


class LayerState(NamedTuple):
    """One layer: its start and expiry time, the number of its ids, and its capacity."""

    begun_ms: int
    expires_ms: int
    ids: int
    capacity: int
    bytes_held: int


class LayeredBloomFilter:
    """The producer ids of one user. Times are in ms."""

    __slots__ = (
        "_ends_ms",
        "_expires_ms",
        "_layer_count",
        "_rate",
        "_seed",
        "_segments",
        "_window_ms",
    )

    def __init__(
        self, window_ms: int, layer_count: int, false_positive_rate: float, seed: bytes
    ) -> None:
        """`false_positive_rate` is that of all live layers together.

        `seed`: 16 bytes that are hashed before each id. Clients do not know the seed, so they
        cannot construct false positives.
        """
        self._window_ms = window_ms
        self._layer_count = layer_count
        self._rate = false_positive_rate
        self._seed = seed
        # Newest first.
        self._segments: list[_Segment] = []
        self._ends_ms = self._expires_ms = 0

    @property
    def is_empty(self) -> bool:
        """Whether it has no layer."""
        return not self._segments

    @property
    def expires_ms(self) -> int:
        """When its oldest layer expires; undefined without any layer."""
        return self._expires_ms

    @property
    def ends_ms(self) -> int:
        """When its newest layer takes no more ids; until then its ids need no refresh.

        0 without any layer.
        """
        return self._ends_ms if self._segments else 0

    @property
    def bytes_held(self) -> int:
        """Size of all its bits."""
        return _bytes_held(self._segments)

    def contains_and_refresh(self, producer_id: int, now_ms: int) -> bool:
        """Return whether the id is remembered; if so, remember it from now on.

        An unknown id is not added.
        """
        if now_ms >= self._expires_ms:
            self.expire(now_ms)
        hashes = hashes_of(producer_id, self._seed)
        start, increment, change = hashes
        # Hot path: `indices` is inlined, since a call would cost as much as the search.
        for segment in self._segments:
            bit_count = segment.bit_count
            index = start % bit_count
            if not segment[index >> 3] & _BITS[index & 7]:
                continue
            decrement = increment
            less = change % bit_count or 1
            for _ in segment.further_hashes:
                index = (index - decrement) % bit_count
                if not segment[index >> 3] & _BITS[index & 7]:
                    break
                decrement -= less
            else:
                layer = segment.layer
                if layer is not self._segments[0].layer or now_ms >= self._ends_ms:
                    layer.newer_count += 1
                    self._put(hashes, now_ms)
                return True
        return False

    def add(self, producer_id: int, now_ms: int) -> None:
        """Remember an id that `contains_and_refresh` did not find."""
        self._put(hashes_of(producer_id, self._seed), now_ms)

    def expire(self, now_ms: int) -> None:
        """Drop the layers whose window is over."""
        segments = self._segments
        while segments and now_ms >= segments[-1].layer.expires_ms:
            segments.pop()
        if segments:
            self._expires_ms = segments[-1].layer.expires_ms

    def clear(self) -> None:
        """Forget all ids."""
        self._segments.clear()

    def state(self, now_ms: int) -> FilterState:
        """Return the figures of the layers that are live now; changes nothing."""
        by_layer = self._live_layers(now_ms)
        if not by_layer:
            return FilterState(0, 0, 0, 0, 0)
        newest = next(iter(by_layer))
        unknown = 1.0
        for segments in by_layer.values():
            for segment in segments:
                unknown *= 1 - _false_positive_rate_now(segment)
        return FilterState(
            live_layers=len(by_layer),
            fill=newest.id_count / newest.capacity,
            false_positive_rate=1 - unknown,
            tracked_ids=sum(layer.id_count - layer.newer_count for layer in by_layer),
            tracked_bytes=sum(map(_bytes_held, by_layer.values())),
        )

    def layers(self, now_ms: int) -> list[LayerState]:
        """Return the layers that are live now, newest first; changes nothing."""
        return [
            LayerState(
                layer.expires_ms - self._window_ms,
                layer.expires_ms,
                layer.id_count,
                layer.capacity,
                _bytes_held(segments),
            )
            for layer, segments in self._live_layers(now_ms).items()
        ]

    def _live_layers(self, now_ms: int) -> dict[TimestampedBloomFilter, list[_Segment]]:
        by_layer: dict[TimestampedBloomFilter, list[_Segment]] = {}
        for segment in self._segments:
            if now_ms < segment.layer.expires_ms:
                by_layer.setdefault(segment.layer, []).append(segment)
        return by_layer

    def _put(self, hashes: Hashes, now_ms: int) -> None:
        if not self._segments or now_ms >= self._ends_ms:
            self._start_layer(now_ms)
        else:
            layer = self._segments[0].layer
            if layer.id_count >= layer.capacity:
                self._grow_layer(layer)
        segment = self._segments[0]
        for index in indices(hashes, segment.shape):
            segment[index >> 3] |= _BITS[index & 7]
        segment.layer.id_count += 1

    def _start_layer(self, now_ms: int) -> None:
        """Start a layer with room for the ids of the layer before, since ids in use return."""
        layer = TimestampedBloomFilter(now_ms + self._window_ms)
        capacity = CAPACITY_MIN
        if self._segments:
            capacity = max(capacity, int(self._segments[0].layer.id_count * _START_FACTOR))
        else:
            self._expires_ms = layer.expires_ms
        self._ends_ms = now_ms - (-self._window_ms // self._layer_count)
        self._add_segment(layer, capacity)

    def _grow_layer(self, layer: TimestampedBloomFilter) -> None:
        """Add the largest segment that the memory bound allows."""
        segments = [segment for segment in self._segments if segment.layer is layer]
        theory_bytes = (layer.id_count + 1) * -log2(self._layer_rate) / log(2) / 8
        bytes_left = max(_LAYER_BYTES, _BYTES_TO_THEORY * theory_bytes)
        bytes_left -= _bytes_held(segments) + _LAYER_OBJECT_BYTES
        bytes_left -= (len(segments) + 1) * _SEGMENT_OBJECT_BYTES
        capacity_min = ceil(layer.capacity * (1 + _GROWTH_MIN))
        too_large = bisect_right(
            range(layer.capacity * 64),
            bytes_left * 8,
            lo=capacity_min + 1,
            key=lambda capacity: self._segment_shape(layer, capacity).bit_count,
        )
        self._add_segment(layer, too_large - 1)

    def _add_segment(self, layer: TimestampedBloomFilter, capacity: int) -> None:
        """Extend the layer to a total capacity of `capacity` ids."""
        self._segments.insert(0, _Segment(self._segment_shape(layer, capacity), layer))
        layer.capacity = capacity

    def _segment_shape(self, layer: TimestampedBloomFilter, capacity: int) -> Shape:
        """Return the shape of the segment that extends the layer to this capacity."""
        share = _rate_share(capacity) - _rate_share(layer.capacity)
        return _collision_free_shape(capacity - layer.capacity, self._layer_rate * share)

    @property
    def _layer_rate(self) -> float:
        return self._rate / self._layer_count


def _bytes_held(segments: Iterable[_Segment]) -> int:
    return sum(map(len, segments))


def _false_positive_rate_now(segment: _Segment) -> float:
    set_bits = int.from_bytes(segment).bit_count()
    return float((set_bits / segment.bit_count) ** (len(segment.further_hashes) + 1))
