"""The log of a partition that swallows what is produced to it: offsets grow, nothing is stored.

To its readers it is a log of which retention has deleted everything that is committed.
"""

from collections.abc import Callable

from broker.cluster.partition_log import PartitionLog


class DiscardingLog(PartitionLog):
    """A log that is always empty: it begins at its high watermark."""

    __slots__ = ("_freed",)

    keeps_records = False

    def __init__(self, freed: Callable[[int], None]) -> None:
        """`freed` is called with the bytes of each batch that the cluster counts as stored."""
        self._freed = freed
        super().__init__()

    @property
    def log_start_offset(self) -> int:
        """The high watermark, which may be moved when nothing is appended."""
        return self.high_watermark

    @log_start_offset.setter
    def log_start_offset(self, offset: int) -> None:
        """Do nothing: the high watermark decides."""

    def append(self, batch: bytes, offset_count: int, leader_epoch: int) -> None:
        """Count the offsets of a batch, and drop the batch."""
        if leader_epoch != self._newest_epoch:
            self._begin_epoch(leader_epoch)
        self.log_end_offset += offset_count
        if not self.is_high_watermark_held:
            self.high_watermark = self.log_end_offset
        self.transaction_index.drop_before(self.high_watermark)
        self._freed(len(batch))
