"""CRC-32C, the checksum of record batches.

It is taken from the module of the library that has it, so that `late_packages` can leave out the
rest.
"""

from crc32c._crc32c import crc32c

__all__ = ["crc32c"]
