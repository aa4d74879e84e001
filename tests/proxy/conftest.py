"""Let the tests of this folder see log lines of all levels."""

from collections.abc import Iterator

import pytest

from tests.default_log import default_log


@pytest.fixture(autouse=True)
def _default_log() -> Iterator[None]:
    with default_log():
        yield
