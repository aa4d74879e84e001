"""A schema registry that serves what a test says."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.interop.admin_page.served_pages import Response, serving_pages


@contextmanager
def served_registry(answers: Mapping[int, Any]) -> Iterator[str]:
    """Serve schemas by their ids, 404 for others; return the address."""

    def respond(path: str) -> Response:
        answer = answers.get(int(path.rpartition("/")[2]))
        return (404 if answer is None else 200), {}, json.dumps(answer).encode()

    with serving_pages(respond) as port:
        yield f"http://127.0.0.1:{port}"
