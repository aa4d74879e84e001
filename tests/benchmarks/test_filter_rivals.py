import pytest

from benchmarks.filter_rivals import BitOfEachLayer, ListOfFilters, Rival, SetOfIds
from quotas.layered_bloom_filter import LayeredBloomFilter


@pytest.mark.parametrize("make", [ListOfFilters, BitOfEachLayer, SetOfIds])
def test_a_rival_finds_its_ids_and_few_others(make: type[Rival]) -> None:
    rival = make(1000, 4, 0.01)  # type: ignore[call-arg]
    for layer in range(4):
        rival.fill(layer, range(layer * 1000, (layer + 1) * 1000))
    assert all(rival.sight(producer_id) for producer_id in range(4000))
    assert sum(rival.sight(producer_id) for producer_id in range(10_000, 30_000)) < 400


def test_a_list_of_filters_is_what_the_layers_are_measured_against() -> None:
    layered = LayeredBloomFilter(4000, 4, 0.01, bytes(16))
    for layer in range(8):
        for producer_id in range(1000):
            if not layered.contains_and_refresh(producer_id, layer * 1000):
                layered.add(producer_id, layer * 1000)
    assert 1 < layered.bytes_held / ListOfFilters(1000, 4, 0.01).bytes_held() < 1.5
