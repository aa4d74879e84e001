"""Schemas that records name by their id, read from a schema registry and kept.

Sources: `GET /schemas/ids/{id}` of Confluent's and compatible registries. A schema of an id never
changes, so it is read once.
"""

import asyncio
from collections import OrderedDict

import msgspec

TIMEOUT_S = 5.0
SCHEMA_BYTES_MAX = 512 * 1024
"""Bound of the registry's response."""
KEPT_SCHEMAS_MAX = 200
KEPT_BYTES_MAX = 4 * 1024 * 1024
READS_MAX = 4
"""Requests to the registry at a time; more wait."""


class RegistryError(Exception):
    """The registry did not return a schema; `is_unknown` if it answered that it has none."""

    def __init__(self, reason: str, *, is_unknown: bool = False) -> None:
        super().__init__(reason)
        self.is_unknown = is_unknown


class Schema(msgspec.Struct, rename={"schema_type": "schemaType"}):
    """A schema as the registry has it; `schema` is its text, AVRO unless it has another type."""

    schema: str
    schema_type: str = "AVRO"
    references: list[dict[str, object]] = []


class SchemaRegistry:
    """The schemas of one registry that were read so far, within a bound."""

    def __init__(self, url: str) -> None:
        """`url` is its address, without the path of its API."""
        self._url = url.rstrip("/")
        self._kept: OrderedDict[int, tuple[Schema, int]] = OrderedDict()
        self._kept_bytes = 0
        self._places = asyncio.Semaphore(READS_MAX)

    async def schema(self, schema_id: int) -> Schema:
        """Return a schema.

        Raises:
            RegistryError: the registry has none, does not answer, or what it answers is no schema.
        """
        async with self._places:
            if schema_id not in self._kept:
                body = await self._read(schema_id)
                try:
                    self._keep(schema_id, msgspec.json.decode(body, type=Schema), len(body))
                except (msgspec.DecodeError, RecursionError) as error:
                    raise RegistryError(f"what it answers is no schema: {error}") from error
            self._kept.move_to_end(schema_id)
            return self._kept[schema_id][0]

    async def _read(self, schema_id: int) -> bytes:
        # Most brokers have no registry, and the client takes 4 MB.
        from aiohttp import ClientError, ClientSession, ClientTimeout  # noqa: PLC0415

        url = f"{self._url}/schemas/ids/{schema_id}"
        try:
            async with (
                ClientSession(timeout=ClientTimeout(TIMEOUT_S)) as session,
                session.get(url, allow_redirects=False) as response,
            ):
                if response.status != 200:
                    is_unknown = response.status == 404
                    raise RegistryError(f"it answers {response.status}", is_unknown=is_unknown)
                body = b""
                async for part in response.content.iter_any():
                    body += part
                    if len(body) > SCHEMA_BYTES_MAX:
                        raise RegistryError(f"the schema has more than {SCHEMA_BYTES_MAX} bytes")
        except TimeoutError as error:
            raise RegistryError(f"it does not answer within {TIMEOUT_S:g} s") from error
        except (ClientError, OSError) as error:
            raise RegistryError(f"it cannot be reached: {error}") from error
        return body

    def _keep(self, schema_id: int, schema: Schema, size_bytes: int) -> None:
        self._kept[schema_id] = schema, size_bytes
        self._kept_bytes += size_bytes
        while len(self._kept) > KEPT_SCHEMAS_MAX or self._kept_bytes > KEPT_BYTES_MAX:
            _id, (_schema, oldest_bytes) = self._kept.popitem(last=False)
            self._kept_bytes -= oldest_bytes
