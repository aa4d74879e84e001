"""A snapshot has the setup of a cluster, and loading it restores the setup."""

import asyncio
from collections.abc import Callable
from io import BytesIO
from itertools import count
from typing import Any

import msgspec
import pytest

from broker.cluster.brokers import Availability
from broker.cluster.failover import start_broker, stop_broker
from broker.dispatch import turns
from broker.faults import rules_from_json
from broker.http_admin import snapshot
from broker.http_admin.faults import add_rules, fault_views
from broker.http_admin.groups import GroupPath, get_group
from broker.http_admin.operation import Problem
from broker.http_admin.quotas import quota_views
from broker.http_admin.service import ResetBody, reset
from broker.http_admin.snapshot import LoadQuery, SaveQuery, get_snapshot, put_snapshot
from broker.http_admin.snapshot_document import Snapshot
from broker.http_admin.topic_records import RecordsQuery, get_records
from broker.http_admin.topics import NewTopicBody, create_topic, list_topics
from tests.broker.cluster_builder import NOW_MS
from tests.broker.connection_driver import Client, metadata_frame
from tests.broker.http_admin.admin_server import make_admin, serving_site
from tests.broker.http_admin.kafka_clients import commit, produce
from tests.broker.http_admin.snapshots import ORDERS, document_of, filled, load
from tests.broker.interleaving import run_with_pauses


async def test_a_cluster_that_loads_a_snapshot_has_the_same_setup() -> None:
    admin = await filled()
    document = await document_of(admin)
    other = make_admin(3)
    await load(other, document)

    assert await document_of(other) == document
    query = RecordsQuery(encoding="base64")
    assert get_records(other, ORDERS, query) == get_records(admin, ORDERS, query)
    (view,) = [topic for topic in list_topics(other) if not topic.is_internal]
    first = view.partitions[0]
    assert (first.log_start_offset, first.log_end_offset) == (1, 3)
    assert view.config == {"retention.ms": "123456"}
    assert quota_views(other) == quota_views(admin)
    assert [fault.rule for fault in fault_views(other)] == [
        fault.rule for fault in fault_views(admin)
    ]
    group = GroupPath("billing")
    assert get_group(other, group).offsets == get_group(admin, group).offsets
    credential = other.cluster.credentials.scram("alice", "SCRAM-SHA-256")
    assert credential == admin.cluster.credentials.scram("alice", "SCRAM-SHA-256") is not None


async def test_what_was_there_before_is_gone() -> None:
    admin = await filled()
    await load(admin, {})
    assert list_topics(admin) == []
    assert quota_views(admin) == []
    assert fault_views(admin) == []
    assert admin.cluster.credentials.scram_users() == []


async def test_a_kept_snapshot_is_loaded_again_by_a_reset_until_another_is_loaded() -> None:
    document = await document_of(await filled())
    admin = make_admin(3)
    await load(admin, document, keep=True)
    create_topic(admin, NewTopicBody("more"))
    await reset(admin, ResetBody())
    assert await document_of(admin) == document
    await load(admin, {"topics": [{"name": "t", "partitions": [{}]}]})
    await reset(admin, ResetBody())
    assert list_topics(admin) == []


async def test_a_snapshot_with_too_many_records_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = await filled()
    monkeypatch.setattr(snapshot, "SAVED_BYTES_MAX", 3)
    with pytest.raises(Problem, match="records=false"):
        await document_of(admin)
    without = get_snapshot(admin, SaveQuery(records=False))
    assert [len(topic.partitions) for topic in without.topics] == [2]
    assert without.topics[0].partitions[0].records == []


async def test_a_document_may_be_larger_than_other_bodies() -> None:
    async with serving_site(broker_count=1) as site:
        value = "x" * 700_000
        records = [{"value": value}] * 7
        document = {"topics": [{"name": "orders", "partitions": [{"records": records}]}]}
        body = BytesIO(msgspec.json.encode(document))
        status, _ = await site.ask("PUT", "/v1/snapshot", data=body)
        assert status == 204
        status, saved = await site.ask("GET", "/v1/snapshot")
        assert status == 200
        assert len(saved["topics"][0]["partitions"][0]["records"]) == 7


MANY_TOPICS = msgspec.convert(
    {"topics": [{"name": f"t{number}", "partitions": [{}] * 50} for number in range(100)]}, Snapshot
)


@pytest.fixture
def _short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURN_NS", 100_000)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - it is soon true
        await asyncio.sleep(0)


@pytest.mark.usefixtures("_short_turns")
async def test_other_operations_are_served_while_a_snapshot_is_read_and_loaded() -> None:
    async with serving_site(broker_count=1) as site:
        records = [{"value": f"{number}"} for number in range(20_000)]
        document = {"topics": [{"name": "orders", "partitions": [{"records": records}]}]}
        body = BytesIO(msgspec.json.encode(document))
        loading = asyncio.create_task(site.ask("PUT", "/v1/snapshot", data=body))
        served = 0
        states = set()
        while not loading.done():
            status, brokers = await site.ask("GET", "/v1/brokers")
            if status == 409:  # it waited for its turn when the cluster was reset for the document
                continue
            states.add(brokers[0]["availability"])
            served += 1
        assert (await loading)[0] == 204
        assert served > 5
        # Kafka clients wait until everything is there.
        assert "isolated" in states
        assert site.admin.cluster.broker(1).availability is Availability.UP
        assert site.admin.partition("orders", 0).log.log_end_offset == 20_000


@pytest.mark.usefixtures("_short_turns")
async def test_a_reset_ends_the_loading_of_a_snapshot() -> None:
    async with serving_site(broker_count=1) as site:
        loading = asyncio.create_task(put_snapshot(site.admin, LoadQuery(keep=True), MANY_TOPICS))
        await until(lambda: len(site.admin.cluster.topics) > 0)
        await reset(site.admin, ResetBody())
        with pytest.raises(Problem, match="was reset") as caught:
            await loading
        assert caught.value.status == 409
        assert list_topics(site.admin) == []
        assert site.admin.cluster.broker(1).availability is Availability.UP
        assert site.admin.restore is None


@pytest.mark.usefixtures("_short_turns")
async def test_a_snapshot_is_loaded_although_its_client_disconnects() -> None:
    async with serving_site(broker_count=1) as site:
        loading = asyncio.create_task(put_snapshot(site.admin, LoadQuery(), MANY_TOPICS))
        await until(lambda: len(site.admin.cluster.topics) > 0)
        loading.cancel()
        await until(lambda: site.admin.cluster.broker(1).availability is Availability.UP)
        assert len(site.admin.cluster.topics) == 100


async def test_no_saved_offset_is_past_the_end_of_its_saved_log() -> None:
    admin = await filled()
    log = admin.partition("orders", 0).log
    producer_ids = count(1000)

    def produce_and_commit() -> None:
        produce(admin, "orders", next(producer_ids))
        commit(admin, "billing", "orders", log.log_end_offset)

    saved = run_with_pauses(lambda: get_snapshot(admin, SaveQuery()), produce_and_commit)

    assert next(producer_ids) > 1005
    assert [offset.group for offset in saved.offsets] == ["billing"]
    assert saved.offsets[0].offset <= (saved.topics[0].partitions[0].log_end_offset or 0)


async def test_a_high_watermark_that_stands_is_saved_and_moves_with_enough_in_sync() -> None:
    admin = make_admin(2)
    create_topic(admin, NewTopicBody("orders", 1, 2, {"min.insync.replicas": "2"}))
    produce(admin, "orders", 1)
    follower_id = 3 - admin.partition("orders", 0).leader_id
    stop_broker(admin.cluster, follower_id, NOW_MS)
    produce(admin, "orders", 2)
    produce(admin, "orders", 3)
    document = msgspec.json.decode(await document_of(admin))
    (partition,) = document["topics"][0]["partitions"]
    assert (partition["high_watermark"], len(partition["records"])) == (1, 3)

    other = make_admin(2)
    await load(other, document)
    assert other.partition("orders", 0).log.high_watermark == 1
    assert not other.cluster.is_alive(follower_id)
    start_broker(other.cluster, follower_id, NOW_MS)
    assert other.partition("orders", 0).log.high_watermark == 3
    (saved,) = msgspec.json.decode(await document_of(other))["topics"][0]["partitions"]
    assert "high_watermark" not in saved


async def test_a_rule_whose_wait_is_over_is_saved_without_it() -> None:
    admin = make_admin()
    rules: list[dict[str, Any]] = [
        {"name": "first", "api": "Metadata", "delay_ms": 0, "times": 1},
        {"name": "second", "api": "Metadata", "delay_ms": 0, "after": "first"},
        {"api": "Metadata", "delay_ms": 0, "after": "second"},
    ]
    add_rules(admin, rules_from_json(rules))
    Client(admin.cluster, dispatcher=admin.server.dispatcher).send(metadata_frame(1))
    document = msgspec.json.decode(await document_of(admin))
    del rules[1]["after"]
    assert document["faults"] == rules[1:]
    other = make_admin()
    await load(other, document)
    assert [view.is_armed for view in fault_views(other)] == [True, False]
