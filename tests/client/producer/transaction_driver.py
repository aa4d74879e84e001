"""Drive a transactional producer's core; brokers respond as a test says."""

from typing import Any

from client.producer.actions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    Request,
    Response,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from client.producer.batch import TopicPartition
from client.producer.transactional_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from client.producer.transactions import Operation, ProducerTransactions, TransactionState
from client.protocol_codec import FinalizedFeatures
from tests.client.producer.driver import BROKERS, TOPIC, Driver, stored, topics

COORDINATOR = 2
PARTITION = TopicPartition(TOPIC, 0)
OFFSETS = {PARTITION: OffsetAndMetadata(5)}
GROUP = ConsumerGroupMetadata("readers", 3, "member", "instance")


class TransactionDriver(Driver):
    """A core whose brokers respond with success, but for the responses in `script`."""

    def __init__(self, version: int = 1, **changes: Any) -> None:
        super().__init__(transactional_id="t", transaction_timeout_ms=500, **changes)
        self.version = version
        self.features_epoch = 1
        self.script: dict[type[Request], list[Response | None]] = {}
        """The next responses to a type of request; None loses the connection instead."""
        self.seen: list[Request] = []
        self.producer_id, self.epoch = 7, 0

    @property
    def transactions(self) -> ProducerTransactions:
        found = self.core._state.transactions
        assert found is not None
        return found

    @property
    def state(self) -> TransactionState:
        return self.transactions.state

    def connect(self) -> None:
        opened, self.connects = self.connects, []
        features = FinalizedFeatures(self.features_epoch, {"transaction.version": self.version})
        for node_id in opened:
            self.core.on_connected(node_id, features)

    def step(self) -> bool:
        """Poll, open connections and respond to the oldest request; False if there is none."""
        self.seen += self.poll()
        is_connecting = bool(self.connects)
        self.connect()
        if not self.requests:
            return is_connecting
        node_id, request = self.requests[0]
        responses = self.script.get(type(request))
        response = responses.pop(0) if responses else self.success(request)
        if response is None:
            self.disconnect(node_id)
        else:
            self.response(response, type(request))
        return True

    def run(self, duration_ms: int = 0) -> list[Request]:
        """Respond until nothing happens for the time given; return the requests since then."""
        start, end_ms = len(self.seen), self.now + duration_ms
        while True:
            while self.step():
                pass
            if self.next_ms is None or self.next_ms > end_ms:
                break
            self.now = max(self.now, self.next_ms)
        self.now = end_ms
        return self.seen[start:]

    def success(self, request: Request) -> Response:
        match request:
            case MetadataRequest():
                return MetadataResponse(BROKERS, topics())
            case FindCoordinatorRequest():
                return FindCoordinatorResponse(0, COORDINATOR, BROKERS[COORDINATOR])
            case InitProducerIdRequest():
                if request.producer_id >= 0:
                    self.epoch += 1
                return InitProducerIdResponse(0, self.producer_id, self.epoch)
            case AddPartitionsToTxnRequest():
                return AddPartitionsToTxnResponse(dict.fromkeys(request.partitions, 0))
            case AddOffsetsToTxnRequest():
                return AddOffsetsToTxnResponse(0)
            case TxnOffsetCommitRequest():
                return TxnOffsetCommitResponse({partition: 0 for partition, _ in request.offsets})
            case EndTxnRequest(transaction_version=2):
                self.epoch += 1
                return EndTxnResponse(0, self.producer_id, self.epoch)
            case EndTxnRequest():
                return EndTxnResponse(0)
            case ProduceRequest():
                return stored(0)

    def begin(self) -> None:
        """Initialize the producer and begin a transaction."""
        operation = self.core.init_transactions()
        self.run()
        assert (operation.is_done, operation.error) == (True, None)
        self.core.begin_transaction()

    def commit(self) -> Operation:
        return self.core.commit_transaction(self.now)

    def abort(self) -> Operation:
        return self.core.abort_transaction()


def names(requests: list[Request]) -> list[str]:
    """Return the types of requests without Metadata, which may come at any time."""
    return [
        type(request).__name__.removesuffix("Request")
        for request in requests
        if not isinstance(request, MetadataRequest)
    ]
