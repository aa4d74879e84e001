"""Apache Kafka 4.4 and our broker do the same to a client in situations of the atlas."""

import pytest

from atlas.situation import load_situations
from scenarios.maven import CannotRunError
from tests.differential.atlas_comparison import ATTEMPTS, Pair, compare

CLIENTS = ("kafka-python", "confluent-kafka", "java-4.4")
# One of each kind: a topic, an API's refusal, a group, transactions, no rights.
SITUATIONS = ("LOG-1", "LOG-13", "LOG-34", "LOG-36", "TXN-13", "KIP-890-1", "AUTH-8", "AUTH-30")


@pytest.mark.slow
def test_situations_on_kafka_have_what_a_kafka_can_do() -> None:
    found = [one for one in load_situations().values() if one.on_kafka is not None]
    assert len(found) >= 90
    for situation in found:
        assert situation.on_kafka is not None
        is_killed = situation.on_kafka.by == "kill"
        assert bool(situation.faults) == is_killed, situation.id
        assert not situation.advance_s, situation.id
        assert situation.release is None, situation.id
        for name, value in situation.on_kafka.config.items():
            assert situation.config.get(name, value) == value, situation.id


@pytest.mark.compare
def test_a_client_meets_the_same_on_apache_kafka() -> None:
    pairs: list[Pair] = []
    try:
        compare(CLIENTS, load_situations(SITUATIONS), jobs=2, show=pairs.append)
    except CannotRunError as error:
        pytest.skip(str(error))
    assert len(pairs) == len(CLIENTS) * len(SITUATIONS)
    assert [pair for pair in pairs if not pair.agrees] == []
    assert all(pair.attempts <= ATTEMPTS for pair in pairs)
