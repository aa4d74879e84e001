"""A recording of one cluster: what is seen of it, and what it is asked at the end.

A proxy feeds `Recording.recorder` with what passes. To write the document it calls `read` and
`write_world` where they may block, and `document` where it also calls the recorder.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from broker.http_admin.snapshot_document import Snapshot
from protocol.request_targets import TopicNames
from proxy.recording.cluster_reader import ClusterReader
from proxy.recording.kept_records import KeptRecords
from proxy.recording.log_reader import LogReader
from proxy.recording.recorder import Recorder
from proxy.recording.scrubbing import NO_RECORDS, Scrubbing
from proxy.recording.world import ClusterParts, read_parts, world_of
from proxy.recording.world_admin import WorldAdmin, open_world_admin

Progress = Callable[[int, int, int], None]
"""Gets how many partitions of how many were read, and the bytes of the records so far."""


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """What a recording keeps.

    With `reads_logs` these are the last `records_max` records of each partition, or all if it is
    None; else the records that the recorder has seen. `bytes_max` is for all records together.
    With `has_aborted` there are also those of open and aborted transactions, and with
    `has_leader_epochs` the leader epochs of committed offsets.
    """

    scrubbing: Scrubbing
    topic_glob: str = "*"
    reads_logs: bool = True
    records_max: int | None = None
    bytes_max: int = 8 * 1024 * 1024
    has_aborted: bool = False
    has_leader_epochs: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What a cluster said; `recorder` has the records of its logs, None if they were not read."""

    parts: ClusterParts
    recorder: Recorder | None


def _no_name(_topic_id: UUID) -> None:
    return None


class Recording:
    """The recording of a cluster."""

    def __init__(
        self,
        bootstrap_servers: str,
        properties: Mapping[str, str],
        options: RecordingOptions,
        *,
        note: Callable[[str], None],
        topic_name: TopicNames = _no_name,
        progress: Progress | None = None,
    ) -> None:
        """Prepare a recording; nothing is sent yet.

        Args:
            bootstrap_servers: `HOST:PORT`, comma-separated.
            properties: those of a Kafka client, for the requests of `read`.
            options: what is kept.
            note: gets a line for each thing that is left out.
            topic_name: returns the name of a topic id, for the recorder.
            progress: is called after each partition that `read` has read.
        """
        self._bootstrap_servers = bootstrap_servers
        self._properties = properties
        self._options = options
        self._note = note
        self._progress = progress
        self.recorder = self._new_recorder(topic_name)
        """Takes what passes."""

    def read(self) -> Reading:
        """Ask the cluster; this blocks.

        Raises:
            ClientError: it cannot be reached, or refuses to name its topics.
            ToolError: a property is invalid.
        """
        with open_world_admin(self._bootstrap_servers, self._properties) as admin:
            parts = read_parts(ClusterReader(admin, self._options.topic_glob, self._note))
            if not self._options.reads_logs:
                return Reading(parts, None)
            return Reading(parts, self._read_logs(admin, parts))

    def document(self, reading: Reading) -> Snapshot:
        """Return the document with all that is known; note what is left out."""
        recorder = reading.recorder or self.recorder
        for line in _left_out(recorder, self.recorder):
            self._note(line)
        requests = self.recorder.requests.entries()
        has_epochs = self._options.has_leader_epochs
        return world_of(reading.parts, recorder.kept, requests, has_leader_epochs=has_epochs)

    def _new_recorder(self, topic_name: TopicNames) -> Recorder:
        options = self._options
        kept = KeptRecords(options.bytes_max, options.records_max)
        return Recorder(options.scrubbing, kept, topic_name, has_aborted=options.has_aborted)

    def _read_logs(self, admin: WorldAdmin, parts: ClusterParts) -> Recorder:
        recorder = self._new_recorder(_no_name)
        scrubbing = self._options.scrubbing
        if scrubbing is NO_RECORDS:
            return recorder
        with_rules = [topic for topic in parts.topics if scrubbing.of_topic(topic.name)]
        recorder.unscrubbed_topics = {topic.name for topic in parts.topics} - {
            topic.name for topic in with_rules
        }
        partition_count = sum(len(topic.partitions) for topic in with_rules)

        def show(read_count: int) -> None:
            if self._progress is not None:
                self._progress(read_count, partition_count, recorder.kept.size_bytes)

        reader = LogReader(
            admin,
            recorder,
            records_max=self._options.records_max,
            has_aborted=self._options.has_aborted,
            note=self._note,
        )
        reader.read(with_rules, parts.ends, show)
        return recorder


def summary_of(world: Snapshot) -> str:
    """Return how much a document has, as one line."""
    record_count = sum(len(part.records) for topic in world.topics for part in topic.partitions)
    counts = {
        "topics": len(world.topics),
        "records": record_count,
        "committed offsets": len(world.offsets),
        "kinds of requests": len(world.requests),
    }
    return ", ".join(
        f"{count} {name}" for name, count in counts.items() if count or name != "kinds of requests"
    )


def _left_out(records: Recorder, requests: Recorder) -> list[str]:
    """Return a line for each reason why something that was seen is not in the document."""
    lines = []
    if records.unscrubbed_topics:
        names = ", ".join(sorted(records.unscrubbed_topics))
        lines.append(f"no rule is for these topics, so their records are left out: {names}")
    if records.kept.forgotten_count:
        count = records.kept.forgotten_count
        lines.append(f"{count} older records are left out because of the bound of bytes")
    if records.kept.undecided_count:
        count = records.kept.undecided_count
        lines.append(f"{count} records are left out: it is not known if they were committed")
    if records.unreadable:
        topic, index, offset = min(records.unreadable)
        lines.append(
            f"{len(records.unreadable)} batches cannot be decoded and are left out; the first is"
            f" {topic}-{index} at offset {offset}"
        )
    if requests.requests.left_out_count:
        count = requests.requests.left_out_count
        lines.append(f"{count} requests are left out: there are too many kinds")
    return lines
