"""Waiting for a cluster that starts elsewhere."""

import threading
from contextlib import closing

import pytest

from mock_kafka import MockKafka
from mock_kafka.control import Control
from mock_kafka.health import wait_until_healthy
from tests.free_ports import free_port_run


def test_without_a_wait_a_cluster_that_is_not_there_is_an_error_at_once() -> None:
    with pytest.raises(ConnectionError, match="no response from the cluster"):
        wait_until_healthy(Control("http://127.0.0.1:1"), 0)


def test_a_wait_ends_when_the_cluster_serves() -> None:
    port = free_port_run(1)
    kafka = MockKafka(admin_port=port)
    starting = threading.Thread(target=kafka.start)
    starting.start()
    try:
        with closing(Control(f"http://127.0.0.1:{port}")) as control:
            wait_until_healthy(control, 30)
    finally:
        starting.join()
        kafka.stop()
