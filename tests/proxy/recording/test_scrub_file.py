"""The file of rules: what it says is done, and an error names line and field."""

import pytest

from loadgen.command_error import CommandError
from protocol.records import Record
from proxy.recording.keyed_hash import KeyedHash
from proxy.recording.scrub_file import scrubbing_of

RULES = r"""
hash_key: ${env:SCRUB_KEY}
topics:
  - match: orders*
    key: hash
    value:
      json:
        $.customer.email: hash
        $..card: {replace: '[0-9]{12}([0-9]{4})', with: 'x\1'}
        $.note: drop
        $.city: keep
      otherwise: drop
    headers:
      trace-id: keep
      "*": {replace: a}
  - match: audit
    value: keep
"""
HASH = KeyedHash(b"k")


def scrubbed(record: Record, topic: str = "orders") -> Record:
    scrubber = scrubbing_of(RULES, "scrub.yaml", {"SCRUB_KEY": "k"}).of_topic(topic)
    assert scrubber is not None
    return scrubber.scrub(record)


def test_rules_are_read() -> None:
    value = b'{"customer":{"email":"e"},"pay":{"card":1234567890121111},"note":1,"city":"B"}'
    found = scrubbed(Record(0, 1, b"key", value, (("trace-id", b"a"), ("h", b"banana"))))
    email = HASH.of_bytes(b"e").decode()
    assert found.key == HASH.of_bytes(b"key")
    assert found.value == (
        f'{{"customer":{{"email":"{email}"}},"pay":{{"card":"x1111"}},"city":"B"}}'.encode()
    )
    assert found.headers == (("trace-id", b"a"), ("h", b"bnn"))
    assert scrubbed(Record(0, 1, None, b"avro", ())).value == b""


def test_what_a_topic_does_not_say_is_hashed_and_headers_are_dropped() -> None:
    found = scrubbed(Record(0, 1, b"key", b"v", (("h", b"a"),)), "audit")
    assert found == Record(0, 1, HASH.of_bytes(b"key"), b"v", ())


def test_without_a_key_the_hashes_of_two_files_differ() -> None:
    record = Record(0, 1, b"key", b"v", ())
    scrubbers = [scrubbing_of("topics: [{match: '*'}]", "s", {}).of_topic("t") for _ in range(2)]
    found = [scrubber.scrub(record) for scrubber in scrubbers if scrubber is not None]
    assert found[0].key != found[1].key
    assert found[0].key not in {b"key", None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "s.yaml:1: the rules: expected a mapping"),
        ("topics: [", "s.yaml:1: expected the node content, but found '<stream end>'"),
        ("topics: 1", "s.yaml:1: topics: expected array, not 1"),
        ("topics:\n- {}", "s.yaml:2: topics[0]: match is missing"),
        ("topic: []", "s.yaml:1: topic: unknown field; did you mean topics?"),
        (
            "topics:\n- match: a\n  key: hsah",
            "s.yaml:3: topics[0].key: 'hsah' is unknown; did you mean hash?",
        ),
        ("topics:\n- match: a\n  value: [1]", "s.yaml:3: topics[0].value: [1] is unknown"),
        (
            "topics:\n- match: a\n  headers: {h: hush}",
            "s.yaml:3: topics[0].headers.h: 'hush' is unknown",
        ),
        (
            "topics:\n- match: a\n  value: {json: {email: hash}}",
            "s.yaml:3: topics[0].value.json.email: 'email' is no path",
        ),
        (
            "topics:\n- match: a\n  value: {json: {$.a: hush}}",
            "s.yaml:3: topics[0].value.json.$.a: 'hush' is unknown",
        ),
        (
            "topics:\n- match: a\n  value: {json: 1}",
            "s.yaml:3: topics[0].value.json: expected paths",
        ),
        (
            "topics:\n- match: a\n  value: {json: {}, otherwse: drop}",
            "topics[0].value.otherwse: unknown field; did you mean otherwise?",
        ),
        (
            "topics:\n- match: a\n  key: {with: a}",
            "s.yaml:3: topics[0].key: expected replace, or json",
        ),
        (
            "topics:\n- match: a\n  key: {replace: '('}",
            "s.yaml:3: topics[0].key.replace: missing closing )",
        ),
        (
            "topics:\n- match: a\n  key: {replace: 'a', with: '\\1'}",
            "topics[0].key.replace: '\\\\1': the expression has no group 1",
        ),
        (
            "topics:\n- match: '*'\n- match: a",
            "s.yaml:3: topics[1].match: a is never used: * before it fits the same topics",
        ),
        ("hash_key: abc\ntopics: []", "s.yaml:1: hash_key: the key is a secret"),
        ("hash_key: '${env:X}'\ntopics: []", "s.yaml:1: hash_key: ${env:X}: there is no such"),
        ("hash_key: '${env:EMPTY}'\ntopics: []", "s.yaml:1: hash_key: ${env:EMPTY} is empty"),
        ("topics: []\ntopics: []", "s.yaml:2: topics: given twice"),
    ],
)
def test_an_error_names_the_line_and_the_field(text: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        scrubbing_of(text, "s.yaml", {"EMPTY": ""})
    assert message in str(caught.value)
