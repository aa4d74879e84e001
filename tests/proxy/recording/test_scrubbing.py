"""Nothing of a dropped, hashed or replaced value stays in a record."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.records import Record
from proxy.recording.json_path import JsonPath
from proxy.recording.keyed_hash import KeyedHash
from proxy.recording.scrubbing import (
    NO_RECORDS,
    UNSCRUBBED,
    Drop,
    Hash,
    JsonScrubber,
    Keep,
    RecordScrubber,
    Replace,
    Scrubber,
    Scrubbing,
    keep,
    remove,
)

HASH = KeyedHash(b"secret")
DIGITS = Replace("[0-9]{4}", "####", HASH)
SECRET = "kafka-secret"


def record(
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    headers: tuple[tuple[str, bytes | None], ...] = (),
) -> Record:
    return Record(7, 1000, key, value, headers)


def test_a_dropped_key_is_null_and_a_dropped_value_is_no_tombstone() -> None:
    scrubber = RecordScrubber(Drop(), Drop(), [])
    assert scrubber.scrub(record()) == record(None, b"")
    assert scrubber.scrub(record(None, None)) == record(None, None)


def test_headers_are_dropped_unless_a_glob_fits() -> None:
    scrubber = RecordScrubber(
        Keep(), Keep(), [("trace-id", Keep()), ("x-secret", Drop()), ("x-*", DIGITS)]
    )
    headers = (
        ("trace-id", b"1234"),
        ("x-secret", None),
        ("x-n", b"1234"),
        ("x-0", None),
        ("y", b""),
    )
    assert scrubber.scrub(record(headers=headers)).headers == (
        ("trace-id", b"1234"),
        ("x-n", b"####"),
        ("x-0", None),
    )


def test_the_first_glob_that_fits_decides_and_other_topics_have_no_rules() -> None:
    first, second = (RecordScrubber(rule, Keep(), []) for rule in (Drop(), Keep()))
    scrubbing = Scrubbing([("orders-*", first), ("orders*", second)])
    assert scrubbing.of_topic("orders-eu") is first
    assert scrubbing.of_topic("orders") is second
    assert scrubbing.of_topic("Orders") is None
    assert NO_RECORDS.of_topic("orders") is None
    everything = UNSCRUBBED.of_topic("orders")
    assert everything is not None
    assert everything.scrub(record(headers=(("h", None),))) == record(headers=(("h", None),))


def test_text_is_replaced_and_other_bytes_are_hashed() -> None:
    assert DIGITS.scrub("é 12345 1".encode()) == "é ####5 1".encode()
    assert DIGITS.scrub(b"\xff1234") == HASH.of_bytes(b"\xff1234")
    assert Replace("(.*)@.*", r"\1@x", HASH).scrub(b"ann@home") == b"ann@x"


def test_numbers_in_json_are_replaced_by_their_text() -> None:
    assert DIGITS.change([12345, 12, 1.5, None, True, {"a": "1234"}]) == [
        "####5",
        12,
        1.5,
        None,
        True,
        {"a": "####"},
    ]


def json_scrubber(otherwise: Scrubber = DIGITS, **changes: Any) -> JsonScrubber:
    return JsonScrubber(
        [(JsonPath(f"$.{name}"), change) for name, change in changes.items()], otherwise
    )


def test_paths_of_json_are_changed_and_the_rest_is_kept() -> None:
    scrubber = json_scrubber(a=remove, b=Hash(HASH).change, c=keep, d=DIGITS.change)
    document = {"a": 1, "b": "x", "c": "é 1234", "d": "1234", "e": [1.10, 10**30]}
    kept = scrubber.scrub(json.dumps(document).encode())
    assert kept is not None
    assert json.loads(kept) == {
        "b": HASH.of_json("x"),
        "c": "é 1234",
        "d": "####",
        "e": [1.1, 10**30],
    }
    assert "é" in kept.decode()


def test_a_removed_root_is_nothing() -> None:
    assert JsonScrubber([(JsonPath("$"), remove)], Keep()).scrub(b"{}") is None


@pytest.mark.parametrize("value", [b"", b"1234 x", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_for_the_other_rule(value: bytes) -> None:
    assert json_scrubber(a=remove).scrub(value) == DIGITS.scrub(value)


def test_the_first_of_two_members_of_a_name_is_not_kept() -> None:
    text = f'{{"a": {{"b": "{SECRET}"}}, "a": 1}}'
    kept = JsonScrubber([(JsonPath("$.a.b"), remove)], Keep()).scrub(text.encode())
    assert kept == b'{"a":1}'


def test_half_of_a_surrogate_pair_stays_an_escape() -> None:
    assert json_scrubber(a=remove).scrub(rb'{"b": "\ud800"}') == rb'{"b":"\ud800"}'
    assert DIGITS.change("\ud8001234") == "?####"


DOCUMENTS = st.recursive(
    st.none() | st.integers() | st.sampled_from(["", "a", "é"]) | st.just(SECRET),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["secret", "other"]), inner, max_size=2)
    ),
    max_leaves=10,
)


def secrets_below(document: Any, *, is_below: bool = False) -> bool:
    """Return whether there is the secret somewhere below a member named so."""
    if isinstance(document, dict):
        return any(
            secrets_below(value, is_below=is_below or name == "secret")
            for name, value in document.items()
        )
    if isinstance(document, list):
        return any(secrets_below(value, is_below=is_below) for value in document)
    return is_below and document == SECRET


@given(DOCUMENTS, st.sampled_from([remove, Hash(HASH).change, Replace(SECRET, "", HASH).change]))
def test_no_secret_is_left_below_a_path(document: Any, change: Any) -> None:
    scrubber = JsonScrubber([(JsonPath("$..secret"), change)], Drop())
    kept = scrubber.scrub(json.dumps(document).encode())
    assert kept is not None
    assert not secrets_below(json.loads(kept))
    again = scrubber.scrub(json.dumps(document).encode())
    assert again == kept


@given(st.binary(min_size=8), st.sampled_from([Drop(), Hash(HASH), Replace("(?s).*", "", HASH)]))
def test_bytes_do_not_survive(data: bytes, scrubber: Scrubber) -> None:
    scrubbed = RecordScrubber(scrubber, scrubber, [("*", scrubber)]).scrub(
        record(data, data, (("h", data),))
    )
    for part in (scrubbed.key, scrubbed.value, *(value for _, value in scrubbed.headers)):
        assert data not in (part or b"")
