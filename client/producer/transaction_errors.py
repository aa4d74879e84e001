"""The errors of transactions; each says what the caller can do next."""

from client.errors import ClientError


class TransactionAbortableError(ClientError):
    """The transaction can't be committed: abort it, then begin another. `cause` is why."""

    def __init__(self, cause: ClientError) -> None:
        self.cause = cause
        super().__init__(f"the transaction must be aborted: {cause}")
        self.__cause__ = cause


class TransactionAbortedError(ClientError):
    """The outcome of a record or offset that was not sent before its transaction was aborted."""

    def __init__(self) -> None:
        super().__init__("the transaction was aborted")


class FatalTransactionError(ClientError):
    """The producer can only be closed."""


class ProducerFencedError(FatalTransactionError):
    """Another producer with this transactional id was started, or the coordinator fenced this one.

    The coordinator does so when it aborts a transaction that has timed out.
    """

    def __init__(self, transactional_id: str, producer_id: int, producer_epoch: int) -> None:
        super().__init__(
            f"the producer with transactional id {transactional_id}, producer id {producer_id} and"
            f" epoch {producer_epoch} was fenced"
        )


class TransactionStateError(ClientError):
    """The call is not possible in the producer's present state; nothing has changed."""

    def __init__(self, operation: str, state: str) -> None:
        super().__init__(f"{operation} is not possible now; the producer's state: {state}")


class TransactionTimeoutError(ClientError):
    """An operation did not finish within `max_block_ms`; it goes on, and may be called again."""

    def __init__(self, operation: str, max_block_ms: int) -> None:
        super().__init__(f"{operation} did not finish within max_block_ms={max_block_ms}")
