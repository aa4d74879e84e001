"""The broker's main program in a process of its own, ending when its parent does.

`python -I .../mock_kafka/isolated_launcher.py ARGUMENTS`, by its path and isolated: neither the
current folder, nor PYTHONPATH, nor an editable project of the user's may have a `broker.py` that
runs.

The parent holds the other end of our standard input and never writes to it. However it ends, even
killed, the pipe closes, and the broker gets the SIGTERM that the parent could not send any more.
"""

import os
import signal
import sys
import threading
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

PATH_VARIABLE = "MOCK_KAFKA_PATH"
"""Where the parent finds modules, for libraries that this process doesn't find by itself."""

_OUR_FOLDER = str(Path(__file__).resolve().parent.parent)
_OUR_PACKAGES = {"mock_kafka"}
if not Path(__file__).with_name("_internal").is_dir():  # a checkout: the others are beside it
    _OUR_PACKAGES |= {each.parent.name for each in Path(_OUR_FOLDER).glob("*/py.typed")}
_STDIN = 0


class _OwnPackages:
    """Finds our packages beside this file, even if others have some of these names."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [_OUR_FOLDER]) if name in _OUR_PACKAGES else None


def _terminate_without_parent() -> None:
    # os.read and not sys.stdin: a thread inside of sys.stdin's lock can't be left at exit.
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Run the broker with the arguments of the command line."""
    threading.Thread(target=_terminate_without_parent, name="parent-watch", daemon=True).start()
    sys.meta_path.insert(0, _OwnPackages)
    known = os.environ.get(PATH_VARIABLE, "").split(os.pathsep)
    sys.path += [each for each in known if each and each not in sys.path]
    from broker.__main__ import main as broker_main  # noqa: PLC0415 - found by what is set above

    sys.exit(broker_main())


if __name__ == "__main__":
    main()
