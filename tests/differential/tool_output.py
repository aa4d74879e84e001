"""What the output of Kafka's tools has in common on any two clusters."""

import json
import re

_MAPPED = (
    # At the same moment one call of the client ends in one of two ways.
    (
        re.compile(
            r"Call\(callName=.*timed out at .*attempt\(s\)"
            r"|Timed out waiting for a node assignment\. Call: \w+(\(api=\w+\))?"
        ),
        "The client's call timed out.",
    ),
    (re.compile(r"(?m)^Caused by: \S+\.DisconnectException.*\n?"), ""),
    (re.compile(r"(?<=TopicId: )[\w-]{22}"), "topic-id"),
    (re.compile(r"(?<=Cluster ID: )[\w-]{22}"), "cluster-id"),
    (re.compile(r"(?<=ClusterId: )\s*[\w-]{22}"), "cluster-id"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "uuid"),
    (re.compile(r"(?m)^\[?20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d+\]? "), ""),
    (re.compile(r"\b1[789]\d{11}\b"), "time"),
    (re.compile(r"(?m)^\s+at .*\n|^\s+\.\.\. \d+ more\n"), ""),
    (re.compile(r"/mock-kafka/broker-\d+|/[^\s\"]+/data\b|/tmp/[^\s\"}]+"), "folder"),
    (re.compile(r"\b127\.0\.0\.1:\d+"), "address"),
    (re.compile(r"(?<=CONTROLLER://)servers\b"), "address"),
    (re.compile(r"\bconsole-consumer-\d+"), "console-consumer-N"),
    (re.compile(r"\b(tries=|after |correlation id |Epoch: |HighWatermark: +)\d+"), r"\1N"),
    (re.compile(r"(?<=\"directoryId\": \")[\w-]{22}|(?<=\t)[\w-]{22}(?=\t)"), "directory-id"),
    (re.compile(r"(?<=directoryId=)[\w-]{22}"), "directory-id"),
    # Clients choose their member ids since the consumer protocol.
    (re.compile(r"(?<=[ ,])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{22}(?= )"), "member-id"),
    (
        re.compile(
            r"(?<=Valid states are: ).*|(?<=takes one of these options: ).*"
            r"|(?<=takes the following options: ).*|(?<=one of the following scenarios: ).*"
            r"|(?<=Option combination \")\[.*?\](?=\")"
        ),
        "in any order",
    ),
    (re.compile(r"(?<=only supports operations )\[.*\]"), "in any order"),
    (re.compile(r"(SCRAM-SHA-512=\S+), (SCRAM-SHA-256=\S+)"), r"\2, \1"),
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d\b"), "date"),
    # Columns are as wide as their values, ids included.
    (re.compile(r" {2,}"), "  "),
    (re.compile(r"(?m) +$"), ""),
)
_NUMBER = re.compile(r"\d+(\.\d+)?")
_JSON_LINE = re.compile(r"(?m)^\{.*\}$")


def comparable(text: str, *, has_own_numbers: bool, has_any_order: bool) -> str:
    """Return output without what differs between any two clusters.

    `has_own_numbers` masks numbers, `has_any_order` sorts the lines.
    """
    text = _JSON_LINE.sub(lambda found: _sorted_by_key(found[0]), text)
    for pattern, replacement in _MAPPED:
        text = pattern.sub(replacement, text)
    if has_own_numbers:
        text = _NUMBER.sub("N", text)
    if has_any_order:
        return "\n".join(sorted(line.strip() for line in text.splitlines()))
    return text


def _sorted_by_key(line: str) -> str:
    """Return a line of JSON in the order of its keys: in Kafka's tools each JVM has another one."""
    try:
        return json.dumps(json.loads(line), sort_keys=True)
    except ValueError:
        return line
