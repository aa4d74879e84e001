"""Schemas of a registry are read once, within bounds, and what is wrong is said."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from broker.http_admin import schema_registry
from broker.http_admin.schema_registry import RegistryError, SchemaRegistry
from tests.broker.http_admin.registry_server import serving_registry


async def test_a_schema_is_read_once() -> None:
    async with serving_registry({7: {"schema": '"string"'}}) as registry:
        schemas = SchemaRegistry(registry.url + "/")
        first, second = await asyncio.gather(schemas.schema(7), schemas.schema(7))
        assert (first.schema, first.schema_type, first.references) == ('"string"', "AVRO", [])
        assert (await schemas.schema(7), second) == (first, first)
        count = len(registry.asked_ids)
        assert count <= 2
        await schemas.schema(7)
        assert len(registry.asked_ids) == count


async def test_the_type_and_the_references_are_the_registrys() -> None:
    answer = {"schema": "s", "schemaType": "PROTOBUF", "references": [{"name": "n"}], "id": 3}
    async with serving_registry({3: answer}) as registry:
        schema = await SchemaRegistry(registry.url).schema(3)
    assert (schema.schema_type, schema.references) == ("PROTOBUF", [{"name": "n"}])


async def test_few_schemas_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_registry, "KEPT_SCHEMAS_MAX", 2)
    answers = {number: {"schema": "x" * 100} for number in range(4)}
    async with serving_registry(answers) as registry:
        schemas = SchemaRegistry(registry.url)
        for number in (0, 1, 0, 2, 0, 1):
            await schemas.schema(number)
        assert registry.asked_ids == [0, 1, 2, 1]
        monkeypatch.setattr(schema_registry, "KEPT_BYTES_MAX", 150)
        await schemas.schema(3)
        await schemas.schema(3)
        await schemas.schema(0)
        assert registry.asked_ids[4:] == [3, 0]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"schema": 7}, "what it answers is no schema"),
        (b"[" * 100_000, "what it answers is no schema"),
        ({"schema": "x" * 600_000}, "more than 524288 bytes"),
        (web.HTTPFound("http://127.0.0.1:1/"), "it answers 302"),
        (web.HTTPInternalServerError(), "it answers 500"),
    ],
)
async def test_a_registry_that_answers_something_else_is_no_registry(
    answer: Any, reason: str
) -> None:
    async with serving_registry({1: answer}) as registry:
        with pytest.raises(RegistryError, match=reason) as caught:
            await SchemaRegistry(registry.url).schema(1)
        assert not caught.value.is_unknown


async def test_a_schema_that_the_registry_does_not_have_is_unknown() -> None:
    async with serving_registry({}) as registry:
        with pytest.raises(RegistryError, match="it answers 404") as caught:
            await SchemaRegistry(registry.url).schema(1)
        assert caught.value.is_unknown


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    is_over = asyncio.Event()

    async def wait(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await is_over.wait()
        writer.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    is_over.set()
    server.close()


async def test_a_registry_that_is_not_there_or_silent_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schema_registry, "TIMEOUT_S", 0.05)
    async with silent_server() as url:
        with pytest.raises(RegistryError, match=r"does not answer within 0\.05 s"):
            await SchemaRegistry(url).schema(1)
    monkeypatch.setattr(schema_registry, "TIMEOUT_S", 10)
    with pytest.raises(RegistryError, match="it cannot be reached"):
        await SchemaRegistry(url).schema(1)
