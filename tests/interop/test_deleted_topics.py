"""A topic is deleted while franz-go reads it and another one, and is created again."""

from pathlib import Path

import pytest

from scenarios.maven import CannotRunError
from tests.interop.go_and_node_clients import build_franz_go

MISSING_MS = 1000
FETCH_WAIT_MS = 100


@pytest.mark.slow
def test_a_deleted_topic_neither_hurries_its_reader_nor_delays_it_when_it_is_back(
    servers: str, topic: str, tmp_path: Path
) -> None:
    try:
        program = build_franz_go(tmp_path)
    except CannotRunError as error:
        pytest.skip(f"franz-go: {error}")
    [(requests, resumed_after_ms)] = program.run("recreate", servers, topic, MISSING_MS)

    # Each request waits for the topic that is left; without the wait there are thousands.
    assert 0 < int(requests) <= 2 * MISSING_MS / FETCH_WAIT_MS
    # A client that had to wait for its next refresh of the metadata would need seconds.
    assert int(resumed_after_ms) < MISSING_MS + 3000
