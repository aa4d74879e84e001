"""A long body is read in pieces, with the result and the errors of reading it in one go."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.http_admin import long_body
from broker.http_admin.long_body import CHUNK_ELEMENTS, read_long_body
from broker.http_admin.operation import Problem, convert_body, decode_json
from broker.http_admin.snapshot_document import LONG_PARTS, Snapshot
from tests.protocol.counting_turn import pauses_of

BYTES = st.none() | st.text(max_size=5) | st.builds(lambda text: {"text": text}, st.text())
RECORDS = st.lists(
    st.fixed_dictionaries(
        {}, optional={"value": BYTES, "offset": st.integers(0, 9), "key": st.integers() | BYTES}
    ),
    max_size=2 * CHUNK_ELEMENTS,
)
PARTITIONS = st.lists(
    st.fixed_dictionaries(
        {}, optional={"records": RECORDS, "replicas": st.lists(st.integers(-1, 3))}
    ),
    max_size=3,
)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "version": st.integers(1, 2),
        "topics": st.lists(
            st.fixed_dictionaries(
                {"name": st.text()},
                optional={
                    "partitions": PARTITIONS,
                    "config": st.dictionaries(st.text(), st.text()),
                },
            ),
            max_size=3,
        ),
        "faults": st.lists(st.none() | st.integers()),
        "quotas": st.none() | st.lists(st.dictionaries(st.text(), st.none())),
        "credentials": st.just([]),
    },
)


def read(text: str) -> Any:
    return read_long_body(text.encode(), Snapshot, LONG_PARTS)


def read_in_one_go(text: str) -> Any:
    return convert_body(decode_json(text), Snapshot)


def outcome(reader: Any, text: str) -> Any:
    try:
        return reader(text)
    except Problem as problem:
        return problem.detail


@given(DOCUMENTS, st.integers(0, 2))
def test_every_document_is_read_as_in_one_go(document: Any, indent: int) -> None:
    text = msgspec.json.format(msgspec.json.encode(document), indent=indent).decode()
    assert type(outcome(read, text)) is type(outcome(read_in_one_go, text))
    expected = outcome(read_in_one_go, text)
    if isinstance(expected, Snapshot):
        assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("[]", "Expected `object`, got `array` - at `$`"),
        ('{"topics": 1}', "Expected `array`, got `int` - at `$.topics`"),
        ('{"topics": [1]}', "Expected `object`, got `int` - at `$.topics[0]`"),
        ('{"topics": [{"partitions": [{}]}]}', "missing required field `name` - at `$.topics[0]`"),
        (
            '{"topics": [{"name": "t", "partitions": []}]}',
            "Expected `array` of length >= 1 - at `$.topics[0].partitions`",
        ),
        (
            '{"topics": [{"name": "t", "partitions": [{"records": [{}, {"value": 3}]}]}]}',
            "got `int` - at `$.topics[0].partitions[0].records[1].value`",
        ),
        ('{"offsets": [{}]}', "missing required field `group` - at `$.offsets[0]`"),
        ('{"topic": []}', "unknown field `topic`"),
    ],
)
def test_an_error_has_the_path_of_the_value(text: str, detail: str) -> None:
    with pytest.raises(Problem) as caught:
        read(text)
    assert detail in caught.value.detail
    assert detail in outcome(read_in_one_go, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{} x",
        '{"topics"}',
        '{"topics": [}',
        '{"topics": [{},]}',
        '{"faults": [1,]}',
        '{"faults": [1 2]}',
        '{"faults": [NaN]}',
        '{"faults": ["\\ud800"]}',
        "{1: []}",
        '{"version": 1,}',
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    for reader in (read, read_in_one_go):
        with pytest.raises((Problem, msgspec.DecodeError)):
            reader(text)


def test_the_last_value_of_a_field_counts() -> None:
    text = '{"faults": [1], "version": 1, "faults": [2, 3], "version": 1}'
    assert read(text) == read_in_one_go(text) == Snapshot(1, faults=[2, 3])


def test_more_elements_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_body, "ELEMENTS_MAX", 3)
    records = '{"topics": [{"name": "t", "partitions": [{"records": [%s]}]}]}'
    assert read(records % "{}")
    with pytest.raises(Problem, match="more than 3 elements"):
        read(records % "{}, {}")


def test_reading_pauses_before_each_part_and_between_some_elements() -> None:
    count = 100 * CHUNK_ELEMENTS
    topics = [{"name": f"t{n}", "partitions": [{}] * 10} for n in range(10)]
    document = {"topics": topics, "quotas": [{"entity": {}, "values": {}}] * count}
    text = msgspec.json.encode(document).decode()
    assert pauses_of(lambda: read(text)) == 10 + 10 * 10 + 100
