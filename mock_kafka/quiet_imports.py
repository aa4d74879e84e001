"""Imports of kafka-python without its warnings.

At import it calls functions that Python 3.11 and 3.12 deprecate, once for each of 200 schemas.
pytest would list them all in the summary of a user who cannot change that, and `-W error` would
stop the import.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_imports() -> Iterator[None]:
    """Ignore deprecation warnings in a block, which should only import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
