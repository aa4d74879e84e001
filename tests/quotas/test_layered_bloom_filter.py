import random
import sys
from collections.abc import Callable, Sequence
from math import log, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.layered_bloom_filter import (
    LayeredBloomFilter,
    Shape,
    false_positive_rate,
    fast_shape_for,
    hashes_of,
    indices,
    shape_for,
)

HOUR_MS = 3_600_000
SEED = bytes(range(16))


def sight_or_add(layered: LayeredBloomFilter, producer_id: int, now_ms: int) -> bool:
    is_seen = layered.contains_and_refresh(producer_id, now_ms)
    if not is_seen:
        layered.add(producer_id, now_ms)
    return is_seen


@pytest.mark.parametrize(
    ("id_count", "rate", "hash_count", "bit_count", "full_rate"),
    [
        (10, 1 / 2_000_000, 21, 302, 4.995e-7),
        (5, 0.1, 3, 24, 0.100375),
        (1, 0.001, 10, 15, 0.000744),
        (10, 0.01, 7, 96, 0.009965),
        (25, 0.001, 10, 360, 0.000989),
        (25, 0.01, 7, 240, 0.009965),
        (50, 0.001, 10, 719, 0.000999),
        (100, 0.001, 10, 1438, 0.000999),
        (250, 0.001, 10, 3595, 0.000999),
        (1000, 0.001, 10, 14378, 0.0009998),
        (10000, 0.001, 10, 143776, 0.00100002),
    ],
)
def test_shapes_are_those_of_commons_collections(
    id_count: int, rate: float, hash_count: int, bit_count: int, full_rate: float
) -> None:
    shape = shape_for(id_count, rate)
    assert shape == Shape(bit_count, hash_count)
    assert false_positive_rate(shape, id_count) == pytest.approx(full_rate, rel=1e-3)


@pytest.mark.parametrize("rate", [0.5, 0.1, 0.001, 1e-6, 1e-12])
def test_fewer_hashes_cost_few_bits(rate: float) -> None:
    shape, best = fast_shape_for(1000, rate), shape_for(1000, rate)
    assert false_positive_rate(shape, 1000) == pytest.approx(rate, rel=0.01)
    assert shape.hash_count <= best.hash_count
    assert shape.bit_count <= 1.02 * best.bit_count


def test_indices_are_those_of_triple_hashing() -> None:
    # 7 - 3 k + 2 (0 + 1 + ... + (k - 1)), modulo 360
    expected = [(7 - 3 * k + k * (k - 1)) % 360 for k in range(10)]
    assert list(indices((7, 3, 2), Shape(360, 10))) == expected
    assert list(indices((367, 363, 722), Shape(360, 10))) == expected
    assert len(set(indices((7, 0, 361), Shape(361, 10)))) > 8


@pytest.mark.parametrize("id_count", [1, 10, 32, 45, 300, 5000])
@pytest.mark.parametrize("rate", [0.1, 0.001, 1e-6, 1e-8])
def test_an_id_has_several_bits_if_its_hashes_share_a_factor_with_the_size(
    rate: float, id_count: int
) -> None:
    layered = LayeredBloomFilter(HOUR_MS, 4, rate, SEED)
    for _ in range(id_count):
        layered.add(1, 0)
    for segment in layered._segments:
        bit_count, hash_count = segment.shape
        for factor in range(2, 29):
            part = bit_count // factor or 1
            positions = set(indices((part, part, part), segment.shape))
            assert len(positions) >= hash_count / 2


def test_hashes_depend_on_seed_and_id() -> None:
    first = hashes_of(1, SEED)
    assert first == hashes_of(1, SEED)
    assert len({first, hashes_of(2, SEED), hashes_of(1, bytes(16))}) == 3
    assert all(0 <= part < 2**30 for part in first)


# Second, producer id, whether it is known. Window 3600 s, four layers.
TIMELINE = [
    (0, 1, False),
    (5, 3, False),
    (10, 1, True),
    (900, 2, False),
    (950, 1, True),
    (1799, 9, False),
    (3599, 1, True),
    (3599, 3, True),
    (3600, 1, True),
    (3601, 3, True),
    (4499, 2, True),
    (4500, 9, False),
    (7198, 1, True),
    (7199, 3, False),
]


def test_an_hour_of_four_layers() -> None:
    layered = LayeredBloomFilter(HOUR_MS, 4, 1e-9, SEED)
    sightings = [
        (second, producer_id, sight_or_add(layered, producer_id, second * 1000))
        for second, producer_id, _ in TIMELINE
    ]
    assert sightings == TIMELINE


def test_layers_begin_with_an_id_and_expire_one_by_one() -> None:
    layered = LayeredBloomFilter(HOUR_MS, 4, 0.001, SEED)
    assert layered.is_empty
    for second in (0, 900, 3599):
        sight_or_add(layered, second, second * 1000)
    assert layered.expires_ms == HOUR_MS
    assert layered.state(HOUR_MS - 1).live_layers == 3
    assert layered.state(HOUR_MS).live_layers == 2
    layered.expire(HOUR_MS)
    assert layered.expires_ms == 4_500_000
    layered.expire(7_199_000)
    assert layered.is_empty
    assert layered.bytes_held == 0


@given(
    layer_count=st.integers(1, 8),
    window_ms=st.integers(8, 100),
    sightings=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=80),
)
def test_an_id_is_remembered_for_the_window_less_one_layer_and_not_beyond_the_window(
    layer_count: int, window_ms: int, sightings: list[tuple[int, int]]
) -> None:
    # The rate is so low that no false positive occurs here.
    layered = LayeredBloomFilter(window_ms, layer_count, 1e-12, SEED)
    last_seen: dict[int, int] = {}
    now_ms = 0
    for pause_ms, producer_id in sightings:
        now_ms += pause_ms
        is_seen = sight_or_add(layered, producer_id, now_ms)
        if producer_id in last_seen:
            idle_ms = now_ms - last_seen[producer_id]
            if idle_ms * layer_count <= window_ms * (layer_count - 1):
                assert is_seen
            if idle_ms >= window_ms:
                assert not is_seen
        else:
            assert not is_seen
        assert layered.state(now_ms).live_layers <= layer_count
        last_seen[producer_id] = now_ms


@given(st.sets(st.integers(0, 2**63 - 1), max_size=800))
def test_no_id_is_lost_while_its_layer_lives(
    producer_ids: set[int],
) -> None:
    layered = LayeredBloomFilter(HOUR_MS, 4, 0.001, SEED)
    for producer_id in producer_ids:
        sight_or_add(layered, producer_id, 0)
    assert all(
        layered.contains_and_refresh(producer_id, HOUR_MS - 1) for producer_id in producer_ids
    )


def sequential(base: int, number: int) -> int:
    return base + number


def strided(base: int, number: int) -> int:
    return base + 1000 * number


def scattered(base: int, number: int) -> int:
    return random.Random(base + number).getrandbits(62)


@pytest.mark.parametrize("producer_id", [sequential, strided, scattered])
@pytest.mark.parametrize(("layer_count", "rate"), [(4, 0.01), (8, 0.05), (1, 0.1)])
@pytest.mark.parametrize(
    "id_count",
    [
        *(1, 10, 32, 33, 100),
        pytest.param(600, marks=pytest.mark.slow),
        pytest.param(1250, marks=pytest.mark.long),
    ],
)
def test_all_layers_together_keep_the_false_positive_rate(
    producer_id: Callable[[int, int], int],
    layer_count: int,
    rate: float,
    id_count: int,
) -> None:
    checks_per_filter, hits, checks = 400, 0, 0
    for base in range(0, 400_000_000, 20_000_000):
        layered = LayeredBloomFilter(HOUR_MS, layer_count, rate, SEED)
        now_ms = 0
        numbers = iter(range(10**6))
        for layer in range(layer_count):
            now_ms = layer * (HOUR_MS // layer_count)
            for _ in range(id_count):
                sight_or_add(layered, producer_id(base, next(numbers)), now_ms)
        for _ in range(checks_per_filter):
            hits += layered.contains_and_refresh(producer_id(base, next(numbers)), now_ms)
        checks += checks_per_filter
    deviation = (rate * (1 - rate) / checks) ** 0.5
    assert hits / checks <= rate + 3 * deviation


def fill_layer(layered: LayeredBloomFilter, producer_ids: Sequence[int], now_ms: int = 0) -> None:
    for producer_id in producer_ids:
        sight_or_add(layered, producer_id, now_ms)


def test_repeated_ids_take_no_more_memory() -> None:
    layered = LayeredBloomFilter(HOUR_MS, 4, 0.001, SEED)
    fill_layer(layered, range(100))
    held_bytes = layered.bytes_held
    for _ in range(10):
        fill_layer(layered, range(100))
    assert layered.bytes_held == held_bytes
    assert layered.state(0).live_layers == 1


def bytes_of(found: object, seen: set[int]) -> int:
    """Size of an object and of all that it refers to, each counted once."""
    if id(found) in seen:
        return 0
    seen.add(id(found))
    size = sys.getsizeof(found)
    if isinstance(found, list | tuple):
        size += sum(bytes_of(part, seen) for part in found)
    for name in getattr(found, "__slots__", ()):
        size += bytes_of(getattr(found, name), seen)
    return size


def worst_of_formula(rate: float, layer_count: int) -> float:
    """Return how many times the memory formula a layer takes at worst while it grows.

    It grows to a million ids. Its size changes only when a segment is full, so the sample after
    each of these points is the worst; the ids between them are counted and not hashed.
    """
    layered = LayeredBloomFilter(HOUR_MS, layer_count, rate, SEED)
    bytes_per_id = 2.5 * log2(layer_count / rate) / log(2) / 8
    worst, id_count = 0.0, 1
    while id_count <= 1_000_000:
        layered.add(id_count, 10**15)
        newest = layered._segments[0].layer
        newest.id_count = id_count
        # All filters share their parameters and the ranges, and Python has small numbers once.
        shared = {id(shared) for shared in (SEED, HOUR_MS, layer_count, rate, *range(257))}
        shared |= {id(segment.further_hashes) for segment in layered._segments}
        held_bytes = bytes_of(layered, shared)
        worst = max(worst, held_bytes / max(2048, bytes_per_id * id_count))
        id_count = newest.capacity + 1
        newest.id_count = newest.capacity
    return worst


@pytest.mark.parametrize("layer_count", [1, 2, 4, 8])
@pytest.mark.parametrize("rate", [0.01, 0.005, 0.001, 1e-4, 1e-5, 1e-6])
def test_a_layer_of_any_number_of_ids_meets_the_memory_formula(
    rate: float, layer_count: int
) -> None:
    assert worst_of_formula(rate, layer_count) <= 1


@pytest.mark.parametrize(
    ("rate", "layer_count", "worst"),
    [
        (0.1, 1, 1.65),
        (0.1, 2, 1.4),
        (0.1, 4, 1.2),
        (0.1, 8, 1.1),
        (0.05, 1, 1.4),
        (0.02, 1, 1.2),
        (0.02, 2, 1),
    ],
)
def test_a_layer_with_a_high_rate_has_a_wider_memory_bound(
    rate: float, layer_count: int, worst: float
) -> None:
    assert worst_of_formula(rate, layer_count) <= worst


@pytest.mark.parametrize(("layer_count", "rate"), [(1, 0.1), (4, 0.001), (8, 1e-6)])
def test_the_rates_of_all_segments_of_a_layer_stay_below_its_own(
    layer_count: int, rate: float
) -> None:
    layered = LayeredBloomFilter(HOUR_MS, layer_count, rate, SEED)
    capacity = rates = 0.0
    while capacity < 10**7:
        layered.add(1, 0)
        segment = layered._segments[0]
        rates += false_positive_rate(segment.shape, int(segment.layer.capacity - capacity))
        capacity = segment.layer.id_count = segment.layer.capacity
    assert 0.8 * rate / layer_count < rates <= rate / layer_count


@pytest.mark.slow
def test_full_layers_take_little_more_memory_than_the_theoretical_minimum() -> None:
    layered = LayeredBloomFilter(HOUR_MS, 4, 0.001, SEED)
    for layer in range(8):
        fill_layer(layered, range(10_000), layer * HOUR_MS // 4)
    bits_per_id_and_layer = layered.bytes_held * 8 / 40_000
    assert 1.44 * 11.97 < bits_per_id_and_layer < 1.45 * 1.44 * 11.97
    # Plus one lookup in each of four filters.
    assert len(layered._segments) == 4


def test_a_layer_starts_with_room_for_the_ids_of_the_one_before() -> None:
    layered = LayeredBloomFilter(HOUR_MS, 4, 0.001, SEED)
    fill_layer(layered, range(1000))
    first_bytes = layered.bytes_held
    fill_layer(layered, range(1000), HOUR_MS // 4)
    assert layered.bytes_held - first_bytes < first_bytes
    assert layered.state(HOUR_MS // 4).fill == pytest.approx(1 / 1.125, abs=0.01)
    sight_or_add(layered, 1, HOUR_MS // 2)
    newest, *_older = layered.layers(HOUR_MS * 3 // 4 - 1)
    assert newest.capacity > 1000
    sight_or_add(layered, 1, HOUR_MS * 3 // 4)
    newest, *_older = layered.layers(HOUR_MS * 3 // 4)
    assert newest.capacity == 32


@pytest.mark.slow
def test_the_estimated_rate_includes_full_layers() -> None:
    layered = LayeredBloomFilter(HOUR_MS, 4, 0.001, SEED)
    assert layered.state(0) == (0, 0, 0, 0, 0)
    for layer in range(4):
        fill_layer(layered, range(layer * 10_000, (layer + 1) * 10_000), layer * HOUR_MS // 4)
    state = layered.state(3 * HOUR_MS // 4)
    assert state.live_layers == 4
    assert 0.0001 < state.false_positive_rate < 0.001


def test_an_id_in_several_layers_is_counted_once() -> None:
    layered = LayeredBloomFilter(HOUR_MS, 4, 1e-9, SEED)
    fill_layer(layered, range(10))
    fill_layer(layered, range(5, 12), HOUR_MS // 4)
    assert layered.state(HOUR_MS // 4).tracked_ids == 12
    assert layered.state(HOUR_MS).tracked_ids == 7
    assert 0 < layered.state(HOUR_MS).tracked_bytes < layered.bytes_held
    layered.expire(HOUR_MS)
    assert layered.state(HOUR_MS).tracked_bytes == layered.bytes_held


def test_clear_removes_all_ids() -> None:
    layered = LayeredBloomFilter(HOUR_MS, 4, 0.001, SEED)
    layered.add(1, 0)
    layered.clear()
    assert layered.is_empty
    assert not layered.contains_and_refresh(1, 1)


def test_layers_are_returned_newest_first_while_they_live() -> None:
    layered = LayeredBloomFilter(HOUR_MS, 4, 0.001, SEED)
    for producer_id in range(150):
        sight_or_add(layered, producer_id, 0)
    sight_or_add(layered, 1000, HOUR_MS // 2)

    newest, oldest = layered.layers(HOUR_MS // 2)
    assert (newest.begun_ms, newest.expires_ms, newest.ids) == (HOUR_MS // 2, HOUR_MS * 3 // 2, 1)
    assert (oldest.begun_ms, oldest.expires_ms, oldest.ids) == (0, HOUR_MS, 150)
    assert oldest.capacity >= 150
    assert newest.bytes_held + oldest.bytes_held == layered.bytes_held
    assert [layer.ids for layer in layered.layers(HOUR_MS)] == [1]
    assert layered.layers(2 * HOUR_MS) == []
