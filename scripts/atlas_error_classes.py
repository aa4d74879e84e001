"""The exception class of Kafka's Java client for each error code of the error matrix.

What a client should do with an error follows from the class that it extends.
"""

CLIENT_SOURCES = "https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka"

SPECIAL_NAMES = {
    "CORRUPT_MESSAGE": "CorruptRecordException",
    "GROUP_ID_NOT_FOUND": "GroupIdNotFoundException",
    "INCONSISTENT_TOPIC_ID": "InconsistentTopicIdException",
    "INVALID_CONFIG": "InvalidConfigurationException",
    "INVALID_PRODUCER_ID_MAPPING": "InvalidPidMappingException",
    "INVALID_REGULAR_EXPRESSION": "InvalidRegularExpression",
    "INVALID_TOPIC_EXCEPTION": "InvalidTopicException",
    "INVALID_TRANSACTION_TIMEOUT": "InvalidTxnTimeoutException",
    "FETCH_SESSION_TOPIC_ID_ERROR": "FetchSessionTopicIdException",
    "MESSAGE_TOO_LARGE": "RecordTooLargeException",
    "NON_EMPTY_GROUP": "GroupNotEmptyException",
    "OFFSET_METADATA_TOO_LARGE": "OffsetMetadataTooLarge",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "OutOfOrderSequenceException",
    "RECORD_LIST_TOO_LARGE": "RecordBatchTooLargeException",
    "REQUEST_TIMED_OUT": "TimeoutException",
    "SASL_AUTHENTICATION_FAILED": "SaslAuthenticationException",
    "TOPIC_ALREADY_EXISTS": "TopicExistsException",
}
AUTHORIZATION_END = "_AUTHORIZATION_FAILED"

REFRESH = {
    "COORDINATOR_NOT_AVAILABLE",
    "FENCED_LEADER_EPOCH",
    "INCONSISTENT_TOPIC_ID",
    "KAFKA_STORAGE_ERROR",
    "LEADER_NOT_AVAILABLE",
    "LISTENER_NOT_FOUND",
    "NOT_COORDINATOR",
    "NOT_LEADER_OR_FOLLOWER",
    "REPLICA_NOT_AVAILABLE",
    "UNKNOWN_TOPIC_ID",
    "UNKNOWN_TOPIC_OR_PARTITION",
}
"""Errors whose class is a `RefreshRetriableException`: metadata or the coordinator changed."""
RETRIABLE = {
    *REFRESH,
    "CONCURRENT_TRANSACTIONS",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "CORRUPT_MESSAGE",
    "FETCH_SESSION_ID_NOT_FOUND",
    "FETCH_SESSION_TOPIC_ID_ERROR",
    "INVALID_FETCH_SESSION_EPOCH",
    "INVALID_SHARE_SESSION_EPOCH",
    "NOT_CONTROLLER",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "OFFSET_NOT_AVAILABLE",
    "REQUEST_TIMED_OUT",
    "SHARE_SESSION_LIMIT_REACHED",
    "SHARE_SESSION_NOT_FOUND",
    "THROTTLING_QUOTA_EXCEEDED",
    "UNKNOWN_LEADER_EPOCH",
    "UNSTABLE_OFFSET_COMMIT",
}
"""Errors whose class is a `RetriableException`."""
RECOVERABLE = {
    "FENCED_INSTANCE_ID",
    "ILLEGAL_GENERATION",
    "INVALID_PRODUCER_EPOCH",
    "INVALID_PRODUCER_ID_MAPPING",
    "PRODUCER_FENCED",
    "UNKNOWN_MEMBER_ID",
}
"""Errors whose class is an `ApplicationRecoverableException` (KIP-1050)."""


def exception_of(error: str) -> str:
    """Return the name of the exception class: `NotEnoughReplicasException`."""
    if error in SPECIAL_NAMES:
        return SPECIAL_NAMES[error]
    stem = error.removesuffix("_EXCEPTION").removesuffix("_ERROR")
    if error == "UNKNOWN_SERVER_ERROR":
        return "UnknownServerException"
    if error == "KAFKA_STORAGE_ERROR":
        return "KafkaStorageException"
    if error.endswith(AUTHORIZATION_END):
        stem = error.removesuffix("_FAILED")
    words = "".join(word.capitalize() for word in stem.split("_"))
    return f"{words.replace('SequenceNumber', 'Sequence')}Exception"


def exception_url(error: str) -> str:
    """Return where the class of an error is to be read."""
    return f"{CLIENT_SOURCES}/common/errors/{exception_of(error)}.java"
