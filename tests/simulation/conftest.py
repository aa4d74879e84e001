"""Turn off the broker's log for all worlds."""

from collections.abc import Iterator

import pytest
import structlog

from tests.simulation.__main__ import quieten


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    before = structlog.get_config()
    quieten()
    yield
    structlog.configure(**before)
