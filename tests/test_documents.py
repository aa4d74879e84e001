"""Check the documents against the repository: links, paths, names and the index."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from scripts import authorization_table

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TOP_FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"artifacts"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: list[str] = PROJECT["tool"]["coverage"]["run"]["source_pkgs"]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
PATH_AND_NAME = re.compile(r"`([\w/]+\.py)`\s+`([A-Za-z_][\w.]*)`")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
CODE_BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(path: Path) -> str:
    return CODE_BLOCK.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    titles = HEADING.findall(prose(path))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def defined_names(path: Path) -> set[str]:
    """Return the names of functions and classes, those of methods also as `Class.method`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names.add(node.name)
            names |= {f"{node.name}.{name}" for name in _members(node)}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def _members(node: ast.ClassDef) -> set[str]:
    members = {child.name for child in node.body if isinstance(child, ast.FunctionDef)}
    members |= {child.name for child in node.body if isinstance(child, ast.AsyncFunctionDef)}
    return members | {
        child.attr
        for child in ast.walk(node)
        if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name)
        if child.value.id == "self"
    }


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_every_link_has_a_target(path: Path) -> None:
    for link in LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        start = f"{ROOT}/" if name.startswith("/") else f"{path.parent}/"
        target = Path(f"{start}{name}").resolve() if name else path
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.slow
def test_every_page_that_the_program_names_exists() -> None:
    """Messages, help and docstrings name pages, and installed versions keep doing so."""
    pattern = re.compile(r"\bdocs/[\w/-]+\.md(?:#[\w-]+)?")
    missing = []
    for package in PACKAGES:
        for source in (ROOT / package).rglob("*.py"):
            for link in pattern.findall(source.read_text(encoding="utf-8")):
                name, _, anchor = link.partition("#")
                page = ROOT / name
                if not page.exists() or (anchor and anchor not in anchors(page)):
                    missing.append(f"{relative(source)}: {link}")
    assert missing == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_every_path_in_backticks_exists(path: Path) -> None:
    for code in CODE.findall(prose(path)):
        is_path = re.fullmatch(r"[\w.\-/]+", code) and code.partition("/")[0] in TOP_FOLDERS
        if is_path and "/" in code and "NN_" not in code and "..." not in code:
            assert (ROOT / code).exists(), code


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_every_name_after_a_module_is_defined_there(path: Path) -> None:
    for module, name in PATH_AND_NAME.findall(prose(path)):
        if "/" in module:
            assert name in defined_names(ROOT / module), f"{module} {name}"


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {
        (index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(prose(index))
    }
    pages = {path for path in DOCUMENTS if path.parent not in {ROOT, ROOT / "docs" / "site"}}
    pages.remove(index)
    assert not pages - linked


def test_the_table_of_checks_is_fresh() -> None:
    page = authorization_table.TARGET.read_text(encoding="utf-8")
    fresh = authorization_table.render(page)
    assert page == fresh, "run: python -m scripts.authorization_table"
    assert "| Produce | WRITE | TOPIC | TOPIC_AUTHORIZATION_FAILED |" in fresh
