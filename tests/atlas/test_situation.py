"""The reader of situations: types and defaults, and errors that name file, line and field."""

import pytest

from atlas.situation import (
    Advance,
    NthRequest,
    SituationError,
    load_situation,
    load_situations,
    parse_situation,
    situation_digest,
    situation_ids,
)

LEAST = """\
id: KIP-091-3
title: A broker appends a batch and never answers
area: producer
workload: produce
expect: {}
"""


def test_the_least_situation_has_defaults() -> None:
    situation = parse_situation(LEAST, "KIP-091-3.yaml")
    assert (situation.brokers, situation.release, situation.sources) == (1, None, ())
    assert situation.faults == ()
    assert situation.expect.reported == ()
    assert situation.expect.usable is None


def test_all_fields_are_read() -> None:
    text = LEAST.replace("expect: {}", "").replace("workload", "brokers: 3\nworkload") + (
        "topics: {orders: {partitions: 2, config: {retention.ms: -1}}}\n"
        "records: {orders: 10}\n"
        "faults:\n  - {api: Produce, throttle_time_ms: 5}\n"
        "advance_s:\n  - {after: {api: Produce, count: 2}, s: 3600}\n"
        "expect:\n"
        "  data: [kept, lost_and_reported]\n"
        "  requests: {Produce: [2, null]}\n"
        "  throttle: honoured\n"
        "on_kafka: {by: topic}\n"
    )
    situation = parse_situation(text, "KIP-091-3.yaml")
    assert situation.topics["orders"].config == {"retention.ms": -1}
    assert situation.advance_s == (Advance(after=NthRequest(api="Produce", count=2), s=3600),)
    assert situation.expect.requests == {"Produce": (2, None)}
    assert situation.on_kafka is not None
    assert situation.on_kafka.by == "topic"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("area: produer", "KIP-091-3.yaml:3: area: 'produer' is unknown; did you mean producer?"),
        ("title: short", "KIP-091-3.yaml:2: title: expected str of length >= 10, not 'short'"),
        ("brokers: 4", "KIP-091-3.yaml:6: brokers: expected int <= 3, not 4"),
        ("broker: 1", "KIP-091-3.yaml:6: broker: unknown field; did you mean brokers?"),
        ("records: {orders: 1}", "KIP-091-3.yaml:6: records.orders: is not in topics"),
        (
            "acls: [{principal: alice, operations: [read]}]",
            "KIP-091-3.yaml:6: acls[0]: needs a topic, a group or a transactional_id",
        ),
        (
            "acls: [{principal: alice, operations: [reed], topic: orders}]",
            "KIP-091-3.yaml:6: acls[0].operations[0]: 'reed' is unknown; did you mean read?",
        ),
        (
            "id: KIP-091-4",
            "KIP-091-3.yaml:1: id: must be the name of the file, not 'KIP-091-4'",
        ),
        (
            "expect: {requests: {Prodce: [1, 2]}}",
            "KIP-091-3.yaml:5: expect.requests.Prodce: 'Prodce' is unknown; did you mean Produce?",
        ),
        (
            "expect: {requests: {Produce: [3, 2]}}",
            "KIP-091-3.yaml:5: expect.requests.Produce: 2 is less than 3",
        ),
        (
            "expect: {throttle: honoured}",
            "KIP-091-3.yaml:5: expect.throttle: neither a quota nor a rule throttles",
        ),
        (
            "advance_s: [{after: {api: Produced, count: 1}, s: 1}]",
            (
                "KIP-091-3.yaml:6: advance_s[0].after.api: 'Produced' is unknown; "
                "did you mean Produce?"
            ),
        ),
        (
            "sources: [{kind: KIP, name: KIP-91, says: it bounds, url: 'http://x.org/a'}]",
            (
                "KIP-091-3.yaml:6: sources[0].url: expected str matching regex "
                "'^https://[a-z0-9.-]+/\\\\S*$', not 'http://x.org/a'"
            ),
        ),
    ],
)
def test_an_error_names_file_line_and_field(line: str, expected: str) -> None:
    field = line.partition(":")[0]
    kept = [one for one in LEAST.splitlines() if one.partition(":")[0] != field]
    at = [one.partition(":")[0] for one in LEAST.splitlines()]
    kept.insert(at.index(field) if field in at else len(kept), line)
    with pytest.raises(SituationError) as raised:
        parse_situation("\n".join(kept), "KIP-091-3.yaml")
    assert str(raised.value) == expected


def test_a_family_must_be_known() -> None:
    text = LEAST.replace("KIP-091-3", "PRODUSE-NONE-once")
    with pytest.raises(SituationError, match="family 'PRODUSE' is unknown; did you mean PRODUCE"):
        parse_situation(text, "PRODUSE-NONE-once.yaml")


def test_the_family_of_a_kip_has_its_number() -> None:
    assert load_situation("KIP-091-3").family == "KIP-091"
    assert load_situation("PRODUCE-LOST-1").family == "PRODUCE"


def test_patterns_choose_situations() -> None:
    chosen = load_situations(["KIP-091-*", "PRODUCE-LOST-1"])
    assert {one.partition("-")[0] for one in chosen} == {"KIP", "PRODUCE"}
    assert list(chosen) == sorted(chosen)
    with pytest.raises(SituationError, match="no situation has the id 'NOTHING-"):
        load_situations(["KIP-091-*", "NOTHING-*"])


def test_an_unknown_id_has_a_suggestion() -> None:
    with pytest.raises(SituationError, match="'KIP-91-3'; did you mean KIP-091-3"):
        load_situation("KIP-91-3")


def test_the_digest_is_of_the_file() -> None:
    one, two = situation_ids()[:2]
    assert situation_digest(one) == situation_digest(one)
    assert situation_digest(one) != situation_digest(two)
    assert len(situation_digest(one)) == 64
