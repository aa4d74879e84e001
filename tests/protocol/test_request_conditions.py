"""Conditions on the fields of requests."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.request_conditions import CONDITIONS_MAX, VALUES_MAX, Conditions, Knowledge, paths_to
from tests.batches import make_batch

ORDERS_ID = UUID(int=1)


def produce(
    *topics: tuple[str, list[int]],
    version: int = 9,
    acks: int = -1,
    topic_id: UUID | None = None,
) -> Any:
    topic_class = messages.ProduceRequest.TopicProduceData
    return messages.ProduceRequest(
        version=version,
        acks=acks,
        timeout_ms=1000,
        topic_data=[
            topic_class(
                version=version,
                name=name,
                topic_id=topic_id,
                partition_data=[
                    topic_class.PartitionProduceData(
                        version=version, index=index, records=make_batch(b"x", b"y")
                    )
                    for index in indexes
                ],
            )
            for name, indexes in topics
        ],
    )


def fit(request: Any, conditions: dict[str, Any], api_key: ApiKey = ApiKey.PRODUCE) -> bool:
    known = Knowledge(lambda name: name == "retention.ms", {ORDERS_ID: "orders"}.get)
    return Conditions(api_key, conditions).fits(request, known)


TWO = produce(("orders", [0, 1]), ("billing", [2]))


@pytest.mark.parametrize(
    ("conditions", "fits"),
    [
        ({"acks": -1}, True),
        ({"acks": 1}, False),
        ({"acks": [0, -1]}, True),
        ({"acks": []}, False),
        ({"timeout_ms": {"min": 500}}, True),
        ({"timeout_ms": {"min": 500, "max": 999}}, False),
        ({"transactional_id": None}, True),
        ({"transactional_id": ["x", None]}, True),
        ({"transactional_id": "x"}, False),
        ({"topic_data[].name": "billing"}, True),
        ({"topic_data[].name": {"matches": "b.*"}}, True),
        ({"topic_data[].name": {"matches": "b"}}, False),  # the whole text
        ({"topic_data[].name": ["other", {"matches": "ord[a-z]+"}]}, True),
        ({"topic_data[].partition_data[].index": 1}, True),
        ({"topic_data[].partition_data[].index": {"min": 1, "max": 1}}, True),
        ({"topic_data[].partition_data[].index": 3}, False),
        # Of one element:
        ({"topic_data[].name": "orders", "topic_data[].partition_data[].index": 1}, True),
        ({"topic_data[].name": "billing", "topic_data[].partition_data[].index": 1}, False),
        ({"topic_data[].partition_data[].records.batch_count": 1}, True),
        ({"topic_data[].partition_data[].records.batches[].record_count": 2}, True),
        ({"topic_data[].partition_data[].records.batches[].compression": "gzip"}, False),
        ({"topic_data[].partition_data[].records": None}, False),
    ],
)
def test_a_request_fits_if_one_element_fits_all_conditions_about_it(
    conditions: dict[str, Any], fits: bool
) -> None:
    assert fit(TWO, conditions) is fits


def test_a_field_that_the_version_lacks_fits_nothing() -> None:
    topic_id = {"topic_data[].topic_id": str(ORDERS_ID)}
    assert not fit(produce(("orders", [0]), version=12), topic_id)
    assert fit(produce(("", [0]), version=13, topic_id=ORDERS_ID), topic_id)
    conditions = Conditions(ApiKey.PRODUCE, topic_id)
    assert (conditions.is_in(12), conditions.is_in(13)) == (False, True)


def test_the_name_of_a_topic_is_looked_up_if_the_request_has_its_id() -> None:
    name, index = "topic_data[].name", "topic_data[].partition_data[].index"
    request = produce(("", [0, 1]), version=13, topic_id=ORDERS_ID)
    assert fit(request, {name: "orders"})
    assert fit(request, {name: {"matches": "ord.*"}, index: 1})
    assert not fit(request, {name: ["billing", ""]})
    assert not fit(request, {name: "orders", index: 2})
    assert not fit(produce(("", [0]), version=13, topic_id=UUID(int=7)), {name: ["orders", ""]})
    # In version 12 an id would have been left out.
    assert not fit(produce(("", [0]), version=12), {name: "orders"})
    conditions = Conditions(ApiKey.PRODUCE, {name: "orders"})
    assert conditions.is_in(12)
    assert conditions.is_in(13)


def test_a_name_that_is_null_beside_an_id_fits_both() -> None:
    topic_class = messages.DeleteTopicsRequest.DeleteTopicState
    topic = topic_class(version=6, name=None, topic_id=ORDERS_ID)
    request = messages.DeleteTopicsRequest(version=6, topics=[topic], timeout_ms=1)
    assert fit(request, {"topics[].name": None}, ApiKey.DELETE_TOPICS)
    assert fit(request, {"topics[].name": "orders"}, ApiKey.DELETE_TOPICS)
    assert not fit(request, {"topics[].name": "billing"}, ApiKey.DELETE_TOPICS)


def test_null_arrays_lists_of_scalars_bytes_and_structs() -> None:
    every = messages.MetadataRequest(version=9, topics=None)
    none = messages.MetadataRequest(version=9, topics=[])
    assert fit(every, {"topics": None}, ApiKey.METADATA)
    assert not fit(none, {"topics": None}, ApiKey.METADATA)
    assert not fit(every, {"topics[].name": "t"}, ApiKey.METADATA)

    groups = messages.DescribeGroupsRequest(version=5, groups=["g", "h"])
    assert fit(groups, {"groups[]": "h"}, ApiKey.DESCRIBE_GROUPS)
    assert not fit(groups, {"groups[]": {"matches": "x.*"}}, ApiKey.DESCRIBE_GROUPS)

    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol
    join = messages.JoinGroupRequest(
        version=5, protocols=[protocol(version=5, name="range", metadata=b"\x01")]
    )
    assert fit(join, {"protocols[].metadata": {"base64": "AQ=="}}, ApiKey.JOIN_GROUP)
    assert not fit(join, {"protocols[].metadata": {"text": "1"}}, ApiKey.JOIN_GROUP)

    heartbeat = messages.StreamsGroupHeartbeatRequest(version=0, topology=None)
    api_key = ApiKey.STREAMS_GROUP_HEARTBEAT
    assert fit(heartbeat, {"topology": None}, api_key)
    assert not fit(heartbeat, {"topology.epoch": 0}, api_key)


@pytest.mark.parametrize(("name", "fits"), [("retention.ms", True), ("sasl.jaas.config", False)])
def test_a_hidden_value_of_a_configuration_fits_nothing(name: str, fits: bool) -> None:
    resource = messages.AlterConfigsRequest.AlterConfigsResource
    config = resource.AlterableConfig(version=1, name=name, value="5")
    request = messages.AlterConfigsRequest(
        version=1,
        resources=[resource(version=1, resource_type=2, resource_name="t", configs=[config])],
    )
    assert fit(request, {"resources[].configs[].name": name}, ApiKey.ALTER_CONFIGS)
    assert fit(request, {"resources[].configs[].value": "5"}, ApiKey.ALTER_CONFIGS) is fits


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"topics[].name": 1}, "[].name: there is no topics; did you mean topic_data[].name?"),
        (
            {"topics[].partitions[].index": 1},
            "there is no topics; did you mean topic_data[].partition_data[].index?",
        ),
        (
            {"topics[].partitions[].partition_index": 1},
            "there is no topics; did you mean topic_data[].partition_data[].index?",
        ),
        (
            {"producer_id": 1},
            "did you mean topic_data[].partition_data[].records.batches[].producer_id?",
        ),
        ({"topic_data[].nam": "t"}, "there is no nam; did you mean name?"),
        ({"topic_data[].zzz": "t"}, "there is no zzz; there are name, topic_id, partition_data"),
        ({"acks.x": 1}, "there is no x, the field before it has no fields"),
        ({"topic_data.name": "t"}, "topic_data is an array, write topic_data[]"),
        ({"topic_data": "t"}, "topic_data is an array, write topic_data[]"),
        ({"topic_data[]": "t"}, "has fields, name one of them: name, topic_id, partition_data"),
        ({"acks[]": 1}, "acks is no array, leave out []"),
        ({"acks": "all"}, "acks: must be of type int16, not 'all'"),
        ({"acks": None}, "acks: is never null"),
        ({"acks": 1 << 20}, "doesn't fit into int16"),
        ({"acks": {"matches": "1"}}, "matches is a text, for fields of type string"),
        ({"transactional_id": {"matches": "("}}, "is no regular expression of RE2: missing"),
        ({"transactional_id": {"matches": "x", "min": 1}}, "a range has min and max, not matches"),
        ({"transactional_id": {"matches": "x", "y": 1}}, "a pattern has matches alone, not y"),
        ({"acks": {"min": 1, "above": 2}}, "a range has min and max, not above"),
        ({"acks": {"min": 1, "max": 0}}, "max 0 is below min, 1"),
        ({"transactional_id": {"min": 1}}, "is of type string, and only numbers have a range"),
        ({"acks": {"min": "x"}}, "'x' is no number"),
        ({"topic_data[].topic_id": "x"}, "'x' is no uuid"),
        ({"acks": [1] * (VALUES_MAX + 1)}, f"there may be {VALUES_MAX} values"),
    ],
)
def test_conditions_that_no_request_could_fit_are_refused(
    conditions: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - compared below
        Conditions(ApiKey.PRODUCE, conditions)
    assert message in str(raised.value)


def test_secrets_and_too_many_conditions_are_refused() -> None:
    with pytest.raises(ValueError, match="it is a secret"):
        Conditions(ApiKey.SASL_AUTHENTICATE, {"auth_bytes": {"text": "x"}})
    with pytest.raises(ValueError, match=f"there may be {CONDITIONS_MAX} conditions"):
        Conditions(ApiKey.PRODUCE, {str(number): 1 for number in range(CONDITIONS_MAX + 1)})


def test_all_paths_to_a_field() -> None:
    assert paths_to(ApiKey.FETCH, "topic_id") == [
        "topics[].topic_id",
        "forgotten_topics_data[].topic_id",
    ]
    assert paths_to(ApiKey.HEARTBEAT, "topic_id") == []
    assert paths_to(ApiKey.SASL_AUTHENTICATE, "auth_bytes") == []  # no rule may depend on it


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.lists(st.integers(0, 3), max_size=3)), max_size=4
    ),
    st.sampled_from("abc"),
    st.integers(0, 3),
)
def test_conditions_agree_with_a_search_by_hand(
    topics: list[tuple[str, list[int]]], name: str, index: int
) -> None:
    conditions = {"topic_data[].name": name, "topic_data[].partition_data[].index": index}
    expected = any(topic == name and index in indexes for topic, indexes in topics)
    assert fit(produce(*topics), conditions) is expected
