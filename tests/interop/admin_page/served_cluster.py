"""A broker process with an admin port, and group members that poll."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

from kafka import KafkaProducer

TOKEN = "sesame"
EVIL = "<img src=x onerror=\"document.title='owned'\"><b>x</b>"
"""A name that would change the page if it were inserted as HTML."""
PRODUCE = re.compile(r"Produce v\d")
"""A line of a Produce request, not of InitProducerId."""


@dataclass
class Cluster:
    """A broker process and its two addresses."""

    bootstrap_servers: str
    url: str

    def ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {TOKEN}"}
        request = Request(self.url + path, data, headers, method=method)
        with urlopen(request, timeout=20) as response:
            return json.loads(response.read() or b"null")

    def produce(self, client_id: str, topic: str, *values: bytes) -> None:
        producer = KafkaProducer(bootstrap_servers=self.bootstrap_servers, client_id=client_id)
        for value in values:
            producer.send(topic, value, key=b"customer").get(20)
        producer.close()


def serve(*arguments: str) -> Iterator[Cluster]:
    command = [sys.executable, "-P", "-m", "broker", "serve", "--port", "0", "--brokers", "3"]
    with subprocess.Popen(
        [*command, "--admin-port", "0", "--log-level", "error", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            first, second = process.stdout.readline(), process.stdout.readline()
            yield Cluster(first.partition("=")[2].strip(), second.partition("=")[2].strip())
        finally:
            process.terminate()


@contextmanager
def polled_members(
    cluster: Cluster, *joins: tuple[Any, str, str, dict[str, str]]
) -> Iterator[None]:
    """Run members until the end: each with its class, group, client id and other settings."""
    is_over = threading.Event()
    members = []
    for kind, group_id, client_id, settings in joins:
        addresses = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group_id}
        member = kind({**addresses, "client.id": client_id, **settings})
        member.subscribe(["orders"])
        members.append(member)

    def poll() -> None:
        while not is_over.is_set():
            for member in members:
                member.poll(0.02)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        for member in members:
            member.close()
