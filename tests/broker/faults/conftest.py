"""Register the APIs: rules are for those that a broker serves."""

import broker.handlers  # noqa: F401
