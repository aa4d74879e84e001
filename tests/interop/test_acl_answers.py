"""Answers about rules: Apache Kafka's with its authorizer, and ours, to the same requests."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.messages import request_class, response_class
from scenarios.maven import CannotRunError
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.raw_client import RawClient

pytestmark = pytest.mark.xdist_group("jvm")

CONFIG = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
_Create, _Delete = messages.CreateAclsRequest, messages.DeleteAclsRequest


class Both:
    """Sends the same request to Apache Kafka and to our broker, and compares the responses."""

    def __init__(self, apache: RawClient, mock: RawClient) -> None:
        self._clients = apache, mock

    def ask(self, api_key: ApiKey, version: int, **fields: Any) -> Any:
        """Return what both answered, which is the same but for the order of rules."""
        request = request_class(api_key)(version=version, **fields)
        answers = [
            answer_of(client.ask(request, response_class(api_key), api_key, version))
            for client in self._clients
        ]
        assert answers[1] == answers[0]
        return answers[1]


def answer_of(response: Any) -> Any:
    """Return a response as values that can be compared: the order of rules is not defined."""
    if hasattr(response, "resources"):
        rules = [
            (str(resource.resource_type), resource.resource_name, resource.pattern_type, str(rule))
            for resource in response.resources
            for rule in resource.acls
        ]
        return response.error_code, response.error_message, sorted(rules)
    if hasattr(response, "filter_results"):
        return [
            (result.error_code, result.error_message, sorted(map(str, result.matching_acls)))
            for result in response.filter_results
        ]
    return [(result.error_code, result.error_message) for result in response.results]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("apache-kafka")
    apache = ApacheKafka(folder, properties=CONFIG)
    try:
        apache.start()
    except CannotRunError as error:
        pytest.skip(str(error))
    try:
        with (
            MockKafka(config=CONFIG) as mock,
            RawClient(apache.bootstrap_servers) as one,
            RawClient(mock.bootstrap_servers) as other,
        ):
            yield Both(one, other)
    finally:
        apache.stop()


def creation(**fields: Any) -> Any:
    usual = {"resource_type": 2, "resource_name": "t", "resource_pattern_type": 3}
    who = {"principal": "User:a", "host": "*", "operation": 3, "permission_type": 3}
    return _Create.AclCreation(**{**usual, **who, **fields})


def filter_fields(**fields: Any) -> dict[str, Any]:
    names = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    types = {"resource_type_filter": 1, "pattern_type_filter": 1}
    return {**names, **types, "operation": 1, "permission_type": 1, **fields}


RULES: tuple[dict[str, Any], ...] = (
    {},
    {"resource_pattern_type": 4},
    {"resource_name": "top", "resource_pattern_type": 4},
    {"resource_name": "*"},
    {"resource_type": 3, "operation": 2},
    {"resource_type": 4, "resource_name": "kafka-cluster", "operation": 9},
    {"resource_type": 5, "operation": 15},
    {"resource_type": 6, "operation": 8},
    {"resource_type": 7, "resource_name": "User:b", "operation": 13},
    {"principal": "User:CN=a,O=b", "host": "10.0.0.1", "permission_type": 2},
    {"principal": ":", "host": "10.0.0.0/8"},
    {"host": "2001:db8::/32"},
    {"host": "no address"},
    {"resource_name": "no name of a topic!"},
    {"operation": 12},
)
REFUSED: tuple[dict[str, Any], ...] = (
    {"resource_type": 4},
    {"resource_name": ""},
    {"resource_type": 99},
    {"resource_pattern_type": 99},
    {"operation": 99},
    {"permission_type": 99},
    {"permission_type": -1},
    {"principal": "a"},
    {"principal": ""},
    {"host": ""},
    {"host": "10.0.0.0/33"},
    {"host": "10.0.0/8"},
    {"host": "::1/129"},
    {"host": "a:b/64"},
    {"resource_type": 4, "resource_name": "", "host": ""},
    {"resource_name": "", "resource_type": 99},
)
OF_FILTERS = (
    {"resource_type": 1},
    {"resource_pattern_type": 1},
    {"resource_pattern_type": 2},
    {"operation": 1},
    {"permission_type": 1},
)
FILTERS: list[dict[str, Any]] = [
    {"resource_name_filter": name, "pattern_type_filter": pattern_type, **more}
    for name, pattern_type in product((None, "t", "topic", "*", "top"), (1, 2, 3, 4, 99))
    for more in ({}, {"resource_type_filter": 2}, {"principal_filter": "User:a", "operation": 3})
]
OTHER_FILTERS: tuple[dict[str, Any], ...] = (
    {"host_filter": "10.0.0.1"},
    {"host_filter": "*", "permission_type": 3},
    {"permission_type": 2},
    {"resource_type_filter": 99},
    {"operation": 99},
    {"permission_type": 99},
)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rules_are_created_found_and_deleted_alike(both: Both, version: int) -> None:
    creations = [creation(**fields) for fields in (*RULES, *REFUSED, {}, *RULES[:2])]
    for _ in range(2):
        both.ask(ApiKey.CREATE_ACLS, version, creations=creations)
    both.ask(ApiKey.CREATE_ACLS, version, creations=[])
    for fields in (*FILTERS, *OTHER_FILTERS):
        both.ask(ApiKey.DESCRIBE_ACLS, version, **filter_fields(**fields))
    filters = [
        _Delete.DeleteAclsFilter(**filter_fields(**fields))
        for fields in (*OTHER_FILTERS, *FILTERS[:20], *FILTERS[-6:])
    ]
    assert both.ask(ApiKey.DELETE_ACLS, version, filters=filters)
    _, _, left = both.ask(ApiKey.DESCRIBE_ACLS, version, **filter_fields())
    everything = [_Delete.DeleteAclsFilter(**filter_fields())]
    ((_, _, deleted),) = both.ask(ApiKey.DELETE_ACLS, version, filters=everything)
    assert len(deleted) == len(left)
    assert both.ask(ApiKey.DELETE_ACLS, version, filters=everything) == [(0, None, [])]


@pytest.mark.parametrize("fields", OF_FILTERS)
def test_a_rule_with_what_only_filters_have_fails_the_request(
    both: Both, fields: dict[str, int]
) -> None:
    everything = [_Delete.DeleteAclsFilter(**filter_fields())]
    both.ask(ApiKey.DELETE_ACLS, 3, filters=everything)
    creations = [creation(), creation(**fields), creation(host="")]
    found = both.ask(ApiKey.CREATE_ACLS, 3, creations=creations)
    assert found == [(-1, None)] * 3
    assert both.ask(ApiKey.DESCRIBE_ACLS, 3, **filter_fields()) == (0, "", [])
