"""Draw schedules of disturbances, run them against a program, and shrink those that break it."""

IS_EXPLORED = "is_explored_by_mock_kafka"
"""The attribute of a test function with `@mock_kafka.explore`."""
