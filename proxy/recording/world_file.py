"""The file of `mock-kafka proxy --record`: written each minute, at SIGUSR1, and at the end."""

import argparse
import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from broker.log import log
from broker.serve import ServeOptions, StartError
from client.errors import ClientError
from client.tools.session import ToolError
from loadgen.command_error import CommandError
from proxy.recording.command import recording_options, scrubbing_of_options
from proxy.recording.observer import RecordingObserver
from proxy.recording.recording import Recording, RecordingOptions, summary_of
from proxy.recording.world import write_world
from proxy.server import ProxyServer

INTERVAL_S = 60.0

ServerT = TypeVar("ServerT", bound=ProxyServer)


class WorldFile:
    """Records what passes through a proxy, and writes the document."""

    def __init__(
        self,
        path: Path,
        bootstrap_servers: str,
        properties: Mapping[str, str],
        options: RecordingOptions,
    ) -> None:
        self._path = path
        self._cluster_servers = bootstrap_servers
        self._properties = properties
        self._options = options
        self._recording: Recording | None = None
        self._is_due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(
        self,
        start: Callable[[ServeOptions], Awaitable[ServerT]],
        options: ServeOptions,
    ) -> ServerT:
        """Start a proxy, and record from its first request on."""
        server = await start(options)

        def topic_name(topic_id: UUID) -> str | None:
            return server.cluster.topics.name_of(topic_id)  # a reset replaces the table

        self._recording = Recording(
            self._cluster_servers,
            self._properties,
            self._options,
            note=lambda line: log.warning("not recorded", reason=line),
            topic_name=topic_name,
        )
        server.forwarding.observers.append(RecordingObserver(self._recording.recorder))
        if hasattr(signal, "SIGUSR1"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self._is_due.set)
        self._task = asyncio.create_task(self._write_at_times(self._recording))
        return server

    def write(self) -> None:
        """Write the file after the proxy has ended; this blocks."""
        if self._recording is None:
            return
        try:
            document = self._recording.document(self._recording.read())
            write_world(self._path, document)
        except (ClientError, OSError, ToolError) as error:
            self._note_failure(error)
        else:
            log.info("recorded", file=str(self._path), content=summary_of(document))

    async def _write_at_times(self, recording: Recording) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_due.wait(), INTERVAL_S)
            self._is_due.clear()
            try:
                # The cluster is asked in a thread; the recorder belongs to the event loop.
                document = recording.document(await asyncio.to_thread(recording.read))
                await asyncio.to_thread(write_world, self._path, document)
            except (ClientError, OSError, ToolError) as error:
                self._note_failure(error)
            else:
                log.info("recorded", file=str(self._path), content=summary_of(document))

    def _note_failure(self, error: Exception) -> None:
        log.error("the recording is not written", file=str(self._path), reason=str(error))


def open_world_file(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace, properties: Mapping[str, str]
) -> WorldFile:
    """Return the file that the options of a proxy ask for.

    Raises:
        SystemExit: no option says what happens to records.
        StartError: the file of rules is invalid.
    """
    try:
        scrubbing = scrubbing_of_options(parsed, os.environ)
    except ToolError as error:
        parser.error(str(error))
    except CommandError as error:
        raise StartError(str(error)) from error
    servers = ",".join(str(address) for address in parsed.to)
    return WorldFile(parsed.record, servers, properties, recording_options(parsed, scrubbing))
