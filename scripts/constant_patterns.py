"""Refuse functions of Python's `re` on a pattern that is no constant, in what serves clients.

`python -m scripts.constant_patterns` lists them, and exits with 1 if there are any. A pattern of a
client or a configuration may take years in `re`: `protocol.regular_expressions` has RE2.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("broker", "producer_state", "protocol", "quotas")
_FUNCTIONS = frozenset(
    {"compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"}
)


def variable_patterns(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each call with such a pattern, and of imports that would hide one."""
    tree = ast.parse(source)
    constants: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and _is_constant(statement.value, constants):
            constants |= {name.id for name in statement.targets if isinstance(name, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr) and (
            _hides_functions(node) or _has_variable_pattern(node, constants)
        ):
            yield node.lineno, ast.unparse(node)


def _hides_functions(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "re"
    return isinstance(node, ast.Import) and any(
        alias.name == "regex" or (alias.name == "re" and alias.asname is not None)
        for alias in node.names
    )


def _has_variable_pattern(node: ast.AST, constants: set[str]) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    module = node.func.value
    if not (isinstance(module, ast.Name) and module.id == "re" and node.func.attr in _FUNCTIONS):
        return False
    named = (keyword.value for keyword in node.keywords if keyword.arg == "pattern")
    pattern = node.args[0] if node.args else next(named, None)
    return pattern is None or not _is_constant(pattern, constants)


def _is_constant(node: ast.expr, constants: set[str]) -> bool:
    """Whether an expression has the same value in every run: texts of the module."""
    match node:
        case ast.Constant(value=str() | bytes()):
            return True
        case ast.Name(id=name):
            return name in constants
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_constant(left, constants) and _is_constant(right, constants)
        case ast.JoinedStr(values=values):
            return all(_is_constant(value, constants) for value in values)
        case ast.FormattedValue(value=value):
            return _is_constant(value, constants)
        case _:
            return False


def main() -> int:
    """Print what is refused; return the exit code."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text in variable_patterns(path.read_text(encoding="utf-8"))
    ]
    if found:
        print("patterns of `re` that are no constants; use protocol.regular_expressions:")
    print(*found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
