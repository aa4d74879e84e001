"""Ranges of offsets, which are neither empty nor inverted.

A client that gets a range whose first offset is past the last one may allocate a negative size. So
a range is checked when it is made. Where there may be no offsets there is no range.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Consecutive offsets; its length is their number.

    Raises:
        ValueError: the first offset is past the last one.
    """

    first_offset: int
    last_offset: int

    def __post_init__(self) -> None:
        """Check the offsets."""
        if self.first_offset > self.last_offset:
            raise ValueError(f"offset {self.first_offset} is past offset {self.last_offset}")

    def __len__(self) -> int:
        return self.last_offset - self.first_offset + 1
