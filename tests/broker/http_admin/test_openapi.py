"""The OpenAPI document describes the operations, from their declarations."""

import json
import re
from typing import Any

import pytest

from broker.faults.rule import rule_schema
from broker.http_admin import web  # noqa: F401 - declares all operations
from broker.http_admin.openapi import openapi_document
from broker.http_admin.operation import OPERATIONS


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(openapi_document(OPERATIONS, "1.2")))
    return document


def test_every_operation_is_in_the_document(document: dict[str, Any]) -> None:
    described = {
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    }
    assert described == {(op.method, op.path) for op in OPERATIONS}


def test_the_parameters_of_a_path_are_described_and_required(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for method in methods.values():
            parameters = method.get("parameters", [])
            required = [parameter["name"] for parameter in parameters if parameter["in"] == "path"]
            assert sorted(required) == sorted(re.findall(r"{(\w+)}", path))
            assert all(
                parameter["required"] for parameter in parameters if parameter["in"] == "path"
            )


def test_every_reference_resolves(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    references = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document))
    assert set(references) <= schemas.keys()
    assert len(set(references)) > 20


def test_a_parameter_that_may_be_left_out_is_not_null(document: dict[str, Any]) -> None:
    (broker,) = (
        parameter
        for parameter in document["paths"]["/v1/requests"]["get"]["parameters"]
        if parameter["name"] == "broker"
    )
    assert broker["schema"] == {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
    assert broker["required"] is False


def test_the_description_of_an_operation_includes_its_query_and_what_that_extends(
    document: dict[str, Any],
) -> None:
    description = document["paths"]["/v1/requests"]["get"]["description"]
    assert "all set values must fit" in description
    assert "newest lines" in description


def test_a_body_is_required_if_one_of_its_fields_is(document: dict[str, Any]) -> None:
    paths = document["paths"]
    assert paths["/v1/topics"]["post"]["requestBody"]["required"] is True
    assert paths["/v1/brokers/{node_id}/stop"]["post"]["requestBody"]["required"] is False


def test_only_open_operations_need_no_token(document: dict[str, Any]) -> None:
    assert document["paths"]["/healthz"]["get"]["security"] == []
    assert {"token": []} in document["paths"]["/v1/clock"]["get"]["security"]


def test_responses_have_their_media_type_and_errors_the_problem_document(
    document: dict[str, Any],
) -> None:
    events = document["paths"]["/v1/requests/events"]["get"]["responses"]
    assert list(events["200"]["content"]) == ["text/event-stream"]
    assert list(events["default"]["content"]) == ["application/problem+json"]
    assert "content" not in document["paths"]["/v1/reset"]["post"]["responses"]["204"]


def test_a_fault_rule_has_the_words_bounds_and_descriptions_of_its_declaration(
    document: dict[str, Any],
) -> None:
    rule = document["components"]["schemas"]["FaultRule"]
    fields = rule["properties"]
    assert rule["additionalProperties"] is False
    assert fields.keys() == rule_schema().keys()
    assert fields["drop"]["enum"] == ["before_handling", "before_response", "within_response"]
    assert (fields["times"]["minimum"], fields["times"]["type"]) == (1, "integer")
    assert all(field["description"] for field in fields.values())
    body = document["paths"]["/v1/faults"]["post"]["requestBody"]
    assert "#/components/schemas/FaultRule" in json.dumps(body)


def test_rules_about_several_fields_are_in_the_schema_or_announced(
    document: dict[str, Any],
) -> None:
    schemas, paths = document["components"]["schemas"], document["paths"]
    assert len(schemas["AdvanceBody"]["oneOf"]) == 2
    assert paths["/v1/clock/advance"]["post"]["requestBody"]["required"]
    refusal = paths["/v1/faults"]["post"]["responses"]["422"]
    assert "contradict each other" in refusal["description"]
    assert "422" not in paths["/v1/clock"]["put"]["responses"]
