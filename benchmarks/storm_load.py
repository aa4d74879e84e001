"""Connect a thousand clients at once; each sends a batch and stays connected.

A separate program (`python -m benchmarks.storm_load --help`); prints its figures as JSON.
"""

import argparse
import json
import select
import socket
import time
from dataclasses import dataclass, field
from struct import Struct

from benchmarks import request_bytes
from benchmarks.cost_clock import CostClock
from benchmarks.request_bytes import UnmeasuredConnection
from benchmarks.server_process import allow_open_files
from protocol import messages
from protocol.api_keys import ApiKey

TOPIC = "storm"
API_VERSIONS_VERSION = 0
INIT_PRODUCER_ID_VERSION = 1
_SIZE = Struct(">i")
_NEXT = (ApiKey.API_VERSIONS, ApiKey.INIT_PRODUCER_ID, ApiKey.PRODUCE)
_VERSIONS = {
    ApiKey.API_VERSIONS: API_VERSIONS_VERSION,
    ApiKey.INIT_PRODUCER_ID: INIT_PRODUCER_ID_VERSION,
    ApiKey.PRODUCE: request_bytes.PRODUCE_VERSION,
}


@dataclass(slots=True)
class StormClient:
    """One client: its step in `_NEXT`, and the received part of a response."""

    socket: socket.socket
    step: int = 0
    received: bytearray = field(default_factory=bytearray)
    producer_id: int = -1
    failure: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether the last response has arrived without an error."""
        return self.step == len(_NEXT)

    def send(self, producer_id: int, producer_epoch: int) -> None:
        """Send the request of this step."""
        api_key = _NEXT[self.step]
        if api_key is ApiKey.PRODUCE:
            frame = request_bytes.produce_request(TOPIC, producer_id, producer_epoch, self.step)
        elif api_key is ApiKey.INIT_PRODUCER_ID:
            request = request_bytes.init_producer_id_request(INIT_PRODUCER_ID_VERSION)
            frame = request_bytes.frame_request(request, self.step)
        else:
            request = messages.ApiVersionsRequest(version=API_VERSIONS_VERSION)
            frame = request_bytes.frame_request(request, self.step)
        self.socket.send(frame)

    def receive(self) -> None:
        """Read data; after a complete response, go to the next step."""
        data = self.socket.recv(65536)
        if not data:
            self.failure = "closed by the server"
            return
        self.received += data
        if len(self.received) < 4 or len(self.received) < 4 + _SIZE.unpack_from(self.received)[0]:
            return
        api_key = _NEXT[self.step]
        response = request_bytes.decode_response(api_key, _VERSIONS[api_key], bytes(self.received))
        self.received.clear()
        error_code = (
            response.responses[0].partition_responses[0].error_code
            if api_key is ApiKey.PRODUCE
            else response.error_code
        )
        if error_code:
            self.failure = f"{api_key.name} returned error {error_code}"
            return
        self.step += 1
        if api_key is ApiKey.INIT_PRODUCER_ID:
            self.producer_id = response.producer_id
        if not self.is_done:
            self.send(self.producer_id, getattr(response, "producer_epoch", -1))


def storm(
    address: tuple[str, int], server_pid: int, clients: int, limit_s: float
) -> dict[str, float]:
    """Run all clients until all are done, or for `limit_s`."""
    with UnmeasuredConnection(address) as admin:
        admin.create_topic(TOPIC)
    epoll = select.epoll()
    by_fd: dict[int, StormClient] = {}
    clock, started_s = CostClock(server_pid), time.monotonic()
    for _ in range(clients):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.connect_ex(address)
        by_fd[sock.fileno()] = StormClient(sock)
        epoll.register(sock, select.EPOLLOUT)
    open_clients = clients
    while open_clients:
        left_s = limit_s - (time.monotonic() - started_s)
        events = epoll.poll(left_s) if left_s > 0 else []
        if not events:
            break
        for fd, event in events:
            client = by_fd[fd]
            _advance(epoll, client, event)
            if client.is_done or client.failure:
                epoll.unregister(fd)
                open_clients -= 1
    cost = clock.stop()
    storm_clients = by_fd.values()
    return {
        "done": sum(client.is_done for client in storm_clients),
        "refused": sum(client.failure is not None for client in storm_clients),
        "kept_open": sum(client.is_done and _is_open(client.socket) for client in storm_clients),
        "seconds": cost.wall_s,
        "server_cpu_s": cost.server_s,
    }


def _advance(epoll: select.epoll, client: StormClient, event: int) -> None:
    try:
        if event & select.EPOLLOUT:
            epoll.modify(client.socket, select.EPOLLIN)
            client.send(-1, -1)
        else:
            client.receive()
    except OSError as error:
        client.failure = str(error)


def _is_open(sock: socket.socket) -> bool:
    try:
        return bool(sock.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("server_pid", type=int)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--limit-s", type=float, default=20.0)
    arguments = parser.parse_args()
    allow_open_files()
    figures = storm(
        (arguments.host, arguments.port), arguments.server_pid, arguments.clients, arguments.limit_s
    )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
