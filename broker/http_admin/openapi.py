"""The OpenAPI document of the admin port, from the declarations of its operations."""

from collections.abc import Iterable
from inspect import cleandoc
from typing import Any

import msgspec

from broker.http_admin.operation import INT32_MAX, INT64_MAX, Input, Operation, ProblemDocument
from broker.http_admin.request_view import RequestView

_REFERENCE = "#/components/schemas/{name}"
_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The ETag of a response that the client has.",
}
TITLE = "mock-kafka admin port"
DESCRIPTION = (
    "Inspect and control a mock Kafka cluster: clock, brokers, leaders, faults, quotas, topics and "
    "the journal of requests. Errors are problem documents (RFC 9457) that say what to do."
)


def openapi_document(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """Return all operations as an OpenAPI 3.1 document."""
    listed = list(operations)
    kinds = _kinds(listed)
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    schema_of = {_key(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    for op in listed:
        if isinstance(op.body_type, type) and issubclass(op.body_type, Input):
            components[op.body_type.__name__] |= op.body_type.MORE_SCHEMA
    inputs = {
        input_type.__name__
        for op in listed
        for input_type in (op.path_type, op.query_type)
        if input_type is not None
    }
    paths: dict[str, dict[str, Any]] = {}
    for op in listed:
        paths.setdefault(op.path, {})[op.method.lower()] = _describe(op, schema_of, components)
    document = {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": version, "description": DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": {
                name: component for name, component in components.items() if name not in inputs
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    _note_long_integers(document)
    return document


def _note_long_integers(node: Any) -> None:
    """Give integers that may pass 2^31 the format int64: those without a lower maximum."""
    if isinstance(node, list):
        for element in node:
            _note_long_integers(element)
    elif isinstance(node, dict):
        is_integer = node.get("type") == "integer" and "enum" not in node
        if is_integer and node.get("maximum", INT64_MAX) > INT32_MAX:
            node["format"] = "int64"
        for value in node.values():
            _note_long_integers(value)


def _kinds(operations: Iterable[Operation]) -> list[Any]:
    kinds: list[Any] = [ProblemDocument, RequestView]
    for op in operations:
        result_type = op.result_type if op.media_type == "application/json" else None
        given = (op.path_type, op.query_type, op.body_type, result_type)
        kinds.extend(kind for kind in given if kind is not None)
    return kinds


def _key(kind: Any) -> str:
    return repr(kind)


def _describe(
    op: Operation, schema_of: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": op.operation_id,
        "summary": op.summary,
        "tags": [op.tag],
        "responses": {str(op.status): _response(op, schema_of), "default": _problem(schema_of)},
        # An empty alternative: if no token is configured, none is needed.
        "security": [] if op.is_open else [{"token": []}, {}],
    }
    if op.has_etag:
        described["responses"]["304"] = {"description": "Nothing has changed since the ETag."}
    if op.further_rules is not None:
        described["responses"]["422"] = _problem(schema_of, op.further_rules)
    texts = [op.description, *_query_descriptions(op)]
    if any(texts):
        described["description"] = " ".join(filter(None, texts))
    parameters = [
        *([_IF_NONE_MATCH] if op.has_etag else ()),
        *_parameters("path", op.path_type, components),
        *_parameters("query", op.query_type, components),
    ]
    if parameters:
        described["parameters"] = parameters
    if op.body_type is not None:
        is_class = isinstance(op.body_type, type)
        component = components[op.body_type.__name__] if is_class else {"required": True}
        is_required = bool(component.get("required") or component.get("oneOf"))
        described["requestBody"] = {
            "required": is_required,
            "content": {"application/json": {"schema": schema_of[_key(op.body_type)]}},
        }
    return described


def _query_descriptions(op: Operation) -> list[str]:
    """Return the docstrings of the query's type and of its bases, as one text each."""
    kinds = op.query_type.__mro__ if op.query_type is not None else ()
    declared = [kind for kind in kinds if issubclass(kind, Input) and kind is not Input]
    return [" ".join(cleandoc(kind.__doc__ or "").split()) for kind in reversed(declared)]


def _response(op: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    if op.media_type is None:
        return {"description": "Done."}
    is_json = op.media_type == "application/json"
    schema = schema_of[_key(op.result_type)] if is_json else {"type": "string"}
    return {"description": "Done.", "content": {op.media_type: {"schema": schema}}}


def _problem(schema_of: dict[str, Any], why: str = "Refused") -> dict[str, Any]:
    return {
        "description": f"{why}; the document says why and what to do.",
        "content": {"application/problem+json": {"schema": schema_of[_key(ProblemDocument)]}},
    }


def _parameters(
    where: str, kind: type[msgspec.Struct] | None, components: dict[str, Any]
) -> list[dict[str, Any]]:
    if kind is None:
        return []
    component = components[kind.__name__]
    required = set(component.get("required", ()))
    parameters = []
    for name, declared in component.get("properties", {}).items():
        schema = _without_null(declared)
        parameter = {"name": name, "in": where, "required": name in required, "schema": schema}
        if "description" in declared:
            parameter["description"] = declared["description"]
        parameters.append(parameter)
    return parameters


def _without_null(declared: dict[str, Any]) -> dict[str, Any]:
    """Remove null from a schema: a parameter is left out instead."""
    schema = {key: value for key, value in declared.items() if key != "description"}
    choices = [
        alternative for alternative in schema.pop("anyOf", ()) if alternative != {"type": "null"}
    ]
    if len(choices) == 1:
        schema |= choices[0]
    elif choices:
        schema["anyOf"] = choices
    if schema.get("default", 0) is None:
        del schema["default"]
    return schema
