"""Logs of synthetic topics, for tests."""

from typing import Any

from broker.cluster.synthetic_log import SyntheticLog
from broker.cluster.synthetic_records import SyntheticRecords
from broker.config.broker_config import BrokerConfig
from broker.config.topic_config import TopicConfig
from protocol.records import Record, read_records


def synthetic_config(**settings: Any) -> dict[str, str]:
    """Return the keys of a synthetic topic: `batch_records=5` is `synthetic.batch.records`."""
    named = {f"synthetic.{name.replace('_', '.')}": str(v) for name, v in settings.items()}
    return {"log.records": "synthetic"} | named


def synthetic_records(topic: str = "made", **settings: Any) -> SyntheticRecords:
    """Return the records of a synthetic topic."""
    return SyntheticRecords(topic, TopicConfig(BrokerConfig(), synthetic_config(**settings)))


def synthetic_log(partition_index: int = 0, topic: str = "made", **settings: Any) -> SyntheticLog:
    """Return the log of a partition of a synthetic topic."""
    return SyntheticLog(synthetic_records(topic, **settings), partition_index)


def read_all(log: SyntheticLog, start: int, end: int) -> list[Record]:
    """Return the records of a range of offsets."""
    found: list[Record] = []
    offset = start
    while offset < end:
        batches = log.read(offset, 10_000, at_least_one=True)
        assert batches, offset
        records = [record for batch in batches for record in read_records(batch)]
        found += [record for record in records if offset <= record.offset < end]
        offset = records[-1].offset + 1
    return found
