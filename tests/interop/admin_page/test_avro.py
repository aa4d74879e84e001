"""Values of Avro: what the reference encoder writes is decoded, and no schema can hang the page."""

import datetime
import io
import itertools
import json
import uuid
from base64 import b64encode
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page, expect

from tests.examples import examples
from tests.interop.admin_page.accessibility import Accessibility
from tests.interop.admin_page.screenshots import keep_in_both_schemes
from tests.interop.admin_page.served_cluster import EVIL, Cluster, serve
from tests.interop.admin_page.served_registry import served_registry
from tests.interop.chromium import errors_in

DECODE = """
async ([schema, bytes]) => {
  const { avroJson } = await import('/page/avro.js');
  try {
    return avroJson(schema, new Uint8Array(bytes));
  } catch (error) {
    return { name: error.constructor.name, message: error.message };
  }
}
"""
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "item", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "map", "values": ["null", "double"]}},
        {"name": "before", "type": ["null", "Order"], "default": None},
    ],
}


def encoded(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def decoded(page: Page, schema: Any, data: bytes) -> Any:
    return page.evaluate(DECODE, [json.dumps(schema), list(data)])


@pytest.fixture(scope="module")
def decoder(shared_cluster: Cluster, browser: Browser) -> Iterator[Page]:
    """A page whose modules decode; what it shows does not matter."""
    page = browser.new_page()
    page.goto(f"{shared_cluster.url}/page/avro.js")
    yield page
    page.close()


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-INT32_MAX - 1, INT32_MAX),
    "long": st.integers(-INT64_MAX - 1, INT64_MAX),
    "float": st.integers(-4000, 4000).map(lambda quarters: quarters / 4),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "string": texts,
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """Return a schema, a value, and what its JSON has to be."""
    numbers = itertools.count()

    def case(depth: int) -> tuple[Any, Any, Any]:
        kinds = [*PRIMITIVES, "bytes", "fixed", "enum"]
        kind = draw(st.sampled_from(kinds + ["record", "array", "map", "union"] * (depth > 0)))
        if kind in PRIMITIVES:
            value = draw(PRIMITIVES[kind])
            return kind, value, value
        name = f"N{next(numbers)}"
        if kind == "bytes":
            data = draw(st.binary(max_size=20))
            return kind, data, data.hex()
        if kind == "fixed":
            data = draw(st.binary(max_size=20))
            return {"type": kind, "name": name, "size": len(data)}, data, data.hex()
        if kind == "enum":
            symbols = ["A", "B", "C"]
            symbol = draw(st.sampled_from(symbols))
            return {"type": kind, "name": name, "symbols": symbols}, symbol, symbol
        if kind == "record":
            inner = [case(depth - 1) for _ in range(draw(st.integers(0, 4)))]
            fields = [{"name": f"f{n}", "type": schema} for n, (schema, *_) in enumerate(inner)]
            record = {"type": kind, "name": name, "namespace": "a.b", "fields": fields}
            values, expected = (
                {f"f{n}": parts[place] for n, parts in enumerate(inner)} for place in (1, 2)
            )
            return record, values, expected
        schema, value, expected_value = case(depth - 1)
        count = draw(st.integers(0, 3))
        if kind == "array":
            return {"type": kind, "items": schema}, [value] * count, [expected_value] * count
        if kind == "map":
            keys = draw(st.lists(texts, unique=True, max_size=3))
            schema = {"type": kind, "values": schema}
            return schema, dict.fromkeys(keys, value), dict.fromkeys(keys, expected_value)
        if schema == "null" or isinstance(schema, list):
            schema, value, expected_value = "long", 1, 1
        if draw(st.booleans()):
            return ["null", schema], value, expected_value
        return ["null", schema], None, None

    return case(3)


@settings(max_examples=examples(60), deadline=None)
@given(cases())
def test_what_the_reference_encoder_writes_is_decoded(
    decoder: Page, case: tuple[Any, Any, Any]
) -> None:
    schema, value, expected = case
    assert json.loads(decoded(decoder, schema, encoded(schema, value))) == expected


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "int", "logicalType": "date"}, datetime.date(1969, 7, 20), '"1969-07-20"'),
        (
            {"type": "long", "logicalType": "timestamp-micros"},
            datetime.datetime(1969, 7, 20, 20, 17, 40, 123456, tzinfo=datetime.UTC),
            '"1969-07-20T20:17:40.123456Z"',
        ),
        (
            {"type": "long", "logicalType": "local-timestamp-millis"},
            datetime.datetime(2026, 1, 15, 12, 0, 0, 7000),
            '"2026-01-15T12:00:00.007"',
        ),
        ({"type": "int", "logicalType": "time-millis"}, datetime.time(1, 2, 3), '"01:02:03.000"'),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            Decimal("-12.50"),
            "-12.50",
        ),
        (
            {
                "type": "fixed",
                "name": "F",
                "size": 4,
                "logicalType": "decimal",
                "precision": 9,
                "scale": 3,
            },
            Decimal("0.005"),
            "0.005",
        ),
        (
            {"type": "string", "logicalType": "uuid"},
            uuid.UUID(int=7),
            '"00000000-0000-0000-0000-000000000007"',
        ),
        ({"type": "long", "logicalType": "unheard-of"}, 7, "7"),
        ("long", INT64_MAX, str(INT64_MAX)),
        ("float", 0.1, "0.1"),
        ("double", float("nan"), '"NaN"'),
        (
            ORDER,
            {"id": 1, "item": "x", "at": 0, "tags": {}, "before": None},
            '{"id":1,"item":"x","at":"1970-01-01T00:00:00.000Z","tags":{},"before":null}',
        ),
    ],
)
def test_logical_types_and_numbers_are_as_people_write_them(
    decoder: Page, schema: Any, value: Any, text: str
) -> None:
    assert decoded(decoder, schema, encoded(schema, value)) == text


ENDLESS = {"type": "record", "name": "R", "fields": [{"name": "again", "type": "R"}]}
LONG_NAME = {"type": "record", "name": "R", "fields": [{"name": "n" * 10_000, "type": "null"}]}
MANY = b"\xfe" + b"\xff" * 8 + b"\x01"
"""The count of a block, which has 2^63 - 1 elements."""


def nested(depth: int) -> Any:
    schema: Any = "null"
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "data", "reason"),
    [
        (ENDLESS, b"", "too large"),
        ({"type": "array", "items": "null"}, MANY, "too large"),
        ({"type": "array", "items": LONG_NAME}, MANY, "too long"),
        (nested(200), b"", "nested too deeply"),
        ("string", b"\x10ab", "end too early"),
        ("string", b"\x02\xff", "not UTF-8"),
        ("bytes", b"\x01", "end too early"),
        ("long", b"\xff" * 11, "longer than 64 bits"),
        (["null", "int"], b"\x04", "no such branch"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x02", "no such symbol"),
        ({"type": "enum", "name": "E", "symbols": 7}, b"\x02", "no symbols"),
        ({"type": "record", "name": "R", "fields": {}}, b"", "no fields"),
        ({"type": "fixed", "name": "F", "size": -1}, b"", "end too early"),
        ({"type": "fixed", "name": "F", "size": "x"}, b"", "end too early"),
        ("other.Type", b"", "does not define other.Type"),
        ({"type": "__proto__"}, b"", "does not define __proto__"),
        ({"type": None}, b"", "a part without a type"),
        (7, b"", "a part without a type"),
        ("null", b"rest", "4 bytes are left over"),
    ],
)
def test_bytes_and_schemas_that_do_not_fit_end_soon_and_say_why(
    decoder: Page, schema: Any, data: bytes, reason: str
) -> None:
    found = decoded(decoder, schema, data)
    assert found["name"] == "NotDecodable"
    assert reason in found["message"]


def framed(schema_id: int, data: bytes) -> dict[str, str]:
    return {"base64": b64encode(b"\0" + schema_id.to_bytes(4, "big") + data).decode()}


@pytest.fixture
def cluster_with_registry() -> Iterator[Cluster]:
    answers = {
        7: {"schema": json.dumps(ORDER)},
        8: {"schema": f"message {EVIL} {{}}", "schemaType": "PROTOBUF"},
        9: {"schema": "{}", "schemaType": "JSON"},
        10: {"schema": '"missing.Type"', "references": [{"name": "missing.Type"}]},
    }
    with served_registry(answers) as url:
        yield from serve("-o", f"broker.schema.registry.url={url}")


def test_values_with_a_schema_are_decoded_and_others_say_why_not(
    cluster_with_registry: Cluster, browser: Browser, accessibility: Accessibility
) -> None:
    cluster = cluster_with_registry
    order = {"id": INT64_MAX, "item": EVIL, "at": 0, "tags": {"price": 2.5}, "before": None}
    before = {**order, "id": 1, "item": "one tea"}
    value = framed(7, encoded(ORDER, {**order, "before": before}))
    headers = [{"key": "trace-id", "value": "7f3a"}]
    values = [value, framed(8, b"x"), framed(9, b'{"a": 1}'), framed(10, b""), framed(11, b"")]
    records = [
        {"key": framed(7, b"\x02"), "value": value, "headers": headers, "partition": 0}
        for value in values
    ]
    cluster.ask("POST", "/v1/topics", {"name": "orders", "partitions": 1, "replication_factor": 1})
    cluster.ask("POST", "/v1/topics/orders/records", {"records": records})
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    wrongs = errors_in(page)
    page.goto(f"{cluster.url}/#/topics/orders/0/0")
    shown = page.locator(".message")
    decoded_value = page.locator(".message pre").last
    expect(decoded_value).to_contain_text(f'"id": {INT64_MAX}')
    expect(decoded_value).to_contain_text(EVIL.replace('"', '\\"'))
    expect(shown).to_contain_text("AVRO, schema 7")
    expect(shown).to_contain_text("Not decoded: the bytes end too early")
    expect(page.locator("#record-orders-0-0")).to_contain_text('{"id":9223372036854775807')

    # A reader folds the inner record; new messages leave it folded.
    fold = decoded_value.get_by_role("button", name="Fold").nth(2)
    fold.press("Enter")
    expect(decoded_value).not_to_contain_text("one tea", use_inner_text=True)
    cluster.ask("POST", "/v1/topics/orders/records", {"records": [{"value": "another"}]})
    expect(page.locator(".messages")).to_contain_text("another")
    expect(decoded_value).not_to_contain_text("one tea", use_inner_text=True)
    expect(decoded_value).to_contain_text("price", use_inner_text=True)
    accessibility.check(page)
    fold.press("Enter")
    expect(decoded_value).to_contain_text("one tea", use_inner_text=True)
    page.locator("#topics").evaluate("(list) => { list.style.maxHeight = 'none'; }")
    keep_in_both_schemes(page, "message-browser")

    for offset, reason in (
        (1, "Not decoded: values of PROTOBUF are not decoded."),
        (3, "does not define missing.Type; it uses types of other schemas."),
        (4, "Not decoded: schema 11 of the registry"),
    ):
        page.goto(f"{cluster.url}/#/topics/orders/0/{offset}")
        expect(shown).to_contain_text(reason)
    page.goto(f"{cluster.url}/#/topics/orders/0/1")
    shown.get_by_text("Schema", exact=True).last.click()
    expect(shown.locator("details pre").last).to_contain_text("onerror")
    page.goto(f"{cluster.url}/#/topics/orders/0/2")
    expect(decoded_value).to_have_text('{\n  "a": 1\n}', use_inner_text=True)
    page.get_by_role("button", name="Hex", exact=True).click()
    expect(decoded_value).to_contain_text("00 00 00 00 09 7b")
    assert page.locator("main img").count() == 0
    assert wrongs == []
    page.close()
