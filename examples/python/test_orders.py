"""Test the service against a mock cluster: run `pytest` where mock-kafka is installed."""

import json

import pytest
from orders import OrderService

COFFEE = {"id": 1, "price": 3, "quantity": 2}


@pytest.fixture
def service(mock_kafka):  # mock_kafka is an empty cluster in each test
    mock_kafka.create_topic("orders", partitions=1)
    service = OrderService(mock_kafka.bootstrap_servers)
    yield service
    service.close()


def test_an_order_gets_an_invoice(mock_kafka, service):
    service.place(COFFEE)
    service.write_invoices(1)
    [invoice] = mock_kafka.records("invoices")
    assert json.loads(invoice.value) == {"order": 1, "total": 6}
    assert mock_kafka.committed("invoicing") == {("orders", 0): 1}


def test_an_order_is_stored_once_when_the_acknowledgement_is_lost(mock_kafka, service):
    mock_kafka.drop_response(api="Produce", times=1)  # appended, then the connection closes
    service.place(COFFEE)
    assert len(mock_kafka.records("orders")) == 1
    assert len(mock_kafka.requests(api="Produce", topic="orders")) == 2


def test_the_service_waits_for_replicas(mock_kafka, service):
    mock_kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICAS", times=2)
    service.place(COFFEE)
    assert len(mock_kafka.records("orders")) == 1
