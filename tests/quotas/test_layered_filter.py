import random
from collections.abc import Callable, Sequence
from math import log2
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mmh3 import mmh3_x64_128_utupledigest

from quotas.layered_filter import (
    LayeredFilter,
    Shape,
    false_positive_rate,
    indices,
    shape_for,
)

HOUR_MS = 3_600_000


def sight_or_add(layered: LayeredFilter, producer_id: int, now_ms: int) -> bool:
    is_seen = layered.sight(producer_id, now_ms)
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


def split_mix_64(number: int) -> int:
    mask = 2**64 - 1
    mixed = (number + 0x9E3779B97F4A7C15) & mask
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & mask
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
    return mixed ^ (mixed >> 31)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, [295, 160, 26, 254, 125, 0, 240, 126, 19, 280]),
        (1, [185, 147, 110, 75, 43, 15, 352, 335, 325, 323]),
        (1000, [256, 353, 91, 191, 294, 41, 153, 271, 36, 169]),
    ],
)
def test_indices_are_those_of_double_hashing_with_a_cubic_term(
    number: int, expected: list[int]
) -> None:
    word = split_mix_64(number)
    assert list(indices(word, split_mix_64(word), Shape(360, 10))) == expected


def test_indices_of_small_words_are_those_of_commons_collections() -> None:
    expected = [1, 0, 0, 2, 7, 16, 30, 50, 5, 40, 12, 66, 59, 64, 10, 42, 17]
    assert list(indices(1, 1, Shape(72, 17))) == expected


# Second, producer id, whether it is seen. Window 3600 s, four layers.
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
    layered = LayeredFilter(25, HOUR_MS, 4, 1e-9)
    told = [
        (second, producer_id, sight_or_add(layered, producer_id, second * 1000))
        for second, producer_id, _ in TIMELINE
    ]
    assert told == TIMELINE


def test_layers_begin_when_an_id_comes_and_go_one_by_one() -> None:
    layered = LayeredFilter(25, HOUR_MS, 4, 0.001)
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
    capacity=st.integers(1, 3),
    sightings=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=80),
)
def test_an_id_is_remembered_for_the_window_less_one_layer_and_not_beyond_the_window(
    layer_count: int, window_ms: int, capacity: int, sightings: list[tuple[int, int]]
) -> None:
    # So few false positives that none of them is met here.
    layered = LayeredFilter(capacity, window_ms, layer_count, 1e-12)
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


@given(st.sets(st.integers(0, 2**63 - 1), max_size=200), st.integers(1, 50))
def test_no_id_is_forgotten_while_its_layer_lives_however_full_it_is(
    producer_ids: set[int], capacity: int
) -> None:
    layered = LayeredFilter(capacity, HOUR_MS, 4, 0.001)
    for producer_id in producer_ids:
        sight_or_add(layered, producer_id, 0)
    assert all(layered.sight(producer_id, HOUR_MS - 1) for producer_id in producer_ids)


def sequential(base: int, number: int) -> int:
    return base + number


def strided(base: int, number: int) -> int:
    return base + 1000 * number


def scattered(base: int, number: int) -> int:
    return random.Random(base + number).getrandbits(62)


@pytest.mark.parametrize("producer_id", [sequential, strided, scattered])
@pytest.mark.parametrize(("layer_count", "rate"), [(4, 0.01), (8, 0.05), (1, 0.1)])
@pytest.mark.parametrize(
    ("capacity", "id_count"),
    [(1, 10), (10, 10), (16, 16), (16, 24), (50, 60), (100, 100), (1000, 1250)],
)
def test_all_layers_together_keep_to_the_rate(
    producer_id: Callable[[int, int], int],
    layer_count: int,
    rate: float,
    capacity: int,
    id_count: int,
) -> None:
    checks_per_filter, hits, checks = 400, 0, 0
    for base in range(0, 400_000_000, 20_000_000):
        layered = LayeredFilter(capacity, HOUR_MS, layer_count, rate)
        now_ms = 0
        numbers = iter(range(10**6))
        for layer in range(layer_count):
            now_ms = layer * (HOUR_MS // layer_count)
            for _ in range(id_count):
                sight_or_add(layered, producer_id(base, next(numbers)), now_ms)
        for _ in range(checks_per_filter):
            hits += layered.sight(producer_id(base, next(numbers)), now_ms)
        checks += checks_per_filter
    deviation = (rate * (1 - rate) / checks) ** 0.5
    assert hits / checks <= rate + 3 * deviation


def fill_layer(layered: LayeredFilter, producer_ids: Sequence[int], now_ms: int = 0) -> None:
    for producer_id in producer_ids:
        sight_or_add(layered, producer_id, now_ms)


def test_ids_seen_again_and_again_take_no_more_room() -> None:
    layered = LayeredFilter(20, HOUR_MS, 4, 0.001)
    fill_layer(layered, range(100))
    held_bytes = layered.bytes_held
    for _ in range(10):
        fill_layer(layered, range(100))
    assert layered.bytes_held == held_bytes
    assert layered.state(0).live_layers == 1


def test_a_layer_is_made_for_all_that_the_one_before_held() -> None:
    layered = LayeredFilter(20, HOUR_MS, 4, 0.001)
    fill_layer(layered, range(1000))
    first_bytes = layered.bytes_held
    fill_layer(layered, range(1000), HOUR_MS // 4)
    assert layered.bytes_held - first_bytes < first_bytes
    assert layered.state(HOUR_MS // 4).fill == pytest.approx(1, abs=0.01)


def test_a_new_capacity_leaves_the_layers_there_are() -> None:
    layered = LayeredFilter(100, HOUR_MS, 4, 0.001)
    fill_layer(layered, range(10))
    held_bytes = layered.bytes_held
    layered.capacity = 1000
    fill_layer(layered, range(20))
    assert layered.bytes_held == held_bytes

    fill_layer(layered, range(20), HOUR_MS // 4)
    assert layered.bytes_held > 8 * held_bytes
    assert layered.state(HOUR_MS // 4).fill == 0.02


def test_a_full_layer_grows_to_a_raised_capacity_at_once() -> None:
    layered = LayeredFilter(16, HOUR_MS, 4, 0.001)
    fill_layer(layered, range(16))
    layered.capacity = 1000
    fill_layer(layered, range(17))
    assert layered.state(0).fill == 0.017


def test_a_quota_of_billions_takes_memory_only_as_ids_come() -> None:
    layered = LayeredFilter(2**31 - 1, HOUR_MS, 4, 0.001)
    fill_layer(layered, range(10))
    assert layered.bytes_held < 2_600_000


def test_full_layers_take_little_more_than_theory() -> None:
    layered = LayeredFilter(10_000, HOUR_MS, 4, 0.001)
    for layer in range(4):
        fill_layer(layered, range(10_000), layer * HOUR_MS // 4)
    bits_per_id_and_layer = layered.bytes_held * 8 / 40_000
    assert 1.44 * 11.97 < bits_per_id_and_layer < 1.1 * 1.44 * 11.97


@pytest.mark.parametrize(
    ("id_count", "to_theory_max"), [(1, 1.0), (10, 1.0), (40, 1.4), (100, 1.3)]
)
def test_few_ids_take_little_more_than_theory_as_well(id_count: int, to_theory_max: float) -> None:
    layered = LayeredFilter(id_count, HOUR_MS, 4, 0.001)
    for layer in range(4):
        for producer_id in range(id_count):
            layered.add(layer * id_count + producer_id, layer * HOUR_MS // 4)
    theory_bytes = 4 * id_count * 1.4427 * log2(4 / 0.001) / 8
    assert 0 < layered.bytes_held <= to_theory_max * theory_bytes


def test_a_hash_that_lies_across_two_others_is_not_taken_for_one_of_them() -> None:
    """With hashes of two bytes 00 01 and 02 03 are side by side, and 01 02 is between them."""
    ids: dict[int, int] = {}
    for producer_id in range(10**7):
        first, _second = mmh3_x64_128_utupledigest(pack("<q", producer_id))
        ids.setdefault(first % 2**16, producer_id)
        if {0x0001, 0x0203, 0x0102} <= ids.keys():
            break
    layered = LayeredFilter(10, HOUR_MS, 4, 0.001)
    layered.add(ids[0x0001], 0)
    layered.add(ids[0x0203], 0)
    assert layered.sight(ids[0x0001], 0)
    assert layered.sight(ids[0x0203], 0)
    assert not layered.sight(ids[0x0102], 0)
    layered.add(ids[0x0102], 0)
    assert layered.sight(ids[0x0102], 0)


def test_an_estimate_tells_the_rate_of_full_layers() -> None:
    layered = LayeredFilter(10_000, HOUR_MS, 4, 0.001)
    assert layered.state(0) == (0, 0, 0, 0, 0)
    for layer in range(4):
        fill_layer(layered, range(layer * 10_000, (layer + 1) * 10_000), layer * HOUR_MS // 4)
    state = layered.state(3 * HOUR_MS // 4)
    assert state.live_layers == 4
    assert 0.0005 < state.false_positive_rate < 0.001


def test_an_id_in_several_layers_is_told_as_one() -> None:
    layered = LayeredFilter(100, HOUR_MS, 4, 1e-9)
    fill_layer(layered, range(10))
    fill_layer(layered, range(5, 12), HOUR_MS // 4)
    assert layered.state(HOUR_MS // 4).tracked_ids == 12
    assert layered.state(HOUR_MS).tracked_ids == 7
    assert 0 < layered.state(HOUR_MS).tracked_bytes < layered.bytes_held
    layered.expire(HOUR_MS)
    assert layered.state(HOUR_MS).tracked_bytes == layered.bytes_held


def test_what_is_cleared_is_forgotten() -> None:
    layered = LayeredFilter(10, HOUR_MS, 4, 0.001)
    layered.add(1, 0)
    layered.clear()
    assert layered.is_empty
    assert not layered.sight(1, 1)


def test_layers_are_told_newest_first_while_they_live() -> None:
    layered = LayeredFilter(100, HOUR_MS, 4, 0.001)
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
