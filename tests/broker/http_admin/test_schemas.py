"""The operation that returns a schema of the registry."""

from tests.broker.http_admin.admin_server import serving_site
from tests.broker.http_admin.registry_server import serving_registry

REGISTRY_KEY = "broker.schema.registry.url"


async def test_a_schema_is_returned_or_the_problem_says_why_not() -> None:
    answers = {7: {"schema": '"int"', "references": [{"name": "n"}]}, 8: b"no JSON"}
    async with (
        serving_registry(answers) as registry,
        serving_site(broker_count=1, overrides={REGISTRY_KEY: registry.url}) as site,
    ):
        found = await site.ask("GET", "/v1/schemas/7")
        schema = {"schema_type": "AVRO", "schema": '"int"', "has_references": True}
        assert found == (200, schema)
        for schema_id, status, part in ((9, 404, "it answers 404"), (8, 502, "no schema")):
            code, problem = await site.ask("GET", f"/v1/schemas/{schema_id}")
            assert code == status
            assert (
                f"schema {schema_id} of the registry that {REGISTRY_KEY} names" in problem["detail"]
            )
            assert part in problem["detail"]
        assert (await site.ask("GET", "/v1/schemas/-1"))[0] == 400


async def test_without_a_registry_the_problem_names_the_key() -> None:
    async with serving_site(broker_count=1) as site:
        status, problem = await site.ask("GET", "/v1/schemas/7")
    assert (status, REGISTRY_KEY in problem["detail"]) == (404, True)
