"""The command line of the broker, imported so that it starts fast."""

import gc
import sys

# structlog imports rich where it finds it, for tracebacks that we print plainly. That alone would
# take a quarter of the time from exec to listening. And what is loaded here stays: looking for
# garbage in it takes a tenth.
sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
gc.disable()

from broker.cli import main  # noqa: E402

__all__ = ["main"]

gc.enable()
if sys.modules["rich"] is None:
    del sys.modules["rich"]  # others in this process may want it

if __name__ == "__main__":
    sys.exit(main())
