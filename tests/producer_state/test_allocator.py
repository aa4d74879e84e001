"""Producer ids are unique over all brokers, and allocated in blocks as in Kafka."""

from hypothesis import given
from hypothesis import strategies as st

from producer_state.allocator import BLOCK_SIZE, LAST_EPOCH, ProducerIdAllocator


def test_brokers_take_blocks_in_the_order_of_their_first_request() -> None:
    allocator = ProducerIdAllocator()

    assert [allocator.next_id(broker_id) for broker_id in (3, 3, 1, 3, 1, 2)] == [
        0,
        1,
        1000,
        2,
        1001,
        2000,
    ]


def test_a_broker_takes_the_next_free_block_when_its_block_is_used_up() -> None:
    allocator = ProducerIdAllocator()
    of_one = [allocator.next_id(1) for _ in range(BLOCK_SIZE)]
    of_two = allocator.next_id(2)

    assert of_one == list(range(BLOCK_SIZE))
    assert of_two == BLOCK_SIZE
    assert allocator.next_id(1) == 2 * BLOCK_SIZE
    assert allocator.next_id(2) == BLOCK_SIZE + 1


@given(turns=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 1500)), max_size=12))
def test_no_two_brokers_ever_give_the_same_id(turns: list[tuple[int, int]]) -> None:
    allocator = ProducerIdAllocator()
    given_ids: list[int] = []
    owners: dict[int, int] = {}
    for broker_id, count in turns:
        for _ in range(count):
            producer_id = allocator.next_id(broker_id)
            given_ids.append(producer_id)
            assert owners.setdefault(producer_id // BLOCK_SIZE, broker_id) == broker_id

    assert len(set(given_ids)) == len(given_ids)


def test_an_epoch_bump_keeps_the_id_until_its_epochs_are_used_up() -> None:
    allocator = ProducerIdAllocator()
    producer_id = allocator.next_id(2)

    assert allocator.bumped(producer_id, 0, 2) == (producer_id, 1)
    assert allocator.bumped(producer_id, 32765, 2) == (producer_id, 32766)


def test_a_producer_at_its_last_epoch_gets_a_new_id_from_the_block_of_the_broker() -> None:
    allocator = ProducerIdAllocator()
    producer_id = allocator.next_id(2)

    assert LAST_EPOCH == 32766
    assert allocator.bumped(producer_id, LAST_EPOCH, 2) == (producer_id + 1, 0)
    assert allocator.bumped(producer_id, 32767, 1) == (BLOCK_SIZE, 0)
