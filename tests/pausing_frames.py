"""Find functions on the stack of a pause that do not say that they may pause."""

import ast
from functools import cache
from pathlib import Path
from types import FrameType

from broker.dispatch import turns
from tests.pausing_functions import PACKAGES, ROOT

_PACKAGES = tuple(f"{ROOT / package}/" for package in PACKAGES)


@cache
def _marked(file_name: str) -> frozenset[str]:
    """Return the qualified names of the functions of a module that say `@may_pause`."""
    found: set[str] = set()

    def add(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                add(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
                ast.unparse(decorator) == "may_pause" for decorator in node.decorator_list
            ):
                found.add(f"{prefix}{node.name}")

    add(ast.parse(Path(file_name).read_text()).body, "")
    return frozenset(found)


def unmarked_function(frame: FrameType | None) -> str | None:
    """Return a function between a frame and the beginning of its turn without the marker.

    Functions in functions have none, so they are left out, as are those of tests and libraries.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_filename == turns.__file__ and "_hire" in code.co_qualname:
            return None
        if (
            code.co_filename.startswith(_PACKAGES)
            and "<" not in code.co_qualname
            and code.co_qualname not in _marked(code.co_filename)
        ):
            return f"{Path(code.co_filename).relative_to(ROOT)}: {code.co_qualname}"
        frame = frame.f_back
    return None
