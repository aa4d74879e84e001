"""The log imports structlog with the first line that it writes."""

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


def test_a_line_below_the_level_is_not_written_and_configures_nothing() -> None:
    calls: list[str] = []
    log = Log()
    log.level = "info"
    log.before_first_line = lambda: calls.append("configured")
    with capture_logs() as lines:
        log.debug("first", broker=1)
        assert calls == []
        log.exception("second")
    assert [line["event"] for line in lines] == ["second"]
