from contextlib import closing

import pytest

from atlas.experiment import Experiment
from atlas.kafka_lane import KafkaLane
from atlas.kafka_target import NotOnKafkaError
from tests.atlas.kafka_lanes import kafka_target, scripted_client, situation

pytestmark = pytest.mark.interop


def test_an_experiment_runs_with_names_of_its_own_and_leaves_nothing() -> None:
    with kafka_target() as (kafka, target), closing(KafkaLane("kafka-python", target)) as lane:
        given = situation()
        result = lane.run(Experiment("kafka-python", given))
        assert (result.data, result.manners.reported, result.manners.usable) == (
            "kept",
            "success",
            True,
        )
        assert result.experiment.situation is given
        assert [topic.name for topic in kafka.topics()] == []
        assert len(result.observation.records) == 4


def test_the_log_and_not_the_client_says_what_was_kept() -> None:
    with kafka_target() as (_, target), closing(KafkaLane(scripted_client(), target)) as lane:
        result = lane.run(Experiment("scripted", situation(arguments={"records": 1})))
    assert (result.data, result.manners.reported) == ("lost_silently", "success")


def test_a_situation_that_needs_more_than_a_kafka_is_refused() -> None:
    with kafka_target() as (_, target), closing(KafkaLane(scripted_client(), target)) as lane:
        for given in (
            situation(on_kafka=None),
            situation(brokers=2),
            situation(arguments={"security": {"mechanism": "PLAIN"}}),
        ):
            with pytest.raises(NotOnKafkaError):
                lane.run(Experiment("scripted", given))
