"""A user without the right: a service may read a topic, and not with its group."""

import pytest
from confluent_kafka import Consumer, KafkaError

MAY_READ = {"principal": "billing", "operations": "read", "topic": "orders"}


@pytest.mark.mock_kafka(users={"billing": "secret"}, allow=[MAY_READ])
def test_the_journal_says_which_right_is_missing(mock_kafka):
    mock_kafka.produce("orders", b"one coffee")
    settings = {"group.id": "billing", "auto.offset.reset": "earliest"}
    consumer = Consumer({**mock_kafka.client_settings("confluent"), **settings})
    consumer.subscribe(["orders"])
    refused = consumer.poll(30)
    assert refused.error().code() == KafkaError.GROUP_AUTHORIZATION_FAILED
    denied = mock_kafka.wait_for(denied=True)
    assert denied.api == "FindCoordinator"
    assert str(denied.denials[0]) == "DESCRIBE GROUP:billing by DefaultDeny"

    mock_kafka.allow("billing", "read", group="billing")  # it includes DESCRIBE
    assert mock_kafka.authorize("billing", "describe", group="billing")
    message = consumer.poll(30)
    while message.error():
        message = consumer.poll(30)
    assert message.value() == b"one coffee"
    consumer.close()
