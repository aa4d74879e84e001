"""Import modules of kafka-python without what its package imports.

`kafka/__init__.py` imports kafka-python's clients, which take longer than the start of a broker; we
need its schemas and its codecs of records.
"""

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

PACKAGE = "kafka"


class _LateInit(ModuleType):
    """A package whose `__init__` runs when one of the names that it defines is first used."""

    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment] # the package is as any other now
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(self)
        return getattr(self, name)


def postpone_init() -> None:
    """Let later imports find the modules of this package, but not run its `__init__`.

    `kafka.KafkaProducer` is there as usual: the first use of it imports the clients. Call this in a
    program of our own only, since two threads must not be the first to use such a name.
    """
    spec = None if PACKAGE in sys.modules else find_spec(PACKAGE)
    if spec is not None:  # else the import of a module says what is missing
        package = module_from_spec(spec)
        package.__class__ = _LateInit
        sys.modules[PACKAGE] = package
