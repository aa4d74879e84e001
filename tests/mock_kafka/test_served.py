"""A cluster and a proxy are alike while they do not run."""

import pytest

from mock_kafka import KafkaProxy, MockKafka
from mock_kafka.served import ServedProcess


@pytest.mark.parametrize("served", [MockKafka(), KafkaProxy(to="127.0.0.1:1")])
def test_what_is_not_running_has_no_process(served: ServedProcess) -> None:
    assert not served.is_running
    assert served.log_lines() == []
    served.stop()
    for name in ("bootstrap_servers", "pid"):
        with pytest.raises(RuntimeError, match="is not running"):
            getattr(served, name)
