"""A Fetch that reads very many batches takes turns.

The clock of these tests ends a turn at each place where a request may pause. `scripts/bench attack`
measures the CPU time of the turns.
"""

import pytest

from broker.cluster.partition_log import SHORT_BATCHES_MAX
from broker.responses import JOINED_PARTS_MAX
from tests.attack.attacked_broker import PausingBroker
from tests.attack.many_batches import ManyBatches


@pytest.mark.parametrize("version", [7, 12, 18])
def test_a_fetch_of_very_many_batches_pauses_after_some_thousands(version: int) -> None:
    batch_count = 2 * SHORT_BATCHES_MAX
    broker = PausingBroker()
    client = ManyBatches(broker, batch_count, version)
    for name, send in client.requests():
        cost = send()
        assert cost.turns >= batch_count // JOINED_PARTS_MAX, name
        assert client.log_bytes < cost.response_bytes < client.log_bytes + 100, name
        assert not broker.bugs, name
