import logging

import pytest

from scenarios.client_logs import silenced


@pytest.mark.parametrize("name", ["kafka", "aiokafka"])
def test_clients_are_silent_while_an_experiment_runs_and_as_loud_as_before_afterwards(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger(f"{name}.conn")
    with silenced():
        logger.error("inside")
    logger.error("afterwards")
    assert caplog.messages == ["afterwards"]
