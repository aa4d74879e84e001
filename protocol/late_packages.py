"""Import modules of packages without what the packages themselves import.

`kafka/__init__.py` imports kafka-python's clients, which take longer than the start of a broker; we
need its schemas and its codecs of records. `aiohttp/__init__.py` imports aiohttp's client, which
twice loads the certificates of all authorities that the system trusts; we need its server.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

PACKAGES = ("kafka", "aiohttp")


class _LateInit(ModuleType):
    """A package whose `__init__` runs when one of the names that it defines is first used.

    Its submodules are imported without that. `aiohttp.http` reads `aiohttp.__version__`, so that is
    the version of the distribution.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            from importlib import metadata  # noqa: PLC0415 - slow, and not needed at the start

            with suppress(metadata.PackageNotFoundError):  # the distribution has another name
                return metadata.version(self.__name__)
        if find_spec(f"{self.__name__}.{name}") is not None:
            return import_module(f"{self.__name__}.{name}")
        self.__class__ = ModuleType  # type: ignore[assignment] # the package is as any other now
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(self)
        return getattr(self, name)


def postpone_init() -> None:
    """Let later imports find the modules of these packages, but not run their `__init__`.

    `kafka.KafkaProducer` is there as usual: the first use of it imports the clients. Call this in a
    program of ours only, since two threads must not be the first to use such a name.
    """
    for name in PACKAGES:
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None:  # else the import of a module says what is missing
            package = module_from_spec(spec)
            package.__class__ = _LateInit
            sys.modules[name] = package


@contextmanager
def importing_program() -> Iterator[None]:
    """Have the imports of a program take less time, and what they leave behind none later."""
    gc.disable()  # collecting the garbage of the imports takes a tenth of the start
    postpone_init()
    yield
    gc.freeze()  # else the first collection looks at all imports, and frees next to nothing
    gc.enable()
