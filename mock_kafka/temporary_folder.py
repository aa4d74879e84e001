"""A folder for what the broker's process reads from a file."""

from tempfile import TemporaryDirectory

from mock_kafka.broker_process import StartError


def temporary_folder() -> "TemporaryDirectory[str]":
    """Return a new folder that only its owner can open, as a context manager that deletes it.

    Raises:
        StartError: there is no place for it; the message says what to do.
    """
    try:
        return TemporaryDirectory(prefix="mock-kafka-")
    except OSError as error:
        raise StartError(
            "the broker reads config=, faults= and snapshot= from a temporary file, and no folder"
            f" for it can be written to: set TMPDIR ({error.strerror})"
        ) from error
