"""Render a page without external files; all pages of the load share their frame, `page.html`."""

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(template: str, filters: Mapping[str, Callable[..., str]], **values: Any) -> str:
    """Return a page as HTML; `template` is its path below this package."""
    environment = Environment(
        loader=PackageLoader(__name__.rpartition(".")[0], package_path=""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    return environment.get_template(template).render(**values)
