"""`python -m mock_kafka` is the command `mock-kafka`."""

import sys

from mock_kafka.cli import main

if __name__ == "__main__":
    sys.exit(main())
