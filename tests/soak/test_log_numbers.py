import confluent_kafka
import pytest

from mock_kafka import MockKafka
from tests.soak.log_numbers import LogNumbers, read_numbers
from tests.soak.stored_numbers import Place, Producer


def test_a_number_that_another_epoch_stores_again_is_no_duplicate_of_the_same_epoch() -> None:
    numbers = LogNumbers()
    numbers.add(7, Place(0, 0), Producer(1, 0))
    numbers.add(7, Place(0, 1), Producer(1, 1))
    numbers.add(8, Place(0, 2), Producer(1, 1))
    numbers.add(8, Place(0, 3), Producer(1, 1))
    assert numbers.places == {7: Place(0, 0), 8: Place(0, 2)}
    assert [(found.number, found.has_new_epoch) for found in numbers.duplicates] == [
        (7, True),
        (8, False),
    ]


@pytest.mark.slow
def test_all_partitions_of_a_topic_are_read_from_their_leaders() -> None:
    with MockKafka(2) as kafka:
        kafka.create_topic("t", 2, 2)
        kafka.move_leader("t", 1, 2)
        producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers})
        for number in range(4):
            producer.produce("t", b"%d" % number, partition=number % 2)
        assert producer.flush(20) == 0
        numbers = read_numbers(kafka.bootstrap_servers, "t")
        assert numbers.places == {n: Place(n % 2, n // 2) for n in range(4)}
        assert numbers.duplicates == []
