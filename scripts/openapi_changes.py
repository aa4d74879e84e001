"""Find what breaks clients between two OpenAPI documents of the admin port.

A request that was valid must stay valid. A response must have what it had, with the same types.
"""

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
METHODS = ("get", "put", "post", "delete", "patch")
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
_SUBTYPES = {("integer", "number")}


def breaking_changes(old: Schema, new: Schema) -> list[str]:
    """Return a line for each change that breaks a client of the old document."""
    comparison = _Comparison(old, new)
    found: list[str] = []
    for path, methods in old["paths"].items():
        for method in METHODS:
            if (operation := methods.get(method)) is None:
                continue
            name = f"{method.upper()} {path}"
            after = new["paths"].get(path, {}).get(method)
            if after is None:
                found.append(f"{name} is gone")
            else:
                found += (f"{name}: {line}" for line in comparison.operation(operation, after))
    return found


class _Comparison:
    """Two documents, whose references are followed once."""

    def __init__(self, old: Schema, new: Schema) -> None:
        self.old = old
        self.new = new
        self.compared: set[tuple[str, str, bool]] = set()

    def operation(self, old: Schema, new: Schema) -> Iterator[str]:
        """Compare two forms of an operation."""
        self.compared.clear()
        if old.get("operationId") != new.get("operationId"):
            yield f"operationId {old.get('operationId')} is {new.get('operationId')}"
        before, after = _parameters(old), _parameters(new)
        for name, parameter in before.items():
            if name not in after:
                yield f"parameter {name} is gone"
                continue
            if after[name].get("required") and not parameter.get("required"):
                yield f"parameter {name} is required"
            schemas = parameter["schema"], after[name]["schema"]
            yield from self.schema(*schemas, f"parameter {name}", is_request=True)
        for name in after.keys() - before.keys():
            if after[name].get("required"):
                yield f"parameter {name} is new and required"
        yield from self.body(old.get("requestBody"), new.get("requestBody"))
        for status, response in old["responses"].items():
            if status not in new["responses"]:
                yield f"response {status} is gone"
                continue
            contents = response.get("content", {}), new["responses"][status].get("content", {})
            yield from self.contents(*contents, f"response {status}", is_request=False)

    def body(self, old: Schema | None, new: Schema | None) -> Iterator[str]:
        """Compare two forms of the body of a request."""
        if new is None:
            if old is not None:
                yield "the body is gone"
            return
        if new.get("required") and not (old or {}).get("required"):
            yield "the body is required"
        if old is not None:
            yield from self.contents(old["content"], new["content"], "body", is_request=True)

    def contents(self, old: Schema, new: Schema, where: str, *, is_request: bool) -> Iterator[str]:
        """Compare the schemas of each media type."""
        for media_type, content in old.items():
            if media_type not in new:
                yield f"{where}: {media_type} is gone"
            else:
                schemas = content.get("schema", {}), new[media_type].get("schema", {})
                yield from self.schema(*schemas, where, is_request=is_request)

    def schema(self, old: Schema, new: Schema, where: str, *, is_request: bool) -> list[str]:
        """Compare two schemas of which each may have alternatives."""
        key = (repr(old), repr(new), is_request)
        if "$ref" in old and "$ref" in new:
            if key in self.compared:
                return []
            self.compared.add(key)
        before, after = _alternatives(old, self.old), _alternatives(new, self.new)
        if len(before) == len(after) == 1:
            return list(self.single(before[0], after[0], where, is_request=is_request))
        found: list[str] = []
        # What a client sends must be accepted; what it gets must be of a form that it knows.
        sources, targets = (before, after) if is_request else (after, before)
        for source in sources:
            problems: list[list[str]] = []
            for target in targets:
                pair = (source, target) if is_request else (target, source)
                # Each alternative on its own: what one has followed is not known to be right.
                kept = set(self.compared)
                problems.append(list(self.single(*pair, where, is_request=is_request)))
                self.compared = kept
            fewest: list[str] = min(problems, key=len)
            found += fewest
        return found

    def single(self, old: Schema, new: Schema, where: str, *, is_request: bool) -> Iterator[str]:
        """Compare two schemas without alternatives."""
        types = old.get("type"), new.get("type")
        allowed = types if is_request else types[::-1]
        known = (types[1] if is_request else types[0]) is None
        if types[0] != types[1] and not known and allowed not in _SUBTYPES:
            yield f"{where} has type {types[1] or 'any'}, not {types[0] or 'any'}"
            return
        if is_request:
            yield from _limits(old, new, where)
        before, after = old.get("properties", {}), new.get("properties", {})
        required = set(old.get("required", ())), set(new.get("required", ()))
        for name, schema in before.items():
            if name not in after:
                yield f"{where}.{name} is gone"
            else:
                inside = f"{where}.{name}"
                yield from self.schema(schema, after[name], inside, is_request=is_request)
        added = required[1] - required[0] if is_request else required[0] - required[1]
        for name in sorted(added & after.keys()):
            yield f"{where}.{name} is {'required' if is_request else 'no longer always there'}"
        for key, inside in (("items", f"{where}[]"), ("additionalProperties", f"{where}.*")):
            if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
                yield from self.schema(old[key], new[key], inside, is_request=is_request)


def _parameters(operation: Schema) -> dict[str, Schema]:
    return {f"{each['in']} {each['name']}": each for each in operation.get("parameters", ())}


def _alternatives(schema: Schema, document: Schema) -> list[Schema]:
    """Return the schemas of which one applies, without references at their tops."""
    if "$ref" in schema:
        return _alternatives(
            document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document
        )
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return [each for part in schema[key] for each in _alternatives(part, document)]
    if isinstance(schema.get("type"), list):
        return [{**schema, "type": name} for name in schema["type"]]
    return [schema]


def _limits(old: Schema, new: Schema, where: str) -> Iterator[str]:
    """Yield the limits of a request that are tighter."""
    values = _values(old), _values(new)
    if values[1] is not None and (values[0] is None or values[0] - values[1]):
        lost = sorted((values[0] or set()) - values[1])
        yield f"{where} refuses {', '.join(lost) if lost else 'other values than before'}"
    for key in (*_LOWER, *_UPPER):
        if key in new and new[key] != old.get(key):
            is_tighter = key not in old or (new[key] > old[key]) == (key in _LOWER)
            if is_tighter:
                yield f"{where} has {key} {new[key]}, not {old.get(key)}"
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        yield f"{where} has another pattern"


def _values(schema: Schema) -> set[str] | None:
    if "const" in schema:
        return {repr(schema["const"])}
    return {repr(value) for value in schema["enum"]} if "enum" in schema else None
