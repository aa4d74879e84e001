"""The newest records of a topic over all partitions, with and without a filter."""

import pytest

from broker.http_admin import record_search
from broker.http_admin.operation import INT64_MAX, Problem
from broker.http_admin.record_search import (
    FoundRecordsView,
    OldestQuery,
    SearchQuery,
    find_newest_records,
    find_oldest_records,
)
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


@pytest.mark.parametrize(
    ("within", "found"), [("any", "kvh"), ("key", "k"), ("value", "v"), ("headers", "h")]
)
async def test_a_filter_may_look_at_one_part_of_a_record(within: str, found: str) -> None:
    admin = make_admin(1)
    await make_records(
        admin,
        RecordBody("v", "coffee", partition=0, timestamp=3),
        RecordBody("coffee", "k", partition=0, timestamp=2),
        RecordBody(None, None, [HeaderBody("coffee", "h")], partition=0, timestamp=1),
    )
    query = OldestQuery(contains="coffee", within=within)  # type: ignore[arg-type]
    places = {"k": 0, "v": 1, "h": 2}
    offsets = [record.offset for record in find_oldest_records(admin, ORDERS, query).records]
    assert offsets == sorted(places[letter] for letter in found)


def as_text(offsets: dict[int, int]) -> str:
    return ",".join(f"{index}:{offset}" for index, offset in offsets.items())


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
@pytest.mark.parametrize("contains", ["", "7", "none"])
@pytest.mark.parametrize("is_newest", [True, False])
async def test_pages_have_every_record_once_in_both_directions(
    limit: int, contains: str, is_newest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_search, "WINDOW_OFFSETS", 4)
    monkeypatch.setattr(record_search, "SCANNED_RECORDS_MAX", 12)
    admin = make_admin(1)
    # The timestamps of a partition are not in the order of its offsets.
    await make_records(
        admin,
        *(RecordBody(str(n), partition=n % 3, timestamp=1000 + n * 37 % 50) for n in range(80)),
    )
    pages, offsets = [], ""
    while True:
        if is_newest:
            query = SearchQuery(contains=contains, limit=limit, offsets=offsets)
            page = find_newest_records(admin, ORDERS, query)
        else:
            oldest = OldestQuery(contains=contains, limit=limit, offsets=offsets)
            page = find_oldest_records(admin, ORDERS, oldest)
        pages.append(page)
        offsets = as_text(page.next_offsets)
        if page.is_complete:
            break
    seen = [(record.partition, record.offset) for page in pages for record in page.records]
    assert sum(page.scanned for page in pages) >= 80
    assert all(len(page.records) <= limit for page in pages)
    expected = [(n % 3, n // 3) for n in range(80) if contains in str(n)]
    assert sorted(seen) == sorted(expected)
    for partition in range(3):
        of_partition = [offset for index, offset in seen if index == partition]
        assert of_partition == sorted(of_partition, reverse=is_newest)


async def test_records_are_found_from_an_offset_or_a_time_on() -> None:
    admin = make_admin(1)
    records = [RecordBody(str(n), partition=n % 3, timestamp=1000 + n) for n in range(9)]
    await make_records(admin, *records)
    found = find_oldest_records(admin, ORDERS, OldestQuery(offset=2))
    assert texts(found) == ["6", "7", "8"]
    found = find_oldest_records(admin, ORDERS, OldestQuery(timestamp=1004, limit=3))
    assert (texts(found), found.next_offsets) == (["4", "5", "6"], {1: 2, 2: 2})
    found = find_oldest_records(admin, ORDERS, OldestQuery(timestamp=1004, offset=2, partition=1))
    assert texts(found) == ["7"]
    assert texts(find_oldest_records(admin, ORDERS, OldestQuery(offset=INT64_MAX))) == []


async def test_a_missing_topic_or_partition_is_not_found() -> None:
    admin = make_admin(1)
    with pytest.raises(Problem):
        find_newest_records(admin, ORDERS, SearchQuery())
    create_topic(admin, NewTopicBody("orders"))
    with pytest.raises(Problem):
        find_newest_records(admin, ORDERS, SearchQuery(partition=7))
