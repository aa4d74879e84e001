"""Use kafka-python's modules without those that its package imports.

`kafka/__init__.py` imports kafka-python's clients, which take longer than the start of a broker. Of
kafka-python the protocol needs the schemas and the codecs of records.
"""

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

NAME = "kafka"


class _LateInit(ModuleType):
    """A package whose `__init__` runs when one of the names that it defines is first used."""

    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment] # the package is as any other now
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(self)
        return getattr(self, name)


def postpone_clients() -> None:
    """Let later imports from `kafka.` find their modules, but not import the clients.

    `kafka.KafkaProducer` is there as usual: the first use of it imports the clients. Call this in a
    program of our own only, since two threads must not be the first to use such a name.
    """
    if NAME in sys.modules:
        return
    spec = find_spec(NAME)
    if spec is None:
        return  # the import of the first module says what is missing
    package = module_from_spec(spec)
    package.__class__ = _LateInit
    sys.modules[NAME] = package
