"""Allocate producer ids in blocks per broker, so that ids are unique in the cluster."""

BLOCK_SIZE = 1000
"""Ids in one block, as in Kafka's `ProducerIdsBlock`."""
LAST_EPOCH = 2**15 - 2
"""A producer at this epoch gets a new id instead of the next epoch.

The highest int16 is reserved: a transaction coordinator fences with it (`TransactionMetadata`).
"""


class ProducerIdAllocator:
    """Allocate the producer ids of a cluster, each once."""

    def __init__(self) -> None:
        self._next_block_start = 0
        # Broker id to (next id, end of its block).
        self._blocks: dict[int, tuple[int, int]] = {}

    def next_id(self, broker_id: int) -> int:
        """Return a new id from the block of this broker."""
        next_id, end = self._blocks.get(broker_id, (0, 0))
        if next_id == end:
            next_id = self._next_block_start
            end = self._next_block_start = next_id + BLOCK_SIZE
        self._blocks[broker_id] = (next_id + 1, end)
        return next_id

    @property
    def next_block_start(self) -> int:
        """The first id that is in no block: this and all above it were never given out."""
        return self._next_block_start

    def skip_to(self, producer_id: int) -> None:
        """Give out no id below this one any more, also not from the blocks of brokers."""
        self._next_block_start = max(self._next_block_start, producer_id)
        self._blocks.clear()

    def bumped(self, producer_id: int, producer_epoch: int, broker_id: int) -> tuple[int, int]:
        """Return id and epoch after an epoch bump: the next epoch, or a new id at epoch 0.

        Groundwork for transactions: no handler calls it yet.
        """
        if producer_epoch >= LAST_EPOCH:
            return self.next_id(broker_id), 0
        return producer_id, producer_epoch + 1
