"""`python -m broker` and the console script `mock-kafka`."""

import sys

from broker.cli import main

if __name__ == "__main__":
    sys.exit(main())
