"""A schema registry that answers what a test says."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.broker.http_application import serving_http


@dataclass
class Registry:
    """Its address, and the ids that it was asked for."""

    url: str = ""
    asked_ids: list[int] = field(default_factory=list)


@asynccontextmanager
async def serving_registry(answers: Mapping[int, Any]) -> AsyncIterator[Registry]:
    """Serve answers by schema id: JSON, bytes, or an error to raise; 404 for others."""
    registry = Registry()

    async def answer(request: web.Request) -> web.Response:
        schema_id = int(request.match_info["id"])
        registry.asked_ids.append(schema_id)
        found = answers.get(schema_id)
        if isinstance(found, web.HTTPException):
            raise found
        if found is None:
            return web.json_response({"error_code": 40403, "message": "not found"}, status=404)
        return web.Response(body=found) if isinstance(found, bytes) else web.json_response(found)

    async with serving_http("/schemas/ids/{id}", answer) as registry.url:
        yield registry
