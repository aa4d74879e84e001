"""The load gets the events of its sockets, or none after a while."""

import select
import socket

from benchmarks.busy_polling import poll


def test_events_are_those_of_epoll_and_none_after_the_wait() -> None:
    left, right = socket.socketpair()
    with left, right, select.epoll() as epoll:
        epoll.register(left, select.EPOLLIN)

        assert poll(epoll, 0.001) == []
        right.send(b"x")
        assert poll(epoll, 10.0) == [(left.fileno(), select.EPOLLIN)]
