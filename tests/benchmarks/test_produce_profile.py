"""A stack counts for a system call, for the innermost function of ours, or for the event loop."""

import pytest

from benchmarks.produce_profile import LOOP, READ, REST, WRITE, place, shares

LOOP_STACK = "main (broker/cli.py:1);run_forever (loop.c:33397);uv_run (core.c:1)"
RECEIVE = f"{LOOP_STACK};data_received (broker/server/client_protocol.py:150)"


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (f"{LOOP_STACK};uv__read (stream.c:1);read (libc.so.6)", READ),
        (f"{RECEIVE};buffer_write (handles.c:1);write (libc.so.6)", WRITE),
        (f"{LOOP_STACK};epoll_pwait (libc.so.6)", None),
        (LOOP_STACK, LOOP),
        (RECEIVE, "`data_received` in `broker/server/client_protocol.py`"),
        (f"{RECEIVE};crc32c (_crc32c.so)", "`data_received` in `broker/server/client_protocol.py`"),
        (f"{LOOP_STACK};<module> (broker/fetch/fetch_params.py:3);read (libc.so.6)", None),
    ],
)
def test_what_a_stack_counts_for(stack: str, expected: str | None) -> None:
    assert place(stack) == expected


def test_shares_leave_out_imports_and_add_up_small_functions() -> None:
    lines = [f"{RECEIVE} 60", f"{LOOP_STACK} 39", f"{LOOP_STACK};f (protocol/framing.py:1) 1"]

    total, found = shares([*lines, "<module> (broker/routes.py:1) 50"])

    assert total == 100
    assert found == {
        "`data_received` in `broker/server/client_protocol.py`": 0.6,
        LOOP: 0.39,
        REST: 0.01,
    }
