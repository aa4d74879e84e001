"""The command line of the broker, imported so that it starts fast."""

import gc
import sys

# structlog imports rich if it is installed, for tracebacks that we do not use. The import takes a
# quarter of the time from exec to listening, and collecting its garbage a tenth.
sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
gc.disable()

from protocol.kafka_package import postpone_clients  # noqa: E402

postpone_clients()

from broker.cli import main  # noqa: E402

__all__ = ["main"]

gc.enable()
if sys.modules["rich"] is None:
    del sys.modules["rich"]  # other code in this process may import it

if __name__ == "__main__":
    sys.exit(main())
