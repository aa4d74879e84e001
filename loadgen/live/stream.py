"""Read the rows of a run while its workers write them, with Structured Streaming.

Each micro-batch has the rows of the newest segments. Spark reduces them to sums, which the driver
adds up. An event may have rows in several batches: those that may get more rows stay in Spark.
"""

import threading
from collections.abc import Callable, Iterable
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.parquet as pq

from loadgen.analysis import checks
from loadgen.analysis.latencies import GROWTH
from loadgen.analysis.quota_bounds import id_quotas, mutation_buckets
from loadgen.analysis.verdicts import main_api
from loadgen.live import queries
from loadgen.live.figures import Batch, Rows
from loadgen.live.priority import Priority
from loadgen.plan.plan import Plan
from loadgen.plan.run_spec import PreparedTarget
from loadgen.rows import ARROW_SCHEMA, SCHEMA
from loadgen.spark_session import first_line

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

INTERVAL = "2 seconds"
"""The time between batches; the workers write segments as often."""
FINISH_TIMEOUT_S = 120.0
WARM_UP = "mock-kafka-warm-up-"
CHECKPOINT = "mock-kafka-live-"
"""How the name of the temporary folder begins that has the checkpoint."""
OPEN_S = 60
"""An event of which nothing was read for so long is over."""
COMPLETES_ONCE = {
    "steady",
    "keyed",
    "new-producer-per-error",
    "new-producer-per-batch",
    "delivery-timeout",
    "connection-storm",
    "replay",
}
"""The behaviours whose events have one response that completes them."""
_EVENT_SCHEMA = (
    "tenant string, event_id bigint, completes_once boolean, intended_us bigint,"
    " submitted_us bigint, completed_us bigint, expired_us bigint, touched_us bigint"
)
_BINS = {"ln_growth": log(GROWTH)}
_SETTINGS = {
    # A batch is small, and the load needs the cores.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
}


class WarmUpError(Exception):
    """The stream cannot read; the message is one line."""


class BatchReader:
    """Reduces batches of rows to `Batch`; keeps the events that may get more rows in Spark."""

    def __init__(self, plan: Plan, target: PreparedTarget) -> None:
        """Read rows of this plan."""
        self._plan = plan
        self._open_events: DataFrame | None = None
        self._newest_us = 0
        self._quota_arguments = {
            "id_users": list(id_quotas(plan, target)),
            "mutation_tenants": [
                name for names, *_ in mutation_buckets(plan, target).values() for name in names
            ],
        }

    def read(self, rows: "DataFrame") -> Batch:
        """Return what the rows of a batch add; `rows` has the columns of `queries.COLUMNS`."""
        from pyspark.sql import functions as F  # noqa: PLC0415 - the usual name; slow to import

        spark = rows.sparkSession
        for key, value in _SETTINGS.items():
            spark.conf.set(key, value)
        is_local = (spark.sparkContext.master or "").startswith("local")
        frame = self._with_tenants(rows.coalesce(1) if is_local else rows)
        frame.createOrReplaceTempView("batch")
        parts = {
            "requests": spark.sql(queries.REQUESTS, {"tolerance_us": checks.MUTE_TOLERANCE_US}),
            "lateness": spark.sql(queries.LATENESS, _BINS),
            "latencies": spark.sql(queries.WHOLE_EVENTS, _BINS),
        }
        if any(self._quota_arguments.values()):
            parts["quota_rows"] = spark.sql(queries.QUOTA_ROWS, self._quota_arguments)
        # One job instead of four: planning them costs more than reading the rows.
        named = [part.withColumn("query", F.lit(name)) for name, part in parts.items()]
        first, *others = named
        for other in others:
            first = first.unionByName(other, allowMissingColumns=True)
        found: dict[str, Rows] = {name: [] for name in parts}
        for row in first.collect():
            found[row["query"]].append(row.asDict())
        batch = Batch(**found)
        times = [row["end_us"] for row in batch.requests if row["end_us"] is not None]
        self._newest_us = max([self._newest_us, *times])
        if self._open_events is not None or any(row["rows_of_events"] for row in batch.requests):
            batch.latencies += self._latencies_of_events(spark)
        return batch

    def _with_tenants(self, rows: "DataFrame") -> "DataFrame":
        """Add what the plan says about the tenant of each row."""
        from pyspark.sql import functions as F  # noqa: PLC0415 - the same

        tenants = self._plan.tenants
        by_name: dict[str, list[tuple[str, str | bool]]] = {
            "main_api": [(tenant.name, main_api(tenant)) for tenant in tenants],
            "is_open": [(tenant.name, tenant.arrival != "closed") for tenant in tenants],
            "completes_once": [(t.name, t.behaviour in COMPLETES_ONCE) for t in tenants],
            "is_steady": [(tenant.name, tenant.behaviour == "steady") for tenant in tenants],
        }
        columns = {name: _by_tenant(pairs) for name, pairs in by_name.items()}
        is_whole_event = F.expr(
            "is_steady AND api = 'Produce' AND attempt = 1 AND event_id >= 0"
            " AND status = 'responded' AND error_code IN (0, 46)"
        )
        return rows.withColumns(columns).withColumn("is_whole_event", is_whole_event)

    def _latencies_of_events(self, spark: "SparkSession") -> Rows:
        before = self._open_events
        if before is None:
            before = spark.createDataFrame([], _EVENT_SCHEMA)
        before.createOrReplaceTempView("open_events")
        over_before_us = self._newest_us - OPEN_S * 1_000_000
        events = spark.sql(queries.EVENTS, {"over_before_us": over_before_us}).persist()
        try:
            events.createOrReplaceTempView("events")
            found = [row.asDict() for row in spark.sql(queries.LATENCIES, _BINS).collect()]
            self._open_events = None
            if not all(row["is_over"] for row in found):
                open_events = spark.sql(queries.OPEN_EVENTS).drop("is_over")
                self._open_events = open_events.coalesce(1).localCheckpoint()
        finally:
            events.unpersist()
        return found


def _by_tenant(pairs: Iterable[tuple[str, str | bool]]) -> "Column":
    from pyspark.sql import functions as F  # noqa: PLC0415 - the usual name; slow to import

    literals = [F.lit(value) for pair in pairs for value in pair]
    return F.create_map(*literals)[F.col("tenant")]


class LiveStream:
    """The streaming query: starts with the block, and has read all rows after `finish`.

    Attributes:
        failure: why it ended early, as one line.
    """

    def __init__(
        self,
        spark: "SparkSession",
        reader: BatchReader,
        path: str,
        take: Callable[[Batch], None],
        fail: Callable[[str], None],
        priority: Priority | None = None,
    ) -> None:
        """Read the segments in the folder `path`.

        Args:
            spark: the session of the run.
            reader: reduces the batches.
            path: path or URL of the folder, which exists.
            take: gets what each batch adds.
            fail: is called once with the reason if the query fails.
            priority: lets workers on the same host have the CPU first.
        """
        self.failure: str | None = None
        self._spark, self._reader, self._path = spark, reader, path
        self._take, self._fail = take, fail
        self._priority = priority or Priority(None, has_intended_times=False)
        self._is_finishing = False
        self._folder: TemporaryDirectory[str] | None = None
        self._query: StreamingQuery | None = None

    def __enter__(self) -> Self:
        try:
            # The driver alone writes the checkpoint, so it may be on a disk of its own.
            self._folder = TemporaryDirectory(prefix=CHECKPOINT, ignore_cleanup_errors=True)
            rows = self._spark.readStream.schema(SCHEMA).parquet(self._path)
            self._query = (
                rows.select(*queries.COLUMNS)
                .writeStream.foreachBatch(self._read)
                .option("checkpointLocation", Path(self._folder.name).as_uri())
                .trigger(processingTime=INTERVAL)
                .start()
            )
            threading.Thread(target=self._watch, args=(self._query,), daemon=True).start()
        except Exception as error:  # noqa: BLE001 - Spark has types of its own; the load goes on
            self._failed(error)
        return self

    def finish(self) -> None:
        """Wait until all rows that are in the folder have been read."""
        query = self._query
        self._is_finishing = True
        self._priority.end()  # the workers have ended
        if query is None or self.failure is not None:
            return

        def read_all() -> None:
            try:
                query.processAllAvailable()
            except Exception as error:  # noqa: BLE001 - the same
                self._failed(error)

        # A query that hangs must not keep the run from its summary.
        thread = threading.Thread(target=read_all, daemon=True)
        thread.start()
        thread.join(FINISH_TIMEOUT_S)
        if thread.is_alive():
            self._failed(TimeoutError(f"its rows were not read within {FINISH_TIMEOUT_S:g} s"))

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._priority.end()
        try:
            if self._query is not None:
                self._query.stop()
        except Exception as error:  # noqa: BLE001 - the same
            self._failed(error)
        finally:
            if self._folder is not None:
                self._folder.cleanup()

    def _watch(self, query: "StreamingQuery") -> None:
        """Notice a query that ends early, for example because the folder cannot be listed."""
        try:
            query.awaitTermination()
        except Exception as error:  # noqa: BLE001 - the same
            self._failed(error)

    def _read(self, rows: "DataFrame", _batch_id: int) -> None:
        """Add a micro-batch; after a failure ignore the others, because figures would be wrong."""
        if self.failure is not None:
            return
        if not self._is_finishing:
            self._priority.begin()
            self._priority.add_thread()
        try:
            self._take(self._reader.read(rows))
        except Exception as error:  # noqa: BLE001 - the same
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        if self.failure is None:
            self.failure = first_line(error)
            self._fail(self.failure)


def warm_up(spark: "SparkSession", plan: Plan, target: PreparedTarget) -> None:
    """Read a row of each behaviour in a stream, before the load begins.

    The JVM loads and compiles what a micro-batch needs, which takes it seconds.

    Raises:
        WarmUpError: the stream failed; the message is one line.
    """
    row: dict[str, str | int | None] = dict.fromkeys(ARROW_SCHEMA.names)
    row |= {"worker": 0, "event_id": 0, "api": "Produce", "status": "responded", "kind": "new"}
    row |= {"attempt": 1, "error_code": 0, "early_us": 0, "throttle_time_ms": 0, "mutations": 0}
    row |= dict.fromkeys(("intended_us", "submitted_us", "sent_us", "response_us"), 0)
    tenants = {tenant.behaviour: tenant.name for tenant in plan.tenants}
    rows = [{**row, "tenant": name} for name in tenants.values()]
    failures: list[str] = []
    reader = BatchReader(plan, target)
    with TemporaryDirectory(prefix=WARM_UP) as folder:
        pq.write_table(pa.Table.from_pylist(rows, ARROW_SCHEMA), Path(folder) / "part-0.parquet")
        path = Path(folder).as_uri()
        with LiveStream(
            spark.newSession(), reader, path, lambda _: None, failures.append
        ) as stream:
            stream.finish()
    if failures:
        raise WarmUpError(failures[0])
