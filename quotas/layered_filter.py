"""Which producer ids one user was seen with of late: a Bloom filter in layers (KIP-936).

A layer takes the ids of one span of time, the window divided by the number of layers, and is
dropped whole when its window is over. An id seen again is added to the newest layer, so it is
remembered until more than the window less one span, and at most the window, after it was last seen.
What is remembered is always found; what is not may be taken for known, at a rate that is chosen.

A layer is one Bloom filter, or several once it holds more ids than it was made for: each further
one is half as large as what the layer holds, and its share of the false positives a quarter of the
one before, so that all together keep to the rate. Source of shape and indices: Apache Commons
Collections, `Shape` and `EnhancedDoubleHasher`. For few ids, a list of hashes of some bytes each
does the same in less room.
"""

from collections.abc import Iterator
from math import ceil, exp, log, sqrt
from struct import Struct
from typing import NamedTuple

from mmh3 import mmh3_x64_128_utupledigest

SEGMENT_IDS_MIN = 16
"""Of a Bloom filter, and what a layer that is a list grows by."""

LISTED_IDS_MAX = 256
"""A list is searched from its beginning."""

SEGMENT_IDS_MAX = 2**20
"""2.5 MB at the default rate. A quota of a billion gets its memory when the ids come."""

_FIRST_SHARE = 2 / 3
_NEXT_SHARE = 1 / 4
_TWINS_SHARE = 1 / 8
"""Of a segment's rate, for ids whose bits are all the same: there are only as many sets of bits as
pairs of words modulo the size. With these the shares add up to 1, however often a layer grows."""

_RATE_MAX = 0.5
"""Above it there would be less than one hash."""

_NO_STEPS = range(0)
_BITS = tuple(1 << bit for bit in range(8))
_pack = Struct("<q").pack


class Shape(NamedTuple):
    """The size of a Bloom filter in bits, and how many of them stand for one id."""

    bit_count: int
    hash_count: int


def shape_for(id_count: int, false_positive_rate: float) -> Shape:
    """The shape that has this rate once it holds so many ids (1 or more; 0 < rate < 1)."""
    bit_count = ceil(id_count * log(false_positive_rate) / -(log(2) ** 2))
    hash_count = int(log(2) * bit_count / id_count + 0.5)
    return Shape(bit_count, max(1, hash_count))


def false_positive_rate(shape: Shape, id_count: int) -> float:
    """The rate of a filter of this shape that holds so many ids."""
    return float((1 - exp(-shape.hash_count * id_count / shape.bit_count)) ** shape.hash_count)


def indices(word: int, increment: int, shape: Shape) -> Iterator[int]:
    """Positions of an id's bits: double hashing with a cubic term; they may repeat."""
    bit_count, hash_count = shape
    index, increment = word % bit_count, increment % bit_count
    for step in range(1, hash_count + 1):
        yield index
        index = (index - increment) % bit_count
        increment -= step


class _Segment(NamedTuple):
    """One Bloom filter or one list of hashes, flat, for the sake of the search."""

    bit_count: int
    """Or how many different hashes there are."""
    bits: bytearray
    """Or the hashes, `hash_bytes` each."""
    hash_bytes: int
    """0 in a Bloom filter."""
    steps: range
    """From 1 to the number of bits that stand for an id; none in a list."""
    begun_ms: int
    """When its layer began; segments of one layer have it in common."""
    counts: list[int]
    """How many ids it took, and how many of these no newer segment holds."""
    capacity: int

    @property
    def shape(self) -> Shape:
        return Shape(self.bit_count, len(self.steps))

    @property
    def false_positive_rate(self) -> float:
        if self.hash_bytes:
            return self.counts[0] / self.bit_count
        return false_positive_rate(self.shape, self.counts[0])


class FilterState(NamedTuple):
    """What can be told of a filter."""

    live_layers: int
    fill: float
    """Of the newest layer: ids it holds against ids it was made for."""
    false_positive_rate: float
    """Estimated, of all live layers together."""
    tracked_ids: int
    tracked_bytes: int


class LayerState(NamedTuple):
    """One layer: when it began and will be dropped, the ids it took, for how many it is made."""

    begun_ms: int
    expires_ms: int
    ids: int
    capacity: int
    bytes_held: int


class LayeredFilter:
    """The ids of one user. Times are in ms.

    `capacity`: for how many ids the next layer is made; setting it leaves the layers there are.
    """

    __slots__ = (
        "_begun_ms",
        "_ends_ms",
        "_expires_ms",
        "_rate",
        "_segments",
        "_span_ms",
        "_window_ms",
        "capacity",
    )

    def __init__(
        self, capacity: int, window_ms: int, layer_count: int, false_positive_rate: float
    ) -> None:
        """`false_positive_rate` is that of all live layers together."""
        self.capacity = capacity
        self._window_ms = window_ms
        self._span_ms = -(-window_ms // layer_count)
        self._rate = false_positive_rate / layer_count
        # Newest first.
        self._segments: list[_Segment] = []
        self._begun_ms = self._ends_ms = self._expires_ms = 0

    @property
    def is_empty(self) -> bool:
        """Whether it has no layer."""
        return not self._segments

    @property
    def expires_ms(self) -> int:
        """When its oldest layer is to be dropped; without any layer it means nothing."""
        return self._expires_ms

    @property
    def ends_ms(self) -> int:
        """When its newest layer takes no more ids; to see one of these till then changes nothing.

        0 without any layer.
        """
        return self._ends_ms if self._segments else 0

    @property
    def bytes_held(self) -> int:
        """Size of all its bits."""
        return sum(len(segment.bits) for segment in self._segments)

    def sight(self, producer_id: int, now_ms: int) -> bool:
        """Whether the id is remembered; if it is, it is from now on. Nothing is added if not."""
        if now_ms >= self._expires_ms:
            self.expire(now_ms)
        word, increment = mmh3_x64_128_utupledigest(_pack(producer_id))
        # `indices` written out: the call of a generator would cost as much as the search.
        for bit_count, bits, hash_bytes, steps, begun_ms, counts, _capacity in self._segments:
            index = word % bit_count
            if hash_bytes:
                is_held = _is_listed(bits, index.to_bytes(hash_bytes))
            else:
                is_held = True
                decrement = increment % bit_count
                for step in steps:
                    if not bits[index >> 3] & _BITS[index & 7]:
                        is_held = False
                        break
                    index = (index - decrement) % bit_count
                    decrement -= step
            if is_held:
                if begun_ms != self._begun_ms or now_ms >= self._ends_ms:
                    counts[1] -= 1
                    self._put(word, increment, now_ms)
                return True
        return False

    def add(self, producer_id: int, now_ms: int) -> None:
        """Remember an id that `sight` did not find."""
        self._put(*mmh3_x64_128_utupledigest(_pack(producer_id)), now_ms)

    def expire(self, now_ms: int) -> None:
        """Drop the layers whose window is over."""
        segments = self._segments
        while segments and now_ms >= segments[-1].begun_ms + self._window_ms:
            segments.pop()
        if segments:
            self._expires_ms = segments[-1].begun_ms + self._window_ms

    def clear(self) -> None:
        """Forget all ids."""
        self._segments.clear()

    def state(self, now_ms: int) -> FilterState:
        """Of the layers that are live now; changes nothing."""
        live = [each for each in self._segments if now_ms < each.begun_ms + self._window_ms]
        newest = [each for each in live if each.begun_ms == self._begun_ms]
        unknown = 1.0
        for each in live:
            unknown *= 1 - each.false_positive_rate
        return FilterState(
            live_layers=len({each.begun_ms for each in live}),
            fill=_ids_of(newest) / (sum(each.capacity for each in newest) or 1),
            false_positive_rate=1 - unknown,
            tracked_ids=sum(each.counts[1] for each in live),
            tracked_bytes=sum(len(each.bits) for each in live),
        )

    def layers(self, now_ms: int) -> list[LayerState]:
        """The layers that are live now, newest first; changes nothing."""
        by_begin: dict[int, list[_Segment]] = {}
        for each in self._segments:
            if now_ms < each.begun_ms + self._window_ms:
                by_begin.setdefault(each.begun_ms, []).append(each)
        return [
            LayerState(
                begun_ms,
                begun_ms + self._window_ms,
                _ids_of(layer),
                sum(each.capacity for each in layer),
                sum(len(each.bits) for each in layer),
            )
            for begun_ms, layer in by_begin.items()
        ]

    def _put(self, word: int, increment: int, now_ms: int) -> None:
        if not self._segments or now_ms >= self._ends_ms:
            self._begin_layer(now_ms)
        elif self._segments[0].counts[0] >= self._segments[0].capacity:
            self._grow_layer()
        segment = self._segments[0]
        bits = segment.bits
        if segment.hash_bytes:
            bits.extend((word % segment.bit_count).to_bytes(segment.hash_bytes))
        else:
            for index in indices(word, increment, segment.shape):
                bits[index >> 3] |= _BITS[index & 7]
        segment.counts[0] += 1
        segment.counts[1] += 1

    def _newest_layer(self) -> list[_Segment]:
        return [each for each in self._segments if each.begun_ms == self._begun_ms]

    def _begin_layer(self, now_ms: int) -> None:
        # Who was there a span ago will be there again.
        capacity = max(self.capacity, _ids_of(self._newest_layer()))
        if not self._segments:
            self._expires_ms = now_ms + self._window_ms
        self._begun_ms = now_ms
        self._ends_ms = now_ms + self._span_ms
        self._add_segment(capacity, self._rate * _FIRST_SHARE)

    def _grow_layer(self) -> None:
        layer = self._newest_layer()
        held = _ids_of(layer)
        rate = self._rate * _FIRST_SHARE * _NEXT_SHARE ** len(layer)
        self._add_segment(max(held // 2, self.capacity - held), rate)

    def _add_segment(self, capacity: int, rate: float) -> None:
        capacity = min(max(capacity, 1), SEGMENT_IDS_MAX)
        rate = min(rate, _RATE_MAX)
        hash_bytes, steps = ceil(log(capacity / rate, 256)), _NO_STEPS
        list_bits = 8 * hash_bytes * capacity
        filter_capacity = max(capacity, SEGMENT_IDS_MIN)
        bit_count, hash_count = shape_for(filter_capacity, rate)
        bit_count = max(bit_count, ceil(sqrt(filter_capacity / (rate * _TWINS_SHARE))))
        if capacity <= LISTED_IDS_MAX and list_bits <= bit_count:
            # As many as the hash bears: a small quota's layer need not grow step by step.
            capacity = max(capacity, min(int(256**hash_bytes * rate), SEGMENT_IDS_MIN))
            bit_count, bits = 256**hash_bytes, bytearray()
        else:
            capacity = filter_capacity
            hash_bytes, bits = 0, bytearray(-(-bit_count // 8))
            steps = range(1, hash_count + 1)
        self._segments.insert(
            0, _Segment(bit_count, bits, hash_bytes, steps, self._begun_ms, [0, 0], capacity)
        )


def _is_listed(hashes: bytearray, wanted: bytes) -> bool:
    position = hashes.find(wanted)
    while position > 0 and position % len(wanted):
        position = hashes.find(wanted, position + 1)
    return position >= 0


def _ids_of(layer: list[_Segment]) -> int:
    return sum(segment.counts[0] for segment in layer)
