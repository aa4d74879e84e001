import importlib.util

import pytest

from mock_kafka import MockKafka
from scenarios.producer_ids.real_clients import (
    _ONE_RECORD_CONFIGS,
    CAREFUL,
    CARELESS,
    CarefulClient,
    write_once,
)


@pytest.mark.interop
def test_every_client_writes_and_the_careful_one_counts() -> None:
    config = {
        "listeners": "SASL_PLAINTEXT://:0",
        "sasl.users": f"{CARELESS}:{CARELESS},{CAREFUL}:{CAREFUL}",
    }
    with MockKafka(config=config) as lab:
        for topic in (CARELESS, CAREFUL):
            lab.create_topic(topic, 1)
        for name in _ONE_RECORD_CONFIGS:
            assert write_once(name, lab.bootstrap_servers) is True
        assert lab.control.ask("GET", "/v1/producers", query={"topic": CARELESS})["count"] == 3
        careful = CarefulClient(lab.bootstrap_servers)
        assert careful.write(3) > 0
        careful.close()
        assert (careful.delivered, careful.errors) == (3, [])
        assert len(lab.records(CAREFUL)) == 3


def test_a_client_that_is_not_installed_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert write_once("aiokafka", "127.0.0.1:1") is None
