"""The newest records of a topic over all partitions, with and without a filter."""

import pytest

from broker.http_admin import record_search
from broker.http_admin.operation import Problem
from broker.http_admin.record_search import FoundRecordsView, SearchQuery, find_newest_records
from broker.http_admin.state import Admin
from broker.http_admin.topic_records import HeaderBody, RecordBody, RecordsBody, produce_records
from broker.http_admin.topics import NewTopicBody, TopicPath, create_topic
from tests.broker.http_admin.admin_server import make_admin

ORDERS = TopicPath("orders")


async def make_records(admin: Admin, *records: RecordBody) -> None:
    create_topic(admin, NewTopicBody("orders", 3))
    await produce_records(admin, ORDERS, RecordsBody(list(records)))


def texts(found: FoundRecordsView) -> list[str | None]:
    return [None if view.value is None else view.value.text for view in found.records]


async def test_the_newest_records_of_all_partitions_come_first() -> None:
    admin = make_admin(1)
    records = [RecordBody(str(n), partition=n % 3, timestamp=1000 + n) for n in range(9)]
    await make_records(admin, *records)
    found = find_newest_records(admin, ORDERS, SearchQuery(limit=4))
    assert texts(found) == ["8", "7", "6", "5"]
    assert not found.is_complete
    found = find_newest_records(admin, ORDERS, SearchQuery(partition=1))
    assert texts(found) == ["7", "4", "1"]
    assert found.is_complete


@pytest.mark.parametrize("contains", ["a cup", "clé", "trace", "x-9", "two\\n"])
async def test_a_filter_finds_text_in_key_value_and_headers(contains: str) -> None:
    admin = make_admin(1)
    record = RecordBody("a cup", "clé", [HeaderBody("trace", "x-9"), HeaderBody("two\\n")])
    await make_records(admin, RecordBody("other"), record, RecordBody(None))
    found = find_newest_records(admin, ORDERS, SearchQuery(contains=contains))
    assert texts(found) == ["a cup"]
    assert (found.scanned, found.is_complete) == (3, True)


async def test_a_search_is_bounded_and_says_that_there_is_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record_search, "WINDOW_OFFSETS", 4)
    monkeypatch.setattr(record_search, "SCANNED_RECORDS_MAX", 30)
    admin = make_admin(1)
    await make_records(admin, *(RecordBody(str(n), partition=0) for n in range(20)))
    found = find_newest_records(admin, ORDERS, SearchQuery(contains="none"))
    assert (found.scanned, found.is_complete, found.records) == (10, False, [])
    found = find_newest_records(admin, ORDERS, SearchQuery(partition=0))
    assert texts(found) == [str(n) for n in reversed(range(20))]
    monkeypatch.setattr(record_search, "RESULT_BYTES_MAX", 3)
    found = find_newest_records(admin, ORDERS, SearchQuery(partition=0))
    assert (texts(found), found.is_complete) == (["19", "18"], False)


async def test_a_missing_topic_or_partition_is_not_found() -> None:
    admin = make_admin(1)
    with pytest.raises(Problem):
        find_newest_records(admin, ORDERS, SearchQuery())
    create_topic(admin, NewTopicBody("orders"))
    with pytest.raises(Problem):
        find_newest_records(admin, ORDERS, SearchQuery(partition=7))
