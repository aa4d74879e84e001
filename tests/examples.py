"""How many examples a property test tries under the hypothesis profile of tests/conftest.py."""

from hypothesis import settings

USUAL = 100


def examples(count: int) -> int:
    """Return `count`, or its share under the profile `fast`, which tries fewer."""
    profile = settings.default
    assert profile is not None
    return max(1, count * profile.max_examples // USUAL)
