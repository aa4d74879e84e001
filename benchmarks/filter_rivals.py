"""Other data structures for producer ids in layers, for comparison.

All have `layer_count` full layers. The code that would create and drop layers is omitted, in their
favour.
"""

from collections.abc import Iterable
from typing import Protocol

from quotas.layered_bloom_filter import Shape, hashes_of, indices, shape_for


class Rival(Protocol):
    """A filter to compare: fill one layer, look an id up in all layers, count bytes."""

    def fill(self, layer: int, producer_ids: Iterable[int]) -> None: ...

    def sight(self, producer_id: int) -> bool: ...

    def bytes_held(self) -> int: ...


_SEED = bytes(16)


def _indices(producer_id: int, shape: Shape) -> list[int]:
    return list(indices(hashes_of(producer_id, _SEED), shape))


class ListOfFilters:
    """A Bloom filter for each layer, as in textbooks and Apache Commons."""

    def __init__(self, capacity: int, layer_count: int, rate: float) -> None:
        self._shape = shape_for(capacity, rate / layer_count)
        self._layers = [bytearray(-(-self._shape.bit_count // 8)) for _ in range(layer_count)]

    def fill(self, layer: int, producer_ids: Iterable[int]) -> None:
        bits = self._layers[layer]
        for producer_id in producer_ids:
            for index in _indices(producer_id, self._shape):
                bits[index >> 3] |= 1 << (index & 7)

    def sight(self, producer_id: int) -> bool:
        found = _indices(producer_id, self._shape)
        return any(
            all(bits[index >> 3] >> (index & 7) & 1 for index in found)
            for bits in reversed(self._layers)
        )

    def bytes_held(self) -> int:
        return sum(map(len, self._layers))


class BitOfEachLayer:
    """One byte per position, with a bit for each of up to eight layers.

    The AND of an id's bytes are the layers that hold it.
    """

    def __init__(self, capacity: int, layer_count: int, rate: float) -> None:
        self._shape = shape_for(capacity, rate / layer_count)
        self._bytes = bytearray(self._shape.bit_count)

    def fill(self, layer: int, producer_ids: Iterable[int]) -> None:
        bit = 1 << layer
        for producer_id in producer_ids:
            for index in _indices(producer_id, self._shape):
                self._bytes[index] |= bit

    def sight(self, producer_id: int) -> bool:
        bit_count, hash_count = self._shape
        start, increment, change = hashes_of(producer_id, _SEED)
        # `indices` written out, as in ours.
        index, increment = start % bit_count, increment % bit_count
        change = change % bit_count or 1
        held, layers = self._bytes, 255
        for _ in range(hash_count):
            layers &= held[index]
            if not layers:
                return False
            index = (index - increment) % bit_count
            increment -= change
        return True

    def bytes_held(self) -> int:
        return len(self._bytes)


class SetOfIds:
    """A set of ids for each layer instead of a filter (KIP-936, alternative 6)."""

    def __init__(self, capacity: int, layer_count: int, rate: float) -> None:
        self._layers: list[set[int]] = [set() for _ in range(layer_count)]

    def fill(self, layer: int, producer_ids: Iterable[int]) -> None:
        self._layers[layer].update(producer_ids)

    def sight(self, producer_id: int) -> bool:
        return any(producer_id in layer for layer in reversed(self._layers))

    def bytes_held(self) -> int:
        """Return the bytes of the sets and their ids; each id is an int of 32 bytes."""
        return sum(layer.__sizeof__() + 32 * len(layer) for layer in self._layers)
