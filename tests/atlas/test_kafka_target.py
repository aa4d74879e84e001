from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaProducer

from atlas.kafka_target import KafkaTarget, NotOnKafkaError, with_own_names
from atlas.situation import AclRule, OnKafka
from mock_kafka import MockKafka
from tests.atlas.kafka_lanes import kafka_target, situation

pytestmark = pytest.mark.interop
Both = tuple[MockKafka, KafkaTarget]
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with kafka_target(**{"auto.create.topics.enable": False}) as found:
        yield found


def test_names_are_new_and_fit_each_other() -> None:
    given = situation(workload="process", records={"orders": 3})
    own, other = with_own_names(given), with_own_names(given)
    assert set(own.topics) == {own.arguments["topic"]} == set(own.records)
    assert own.arguments["topic"].startswith("orders-")
    assert own.arguments["output"].startswith("invoices-")
    assert own.arguments["group"].startswith("billing-")
    assert own.arguments["transactional_id"].startswith("payments-")
    assert set(own.arguments.values()).isdisjoint(other.arguments.values())


def test_an_admin_call_gets_only_the_names_that_it_has() -> None:
    own = with_own_names(situation(workload="admin", arguments={"call": "list_topics"}))
    assert own.arguments == {"call": "list_topics"}


def test_the_log_says_what_transactions_have_left(both: Both) -> None:
    _, target = both
    own = with_own_names(situation(workload="consume", records={"orders": 2}))
    target.prepare(own)
    (topic,) = own.topics
    producer: Any = KafkaProducer(
        bootstrap_servers=target.bootstrap_servers, transactional_id=f"payments-{topic}"
    )
    producer.init_transactions()
    for value, end in (
        (b"aborted", producer.abort_transaction),
        (b"committed", producer.commit_transaction),
        (b"open", producer.flush),
    ):
        producer.begin_transaction()
        producer.send(topic, value, partition=0).get(timeout=30)
        end()
    records, starts = target.log([topic, "nowhere"])
    producer.abort_transaction()
    producer.close()
    assert [(one.offset, one.value, one.transaction) for one in records] == [
        (0, "0", None),
        (1, "1", None),
        (2, "aborted", "aborted"),
        (4, "committed", None),
        (6, "open", "open"),
    ]
    assert starts == {}


def test_a_log_that_does_not_begin_at_0_says_where(both: Both) -> None:
    kafka, target = both
    own = with_own_names(situation(workload="consume", records={"orders": 5}))
    target.prepare(own)
    (topic,) = own.topics
    kafka.delete_records(topic, before_offset=3)
    records, starts = target.log([topic])
    assert starts == {(topic, 0): 3}
    assert [record.offset for record in records] == [3, 4]


def test_what_was_made_for_an_experiment_is_deleted_again(both: Both) -> None:
    kafka, target = both
    quotas = ({"user": "ANONYMOUS", "producer_byte_rate": 1e9},)
    own = with_own_names(situation(quotas=quotas))
    target.prepare(own)
    assert kafka.control.ask("GET", "/v1/quotas") != []
    assert set(own.topics) <= {topic.name for topic in kafka.topics()}
    target.clean(own)
    assert kafka.control.ask("GET", "/v1/quotas") == []
    assert not set(own.topics) & {topic.name for topic in kafka.topics()}


def test_rights_are_about_the_names_of_the_experiment_and_end_with_it() -> None:
    rules = (
        AclRule(principal="alice", operations=("read", "describe_configs"), topic="orders"),
        AclRule(principal="bob", operations=("all",), group="*"),
    )
    config = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with kafka_target(**config) as (kafka, target):
        own = with_own_names(situation(acls=rules))
        target.prepare(own)
        (topic,) = own.topics
        assert {str(acl) for acl in kafka.acls()} == {
            f"User:alice ALLOW READ TOPIC:LITERAL:{topic}",
            f"User:alice ALLOW DESCRIBE_CONFIGS TOPIC:LITERAL:{topic}",
            "User:bob ALLOW ALL GROUP:LITERAL:*",
        }
        target.clean(own)
        assert kafka.acls() == []


def test_a_broker_with_another_configuration_is_refused(both: Both) -> None:
    _, target = both
    fits = OnKafka(by="config", config={"auto.create.topics.enable": False})
    target.prepare(with_own_names(situation(on_kafka=fits)))
    other = OnKafka(by="config", config={"auto.create.topics.enable": True})
    with pytest.raises(NotOnKafkaError, match=r"auto\.create\.topics\.enable=true"):
        target.prepare(with_own_names(situation(on_kafka=other)))


def test_a_situation_that_stops_a_broker_needs_its_process(both: Both) -> None:
    _, target = both
    with pytest.raises(NotOnKafkaError, match="stops a broker"):
        target.prepare(with_own_names(situation(on_kafka=OnKafka(by="kill", broker=1))))


def test_a_group_is_seen_with_its_members(both: Both) -> None:
    _, target = both
    assert target.look("nobody").get("members", 0) == 0
