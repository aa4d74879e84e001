"""The admin port of a real cluster, and addresses where there is none."""

import socket
from collections.abc import Iterator

import pytest
from kafka import KafkaProducer

from loadgen.admin_port import AdminPort, AdminPortError
from mock_kafka import MockKafka

TOKEN = "sesame"


@pytest.fixture
def kafka() -> Iterator[MockKafka]:
    with MockKafka(config={"broker.admin.token": TOKEN, "broker.clock": "standing"}) as kafka:
        yield kafka


def test_a_quota_is_set_in_shadow_mode_and_its_report_is_read_and_cleared(
    kafka: MockKafka,
) -> None:
    port = AdminPort(f"{kafka.admin_url}/", TOKEN)
    port.set_shadow_quota({"user": None}, "producer_byte_rate", 1)
    kafka.create_topic("t", 1)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    producer.send("t", b"1").get(30)
    producer.close()

    [row] = port.shadow_report()
    assert (row["quota"], row["user"], row["throttled"]) == ("producer_byte_rate", "ANONYMOUS", 1)
    port.clear_shadow_report()
    assert port.shadow_report() == []


def test_a_refusal_is_one_line_with_its_reason(kafka: MockKafka) -> None:
    with pytest.raises(AdminPortError, match="greater than 0"):
        AdminPort(kafka.admin_url, TOKEN).set_shadow_quota({"user": "a"}, "producer_byte_rate", 0)
    with pytest.raises(AdminPortError, match=f"admin port {kafka.admin_url}: .*oken"):
        AdminPort(kafka.admin_url).shadow_report()


def test_an_address_without_an_admin_port_is_one_line(kafka: MockKafka) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AdminPortError, match=f"no admin port at {url}: .*refused"):
            AdminPort(url).shadow_report()
    with pytest.raises(AdminPortError, match="no admin port at"):
        AdminPort(f"http://{kafka.bootstrap_servers}").shadow_report()
    with pytest.raises(AdminPortError, match="is not http://HOST:PORT"):
        AdminPort("127.0.0.1:9099")
