"""One operation of the admin port: its declaration, and reading its input.

A handler is a function whose parameters `path`, `query` and `body` are structs. Their types define
the valid input and the OpenAPI document.
"""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from http import HTTPStatus
from inspect import cleandoc, signature
from math import isinf
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

import msgspec

from broker.dispatch.turn_queue import TurnKind
from protocol.pacing import may_pause
from protocol.suggestions import did_you_mean

_INPUTS = ("path", "query", "body")
_F = TypeVar("_F", bound=Callable[..., Any])

INT64_MAX = 2**63 - 1
INT32_MAX = 2**31 - 1
Count = Annotated[int, msgspec.Meta(ge=0, le=INT64_MAX)]
NodeId = Annotated[int, msgspec.Meta(ge=0, le=INT32_MAX)]
PartitionIndex = Annotated[int, msgspec.Meta(ge=0, le=INT32_MAX)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]


class Input(msgspec.Struct, forbid_unknown_fields=True):
    """Base class of input; an unknown field is an error."""

    MORE_SCHEMA: ClassVar[Mapping[str, Any]] = {}
    """What its JSON schema says about several fields together."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """The operation that helps, and what it does for the caller, such as "lists them"."""

    operation_id: str
    effect: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    """Its parameters in the path."""

    def document(self) -> "RemedyDocument":
        """The remedy in a problem document."""
        op = next(op for op in OPERATIONS if op.operation_id == self.operation_id)
        path = op.path.format_map(self.arguments)
        return RemedyDocument(self.operation_id, op.method, path, dict(self.arguments), self.effect)


class Problem(Exception):  # noqa: N818 - the term of RFC 9457
    """A problem of a request, and what to do about it, as in RFC 9457.

    `reason` has no words of HTTP: callers of Python methods see it, too. What only belongs to HTTP
    is in the other fields, and each interface words it: the part of the request (`location`:
    body, query or path) and the place in it (`at`, such as `$.config`), an example of a body, and
    the operation that helps. `nearest` are near misses: what came instead of what was waited for.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        location: str | None = None,
        at: str | None = None,
        example: str | None = None,
        remedy: Remedy | None = None,
        nearest: Sequence[str] = (),
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.location = location
        self.at = at
        self._example = example
        self._remedy = remedy
        self._nearest = tuple(nearest)

    def __str__(self) -> str:
        return self.detail

    @property
    def detail(self) -> str:
        """The reason in words of HTTP."""
        text = self.reason if self.location is None else f"{self.location}: {self.reason}"
        if self.at is not None:
            text += f" - at `{self.at}`"
        if self._example is not None:
            text += f", such as {self._example}"
        if self._remedy is not None:
            remedy = self._remedy.document()
            text += f"; {remedy.method} {remedy.path} {remedy.effect}"
        if self._nearest:
            text += f"; nearest: {'; '.join(self._nearest)}"
        return text

    def document(self) -> bytes:
        """The body, `application/problem+json`."""
        return msgspec.json.encode(
            ProblemDocument(
                HTTPStatus(self.status).phrase,
                self.status,
                self.detail,
                self.reason,
                self.at,
                None if self._remedy is None else self._remedy.document(),
                self._nearest or msgspec.UNSET,
            )
        )


class RemedyDocument(msgspec.Struct, frozen=True):
    """The operation that helps: `METHOD PATH EFFECT`, such as `GET /v1/groups lists them`."""

    operation_id: str
    method: str
    path: str
    arguments: dict[str, Any]
    effect: str


class ProblemDocument(msgspec.Struct, frozen=True, rename={"kind": "type"}):
    """The reason why a request was refused, and what to do.

    `detail` has all of it for people who use HTTP. `reason`, `at` (where in the input) and `remedy`
    have its parts for other interfaces, which say it in their own words. `nearest` are the near
    misses of what was waited for (status 408), one line each.
    """

    title: str
    status: int
    detail: str
    reason: str
    at: str | None = None
    remedy: RemedyDocument | None = None
    nearest: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    kind: str = "about:blank"


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `media_type` is that of the response, None where it has no body."""

    method: str
    path: str
    tag: str
    handler: Callable[..., Any]
    path_type: type[Input] | None
    query_type: type[Input] | None
    body_type: Any
    """The type that describes the body; None if the operation takes no body."""
    read_body: Callable[[Any], Any] | None
    """Converts parsed JSON where msgspec cannot; raises ValueError."""
    read_bytes: Callable[[bytes], Any] | None
    """Parses and converts a body that is too long for msgspec in one go."""
    result_type: Any
    status: int
    media_type: str | None
    is_open: bool
    """Whether it needs no token."""
    body_bytes_max: int | None
    """None for the limit of all others."""
    turn_kind: TurnKind | None
    """The turns in which the handler works, if it is a plain function, and its result is encoded.

    With None both happen in one go.
    """
    opened: Set[type]
    """The types in the result whose lists are encoded element by element."""
    further_rules: str | None
    """Why input that fits the schema may be refused with 422, or None if it is not."""

    @property
    def operation_id(self) -> str:
        """The handler's name."""
        return self.handler.__name__

    @property
    def has_etag(self) -> bool:
        """Whether a response has an ETag, and a request with it gets 304 if nothing has changed."""
        return self.method == "GET" and self.media_type == "application/json"

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return cleandoc(self.handler.__doc__ or "").partition("\n")[0].rstrip(".")

    @property
    def description(self) -> str:
        """The rest of the handler's docstring."""
        return " ".join(cleandoc(self.handler.__doc__ or "").partition("\n")[2].split())

    @may_pause
    def read_input(
        self, path: Mapping[str, str], query: Mapping[str, str], body: bytes
    ) -> dict[str, Any]:
        """Return the arguments for the handler.

        Raises:
            Problem: a value is missing, unknown or not of the declared type.
        """
        read: dict[str, Any] = {}
        if self.path_type is not None:
            read["path"] = _read_texts("path", path, self.path_type)
        if self.query_type is not None:
            read["query"] = _read_texts("query", query, self.query_type)
        elif query:
            unknown = f"unknown parameter {next(iter(query))!r}; it takes none"
            raise Problem(400, unknown, location="query")
        if self.body_type is not None:
            read["body"] = self._read_body(body)
        elif body:
            raise Problem(400, "this operation takes no body", location="body")
        return read

    @may_pause
    def _read_body(self, body: bytes) -> Any:
        body = body or b"{}"
        try:
            if self.read_bytes is not None:
                return self.read_bytes(body)
            document = decode_json(body)
            if self.read_body is not None:
                return self.read_body(document)
            return convert_body(document, self.body_type)
        except RecursionError as error:
            raise Problem(400, "JSON is nested too deeply", location="body") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Problem(400, f"invalid JSON: {error}", location="body") from error
        except ValueError as error:  # of `read_body`
            raise Problem(400, str(error), location="body") from error


def _number(text: str) -> float:
    """Return a number with a fraction or an exponent; 3.0 is an integer, as in JSON Schema."""
    number = float(text)
    if isinf(number):
        raise ValueError("a number is out of range")
    return int(number) if number.is_integer() and abs(number) <= INT64_MAX else number


_BODY_DECODER = msgspec.json.Decoder(float_hook=_number)


def decode_json(text: bytes | str) -> Any:
    """Return parsed JSON.

    Raises:
        msgspec.DecodeError: it is invalid.
        RecursionError: it is nested too deeply.
        ValueError: a number is out of range.
    """
    return _BODY_DECODER.decode(text)


def convert_body(document: Any, body_type: Any, path: str = "$") -> Any:
    """Convert parsed JSON, which is at `path` of the body.

    Raises:
        Problem: 400, it is not of this type.
    """
    try:
        return msgspec.convert(document, body_type)
    except msgspec.ValidationError as error:
        message, place = _parts_of(error)
        message += _nearest_field(message, body_type)
        raise Problem(400, message, location="body", at=path + place) from error


def _parts_of(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the message of an error, and the place in the input without the `$` of its start."""
    message, _separator, place = str(error).partition(" - at `$")
    return message, place.removesuffix("`")


def _nearest_field(message: str, body_type: Any) -> str:
    """Return "; did you mean X?" for an unknown field of a type, or ""."""
    unknown = re.search(r"unknown field `(.*)`", message)
    if unknown is None:
        return ""
    names: set[str] = set()
    schemas = [msgspec.json.schema(body_type)]
    while schemas:
        schema = schemas.pop()
        names |= schema.get("properties", {}).keys()
        schemas += [part for part in schema.values() if isinstance(part, dict)]
    return did_you_mean(unknown[1], sorted(names))


OPERATIONS: list[Operation] = []
"""All declared operations, in the order in which their modules are imported."""


def operation(
    method: str,
    path: str,
    *,
    tag: str,
    status: int = 200,
    media_type: str | None = "application/json",
    is_open: bool = False,
    read_body: Callable[[Any], Any] | None = None,
    read_bytes: Callable[[bytes], Any] | None = None,
    body_type: Any = None,
    body_bytes_max: int | None = None,
    turn_kind: TurnKind | None = None,
    opened: Set[type] = frozenset(),
    further_rules: str | None = None,
) -> Callable[[_F], _F]:
    """Declare a handler; its docstring and types describe the operation.

    With `read_body`, `body_type` is the type whose JSON schema describes the body.
    """

    def declare(handler: _F) -> _F:
        hints = get_type_hints(handler, include_extras=True)
        names = signature(handler).parameters
        inputs = {name: hints.get(name) if name in names else None for name in _INPUTS}
        OPERATIONS.append(
            Operation(
                method=method,
                path=path,
                tag=tag,
                handler=handler,
                path_type=inputs["path"],
                query_type=inputs["query"],
                body_type=inputs["body"] if body_type is None else body_type,
                read_body=read_body,
                read_bytes=read_bytes,
                result_type=hints["return"],
                status=status,
                media_type=media_type,
                is_open=is_open,
                body_bytes_max=body_bytes_max,
                turn_kind=turn_kind,
                opened=opened,
                further_rules=further_rules,
            )
        )
        return handler

    return declare


def encode_result(result: Any) -> bytes:
    """Return the result of a handler as JSON."""
    return msgspec.json.encode(result)


def _read_texts(where: str, texts: Mapping[str, str], input_type: type[Input]) -> Any:
    try:
        read = msgspec.convert(dict(texts), input_type, strict=False)
    except msgspec.ValidationError as error:
        message, place = _parts_of(error)
        at = f"${place}" if place else None
        raise Problem(400, message, location=where, at=at) from error
    for name in texts:
        if getattr(read, name) is None:
            raise Problem(400, f"{name} can't be null; leave it out", location=where)
    return read
