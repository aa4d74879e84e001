"""The command line of the broker, imported so that it starts fast."""

import sys

from protocol.late_packages import importing_program

with importing_program():
    from broker.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
