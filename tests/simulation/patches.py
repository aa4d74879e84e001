"""Replace functions by wrong ones, so that checkers have something to find."""

from collections.abc import Callable
from typing import Any

import pytest

Patch = pytest.MonkeyPatch


def wrap(patch: Patch, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Replace a function by `make(function)`."""
    patch.setattr(owner, name, make(getattr(owner, name)))
