from collections import Counter
from random import Random

import pytest

from broker.cluster.key_numbers import Zipf, number_drawer
from broker.config.synthetic_keys import Distribution, key_distribution

DRAWN = 20_000


def drawn(text: str, number: int = DRAWN) -> list[int]:
    distribution = key_distribution(text)
    assert distribution is not None
    return number_drawer(distribution)(Random(1), number)


def test_uniform_numbers_are_all_as_frequent() -> None:
    counts = Counter(drawn("uniform(10)"))
    assert sorted(counts) == list(range(10))
    assert all(1_800 < count < 2_200 for count in counts.values())


@pytest.mark.parametrize("exponent", [0.5, 1, 1.2, 3])
@pytest.mark.parametrize("count", [1, 2, 7, 1000])
def test_numbers_follow_zipfs_law(count: int, exponent: float) -> None:
    counts = Counter(drawn(f"zipf({count},{exponent})"))
    assert all(0 <= number < count for number in counts)
    total = sum((rank + 1) ** -exponent for rank in range(count))
    for number in range(min(count, 5)):
        expected = DRAWN * (number + 1) ** -exponent / total
        # Five standard deviations of a binomial distribution.
        assert abs(counts[number] - expected) <= 5 * expected**0.5 + 1


def test_there_may_be_as_many_keys_as_offsets() -> None:
    numbers = drawn(f"zipf({1 << 62},1.01)", 100)
    assert all(0 <= number < 1 << 62 for number in numbers)
    assert len(set(numbers)) > 10
    assert len(set(drawn(f"uniform({1 << 62})", 100))) == 100


def test_the_same_seed_draws_the_same_numbers() -> None:
    assert Zipf(100, 1.1).draw(Random(5), 50) == Zipf(100, 1.1).draw(Random(5), 50)


def test_a_counter_draws_nothing() -> None:
    with pytest.raises(AssertionError):
        number_drawer(Distribution("counter"))
