"""The lines that a broker prints, as a process and as a thread."""

import pytest

from mock_kafka.broker_process import BrokerProcess
from mock_kafka.in_process import BrokerThread
from mock_kafka.printed_lines import CA_LOCATION, SECURITY_PROTOCOL

START_TIMEOUT_S = 30.0
ARGUMENTS = ["serve", "--admin-port", "0", "--tls", "--until-stdin-closes"]


@pytest.mark.parametrize("start", [BrokerProcess, BrokerThread])
def test_the_lines_have_the_addresses_and_what_clients_must_set(
    start: type[BrokerProcess | BrokerThread],
) -> None:
    listeners = "listeners=SSL://:0,PLAINTEXT://:0,SASL_SSL://:0"
    running = start([*ARGUMENTS, "-o", listeners], START_TIMEOUT_S)
    try:
        assert running.bootstrap_servers.startswith("127.0.0.1:")
        further = {running.bootstrap_servers_of(name) for name in ("PLAINTEXT", "SASL_SSL")}
        assert len({*further, running.bootstrap_servers}) == 3
        assert running.admin_url.startswith("http://127.0.0.1:")
        keys = (SECURITY_PROTOCOL, *(f"{SECURITY_PROTOCOL}.{n}" for n in ("PLAINTEXT", "SASL_SSL")))
        assert [*map(running.value_of, keys)] == ["SSL", "PLAINTEXT", "SASL_SSL"]
        assert running.value_of(CA_LOCATION).endswith("ca.pem")
        with pytest.raises(KeyError):
            running.bootstrap_servers_of("SSL")
        running.renew({"bootstrap.servers": "a:1", "bootstrap.servers.PLAINTEXT": "b:2"})
        assert (running.bootstrap_servers, running.bootstrap_servers_of("PLAINTEXT")) == (
            "a:1",
            "b:2",
        )
    finally:
        running.end(START_TIMEOUT_S)
