import confluent_kafka
import pytest

from mock_kafka import MockKafka
from tests.soak.stored_numbers import Place, StoredNumbers


@pytest.mark.slow
def test_numbers_that_are_stored_twice_are_found_with_those_who_wrote_them() -> None:
    with MockKafka(2) as kafka:
        kafka.create_topic("t", 2, 2)
        stored = StoredNumbers(kafka, "t", 2)

        def send(*numbers: int, idempotent: bool) -> None:
            producer = confluent_kafka.Producer(
                {"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": idempotent}
            )
            for number in numbers:
                producer.produce("t", b"%d" % number, partition=number % 2)
            assert producer.flush(20) == 0

        send(1, 2, 3, idempotent=True)
        stored.read()
        assert stored.places == {1: Place(1, 0), 2: Place(0, 0), 3: Place(1, 1)}
        assert stored.duplicates == []

        send(3, idempotent=True)
        send(4, idempotent=False)
        stored.read()
        send(4, idempotent=False)
        stored.read()
        assert [(found.number, found.has_new_epoch) for found in stored.duplicates] == [
            (3, True),
            (4, False),
        ]
