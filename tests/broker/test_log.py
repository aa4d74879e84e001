"""The log imports structlog with its first line."""

from structlog.testing import capture_logs

from broker.log import Log


def test_structlog_is_configured_once_before_the_first_line() -> None:
    calls: list[str] = []
    log = Log()
    log.before_first_line = lambda: calls.append("configured")
    with capture_logs() as lines:
        log.info("first", broker=1)
        log.warning("second")
    assert calls == ["configured"]
    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("first", "info"),
        ("second", "warning"),
    ]
