"""The command line of the proxy, imported so that it starts fast."""

import gc
import sys

gc.disable()  # collecting the garbage of the imports takes a tenth of the start

from protocol.late_packages import postpone_init  # noqa: E402

postpone_init()

from proxy.cli import main  # noqa: E402

__all__ = ["main"]

gc.freeze()  # else the first collection looks at all that was imported, and frees next to nothing
gc.enable()

if __name__ == "__main__":
    sys.exit(main())
