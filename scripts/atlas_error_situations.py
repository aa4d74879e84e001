"""Write the situations of errors: `python -m scripts.atlas_error_situations`.

They come from the table in `scripts.atlas_error_matrix`. Each file stands alone. The other files of
`atlas/situations/` are written by hand.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from protocol.messages import API_NAMES, api_key_of
from scripts.atlas_error_classes import (
    CLIENT_SOURCES,
    RECOVERABLE,
    REFRESH,
    RETRIABLE,
    exception_of,
    exception_url,
)
from scripts.atlas_error_matrix import ERROR_RULES
from scripts.atlas_error_rules import (
    ABORT,
    FAIL,
    FENCE,
    GO_ON,
    NEW_SESSION,
    REJOIN,
    RETRY,
    Rules,
)

TARGET = Path(__file__).parent.parent / "atlas" / "situations"
WIKI = "https://cwiki.apache.org/confluence/display/KAFKA/"
KIPS = {
    "KIP-91": "KIP-91+Provide+Intuitive+User+Timeouts+in+The+Producer",
    "KIP-227": "KIP-227%3A+Introduce+Incremental+FetchRequests+to+Increase+Partition+Scalability",
    "KIP-580": "KIP-580%3A+Exponential+Backoff+for+Kafka+Clients",
    "KIP-932": "KIP-932%3A+Queues+for+Kafka",
}
AFTER_APPEND = {"NOT_ENOUGH_REPLICAS_AFTER_APPEND", "REQUEST_TIMED_OUT"}
TOPIC_ID_VERSIONS = {
    ("Produce", "UNKNOWN_TOPIC_ID"): 13,
    ("Produce", "INCONSISTENT_TOPIC_ID"): 13,
    ("Produce", "CONCURRENT_TRANSACTIONS"): 12,
    ("Produce", "TRANSACTION_ABORTABLE"): 11,
    ("Fetch", "UNKNOWN_TOPIC_ID"): 13,
    ("Fetch", "INCONSISTENT_TOPIC_ID"): 13,
    ("Fetch", "FETCH_SESSION_TOPIC_ID_ERROR"): 13,
    ("Fetch", "OFFSET_NOT_AVAILABLE"): 11,
    ("ListOffsets", "OFFSET_NOT_AVAILABLE"): 5,
    ("OffsetFetch", "UNSTABLE_OFFSET_COMMIT"): 7,
    ("TxnOffsetCommit", "TRANSACTION_ABORTABLE"): 4,
    ("TxnOffsetCommit", "CONCURRENT_TRANSACTIONS"): 5,
    ("EndTxn", "TRANSACTION_ABORTABLE"): 4,
    ("InitProducerId", "PRODUCER_FENCED"): 4,
    ("CreateTopics", "THROTTLING_QUOTA_EXCEEDED"): 6,
}
"""The first version of an API in which Kafka answers an error; any if it is not here."""
TOP_LEVEL = {
    "FETCH_SESSION_ID_NOT_FOUND",
    "FETCH_SESSION_TOPIC_ID_ERROR",
    "INVALID_FETCH_SESSION_EPOCH",
    "INVALID_SHARE_SESSION_EPOCH",
    "SHARE_SESSION_NOT_FOUND",
}
EXPELLED = {"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"}
EXPELLING = {"Heartbeat", "SyncGroup", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat"}
"""Requests of members; the broker forgets one that gets an error of `EXPELLED`."""
HEARTBEATS_THAT_JOIN = {"ConsumerGroupHeartbeat", "ShareGroupHeartbeat"}
OFFSET_FETCH_PARTS = {"TOPIC_AUTHORIZATION_FAILED", "UNSTABLE_OFFSET_COMMIT"}
SECOND_FETCH = {*TOP_LEVEL} - {"FETCH_SESSION_TOPIC_ID_ERROR"}
"""Errors that need a session, which the first request opens."""
READERS = {"consumer", "group", "share"}
SAFE = ["kept", "lost_and_reported", "none"]
NOT_SUCCESS = ["retriable", "abortable", "fatal", "timeout"]
PERMANENT = ["abortable", "fatal"]


def situations() -> Iterator[dict[str, Any]]:
    """Yield the content of each file."""
    for rules in ERROR_RULES:
        for reaction, errors in rules.errors.items():
            for error in errors.split():
                yield situation(rules, reaction, error, is_for_ever=False)
                if reaction in rules.is_also_for_ever:
                    yield situation(rules, reaction, error, is_for_ever=True)


def situation(rules: Rules, reaction: str, error: str, *, is_for_ever: bool) -> dict[str, Any]:
    """Return the content of one file."""
    how = "always" if is_for_ever else "once"
    parts = [api_key_of(rules.api).name, error, rules.suffix, how]
    arguments = dict(rules.arguments)
    if error in EXPELLED and rules.api == "ConsumerGroupHeartbeat":
        arguments |= {"pause_ms": 700}
    cluster = dict(rules.cluster)
    if reaction == REJOIN and rules.api in {"SyncGroup", "Heartbeat"}:
        # Who joins with a new member id waits until the session of the old one is over.
        arguments |= {"session_timeout_ms": 2000}
        cluster["config"] = {"group.min.session.timeout.ms": 1000}
    if rules.area == "producer":
        arguments |= {"idempotent": True, "records": 3 if reaction == RETRY else 1}
    if is_for_ever:
        arguments |= {"retry_backoff_ms": 100}
        if rules.area in {"consumer", "group", "share"}:
            arguments |= {"polls_max": 4}
        if rules.area == "producer":
            arguments |= {"records": 1, "delivery_timeout_ms": 1500, "request_timeout_ms": 1000}
    elif rules.area in {"producer", "transaction"}:
        arguments |= {"delivery_timeout_ms": 8000}
    elif error in SECOND_FETCH:
        arguments |= {"records": 11, "polls_max": 3}
    # One batch in flight: a broker without state takes the next batch behind one that it refused.
    has_retry = rules.workload == "produce" and reaction == RETRY and not is_for_ever
    workload = "produce_each" if has_retry else rules.workload
    topics = {"orders": {"partitions": 1}}
    if rules.workload == "process":
        topics["invoices"] = {"partitions": 1}
    records = 10 if rules.api == "DeleteRecords" else rules.records
    return {
        "id": "-".join(part for part in parts if part),
        "title": title(rules, error, is_for_ever=is_for_ever),
        "area": rules.area,
        "sources": list(sources(rules, reaction, error, is_for_ever=is_for_ever)),
        "workload": workload,
        **({"arguments": arguments} if arguments else {}),
        **cluster,
        "topics": topics,
        **({"records": {"orders": records}} if records else {}),
        "faults": list(faults(rules, error, is_for_ever=is_for_ever)),
        "expect": expectation(rules, reaction, error, is_for_ever=is_for_ever),
    }


def title(rules: Rules, error: str, *, is_for_ever: bool) -> str:
    which = "Every" if is_for_ever else "The first"
    if is_second(rules.api, error) and not is_for_ever:
        which = "The second"
    whose = {"transaction": " of a transactional producer", "consumer": " of a consumer"}
    return f"{which} {rules.api}{whose.get(rules.suffix, '')} is answered with {error}"


def faults(rules: Rules, error: str, *, is_for_ever: bool) -> Iterator[dict[str, Any]]:
    yield from rules.before
    for api in (rules.api, *rules.also):
        rule: dict[str, Any] = {"api": api}
        if (api, error) in TOPIC_ID_VERSIONS:
            rule["version_min"] = TOPIC_ID_VERSIONS[api, error]
        if rules.api == "Metadata":
            rule["topic"] = "orders"
        if rules.api == "FindCoordinator":
            rule |= {"transactional_id": "payments"} if rules.suffix else {"group": "billing"}
        if rules.api == "InitProducerId" and rules.suffix:
            rule["transactional_id"] = "payments"
        rule["error"] = error
        if level := level_of(rules.api, error):
            rule["level"] = level
        if error in EXPELLED and rules.api in EXPELLING:
            rule |= {"group": "billing", "members": "fence"}
        if not is_for_ever:
            rule |= {"nth": 2} if is_second(rules.api, error) else {"times": 1}
        yield rule


def is_second(api: str, error: str) -> bool:
    """Return whether the first request has to succeed, so that the error fits the second one."""
    return error in SECOND_FETCH or (error in EXPELLED and api in HEARTBEATS_THAT_JOIN)


def level_of(api: str, error: str) -> str | None:
    """Return where Kafka puts an error of an API that has both levels; None is the default."""
    if error in TOP_LEVEL:
        return "top"
    is_of_parts = (
        api == "Fetch"
        or (api.startswith("Share") and api != "ShareGroupHeartbeat" and error[:5] != "GROUP")
        or (api == "OffsetFetch" and error in OFFSET_FETCH_PARTS)
    )
    return "part" if is_of_parts else None


def sources(
    rules: Rules, reaction: str, error: str, *, is_for_ever: bool
) -> Iterator[dict[str, str]]:
    """Yield what the expectation follows from."""
    handler = {
        "kind": "class",
        "name": rules.handler.rpartition("/")[2],
        "url": f"{CLIENT_SOURCES}/clients/{rules.handler}.java",
    }
    if reaction == RETRY:
        yield class_of(error)
    elif reaction == NEW_SESSION:
        name = "KIP-932" if rules.area == "share" else "KIP-227"
        yield kip(name, "a client whose session is gone opens a new one and goes on")
    elif reaction == FAIL:
        yield {
            **class_of(error),
            "says": f"{what_it_is(error)}: another attempt would fail as well",
        }
    else:
        yield {**handler, "says": HANDLERS[reaction]}
    if is_for_ever and reaction == RETRY:
        if rules.area == "producer":
            yield kip("KIP-91", "delivery.timeout.ms bounds the time from send() to the report")
        if rules.api != "Fetch":
            yield kip("KIP-580", "a client waits for retry.backoff.ms, 100 here, between attempts")


HANDLERS = {
    ABORT: "the transaction fails; the producer may abort it and begin another one",
    FENCE: "the producer is fenced or may not act: it fails for good, and repeats no request",
    REJOIN: "the member gives up its membership or generation, and joins the group again",
    GO_ON: "the client goes on, and does not fail because of this response",
}


def what_it_is(error: str) -> str:
    if error in RETRIABLE:
        return "the Java client does not retry here"
    if error in RECOVERABLE:
        return "its class is an ApplicationRecoverableException, not a RetriableException"
    return "its class is not a RetriableException"


def class_of(error: str) -> dict[str, str]:
    also = ", with new metadata" if error in REFRESH else ""
    return {
        "kind": "class",
        "name": exception_of(error),
        "says": f"it is a RetriableException: the request may succeed if it is repeated{also}",
        "url": exception_url(error),
    }


def kip(name: str, says: str) -> dict[str, str]:
    return {"kind": "KIP", "name": name, "says": says, "url": WIKI + KIPS[name]}


def expectation(rules: Rules, reaction: str, error: str, *, is_for_ever: bool) -> dict[str, Any]:
    """Return what a client must do."""
    if is_for_ever:
        return for_ever(rules, reaction, error)
    is_old_version_spared = any(
        pair[1] == error for pair in TOPIC_ID_VERSIONS if pair[0] == rules.api
    )
    is_optional = rules.api == "OffsetForLeaderEpoch"  # clients without KIP-320 send none
    twice = {} if is_optional or is_old_version_spared else {"requests": {rules.api: [2, None]}}
    if rules.area == "admin":
        if reaction == RETRY:
            return {"reported": ["success", "retriable"], "usable": True}
        return {"reported": NOT_SUCCESS if error in RETRIABLE else PERMANENT, "usable": True}
    if rules.area in READERS and rules.api != "OffsetCommit" and reaction != FAIL:
        # A client may show its user what it goes on behind.
        data = ["kept", "duplicated"] if reaction == REJOIN else ["kept"]
        requests = twice if reaction in {RETRY, NEW_SESSION} else {}
        return {"data": data, **requests, "usable": True}
    if reaction in {RETRY, NEW_SESSION}:
        return {"data": ["kept"], "reported": ["success"], **twice, "usable": True}
    if rules.workload == "process":
        return {"data": ["kept", "none", "lost_and_reported"]}
    if reaction == ABORT:
        says_so = error == "TRANSACTION_ABORTABLE"
        reported = ["abortable"] if says_so else PERMANENT
        return {"data": SAFE, "reported": reported, "usable": True}
    if reaction == FENCE:
        return {"data": SAFE, "reported": ["fatal", "abortable"]}
    return failed(rules, error)


def failed(rules: Rules, error: str) -> dict[str, Any]:
    """Return what a client must do with a permanent error that comes once."""
    if rules.api == "Produce":
        usable = {} if error == "CLUSTER_AUTHORIZATION_FAILED" else {"usable": True}
        return {"data": ["lost_and_reported"], "requests": {"Produce": [1, 1]}, **usable}
    if rules.area in {"producer", "transaction"}:
        return {"data": SAFE}
    if rules.api in {"OffsetCommit", "ShareAcknowledge"}:
        return {"reported": NOT_SUCCESS}
    return {"data": ["kept", "unseen", "none"]}


def for_ever(rules: Rules, reaction: str, error: str) -> dict[str, Any]:
    """Return what a client must do if the error does not end."""
    # Fetches are not retried: the Java consumer sends the next one at once.
    has_backoff = reaction == RETRY and rules.api != "Fetch"
    backoff = {"backoff_ms_min": 50} if has_backoff else {}
    if rules.area == "admin":
        return {"reported": ["retriable", "timeout"], **backoff}
    if rules.area == "producer":
        data = {} if error in AFTER_APPEND else {"data": ["lost_and_reported", "none"]}
        if reaction == FAIL:
            once = {"requests": {"Produce": [1, 1]}} if rules.api == "Produce" else {}
            return {**data, "reported": NOT_SUCCESS, **once}
        return {**data, "reported": ["retriable", "timeout"], **backoff, "within_ms": 3500}
    if reaction == GO_ON:
        return {"data": ["kept"], "reported": ["success"]}
    if rules.api == "OffsetCommit":
        return {"reported": ["retriable", "timeout"], **backoff}
    found = {"data": ["unseen", "none"]}
    return {**found, "reported": NOT_SUCCESS} if reaction == FAIL else {**found, **backoff}


class Flow(dict[str, Any]):
    """A mapping on one line."""


class FlowList(list[Any]):
    """A list on one line."""


class Dumper(yaml.SafeDumper):
    """Writes lists of a mapping with an indent."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


Dumper.add_representer(
    Flow,
    lambda dumper, value: dumper.represent_mapping("tag:yaml.org,2002:map", value, True),
)
Dumper.add_representer(
    FlowList,
    lambda dumper, value: dumper.represent_sequence("tag:yaml.org,2002:seq", value, True),
)


def text_of(content: dict[str, Any]) -> str:
    """Return a situation as YAML, in the order of `atlas.situation.Situation`."""
    shown = dict(content)
    for name in ("arguments", "topics", "records"):
        if name in shown:
            shown[name] = Flow(shown[name])
    shown["faults"] = [Flow(rule) for rule in shown["faults"]]
    shown["expect"] = {
        name: Flow(value)
        if isinstance(value, dict)
        else FlowList(value)
        if isinstance(value, list)
        else value
        for name, value in shown["expect"].items()
    }
    return yaml.dump(shown, Dumper=Dumper, sort_keys=False, width=110)


if __name__ == "__main__":
    assert {rules.api for rules in ERROR_RULES} <= set(API_NAMES.values())
    for content in situations():
        (TARGET / f"{content['id']}.yaml").write_text(text_of(content), encoding="utf-8")
