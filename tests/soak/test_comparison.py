import pytest
from kafka import KafkaAdminClient

from mock_kafka import MockKafka
from tests.soak.comparison import LeaderMover
from tests.soak.disturbances import BROKERS, PARTITIONS


@pytest.mark.slow
def test_leaders_move_to_other_brokers_by_requests_that_any_kafka_cluster_has() -> None:
    with MockKafka(len(BROKERS)) as kafka:
        kafka.create_topic("t", PARTITIONS, len(BROKERS))
        mover = LeaderMover(kafka.bootstrap_servers, ["t"], seed=2)
        for _ in range(6):
            mover.move()
        mover.close()
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
        [described] = admin.describe_topics(["t"])
        admin.close()
        epochs = [partition["leader_epoch"] for partition in described["partitions"]]
    assert mover.count == 6
    assert sum(epochs) > 2
