"""The pages of the load share their frame, and each has its own style and content."""

from pathlib import Path

import pytest
from jinja2 import UndefinedError

from loadgen import page

TEMPLATES = sorted(
    path.relative_to(Path(page.__file__).parent).as_posix()
    for path in Path(page.__file__).parent.glob("*/*.html")
)


def test_each_page_extends_the_frame() -> None:
    sources = [(Path(page.__file__).parent / name).read_text() for name in TEMPLATES]
    assert len(sources) == 5
    assert all(source.startswith('{% extends "page.html" %}') for source in sources)


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="search"):
        page.render("limit_search/limit.html", {"number": str})
