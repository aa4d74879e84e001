"""What ADR 42 calls the public API, as texts that can be kept and compared.

The HTTP operations, the fault rules and the snapshots are in clients/openapi.json already.
"""

import argparse
import ast
import dataclasses
import enum
import inspect
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, is_typeddict

from broker.config import broker_keys, quota_keys, security_keys
from broker.config.broker_config import BROKER_KEYS
from broker.option_variables import variable_of
from mock_kafka import arguments, fault, pytest_plugin
from mock_kafka.commands import COMMANDS
from mock_kafka.completion import line_parser
from scripts.api_reference import FUNCTION, PACKAGE, attributes, functions_of, syntax_tree

ROOT = Path(__file__).resolve().parent.parent
VARIABLE = re.compile(r"\bMOCK_KAFKA_(?!CONFIG_)[A-Z_]*[A-Z]\b")
OUR_KEY = re.compile(r'mock_key\("([a-z.]+)"')
# Declarations that other modules of a language can name; what is generated follows OpenAPI.
CLIENT_NAMES = {
    "go/mockkafka/*.go": r"^(?:func (?:\(\w+ \*?(?P<owner>\w+)\) )?|type )(?P<name>[A-Z]\w*)",
    "java/*/src/main/java/**/*.java": r"^ +public (?:static )?[\w<>\[\], .?]+ (?P<name>\w+)\(",
    "node/src/*ts": (
        r"^(?:export (?:async )?(?:function|const|class|interface|type) |  (?:static )?(?:async )?)"
        r"(?P<name>(?!const |try |return )\w+)(?:<.*>)?"
        r"(?:\(.*\): .*\{$|\(\{?\n(?: {2,}.*\n)+? {0,2}[)}].*: .*\{$|(?= [={]))"
    ),
    "rust/src/*.rs": (
        r"^(?:impl (?:\w+(?:<.*>)? for )?(?P<owner>\w+)|"
        r"(?P<inner> *)pub (?:fn|struct|enum|trait|type) (?:r#)?(?P<name>\w+))"
    ),
}
_GENERATED = re.compile("(operations|types)_generated|_test|admin_schema|port_methods")
_OF_OPENAPI = re.compile("Admin|.*(Body|Query|View)")
"""What Rust's generated module has of the admin port itself, and not of the package."""
# Names from which the methods of a package are generated, and the owner of those of a cluster.
CLIENT_TABLES = {
    "java": ("java/mock-kafka/methods.json", "ClusterMethods"),
    "node": ("node/methods.json", "mock_kafka"),
}


def python_stub() -> str:
    """Return `mock_kafka` as one module of declarations, without inheritance."""
    of_keywords = (each for each in (*vars(arguments).values(), fault.When) if is_typeddict(each))
    parts = [_class(each.__name__, each) for each in of_keywords]
    for name in PACKAGE.__all__:
        public = getattr(PACKAGE, name)
        if inspect.isclass(public):
            parts.append(_class(name, public))
        elif inspect.isfunction(public):
            parts.append(_function(public))
        else:
            parts.append(f"{name} = ...")
    for name, fixture in sorted(vars(pytest_plugin).items()):
        if name.startswith("mock_kafka") and hasattr(fixture, "__wrapped__"):
            parts.append(f"{name}_fixture = ...")
    return "\n".join(parts) + "\n"


def _class(name: str, cls: type) -> str:
    bases = [each.__name__ for each in cls.__mro__[1:] if each.__module__ == "builtins"]
    base = next(iter(bases), "object")
    is_enum = issubclass(cls, enum.Enum)
    lines = [line if is_enum else line.partition(" = ")[0] for line in attributes(cls)]
    # Users construct these by keywords; the results of methods they only read.
    if dataclasses.is_dataclass(cls) and cls.__module__.startswith("client"):
        required = dataclasses.MISSING
        fields = [
            each.name if each.default is each.default_factory is required else f"{each.name}=..."
            for each in dataclasses.fields(cls)
            if each.init
        ]
        lines.append(f"def __init__(self, *, {', '.join(fields)}): ...")
    lines += _methods(cls)
    return f"class {name}({base}):\n" + "".join(
        f"    {line}\n" for part in lines or ["..."] for line in part.splitlines()
    )


def _methods(cls: type) -> Iterator[str]:
    for name, _member, function in functions_of(cls):
        is_public = not name.startswith("_") or name == "__init__"
        # The methods that a dataclass makes have no source.
        if is_public and function.__code__.co_filename.endswith(".py"):
            yield _function(function)


def _function(function: Any) -> str:
    node = syntax_tree(function)
    assert isinstance(node, FUNCTION)
    node.body = [ast.Expr(ast.Constant(...))]
    kept = {"property", "classmethod", "staticmethod"}
    node.decorator_list = [each for each in node.decorator_list if ast.unparse(each) in kept]
    return ast.unparse(node)


def names() -> list[str]:
    """Return options, keys, variables and names of the clients, each with its kind in front."""
    found = {f"command {name}" for name in COMMANDS}
    for command in COMMANDS:
        found |= set(_options(line_parser({command: ""}, command), "mock-kafka"))
    for module in (broker_keys, quota_keys, security_keys):
        for key in OUR_KEY.findall(Path(module.__file__ or "").read_text(encoding="utf-8")):
            found.add(f"key {key}: {BROKER_KEYS[key].config_type.name}")
    for page in (ROOT / "docs").glob("*.md"):
        found |= {f"variable {name}" for name in VARIABLE.findall(page.read_text("utf-8"))}
    for pattern, declaration in CLIENT_NAMES.items():
        for path in (ROOT / "clients").glob(pattern):
            if _GENERATED.search(path.name):
                continue
            language = pattern.partition("/")[0]
            matches = list(re.finditer(declaration, path.read_text("utf-8"), re.MULTILINE))
            found |= {f"client {language}: {name}" for name in _declared(language, path, matches)}
    for language, (file, owner) in CLIENT_TABLES.items():
        table = json.loads((ROOT / "clients" / file).read_text("utf-8"))
        found |= {f"client {language}: {name}" for name in _table_names(table, owner)}
    return sorted(found)


def _declared(language: str, path: Path, matches: Iterable[re.Match[str]]) -> Iterator[str]:
    """Yield the names of a file behind the types that have them.

    A package of Go and a crate of Rust have the same names in whatever file.
    """
    package = {"go": "mockkafka", "rust": "mock_kafka"}.get(language, path.stem)
    of_impl = package
    for match in matches:
        fields = match.groupdict()
        if fields["name"] is None:
            of_impl = match["owner"]
            continue
        owner = fields.get("owner") or (of_impl if fields.get("inner") else package)
        is_generated = path.stem == "generated"
        if not is_generated or not _OF_OPENAPI.fullmatch(
            owner if fields["inner"] else match["name"]
        ):
            yield f"{owner}.{match['name']}"


def _table_names(table: dict[str, Any], owner: str) -> Iterator[str]:
    """Yield the names of a table: its classes alone, and its methods behind their owner."""
    for section in ("types", "errors", "reports", "records"):
        yield from table.get(section, ())
    yield from (f"{owner}.{name}" for name in (*table["rules"], *table["methods"]))
    for name, row in table["resources"].items():
        yield from (f"{name}.{each}" for each in (*row["reads"], *row["methods"]))
    for name, fields in table.get("options", {}).items():
        yield from (f"{name}.{each}" for each in fields)


def _options(parser: argparse.ArgumentParser, line: str) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for name, inner in action.choices.items():
                if isinstance(inner, argparse.ArgumentParser):
                    yield from _options(inner, f"{line} {name}")
        for option in action.option_strings:
            yield f"option {line} {option}"
            if line == "mock-kafka serve" and option.startswith("--"):
                yield f"variable {variable_of(option)}"
            yield from (
                f"option {line} {option} {choice}"
                for choice in action.choices or ()
                if isinstance(choice, str)
            )
