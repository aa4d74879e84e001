from typing import Any

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.faults import rules_from_json
from proxy.proxied_rules import check_proxied


@pytest.mark.parametrize(
    "rule",
    [
        {"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "topic": "orders"},
        {"api": "Fetch", "change_records": "flip_byte"},
        {"drop": "within_response", "drop_by": "reset"},
        {"hold": "before_response", "api": "JoinGroup"},
        {"stop_broker": "self", "api": "Produce"},
        {"isolate_broker": 1, "elect": False, "restart_after_ms": 5, "at_once": True},
        {"refuse_connection": True, "broker": 1},
        {"api": "Produce", "advance_ms": 1000},
    ],
)
def test_rules_on_requests_and_connections_are_accepted(rule: dict[str, Any]) -> None:
    (made,) = rules_from_json(rule)
    check_proxied(made)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"leader": "next", "topic": "orders"}, "leader: this is a proxy: it has no leaders"),
        ({"coordinator": "next", "group": "g"}, "coordinator: this is a proxy"),
        ({"fence_broker": 1}, "fence_broker: this is a proxy: it has no controller"),
        ({"api_versions": "3.0"}, "api_versions: this is a proxy: it has no APIs"),
        ({"members": "fence", "group": "g"}, "members: this is a proxy: it has no groups"),
        ({"api": "Metadata", "stale_metadata": True}, "stale_metadata: this is a proxy"),
        ({"api": "Produce", "change_records": "drop_record"}, "change_records: .* api Fetch"),
        ({"stop_broker": 1, "elect": True}, "elect: this is a proxy: it has no controller"),
    ],
)
def test_rules_on_the_state_of_the_cluster_are_refused(rule: dict[str, Any], reason: str) -> None:
    (made,) = rules_from_json(rule)
    with pytest.raises(ValueError, match=reason):
        check_proxied(made)
