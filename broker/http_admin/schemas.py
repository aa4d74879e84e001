"""Schemas of records, from the registry that the cluster names."""

from typing import Annotated

import msgspec

from broker.http_admin.operation import INT32_MAX, Input, Problem, operation
from broker.http_admin.schema_registry import RegistryError
from broker.http_admin.state import Admin

REGISTRY_KEY = "broker.schema.registry.url"


class SchemaPath(Input):
    """A schema by its id, which a record has after its first byte, 0."""

    schema_id: Annotated[int, msgspec.Meta(ge=0, le=INT32_MAX)]


class SchemaView(msgspec.Struct):
    """A schema; `schema_type` is AVRO, JSON or PROTOBUF, and `schema` its text.

    With `has_references` it uses types of other schemas, which are not in its text.
    """

    schema_type: str
    schema: str
    has_references: bool


@operation("GET", "/v1/schemas/{schema_id}", tag="topics")
async def get_schema(admin: Admin, path: SchemaPath) -> SchemaView:
    """Return a schema that the registry at `broker.schema.registry.url` has.

    The registry is asked once for each schema. If it does not answer, the status is 502.
    """
    if admin.schemas is None:
        raise Problem(404, f"there is no schema registry; {REGISTRY_KEY} names one")
    try:
        found = await admin.schemas.schema(path.schema_id)
    except RegistryError as error:
        status = 404 if error.is_unknown else 502
        reason = f"schema {path.schema_id} of the registry that {REGISTRY_KEY} names: {error}"
        raise Problem(status, reason) from error
    return SchemaView(found.schema_type, found.schema, bool(found.references))
